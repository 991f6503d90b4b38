"""The table of who scores what against whom, with intervals: a fold over the ledger, leg by leg.

Points are points of ten: a score as tenths of what the whole pool is worth to the seat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from dond_marl.scenarios.sources import Scenarios
from dond_marl.statistics import Estimate, mean_of_cells
from league.standings.cells import Cells, Payoffs
from league.standings.payoffs import Shrunk, shrink
from league.tasks.answers import Answers
from league.tasks.values import Leg


class CrossPlay:
    """Running sums of every cell that was played: member ``i`` in seat ``s`` against member ``j``."""

    def __init__(self, members: Sequence[str]) -> None:
        self.members = tuple(members)
        self.place = {name: place for place, name in enumerate(members)}
        self.cells = Cells(len(members))
        self.answers: dict[str, Answers] = {}  # who answered for each member, in failed matches too
        self.failed = Counter[str]()  # matches that failed by its fault
        self.total_games = 0
        self._shrunk: tuple[Payoffs, Shrunk] | None = None  # from which payoffs, and what came of them

    def admit(self, members: Iterable[str]) -> None:
        """Make room for members that join later."""
        self.members += tuple(members)
        self.place = {name: place for place, name in enumerate(self.members)}
        self.cells.admit(len(self.members))

    def add_round(
        self, scenarios: Scenarios, legs: Sequence[Leg], at_fault: Iterable[str], lost: Iterable[Leg] = ()
    ) -> None:
        """Add every leg of one round, all played on ``scenarios``.

        ``at_fault`` names a member for each match that failed; such a match counts for nobody's points. Of its legs,
        the ``lost`` ones, only who answered is kept, as of games in which somebody could not be reached.
        """
        whole = [leg for leg in legs if leg.counted is None]
        self.cells.add(scenarios, [self._places(leg) for leg in whole], [leg.facts for leg in whole])
        for leg in legs:
            if (counted := leg.counted) is not None and counted.any():
                kept = np.flatnonzero(counted)
                self.cells.add(scenarios.rows(kept), [self._places(leg)], [leg.facts[kept]])
        for leg in (*legs, *lost):
            for member, answers in zip(leg.seats, leg.answers, strict=True):
                self.answers[member] = self.answers.get(member, Answers()) + answers
        self.total_games += len(legs) * scenarios.size
        self.failed.update(at_fault)

    def _places(self, leg: Leg) -> tuple[int, int]:
        return self.place[leg.seats[0]], self.place[leg.seats[1]]

    def payoffs(self) -> Payoffs:
        """Every cell's figures, in the order of ``members``; shared until a game is added, not to be written into."""
        return self.cells.payoffs()

    def shrunk(self) -> Shrunk:
        """What every cell is expected to be (:func:`league.standings.payoffs.shrink`); shared as the payoffs are."""
        payoffs = self.payoffs()
        if self._shrunk is None or self._shrunk[0] is not payoffs:
            self._shrunk = payoffs, shrink(payoffs)
        return self._shrunk[1]

    def cell(self, row: str, column: str, confidence: float) -> Estimate:
        """What ``row`` scores against ``column``, mean of both seats."""
        return self.cells.points(*self.cells.met(self.place[row], [self.place[column]]), confidence)

    def figure(
        self, metric: Literal["points", "deals", "of_nash"], member: str, against: str | None, confidence: float
    ) -> Estimate:
        """One figure of a member against another or, ``None``, against all others, mean of both seats."""
        i = self.place[member]
        others = [self.place[against]] if against is not None else [j for j in range(len(self.members)) if j != i]
        rows, seats = self.cells.met(i, others)
        legs = self.cells.totals[rows]
        if metric == "deals":
            return self.cells.deals(rows, confidence)
        points = self.cells.points(rows, seats, confidence)
        if metric == "points" or not len(legs):
            return points
        return share(points, float((legs["nash"][np.arange(len(legs)), seats] / legs["games"]).mean()))


def share(points: Estimate, whole: float) -> Estimate:
    """Points as a share of ``whole``, which is taken as known; ``nan`` where that is nothing."""
    whole = whole if whole > 0 else np.nan
    return Estimate(points.mean / whole, points.n, points.low / whole, points.high / whole)


def lead(cross: CrossPlay, first: str, second: str, confidence: float) -> Estimate:
    """The mean points of ten of ``first`` over its opponents less those of ``second`` over its own, both seats.

    The interval is paired: both means come from the same scenarios. It is ``nan`` where one of them has met more
    opponents than the other.
    """
    members = cross.members
    own, other = (
        cross.cells.groups(*cross.cells.met(place, [k for k in range(len(members)) if k != place]))
        for place in (members.index(first), members.index(second))
    )
    means = [float((sums.sum(axis=1) / games.sum(axis=1)).mean()) for sums, games in (own, other)]
    if len(own[0]) != len(other[0]):
        return Estimate(means[0] - means[1], 0, np.nan, np.nan)
    # The mean of all cells, the second's with a minus, is half the difference.
    half = mean_of_cells(np.concatenate([own[0], -other[0]]), np.concatenate([own[1], other[1]]), confidence)
    return Estimate(2 * half.mean, half.n, 2 * half.low, 2 * half.high)
