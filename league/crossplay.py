"""Folds over the ledger: who scores what against whom, with intervals.

``CrossPlay`` adds up legs one by one; a table, a ladder and the live view are all read from the same sums. Points are
points of ten: a score as tenths of what the whole pool is worth to the seat.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.metrics import GROUPS, Estimate, mean_of_cells, points_of_ten, scenario_groups
from dond_marl.scenarios import Scenarios
from league.ledger import Ledger
from league.tasks import Leg


class Standing(NamedTuple):
    """One member's row of the ladder, over all others in both seats; figures are ``nan`` where nothing was played."""

    member: str
    points: Estimate  # own points of ten
    as_seat: tuple[Estimate, Estimate]
    left: float  # points of ten that its partners got
    deals: float  # share of games with a deal
    agreed: float  # own points of ten where a deal closed
    turns: float  # acts of both seats per game
    self_play: float  # own points of ten against itself
    fallbacks: int  # acts that it played as a fallback
    failed: int  # matches that failed by its fault


class CrossPlay:
    """Running sums of every cell: member ``i`` in seat ``s`` against member ``j``."""

    def __init__(self, members: Sequence[str]) -> None:
        size = len(members)
        self.members = tuple(members)
        self._place = {name: place for place, name in enumerate(members)}
        self._points = np.zeros((size, 2, size, GROUPS))  # [i, s, j, group of scenarios]
        self._games = np.zeros((size, 2, size, GROUPS))
        self._deals = np.zeros((size, 2, size))
        self._turns = np.zeros((size, 2, size))
        self._fallbacks = np.zeros(size, dtype=np.int64)
        self._failed = np.zeros(size, dtype=np.int64)
        self.total_games = 0

    def admit(self, members: Iterable[str]) -> None:
        """Make room for members that join later."""
        new = tuple(members)
        self._place |= {name: len(self.members) + place for place, name in enumerate(new)}
        self.members += new
        more = (0, len(new))
        for name, widths in (("_points", (more, (0, 0), more, (0, 0))), ("_games", (more, (0, 0), more, (0, 0)))):
            setattr(self, name, np.pad(getattr(self, name), widths))
        self._deals = np.pad(self._deals, (more, (0, 0), more))
        self._turns = np.pad(self._turns, (more, (0, 0), more))
        self._fallbacks, self._failed = np.pad(self._fallbacks, more), np.pad(self._failed, more)

    def forget(self, members: Iterable[str]) -> None:
        """Empty the cells of members that have changed since: what a learner scored is no longer what it scores."""
        for place in (self._place[name] for name in members):
            for sums in (self._points, self._games, self._deals, self._turns):
                sums[place] = 0
                sums[:, :, place] = 0

    def best_against(self, member: str, confidence: float) -> float:
        """The best lower bound of what anybody scores against ``member``; ``nan`` where nobody is known to."""
        bounds = [self.cell(name, member, confidence).low for name in self.members]
        return max((bound for bound in bounds if not math.isnan(bound)), default=math.nan)

    def add_round(self, scenarios: Scenarios, legs: Iterable[Leg], at_fault: Iterable[str]) -> None:
        """Add every leg of one round, all played on ``scenarios``.

        ``at_fault`` names a member for each match that failed; such a match counts for nobody's points.
        """
        groups, wholes = scenario_groups(scenarios), scenarios.wholes
        games = np.bincount(groups, minlength=GROUPS)
        for leg in legs:
            self._add(leg, groups, games, points_of_ten(leg.facts["scores"], wholes))
        for member in at_fault:
            self._failed[self._place[member]] += 1

    def cell(self, row: str, column: str, confidence: float) -> Estimate:
        """What ``row`` scores against ``column``, mean of both seats."""
        i, j = self._place[row], self._place[column]
        return mean_of_cells(self._points[i, :, j], self._games[i, :, j], confidence)

    def ladder(self, confidence: float) -> list[Standing]:
        """Every member's standing against all others, best own points first, equal ones by name."""
        standings = [self._standing(i, confidence) for i in range(len(self.members))]
        return sorted(standings, key=lambda row: (math.isnan(row.points.mean), -row.points.mean, row.member))

    def _add(self, leg: Leg, groups: NDArray[np.int64], games: NDArray[np.int64], points: NDArray[np.float64]) -> None:
        places = [self._place[name] for name in leg.seats]
        deals, turns = np.count_nonzero(leg.facts["deal"]), leg.facts["turns"].sum(dtype=np.int64)
        for seat in (0, 1):
            cell = places[seat], seat, places[1 - seat]
            self._points[cell] += np.bincount(groups, weights=points[:, seat], minlength=GROUPS)
            self._games[cell] += games
            self._deals[cell] += deals
            self._turns[cell] += turns
            self._fallbacks[places[seat]] += leg.facts["fallbacks"][:, seat].sum(dtype=np.int64)
        self.total_games += len(groups)

    def _standing(self, i: int, confidence: float) -> Standing:
        others = [j for j in range(len(self.members)) if j != i] or [i]
        points, games = self._points[i][:, others], self._games[i][:, others]  # [2, others, GROUPS]
        in_cell = games.sum(axis=2)

        def mean(totals: NDArray[np.float64]) -> float:
            """Over cells, each weighing the same, as in the points."""
            return float((totals[in_cell > 0] / in_cell[in_cell > 0]).mean()) if in_cell.any() else math.nan

        own, deals = mean(points.sum(axis=2)), mean(self._deals[i][:, others])
        alone = mean_of_cells(self._points[i, :, i], self._games[i, :, i], confidence)
        return Standing(
            member=self.members[i],
            points=mean_of_cells(points.reshape(-1, GROUPS), games.reshape(-1, GROUPS), confidence),
            as_seat=(
                mean_of_cells(points[0], games[0], confidence),
                mean_of_cells(points[1], games[1], confidence),
            ),
            left=mean(self._points[others, ::-1, i].sum(axis=2).T),
            deals=deals,
            agreed=own / deals if deals else math.nan,
            turns=mean(self._turns[i][:, others]),
            self_play=alone.mean,
            fallbacks=int(self._fallbacks[i]),
            failed=int(self._failed[i]),
        )


