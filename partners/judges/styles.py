"""Negotiating styles: what it takes to be versatile, a push-over, competitive or stubborn, defined once.

The same function labels a game for a learner's reward, for a table of results and for a judge's worked examples. It
looks at the offers that were made and the points that were paid: without a deal nobody leads or trails.

Source: Kwon et al. 2023 (arXiv 2303.00001), section 4.3, for the four styles and their meaning. Where its published
code has two definitions of one style, counts points that nobody was paid, or is silent, this is stated below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.batch import Games
from dond_marl.errors import quote
from dond_marl.game import Act
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Bools
from dond_marl.statistics import TEN
from partners.scripted.offers import Claims


class Style(StrEnum):
    """How a seat negotiated in one game; a seat may show two of them, or none."""

    VERSATILE = "versatile"  # at least two offers, no two of the same split
    PUSH_OVER = "push_over"  # a deal that pays it less than its partner
    COMPETITIVE = "competitive"  # a deal that pays it more than its partner
    STUBBORN = "stubborn"  # at least two offers, some of the same split

    @property
    def word(self) -> str:
        """As an adjective or noun before ``negotiator``: ``push-over``."""
        return self.value.replace("_", "-")


class OfferCounts(NamedTuple):
    """How many offers each seat made in a game, ``[N, 2]``, and how many different splits they were of."""

    made: NDArray[np.int64]
    different: NDArray[np.int64]


def count_offers(games: Games) -> OfferCounts:
    """The offers of both seats. PROPOSE and INSIST of one split are the same offer; AGREE, DISAGREE, END are none."""
    oA, made = games.oA.transpose(1, 2, 0), ((games.act == Act.PROPOSE) | (games.act == Act.INSIST)).T
    claims = [Claims(oA[seat::2], made[seat::2]) for seat in (0, 1)]
    return OfferCounts(
        np.stack([own.number for own in claims], axis=1), np.stack([own.distinct() for own in claims], axis=1)
    )


def score_leads(games: Games) -> NDArray[np.int64]:
    """1 where a seat was paid more than its partner, -1 where less, 0 where alike or without a deal, ``[N, 2]``.

    Points are compared as shares of the seat's own whole, without rounding.
    """
    # Both sides times both wholes: whole numbers, so that equal shares are equal.
    shares = games.scores.astype(np.int64) * np.maximum(games.scenarios.pool_values, 1)[:, ::-1]
    ahead: NDArray[np.int64] = np.sign(shares - shares[:, ::-1]) * games.deal[:, None]
    return ahead


def shows_style(style: Style, games: Games) -> Bools:
    """Whether each seat of finished games negotiated in ``style``, ``[N, 2]``: the one definition."""
    return _DEFINITIONS[style](games)


@dataclass(frozen=True, slots=True)
class StyleReward:
    """Ten points for a game in the style, none otherwise, as in the paper; it stands in place of own points.

    ``kind``: ``versatile``, ``push_over``, ``competitive`` or ``stubborn``. 0 or 10. Source: Kwon et al. 2023, section
    4.3, the "true reward".
    """

    kind: str

    def __post_init__(self) -> None:
        style_named("kind", self.kind)

    def __call__(self, games: Games, _earned: NDArray[np.float64], _scenarios: Scenarios, /) -> NDArray[np.float64]:
        """Points of ten, ``[N, 2]``."""
        return TEN * shows_style(Style(self.kind), games).astype(np.float64)


def style_named(name: str, value: object) -> Style:
    """The style that is the ``value`` of parameter ``name``. Raises ``ValueError``."""
    try:
        return Style(value)  # type: ignore[arg-type]  # whatever else it is, it is refused
    except ValueError:
        raise ValueError(f"{name} must be one of {', '.join(Style)}; got {quote(value)}") from None


def _repeats(games: Games) -> Bools:
    offers = count_offers(games)
    return offers.different < offers.made


_DEFINITIONS: dict[Style, Callable[[Games], Bools]] = {
    # The published code has two definitions of versatile: its reward asks that no offer come twice, its evaluation only
    # that not all be the same, so that offers A, B, A earn nothing and count as a success. Here, as its paper says and
    # as its reward does, no offer may come twice. One offer alone is neither versatile nor stubborn.
    Style.VERSATILE: lambda games: (count_offers(games).made >= 2) & ~_repeats(games),
    Style.STUBBORN: _repeats,
    Style.PUSH_OVER: lambda games: score_leads(games) < 0,
    Style.COMPETITIVE: lambda games: score_leads(games) > 0,
}
