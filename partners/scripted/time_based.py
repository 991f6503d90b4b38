"""Partners that concede with time alone (Faratin, Sierra, Jennings 1998; NegMAS ``helpers.py``).

Of all but the bluffer the aspiration falls from 1 to ``floor`` as t, the time on the seat's own turns, runs from 0 at
its first to 1 at its last: ``floor + (1 - floor) * (1 - t**exponent)``. A seat asks for its worst own split that
reaches the aspiration (ties: the fewest items, then the first in lexicographic order) and agrees to any offer that
does. For the traders all splits worth at least that and at most ``slack`` of the whole value more, or else the least
that is enough, are as good: among them they choose the best for the partner, along an indifference curve.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from dond_marl.seats import Bools, Decisions, Int8s, Traits, Turns
from partners.parameters import Range, Share, check_order
from partners.scripted.base import MemorylessPartner, RandomPartner
from partners.scripted.bayesian import claimed_in_all, prior_values
from partners.scripted.menu import NEVER, Menu, favourite, menu
from partners.scripted.offers import (
    Points,
    answer,
    claim_worth,
    offer_worth,
    own_turn,
    partner_claims,
    points_needed,
    pool_worth,
    progress,
    worst_at_least,
)

Exponent = Annotated[float, Range(0, above=True)]


@dataclass(frozen=True)
class TimeBased(MemorylessPartner):
    """Concedes along a power of time, whatever its partner does; see the module.

    Source: Faratin, Sierra, Jennings 1998 (polynomial time-dependent tactics).

    - ``exponent``: more than 0; 1 concedes in equal steps, more holds out for longer, less concedes sooner.
    - ``floor``: 0..1, the share of its whole value that it asks for on its last turn.
    """

    exponent: Exponent
    floor: Share = 0.5

    def aspiration(self, turns: Turns) -> float:
        """The share of its whole value that it wants now."""
        aspiration: float = self.floor + (1 - self.floor) * (1 - progress(turns) ** self.exponent)
        return aspiration

    def act(self, turns: Turns) -> Decisions:
        enough = points_needed(self.aspiration(turns), pool_worth(turns))
        return answer(turns, offer_worth(turns) >= enough, worst_at_least(turns, enough))


@dataclass(frozen=True)
class Boulware(TimeBased):
    """Holds out and concedes only near the end.

    Source: Faratin, Sierra, Jennings 1998; exponent 4 as in NegMAS ``BoulwareTBNegotiator``.
    """

    exponent: Exponent = 4.0


@dataclass(frozen=True)
class Linear(TimeBased):
    """Concedes in equal steps.

    Source: Faratin, Sierra, Jennings 1998; exponent 1 as in NegMAS ``LinearTBNegotiator``.
    """

    exponent: Exponent = 1.0


@dataclass(frozen=True)
class Conceder(TimeBased):
    """Concedes almost everything at once.

    Source: Faratin, Sierra, Jennings 1998; exponent 1/4 as in NegMAS ``ConcederTBNegotiator``.
    """

    exponent: Exponent = 0.25


@dataclass(frozen=True)
class Bluffer(MemorylessPartner):
    """Claims items that are worthless to it, and gives those up first.

    Source: feigned interest (Lewis et al. 2017, arXiv 1706.05125, section 6: agents feign interest in a worthless item
    to "compromise" by conceding it later; the bogey of O'Connor, Carnevale 1997). It asks for the whole pool at first;
    on each later turn it gives up ``pace`` more items, the cheapest first (equal ones in the order of their types), as
    long as ``floor`` of its whole value is left. It agrees to an offer worth at least its claim.

    - ``pace``: 1..10, items that it gives up a turn.
    - ``floor``: 0..1, share of its whole value that it keeps.
    """

    pace: Annotated[int, Range(1, 10)] = 2
    floor: Share = 0.6

    def act(self, turns: Turns) -> Decisions:
        claim = self._claim(turns)
        return answer(turns, offer_worth(turns) >= claim_worth(turns, claim), claim)

    def _claim(self, turns: Turns) -> Int8s:
        values, claim = turns.my_utilities.T.astype(np.int32), turns.counts.T.copy()
        wholes = pool_worth(turns)
        spare = wholes - points_needed(self.floor, wholes)  # points that may be given up
        remaining = np.full(turns.size, self.pace * own_turn(turns), dtype=np.int32)
        for item in np.argsort(values, axis=0, kind="stable"):
            column = item[None]
            value = np.take_along_axis(values, column, axis=0)[0]
            count = np.take_along_axis(claim, column, axis=0)[0]
            affordable = np.where(value > 0, spare // np.maximum(value, 1), remaining)
            gives = np.minimum(np.minimum(remaining, affordable), count)
            remaining, spare = remaining - gives, spare - gives * value
            np.put_along_axis(claim, column, (count - gives).astype(np.int8)[None], axis=0)
        return claim.T


LEVELS = 4  # values of each parameter


@dataclass(frozen=True)
class Personas(RandomPartner):
    """Concedes with time, at a pace and to a floor drawn for each game.

    Source: a population of types, one drawn for each game (Harsanyi 1967, *Games with incomplete information played by
    Bayesian players*, part I), each a time-based negotiator (Faratin, Sierra, Jennings 1998). The exponent is one of
    four in equal ratios from ``eager`` to ``patient``, the floor one of four in equal steps from ``low`` to ``high``;
    all sixteen personas are equally likely, drawn from the game's noise 0 and 1. Each is ``linear`` with that exponent
    and floor. It has no ``probs``: within a game its persona stays the same.

    - ``eager``: more than 0, at most 100: the exponent of the earliest concession.
    - ``patient``: at least ``eager``, at most 100: the exponent of the latest concession.
    - ``low``: 0..1, the floor of the softest.
    - ``high``: 0..1, at least ``low``: the floor of the hardest.
    """

    eager: Annotated[float, Range(0, 100, above=True)] = 0.25
    patient: Annotated[float, Range(0, 100, above=True)] = 4.0
    low: Share = 0.2
    high: Share = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        check_order(self, "eager", "patient")
        check_order(self, "low", "high")

    @lru_cache(maxsize=64)  # noqa: B019  # of few and small partners
    def personas(self) -> tuple[tuple[float, TimeBased], ...]:
        """The probability of each persona, and the persona; all are deterministic and without memory."""
        exponents, floors = np.geomspace(self.eager, self.patient, LEVELS), np.linspace(self.low, self.high, LEVELS)
        chance = 1 / LEVELS**2
        return tuple(
            (chance, TimeBased(exponent, floor)) for exponent in exponents.tolist() for floor in floors.tolist()
        )

    def persona_numbers(self, turns: Turns) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The number of each game's persona, ``[B]``."""
        draws = (turns.game_noise[:, :2] * LEVELS).astype(np.int64)
        return draws[:, 0] * LEVELS + draws[:, 1]

    def act(self, turns: Turns) -> Decisions:
        aspirations = np.array([persona.aspiration(turns) for _, persona in self.personas()])  # [16]
        enough = points_needed(aspirations[self.persona_numbers(turns)], pool_worth(turns))
        return answer(turns, offer_worth(turns) >= enough, worst_at_least(turns, enough))


_SHARES = 2520  # the whole of an item type: every count up to 10 divides it


@dataclass(frozen=True)
class _Trader(TimeBased):
    """Concedes with time; see the module."""

    exponent: Exponent = 1.0
    slack: Share = 0.1

    def _as_good(self, turns: Turns, splits: Menu) -> tuple[Points, Bools]:
        """The points that are enough, ``[B]``, and the splits as good as that, ``[N, B]``."""
        wholes = pool_worth(turns)
        enough = points_needed(self.aspiration(turns), wholes)
        reaches = splits.fits & (splits.points >= enough)
        least = np.where(reaches, splits.points, wholes).min(axis=0)
        most = np.maximum(least, enough + (self.slack * wholes).astype(np.int32))
        return enough, reaches & (splits.points <= most)


@dataclass(frozen=True)
class Similarity(_Trader):
    """Concedes with time, by the splits most similar to the partner's offer.

    Source: similarity trade-offs (Faratin, Sierra, Jennings 2002, *Using similarity criteria to make issue trade-offs
    in automated negotiations*, section 4). Two splits differ by the sum over the items of how many more or fewer it
    keeps, times what one of them is expected to be worth to the partner under the prior. It agrees to what reaches its
    aspiration. Before the partner's first claim that is taken to be for everything.

    - ``exponent``: more than 0; 1 concedes in equal steps, more holds out for longer, less concedes sooner.
    - ``floor``: 0..1, the share of its whole value that it comes down to on its last turn.
    - ``slack``: 0..1, share of its whole value by which splits may differ and are as good for it.
    """

    def act(self, turns: Turns) -> Decisions:
        splits, values = menu(turns), prior_values(turns)
        enough, as_good = self._as_good(turns, splits)
        offer = turns.last_partner_offer_for_me.T
        far = sum(np.abs(splits.items[item] - offer[item]) * values[item] for item in range(3))
        claim, _ = favourite(splits, np.where(as_good, -np.asarray(far), NEVER))
        return answer(turns, offer_worth(turns) >= enough, claim)


@dataclass(frozen=True)
class FrequencyModel(_Trader):
    """Models the partner's values by how often it claims items.

    Source: the frequency models of automated negotiators: Agent Smith (van Galen Last 2012, *Agent Smith: opponent
    model estimation in bilateral multi-issue negotiation*, section 3) and HardHeaded (van Krimpen, Looije, Hajizadeh
    2013); trading off by it as in Hindriks, Tykhonov 2008, *Opponent modelling in automated multi-issue negotiation*.
    An item type weighs 1 plus ``learning`` for each claim of the whole of it, less for claims of a part; its items
    share that weight equally. It claims what leaves the partner most weight, and agrees to what is worth its claim. Its
    memory is the sum of the partner's claims.

    - ``exponent``: more than 0; 1 concedes in equal steps, more holds out for longer, less concedes sooner.
    - ``floor``: 0..1, the share of its whole value that it comes down to on its last turn.
    - ``slack``: 0..1, share of its whole value by which splits may differ and are as good for it.
    - ``learning``: 0..100, the weight of a claim against the prior weight 1; 0: no learning.
    """

    exponent: Exponent = 2.0
    floor: Share = 0.6
    slack: Share = 0.15
    learning: Annotated[int, Range(0, 100)] = 3
    traits: ClassVar[Traits] = Traits(deterministic=True)

    def act(self, turns: Turns) -> Decisions:
        splits = menu(turns)
        _, as_good = self._as_good(turns, splits)
        counts = turns.counts.T.astype(np.int64)
        per_item = np.where(counts > 0, _SHARES // np.maximum(counts, 1), 0)
        weights = per_item * (_SHARES + self.learning * partner_claims(turns).totals() * per_item)
        loss = sum(splits.items[item] * weights[item] for item in range(3))
        claim, _ = favourite(splits, np.where(as_good, -np.asarray(loss), NEVER))
        return answer(turns, offer_worth(turns) >= claim_worth(turns, claim), claim)

    def summary(self, turns: Turns) -> NDArray[np.int64]:
        """Memory: the total of each item in the partner's claims, ``[B, 3]``."""
        return claimed_in_all(turns)[:, 1:]
