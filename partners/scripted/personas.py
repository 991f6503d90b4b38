"""A partner who is somebody else in each game."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dond_marl.seats import Decisions, Doubles, Traits, Turns
from partners.parameters import check_number, check_share
from partners.scripted.offers import answer, needed, offered, on_the_table, progress, whole, worst_at_least
from partners.scripted.time_based import TimeBased

LEVELS = 4  # values that each parameter may take


@dataclass(frozen=True)
class Personas:
    """Concedes with time, at a pace and down to a floor that are drawn for each game.

    Source: a population of types, one drawn for each game (Harsanyi 1967, *Games with incomplete information played by
    Bayesian players*, part I), each a time-based negotiator (Faratin, Sierra, Jennings 1998). The exponent is one of
    four in equal ratios from ``eager`` to ``patient``, the floor one of four in equal steps from ``low`` to ``high``;
    all sixteen personas are equally likely, drawn from the game's noise 0 and 1. Each is ``linear`` with that exponent
    and floor.

    - ``eager``: more than 0, at most 100: the exponent of who concedes soonest.
    - ``patient``: at least ``eager``, at most 100: the exponent of who holds out for longest.
    - ``low``: 0..1, the floor of the softest.
    - ``high``: 0..1, at least ``low``: the floor of the hardest.
    """

    eager: float = 0.25
    patient: float = 4.0
    low: float = 0.2
    high: float = 0.8
    traits: ClassVar[Traits] = Traits(memoryless=True)  # within a game its persona is the same: it has no probs

    def __post_init__(self) -> None:
        for name in ("eager", "patient"):
            check_number(name, getattr(self, name), 0, 100, above=True)
        for name in ("low", "high"):
            check_share(name, getattr(self, name))
        for least, most in (("eager", "patient"), ("low", "high")):
            if getattr(self, least) > getattr(self, most):
                raise ValueError(
                    f"{least} must be at most {most}, {getattr(self, most):g}; got {getattr(self, least):g}"
                )

    def personas(self) -> tuple[tuple[float, TimeBased], ...]:
        """How probable each persona is, and who it is; all are deterministic and without memory."""
        exponents, floors = np.geomspace(self.eager, self.patient, LEVELS), np.linspace(self.low, self.high, LEVELS)
        chance = 1 / LEVELS**2
        return tuple(
            (chance, TimeBased(exponent, floor)) for exponent in exponents.tolist() for floor in floors.tolist()
        )

    def who(self, turns: Turns) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The number of each game's persona, ``[B]``."""
        draws = (turns.game_noise[:, :2] * LEVELS).astype(np.int64)
        return draws[:, 0] * LEVELS + draws[:, 1]

    def act(self, turns: Turns) -> Decisions:
        enough = needed(self._aspirations(turns)[self.who(turns)], whole(turns))
        return answer(on_the_table(turns) & (offered(turns) >= enough), worst_at_least(turns, enough))

    def _aspirations(self, turns: Turns) -> Doubles:
        """The share that each persona wants now."""
        t = progress(turns)
        return np.array([who.floor + (1 - who.floor) * (1 - t**who.exponent) for _, who in self.personas()])