def fold(ledger: Ledger) -> CrossPlay:
    """The cross-play of everything that a ledger holds."""
    members = ledger.members()
    cross = CrossPlay([member.name for member in members if member.born == 0])
    live = [member.name for member in members if member.role == "main"]
    for number in range(ledger.next_round):
        if number:
            cross.admit(member.name for member in members if member.born == number)
        cross.forget(live)
        cross.add_round(ledger.scenarios(number), ledger.legs(number), ledger.at_fault(number))
    return cross


def write_ladder(path: Path, standings: Sequence[Standing]) -> None:
    """The ladder as CSV, a row per member, every interval with its bounds."""
    header = ["rank", "member", "games", "points", "points_low", "points_high"]
    for seat in ("seat_0", "seat_1"):
        header += [seat, f"{seat}_low", f"{seat}_high"]
    header += ["left_to_partner", "deal_rate", "points_agreed", "turns", "self_play", "fallbacks", "failed_matches"]
    rows = []
    for rank, row in enumerate(standings, start=1):
        estimates = [row.points, *row.as_seat]
        figures = [f"{v:.6f}" for e in estimates for v in (e.mean, e.low, e.high)]
        rest = [f"{v:.6f}" for v in (row.left, row.deals, row.agreed, row.turns, row.self_play)]
        rows.append([str(rank), row.member, str(row.points.n), *figures, *rest, str(row.fallbacks), str(row.failed)])
    write_csv(path, [header, *rows])


def write_crossplay(path: Path, cross: CrossPlay, confidence: float) -> None:
    """Every cell as CSV: what ``member`` scores against ``against``, mean of both seats."""
    rows = [["member", "against", "games", "points", "points_low", "points_high"]]
    for row in cross.members:
        for column in cross.members:
            cell = cross.cell(row, column, confidence)
            rows.append([row, column, str(cell.n), *(f"{v:.6f}" for v in (cell.mean, cell.low, cell.high))])
    write_csv(path, rows)


def write_csv(path: Path, rows: Sequence[Sequence[str]]) -> None:
    """Rows of text, the header first."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
