"""Partners that concede with time alone (Faratin, Sierra, Jennings 1998; NegMAS ``helpers.py``).

The aspiration falls from 1 to ``floor`` as t, the time on the seat's own turns, runs from 0 at its first to 1 at its
last: ``floor + (1 - floor) * (1 - t**exponent)``. A seat asks for its worst own split that reaches the aspiration
(ties: the fewest items, then the first in lexicographic order) and agrees to any offer that does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dond_marl.seats import Decisions, Traits, Turns
from partners.parameters import check_number, check_share
from partners.scripted.offers import answer, needed, offered, on_the_table, progress, whole, worst_at_least


@dataclass(frozen=True)
class TimeBased:
    """Concedes along a power of time, whatever its partner does; see the module.

    Source: Faratin, Sierra, Jennings 1998 (polynomial time-dependent tactics).

    - ``exponent``: more than 0; 1 concedes in equal steps, more holds out for longer, less concedes sooner.
    - ``floor``: 0..1, the share of its whole value that it asks for on its last turn.
    """

    exponent: float
    floor: float = 0.5
    traits: ClassVar[Traits] = Traits(deterministic=True, memoryless=True)

    def __post_init__(self) -> None:
        check_number("exponent", self.exponent, 0, above=True)
        check_share("floor", self.floor)

    def act(self, turns: Turns) -> Decisions:
        aspiration = self.floor + (1 - self.floor) * (1 - progress(turns) ** self.exponent)
        enough = needed(aspiration, whole(turns))
        return answer(on_the_table(turns) & (offered(turns) >= enough), worst_at_least(turns, enough))


@dataclass(frozen=True)
class Boulware(TimeBased):
    """Holds out and concedes only near the end.

    Source: Faratin, Sierra, Jennings 1998; exponent 4 as in NegMAS ``BoulwareTBNegotiator``.
    """

    exponent: float = 4.0


@dataclass(frozen=True)
class Linear(TimeBased):
    """Concedes in equal steps.

    Source: Faratin, Sierra, Jennings 1998; exponent 1 as in NegMAS ``LinearTBNegotiator``.
    """

    exponent: float = 1.0


@dataclass(frozen=True)
class Conceder(TimeBased):
    """Concedes almost everything at once.

    Source: Faratin, Sierra, Jennings 1998; exponent 1/4 as in NegMAS ``ConcederTBNegotiator``.
    """

    exponent: float = 0.25
