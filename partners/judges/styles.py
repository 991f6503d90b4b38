"""Negotiating styles: the definitions of versatile, push-over, competitive and stubborn.

The same function labels a game for a learner's reward, for a table of results and for a judge's worked examples. It
depends on the offers and on the points; without a deal no seat leads.

Source: Kwon et al. 2023 (arXiv 2303.00001), section 4.3, for the four styles and their meaning. Where its published
code has two definitions of one style, counts points that were not paid, or has none, this is stated below.
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
    """A negotiating style of a seat in one game; a seat may show two, or none."""

    VERSATILE = "versatile"  # at least two offers, no two of the same split
    PUSH_OVER = "push_over"  # a deal with less for it than for its partner
    COMPETITIVE = "competitive"  # a deal with more for it than for its partner
    STUBBORN = "stubborn"  # at least two offers, some of the same split

    @property
    def word(self) -> str:
        """The style as an adjective or noun before ``negotiator``: ``push-over``."""
        return self.value.replace("_", "-")


class OfferCounts(NamedTuple):
    """Number of offers of each seat in each game, ``[N, 2]``, and the number of different splits among them."""

    made: NDArray[np.int64]
    different: NDArray[np.int64]


def count_offers(games: Games) -> OfferCounts:
    """Count the offers of both seats. PROPOSE and INSIST of one split are the same offer; other acts are none."""
    oA, offered = games.oA.transpose(1, 2, 0), ((games.act == Act.PROPOSE) | (games.act == Act.INSIST)).T
    claims = [Claims(oA[seat::2], offered[seat::2]) for seat in (0, 1)]
    return OfferCounts(
        np.stack([seat_claims.number for seat_claims in claims], axis=1),
        np.stack([seat_claims.distinct() for seat_claims in claims], axis=1),
    )


def score_leads(games: Games) -> NDArray[np.int64]:
    """1 if a seat got more than its partner, -1 if less, 0 if equal or without a deal, ``[N, 2]``.

    Points are compared as shares of the seat's own whole, without rounding.
    """
    # Both sides times both wholes: whole numbers, so that equal shares are equal.
    shares = games.scores.astype(np.int64) * np.maximum(games.scenarios.pool_values, 1)[:, ::-1]
    ahead: NDArray[np.int64] = np.sign(shares - shares[:, ::-1]) * games.deal[:, None]
    return ahead


def shows_style(style: Style, games: Games) -> Bools:
    """Whether each seat of finished games shows ``style``, ``[N, 2]``."""
    return _DEFINITIONS[style](games)


@dataclass(frozen=True, slots=True)
class StyleReward:
    """A reward of 10 points for a game in the style, 0 otherwise, as in the paper, in place of own points.

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
    """The style with the name ``value``, given as parameter ``name``. Raises ``ValueError``."""
    try:
        return Style(value)  # type: ignore[arg-type]  # any other value is refused
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
