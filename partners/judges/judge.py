"""Judges as rewards: whether a seat negotiated in a style, for every finished game.

A game without a verdict (a service is down, a budget is spent, an answer is neither yes nor no) is paid the mean of the
judged games of its block, which favours neither, and is counted. If most verdicts are missing, learning stops with
:class:`JudgeError`. Source: Kwon et al. 2023 (arXiv 2303.00001), section 3: a language model's yes or no in place of a
reward function; there an episode without a readable answer is left out of the update.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dond_marl.batch import Games
from dond_marl.errors import RunFailure
from dond_marl.game import SEATS
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Int8s
from dond_marl.statistics import TEN
from partners.judges.styles import Style

EXAMPLES = 3  # worked episodes of a judge
MOST_FAILED = 0.5  # share of a block's games that may be without a verdict


class Verdict(IntEnum):
    """A judge's answer about one game."""

    NONE = -1  # no readable answer
    NO = 0
    YES = 1


class JudgeError(RunFailure):
    """Too few verdicts to learn from: how many failed, why, and what to do. Learning must stop."""


@runtime_checkable
class Judge(Protocol):
    """The protocol of judges: decide whether a seat negotiated in a style."""

    @property
    def style(self) -> Style: ...

    @property
    def tally(self) -> Counter[str]:
        """Counts since its creation: ``yes``, ``no``, ``unjudged_<cause>``, and possibly more."""
        ...

    def verdicts(self, games: Games, seat: int) -> Int8s:
        """A :class:`Verdict` on ``seat`` for each game, ``[N]``. Raises :class:`JudgeError` and :class:`SetupError`."""
        ...


@dataclass(frozen=True, slots=True)
class JudgeReward:
    """A reward of 10 points for a game in the judge's style, 0 for another; without a verdict the mean."""

    judge: Judge
    seats: tuple[int, ...] = (0, 1)  # seats that are judged: verdicts may cost money

    def for_seat(self, seat: int) -> JudgeReward:
        """The same reward for one seat; the pay of the other is 0 and has no meaning."""
        return JudgeReward(self.judge, (seat,))

    def __call__(self, games: Games, earned: NDArray[np.float64], _scenarios: Scenarios, /) -> NDArray[np.float64]:
        """Points of ten, ``[N, 2]``. Raises :class:`JudgeError` and what the judge raises."""
        pay = np.zeros_like(earned)
        for seat in self.seats if games.size else ():
            verdicts = self.judge.verdicts(games, seat)
            judged = verdicts != Verdict.NONE
            if judged.mean() < 1 - MOST_FAILED:
                raise JudgeError(_missing_verdicts(self.judge, int((~judged).sum()), games.size, seat))
            pay[:, seat] = np.where(judged, verdicts, verdicts[judged].mean()) * TEN
        return pay


def count_verdicts(tally: Counter[str], verdicts: Int8s) -> Int8s:
    """Add the numbers of yes and no to a judge's ``tally``; returns ``verdicts``."""
    tally["yes"] += int((verdicts == Verdict.YES).sum())
    tally["no"] += int((verdicts == Verdict.NO).sum())
    return verdicts


def _missing_verdicts(judge: Judge, failed: int, games: int, seat: int) -> str:
    causes = ", ".join(f"{name} {times}" for name, times in sorted(judge.tally.items()) if name.startswith("unjudged_"))
    return (
        f"the judge of style {judge.style} has no verdict on {failed} of {games} games of {SEATS[seat]} "
        f"(so far: {causes or 'uncounted'}), too few to learn from. Repair the service, raise its budget, or resume "
        "from the last checkpoint"
    )
