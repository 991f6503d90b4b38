"""Folds over the ledger: who scores what against whom, with intervals.

``CrossPlay`` adds up legs one by one; a table, a ladder and the live view are all read from the same sums. Points are
points of ten: a score as tenths of what the whole pool is worth to the seat.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.scenarios.sources import Scenarios
from dond_marl.yardsticks.metrics import Estimate, mean_of_cells, rate
from league.standings.cells import Cells, Payoffs, Played
from league.tasks.values import Leg

Responses = Mapping[str, tuple[float, float]]  # by member: points of ten of a best response to it, in each seat
ROUNDING = 1e-6  # points of ten


class Standing(NamedTuple):
    """One member's row of the ladder, over all others in both seats; figures are ``nan`` where nothing was played."""

    member: str
    points: Estimate  # own points of ten
    of_nash: Estimate  # points as a share of those at the Nash points of the same scenarios
    of_response: Estimate  # points as a share of a best response's, against the members to which that is known
    as_seat: tuple[Estimate, Estimate]
    left: float  # points of ten that its partners got
    deals: float  # share of games with a deal
    agreed: float  # own points of ten where a deal closed
    turns: float  # acts of both seats per game
    self_play: float  # own points of ten against itself
    fallbacks: int  # acts that it played as a fallback
    failed: int  # matches that failed by its fault
    impossible: bool  # its games are said to have paid more than there is: a bug


