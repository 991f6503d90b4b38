"""Cross-play table: running sums of the points of each member against each other, for the pairs that have played.

Points are points of ten: a score as tenths of what the whole pool is worth to the seat. L = legs stored, N = members,
K = scenarios of a block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.scenarios.sources import Scenarios, swapped_in_orbit
from dond_marl.solvers.solve import solve
from dond_marl.statistics import GROUPS, TEN, Estimate, mean_of_cells, rate, scenario_groups
from league.standings.ratings import Payoffs, Shrunk, shrink
from league.tasks.answers import Answers
from league.tasks.values import SeatOrderResult

# How the sums are stored. The unit is the *leg*: member a in seat_0 against member b in seat_1. A leg holds two cells
# of the payoff table, a's as seat_0 against b and b's as seat_1 against a, which share their games and scenarios.
#
#   _row[N, N]                      rows, one per leg that was played, in the order of their first game
#
#          b: 0   1   2                   totals[L]   _sums[L, 2, GROUPS]     _games[L, GROUPS]
#   a: 0   [  -1   0   2 ]          0  |  0 vs 1   |  points of 0 | of 1   |  games by group
#      1   [   1  -1  -1 ]   --->   1  |  1 vs 0   |  points of 1 | of 0   |
#      2   [  -1  -1  -1 ]          2  |  0 vs 2   |  points of 0 | of 2   |
#                 (-1: never played)
#
# The legs of member 0 are the rows in its line of _row (it is seat_0: rows 0, 2) and in its column (seat_1: row 1).
# A *group* is a class of scenarios that are renamings or swaps of each other (dond_marl.statistics.scenario_groups);
# sums by group give intervals over scenarios. They are single precision, 10 KiB a leg; `totals` are double.
# _most[L, 2, 2 * GROUPS] holds the largest points of each seat on each side of a group (a scenario and the same with
# the seats' values exchanged are two sides), in steps of 1 / STEPS points plus one, so that 0 means "never played".
GAMES_AT_ONCE = 2**18  # games added in one sweep; bounds the memory for the points of a round
STEPS = 25  # steps per point in which the largest points are stored, rounded down
ROUNDING = 1e-6  # of a step
LEGS_AT_ONCE = 256  # legs per sweep over their groups
REPLICATES_AT_ONCE = 32  # resampled tables per matrix product
TOTALS = np.dtype(
    [
        ("games", "<f8"),  # sum of weights; a weight is 1 until decay reduces it
        ("squared_weights", "<f8"),
        ("deals", "<f8"),
        ("turns", "<f8"),
        ("points", "<f8", (2,)),  # of ten, per seat
        ("nash", "<f8", (2,)),  # of ten, at the Nash point of each game's scenario
        ("most", "<f8"),  # of ten, the largest joint score that each game's scenario allows
        ("squares", "<f8", (2,)),
        ("wins", "<f8", (2,)),  # games in which the seat had more of its whole than the other; a draw is half of one
        ("error", "<f8", (2,)),  # variance of the mean between groups of scenarios; recomputed by each addition
    ]
)
SUMS = tuple(name for name in TOTALS.names or () if name != "error")


class Cells:
    """Running sums of every leg that was played, by the numbers of the members."""

    def __init__(self, members: int) -> None:
        self.totals = np.zeros(0, dtype=TOTALS)  # [L]
        self._row = np.full((members, members), -1, dtype=np.int32)  # [seat_0, seat_1] -> 0..L - 1, -1: never played
        self._sums = np.zeros((0, 2, GROUPS), dtype=np.float32)  # points; may be longer than L
        self._games = np.zeros((0, GROUPS), dtype=np.float32)
        self._deals = np.zeros((0, GROUPS), dtype=np.float32)
        self._most = np.zeros((0, 2, 2 * GROUPS), dtype=np.uint8)  # by side of a group; 0: never played, see STEPS
        self._payoffs: Payoffs | None = None  # cached until the next change
        self._best_reached: NDArray[np.float64] | None = None  # cached until the next change
        self._shrunk: Shrunk | None = None  # cached until the next change

    def _clear_caches(self) -> None:
        self._payoffs = self._best_reached = self._shrunk = None

    def resize(self, members: int) -> None:
        """Make room for ``members`` members in total."""
        self._clear_caches()
        self._row = np.pad(self._row, (0, members - len(self._row)), constant_values=-1)

    @property
    def occupied_groups(self) -> int:
        """Number of groups of scenarios with games."""
        return int(np.count_nonzero(self._games[: len(self.totals)].any(axis=0)))

    def legs_of(self, member: int, others: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows of the legs of ``member`` against ``others`` with games, and its seat in each; legs as seat_0 first."""
        rows = np.concatenate([self._row[member, others], self._row[others, member]]).astype(np.int64)
        seats = np.repeat((0, 1), len(others))
        rows, seats = rows[rows >= 0], seats[rows >= 0]
        played = self.totals["games"][rows] > 0
        return rows[played], seats[played]

    def sums_by_group(
        self, rows: NDArray[np.int64], seats: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Points of each leg's seat, and games, by group of scenarios: two ``[rows, GROUPS]``."""
        return self._sums[rows, seats].astype(np.float64), self._games[rows].astype(np.float64)

    def mean_points(self, rows: NDArray[np.int64], seats: NDArray[np.int64], confidence: float) -> Estimate:
        """The mean of one member's cells with equal weights: its points in ``seats`` of the legs in ``rows``."""
        return mean_of_cells(*self.sums_by_group(rows, seats), confidence)

    def deal_rate(self, rows: NDArray[np.int64], confidence: float) -> Estimate:
        """The share of games with a deal, the mean of the legs in ``rows`` with equal weights."""
        return rate(self._deals[rows].astype(np.float64), self._games[rows].astype(np.float64), confidence)

    def decay(self, members: Sequence[int], factor: float) -> None:
        """Multiply the weight of all games so far of ``members`` by ``factor``, 0..1; once for games between two.

        For members that have changed since: the points of a live learner are out of date. Games between members that do
        not change are never reweighted.
        """
        self._clear_caches()
        touched = np.concatenate([self._row[members].ravel(), self._row[:, members].ravel(), np.zeros(0, np.int32)])
        rows = np.unique(touched[touched >= 0])
        for name in SUMS:
            self.totals[name][rows] *= factor**2 if name == "squared_weights" else factor
        self._sums[rows] *= np.float32(factor)
        self._games[rows] *= np.float32(factor)
        self._deals[rows] *= np.float32(factor)
        for seat, legs in enumerate((self._row[:, members], self._row[members])):  # reached against a changed member
            self._most[legs[legs >= 0], seat] = 0

    def add(self, scenarios: Scenarios, legs: Sequence[tuple[int, int]], facts: Sequence[NDArray[np.void]]) -> None:
        """Add the games of ``legs``, members in seat_0 and seat_1; ``facts[leg][K]`` are those of all ``scenarios``."""
        if not legs:
            return
        self._clear_caches()
        block = _sorted_block(scenarios)
        for sweep in _sweeps(legs, scenarios.size):
            self._add(block, legs[sweep], facts[sweep])

    def payoffs(self) -> Payoffs:
        """The figures of every cell, ``nan`` where nothing was played; cached and read-only."""
        if self._payoffs is None:
            self._payoffs = Payoffs(*map(_read_only, self._payoff_tables()))
        return self._payoffs

    def shrunk(self) -> Shrunk:
        """The expected points of every cell (:func:`league.standings.ratings.shrink`); cached."""
        if self._shrunk is None:
            self._shrunk = shrink(self.payoffs())
        return self._shrunk

    def _payoff_tables(self) -> Payoffs:
        first, second = np.nonzero(self._row >= 0)
        rows = self._row[first, second]
        played = self.totals["games"][rows] > 0
        first, second, rows = first[played], second[played], rows[played]
        size = len(self._row)
        payoffs = Payoffs(*(np.full((size, 2, size), np.nan) for _ in Payoffs._fields))
        payoffs.games[:] = 0
        totals = self.totals[rows]
        mean, games, variance = _moments(totals)
        for seat, places in enumerate(((first, 0, second), (second, 1, first))):
            payoffs.mean[places], payoffs.games[places] = mean[:, seat], games
            payoffs.variance[places] = variance[:, seat]
            payoffs.error[places] = totals["error"][:, seat]
            payoffs.won[places] = totals["wins"][:, seat] / totals["games"]
        return payoffs

    def best_reached(self) -> NDArray[np.float64]:
        """The largest points reached by any member against each member, ``[2, N]`` by the seat of the one that reached.

        The best game on each scenario, up to renaming of items, averaged over scenarios; ``nan`` if no game was played
        against the member as it is now. A lower bound of the points of a best response with perfect information.
        Cached and read-only.
        """
        if self._best_reached is None:
            self._best_reached = _read_only(self._best_reached_table())
        return self._best_reached

    def _best_reached_table(self) -> NDArray[np.float64]:
        most = np.full((2, len(self._row)), np.nan)
        for member in range(len(self._row)):
            for seat, legs in enumerate((self._row[:, member], self._row[member])):
                legs = legs[legs >= 0]
                best = self._most[legs, seat].max(axis=0, initial=0)
                often = np.repeat(self._games[legs].sum(axis=0, dtype=np.float64), 2) * (best > 0)
                if often.any():
                    most[seat, member] = (best - 1.0) @ often / often.sum() / STEPS
        return most

    def resampled_means(self, weights: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
        """The table of means ``[N, 2, N]`` for each row of ``weights[., GROUPS]``, weights of groups of scenarios."""
        first, second = np.nonzero(self._row >= 0)
        rows, size = self._row[first, second], len(self._row)
        for start in range(0, len(weights), REPLICATES_AT_ONCE):
            some = weights[start : start + REPLICATES_AT_ONCE].T.astype(np.float32)
            games = self._games[: len(self.totals)] @ some
            points = self._sums[: len(self.totals)] @ some  # [L, 2, some]
            with np.errstate(invalid="ignore"):
                means = (points / games[:, None])[rows].astype(np.float64)
            for number in range(some.shape[1]):
                table = np.full((size, 2, size), np.nan)
                table[first, 0, second], table[second, 1, first] = means[:, 0, number], means[:, 1, number]
                yield table

    def _rows_for(self, legs: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
        """The rows of ``legs``; new legs get new rows at the end."""
        first, second = np.array(legs, dtype=np.int64).T
        new = self._row[first, second] < 0
        before, after = len(self.totals), len(self.totals) + int(new.sum())
        self._row[first[new], second[new]] = np.arange(before, after)
        self.totals = np.concatenate([self.totals, np.zeros(after - before, dtype=TOTALS)])
        if after > len(self._games):
            room = max(after, len(self._games) * 3 // 2)
            for name in ("_sums", "_games", "_deals", "_most"):
                old = getattr(self, name)
                grown = np.zeros((room, *old.shape[1:]), dtype=old.dtype)  # pages that stay zero take no memory
                grown[:before] = old[:before]
                setattr(self, name, grown)
        rows: NDArray[np.int64] = self._row[first, second].astype(np.int64)
        return rows

    def _add(self, block: _SortedBlock, legs: Sequence[tuple[int, int]], facts: Sequence[NDArray[np.void]]) -> None:
        # `block.order` sorts the scenarios by group, so that each group is one slice and `reduceat` sums slices:
        #
        #   scenario (sorted)   7   2   9 | 4 | 1   5     points[leg, seat, K] in this order
        #   group               3   3   3 | 8 | 11  11    groups = [3, 8, 11], groups_start = [0, 3, 4]
        #
        # np.add.reduceat(points, groups_start) gives one sum per group, added to the columns `groups` of the leg's row.
        # The largest points go by side of a group in the same way, after one more sort (`by_side`).
        rows, scores = self._rows_for(legs), np.stack([games["scores"] for games in facts]).transpose(0, 2, 1)
        points = scores[:, :, block.order] * block.tenths.T  # [legs, 2, K]
        by_group = np.add.reduceat(points, block.groups_start, axis=2)
        self._sums[rows[:, None, None], np.arange(2)[:, None], block.groups] += by_group.astype(np.float32)
        self._games[rows[:, None], block.groups] += block.games_in_group.astype(np.float32)
        by_side = np.maximum.reduceat(points[:, :, block.by_side], block.sides_start, axis=2)
        places = rows[:, None, None], np.arange(2)[:, None], block.sides
        self._most[places] = np.maximum(self._most[places], (1 + by_side * STEPS + ROUNDING).astype(np.uint8))
        closed = np.stack([games["deal"] for games in facts])[:, block.order].astype(np.float32)
        self._deals[rows[:, None], block.groups] += np.add.reduceat(closed, block.groups_start, axis=1)
        new = np.zeros(len(rows), dtype=TOTALS)
        new["games"] = new["squared_weights"] = len(block.order)
        new["deals"] = [np.count_nonzero(games["deal"]) for games in facts]
        new["turns"] = [games["turns"].sum(dtype=np.int64) for games in facts]
        new["nash"], new["most"] = block.nash, block.most
        new["wins"] = ((np.sign(points - points[:, ::-1]) + 1) / 2).sum(axis=2)
        new["points"], new["squares"] = points.sum(axis=2), np.einsum("lsk,lsk->ls", points, points)
        for name in SUMS:
            self.totals[name][rows] += new[name]
        for start in range(0, len(rows), LEGS_AT_ONCE):
            some = rows[start : start + LEGS_AT_ONCE]
            self.totals["error"][some] = _squared_errors(self._sums[some], self._games[some])


class CrossPlay(Cells):
    """The cross-play table by the names of the members, with counts of their answers and failed matches."""

    def __init__(self, members: Sequence[str]) -> None:
        super().__init__(len(members))
        self.members = tuple(members)
        self.place = {name: place for place, name in enumerate(members)}
        self.answers: dict[str, Answers] = {}  # own decisions and fallbacks of each member, failed matches included
        self.failed = Counter[str]()  # failed matches by the member at fault
        self.total_games = 0

    def add_members(self, members: Iterable[str]) -> None:
        """Make room for members that join later."""
        self.members += tuple(members)
        self.place = {name: place for place, name in enumerate(self.members)}
        self.resize(len(self.members))

    def add_round(
        self,
        scenarios: Scenarios,
        legs: Sequence[SeatOrderResult],
        at_fault: Iterable[str],
        lost: Iterable[SeatOrderResult] = (),
    ) -> None:
        """Add every leg of one round, all played on ``scenarios``.

        ``at_fault`` names a member for each failed match; such a match enters no points. Of its legs, the ``lost``
        ones, only the counts of answers are added, as of games in which a member could not be reached.
        """
        complete = [leg for leg in legs if leg.valid_games is None]
        self.add(scenarios, [self._seats(leg) for leg in complete], [leg.facts for leg in complete])
        for leg in legs:
            if (counted := leg.valid_games) is not None and counted.any():
                rows = np.flatnonzero(counted)
                self.add(scenarios.rows(rows), [self._seats(leg)], [leg.facts[rows]])
        for leg in (*legs, *lost):
            for member, answers in zip(leg.seats, leg.answers, strict=True):
                self.answers[member] = self.answers.get(member, Answers()) + answers
        self.total_games += len(legs) * scenarios.size
        self.failed.update(at_fault)

    def _seats(self, leg: SeatOrderResult) -> tuple[int, int]:
        return self.place[leg.seats[0]], self.place[leg.seats[1]]

    def cell(self, row: str, column: str, confidence: float) -> Estimate:
        """Mean points of ``row`` against ``column`` over both seats."""
        return self.mean_points(*self.legs_of(self.place[row], [self.place[column]]), confidence)

    def figure(
        self, metric: Literal["points", "deals", "of_nash"], member: str, against: str | None, confidence: float
    ) -> Estimate:
        """One figure of a member against another or, ``None``, against all others, mean of both seats."""
        i = self.place[member]
        others = [self.place[against]] if against is not None else [j for j in range(len(self.members)) if j != i]
        rows, seats = self.legs_of(i, others)
        legs = self.totals[rows]
        if metric == "deals":
            return self.deal_rate(rows, confidence)
        points = self.mean_points(rows, seats, confidence)
        if metric == "points" or not len(legs):
            return points
        return share(points, float((legs["nash"][np.arange(len(legs)), seats] / legs["games"]).mean()))


def share(points: Estimate, whole: float) -> Estimate:
    """Points as a share of ``whole``, a number without error; ``nan`` if that is not positive."""
    whole = whole if whole > 0 else np.nan
    return Estimate(points.mean / whole, points.n, points.low / whole, points.high / whole)


def lead(cross: CrossPlay, first: str, second: str, confidence: float) -> Estimate:
    """Mean points of ``first`` over its opponents minus those of ``second`` over its own, both seats, points of ten.

    The interval is paired: both means come from the same scenarios. It is ``nan`` if one of them has played more
    opponents than the other.
    """
    members = cross.members
    sums_of_first, sums_of_second = (
        cross.sums_by_group(*cross.legs_of(place, [k for k in range(len(members)) if k != place]))
        for place in (members.index(first), members.index(second))
    )
    means = [float((sums.sum(axis=1) / games.sum(axis=1)).mean()) for sums, games in (sums_of_first, sums_of_second)]
    if len(sums_of_first[0]) != len(sums_of_second[0]):
        return Estimate(means[0] - means[1], 0, np.nan, np.nan)
    # The mean of all cells, the second's with a minus, is half the difference.
    sums = np.concatenate([sums_of_first[0], -sums_of_second[0]])
    games = np.concatenate([sums_of_first[1], sums_of_second[1]])
    half = mean_of_cells(sums, games, confidence)
    return Estimate(2 * half.mean, half.n, 2 * half.low, 2 * half.high)


class _SortedBlock(NamedTuple):
    """The scenarios of a block, sorted so that those of one group are adjacent."""

    order: NDArray[np.int64]  # [K]
    tenths: NDArray[np.float64]  # [K, 2] points of ten per point
    groups_start: NDArray[np.int64]
    groups: NDArray[np.int64]  # groups that occur
    games_in_group: NDArray[np.int64]
    by_side: NDArray[np.int64]  # [K] an order of `order` in which those of one side of a group are adjacent
    sides_start: NDArray[np.int64]
    sides: NDArray[np.int64]  # sides that occur
    nash: NDArray[np.float64]  # [2] points of ten at the Nash points, summed
    most: float  # points of ten, the largest joint scores, summed


def _sorted_block(scenarios: Scenarios) -> _SortedBlock:
    group = scenario_groups(scenarios)
    named = np.column_stack([scenarios.counts, scenarios.utilities.reshape(scenarios.size, -1)])
    order = np.lexsort((*named.T[::-1], group))
    groups, groups_start, games_in_group = np.unique(group[order], return_index=True, return_counts=True)
    side = (2 * group + swapped_in_orbit(scenarios))[order]
    by_side = np.argsort(side, kind="stable")
    sides, sides_start = np.unique(side[by_side], return_index=True)
    tenths, solved = TEN / np.maximum(scenarios.pool_values[order], 1), solve(scenarios)
    nash, most = solved.nash.point.sum(axis=0), float(solved.joint.sum())
    return _SortedBlock(order, tenths, groups_start, groups, games_in_group, by_side, sides_start, sides, nash, most)


def _sweeps(legs: Sequence[tuple[int, int]], size: int) -> Iterator[slice]:
    """Slices of ``legs`` without repeated legs, each of at most ``GAMES_AT_ONCE`` games or of one leg."""
    start, seen = 0, set[tuple[int, int]]()
    for place, leg in enumerate(legs):
        if leg in seen or (len(seen) + 1) * size > max(GAMES_AT_ONCE, size):
            yield slice(start, place)
            start, seen = place, set()
        seen.add(leg)
    if seen:
        yield slice(start, len(legs))


def _read_only(table: NDArray[np.float64]) -> NDArray[np.float64]:
    table.flags.writeable = False
    return table


def _moments(totals: NDArray[np.void]) -> tuple[NDArray[np.float64], ...]:
    """Mean ``[L, 2]``, effective games ``[L]`` and variance ``[L, 2]``."""
    weight = totals["games"][:, None]
    mean = totals["points"] / weight
    games = totals["games"] ** 2 / totals["squared_weights"]
    about = np.maximum(totals["squares"] / weight - mean**2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where(games > 1, about.T * games / (games - 1), np.nan).T
    return mean, games, variance


def _squared_errors(sums: NDArray[np.float32], games: NDArray[np.float32]) -> NDArray[np.float64]:
    """The variance of each mean between groups of scenarios, ``[L, 2]``; ``nan`` with fewer than two groups.

    A linearized ratio, as in :func:`dond_marl.statistics.mean_of_cells`. Shapes: ``sums[L, 2, GROUPS]``,
    ``games[L, GROUPS]``.
    """
    total = games.sum(axis=1)
    means = sums.sum(axis=2) / total[:, None]
    influence = (sums - means[:, :, None] * games[:, None, :]) / total[:, None, None]
    occupied = np.count_nonzero(games, axis=1).astype(np.float64)
    factor = np.divide(occupied, occupied - 1, out=np.full(len(occupied), np.nan), where=occupied > 1)
    errors: NDArray[np.float64] = factor[:, None] * np.einsum("lsg,lsg->ls", influence, influence)
    return errors
