"""Partners that concede with time alone (Faratin, Sierra, Jennings 1998; NegMAS ``helpers.py``).

Of all but the bluffer the aspiration falls from 1 to ``floor`` as t, the time on the seat's own turns, runs from 0 at
its first to 1 at its last: ``floor + (1 - floor) * (1 - t**exponent)``. A seat asks for its worst own split that
reaches the aspiration (ties: the fewest items, then the first in lexicographic order) and agrees to any offer that
does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dond_marl.seats import Decisions, Int8s, Turns
from partners.parameters import Range, Share, check_order
from partners.scripted.base import MemorylessPartner, RandomPartner
from partners.scripted.offers import (
    answer,
    claim_worth,
    offer_worth,
    own_turn,
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
    """Claims even items that are worthless to it, and gives those up first, as if they were a concession.

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
        left = np.full(turns.size, self.pace * own_turn(turns), dtype=np.int32)
        for place in np.argsort(values, axis=0, kind="stable"):
            column = place[None]
            value = np.take_along_axis(values, column, axis=0)[0]
            count = np.take_along_axis(claim, column, axis=0)[0]
            affordable = np.where(value > 0, spare // np.maximum(value, 1), left)
            gives = np.minimum(np.minimum(left, affordable), count)
            left, spare = left - gives, spare - gives * value
            np.put_along_axis(claim, column, (count - gives).astype(np.int8)[None], axis=0)
        return claim.T


LEVELS = 4  # values of each parameter


@dataclass(frozen=True)
class Personas(RandomPartner):
    """Concedes with time, at a pace and down to a floor that are drawn for each game.

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