class CrossPlay:
    """Running sums of every cell that was played: member ``i`` in seat ``s`` against member ``j``."""

    def __init__(self, members: Sequence[str]) -> None:
        self.members = tuple(members)
        self.cells = Cells(len(self.members))
        self._place = {name: place for place, name in enumerate(members)}
        self._fallbacks = np.zeros(len(self.members), dtype=np.int64)
        self._failed = np.zeros(len(self.members), dtype=np.int64)
        self.total_games = 0

    def admit(self, members: Iterable[str]) -> None:
        """Make room for members that join later."""
        new = tuple(members)
        self._place |= {name: len(self.members) + place for place, name in enumerate(new)}
        self.members += new
        self.cells.admit(len(new))
        more = (0, len(new))
        self._fallbacks, self._failed = np.pad(self._fallbacks, more), np.pad(self._failed, more)

    def decay(self, members: Iterable[str], factor: float) -> None:
        """Weigh what was played by members that have changed since by ``factor``, 0..1; all other cells stay."""
        self.cells.decay([self._place[name] for name in members], factor)

    def add_round(self, scenarios: Scenarios, legs: Iterable[Leg], at_fault: Iterable[str]) -> None:
        """Add every leg of one round, all played on ``scenarios``.

        ``at_fault`` names a member for each match that failed; such a match counts for nobody's points.
        """
        legs = list(legs)
        places = [(self._place[leg.seats[0]], self._place[leg.seats[1]]) for leg in legs]
        if legs:
            deals = [int(np.count_nonzero(leg.facts["deal"])) for leg in legs]
            turns = [int(leg.facts["turns"].sum(dtype=np.int64)) for leg in legs]
            self.cells.add(scenarios, Played(places, [leg.facts["scores"] for leg in legs], deals, turns))
        for place, leg in zip(places, legs, strict=True):
            if leg.facts["fallbacks"].any():
                for seat in (0, 1):
                    self._fallbacks[place[seat]] += leg.facts["fallbacks"][:, seat].sum(dtype=np.int64)
        self.total_games += len(legs) * scenarios.size
        for member in at_fault:
            self._failed[self._place[member]] += 1

    def payoffs(self) -> Payoffs:
        """Every cell's figures, in the order of ``members``."""
        return self.cells.payoffs()

    def cell(self, row: str, column: str, confidence: float) -> Estimate:
        """What ``row`` scores against ``column``, mean of both seats."""
        i, j = self._place[row], self._place[column]
        return self._estimate(self.cells.rows(i, j), self.cells.rows(j, i), confidence)

    def figure(
        self, metric: Literal["points", "deals", "of_nash"], member: str, against: str | None, confidence: float
    ) -> Estimate:
        """One figure of a member against another or, ``None``, against all others, mean of both seats."""
        i = self._place[member]
        others = [self._place[against]] if against is not None else [j for j in range(len(self.members)) if j != i]
        opens, answers = self.cells.rows(i, np.array(others)), self.cells.rows(np.array(others), i)
        legs = self.cells.totals[np.concatenate([opens, answers])]
        if metric == "deals":
            return rate(float(legs["deals"].sum()), float(legs["games"].sum()), confidence)
        points = self._estimate(opens, answers, confidence)
        if metric == "points" or not len(legs):
            return points
        seat = np.repeat((0, 1), (len(opens), len(answers)))
        return _share(points, float((legs["nash"][np.arange(len(legs)), seat] / legs["games"]).mean()))

    def ladder(self, confidence: float, responses: Responses | None = None) -> list[Standing]:
        """Every member's standing against all others, best own points first, equal ones by name.

        ``responses``: what a best response in each seat earns against some of the members.
        """
        standings = [self._standing(i, confidence, responses or {}) for i in range(len(self.members))]
        return sorted(standings, key=lambda row: (math.isnan(row.points.mean), -row.points.mean, row.member))

    def _estimate(self, opens: NDArray[np.int64], answers: NDArray[np.int64], confidence: float) -> Estimate:
        """The mean of the cells of one member: seat_0 of the legs ``opens`` and seat_1 of ``answers``."""
        points, games = zip(self.cells.groups(opens, 0), self.cells.groups(answers, 1), strict=True)
        return mean_of_cells(np.concatenate(points), np.concatenate(games), confidence)

    def _of_response(self, i: int, confidence: float, responses: Responses) -> Estimate:
        """The share of a best response's points, over the cells whose best response is known."""
        legs: tuple[list[int], list[int]] = [], []
        values: list[float] = []
        for name, (first, second) in responses.items():
            j = self._place.get(name, i)
            if j == i:
                continue
            for seat, value, rows in ((0, first, self.cells.rows(i, j)), (1, second, self.cells.rows(j, i))):
                legs[seat].extend(rows.tolist())
                values.extend([value] * len(rows))
        opens, answers = (np.array(rows, dtype=np.int64) for rows in legs)
        return _share(self._estimate(opens, answers, confidence), float(np.mean(values)) if values else math.nan)

    def _standing(self, i: int, confidence: float, responses: Responses) -> Standing:
        others = np.array([j for j in range(len(self.members)) if j != i] or [i])
        opens, answers, nobody = self.cells.rows(i, others), self.cells.rows(others, i), np.zeros(0, dtype=np.int64)
        legs = self.cells.totals[np.concatenate([opens, answers])]  # of each cell
        seat = np.repeat((0, 1), (len(opens), len(answers)))

        def mean(totals: NDArray[np.float64]) -> float:
            """Over cells, each weighing the same, as in the points."""
            return float((totals / legs["games"]).mean()) if len(legs) else math.nan

        place = np.arange(len(legs))
        own, deals = mean(legs["points"][place, seat]), mean(legs["deals"])
        points, left = self._estimate(opens, answers, confidence), mean(legs["points"][place, 1 - seat])
        return Standing(
            member=self.members[i],
            points=points,
            of_nash=_share(points, mean(legs["nash"][place, seat])),
            of_response=self._of_response(i, confidence, responses),
            as_seat=(self._estimate(opens, nobody, confidence), self._estimate(nobody, answers, confidence)),
            left=left,
            deals=deals,
            agreed=own / deals if deals else math.nan,
            turns=mean(legs["turns"]),
            self_play=self.cell(self.members[i], self.members[i], confidence).mean,
            fallbacks=int(self._fallbacks[i]),
            failed=int(self._failed[i]),
            impossible=own + left > mean(legs["most"]) + ROUNDING,
        )


def _share(points: Estimate, whole: float) -> Estimate:
    """Points as a share of ``whole``, which is taken as known."""
    whole = whole if whole > 0 else math.nan
    return Estimate(points.mean / whole, points.n, points.low / whole, points.high / whole)
