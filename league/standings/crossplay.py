"""Cross-play table: the tally of a league, of each member's points against each other, for the pairs that have played.

Points are points of ten: a score as tenths of what the whole pool is worth to the seat. L = pairs stored, N = members,
K = scenarios of a block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dond_marl.scenarios.sources import Scenarios, swapped_in_orbit
from dond_marl.solvers.solve import solve
from dond_marl.statistics import GROUPS, TEN, Estimate, scenario_groups
from league.figures.rows import write_csv
from league.figures.tally import Tally
from league.play.values import Answers, SeatOrderResult, answers_by_member
from league.standings.ratings import Payoffs, Shrunk, shrink

# How the sums are stored. The unit is the ordered *pair*: member a in seat_0 against member b in seat_1. It holds two
# cells of the payoff table, a's as seat_0 against b and b's as seat_1 against a, which share games and scenarios.
#
#   _row[N, N]                      rows, one per pair that was played, in the order of their first game
#
#          b: 0   1   2                   totals[L]   _points[L, 2, GROUPS]   _games[L, GROUPS]
#   a: 0   [  -1   0   2 ]          0  |  0 vs 1   |  points of 0 | of 1   |  games by group
#      1   [   1  -1  -1 ]   --->   1  |  1 vs 0   |  points of 1 | of 0   |
#      2   [  -1  -1  -1 ]          2  |  0 vs 2   |  points of 0 | of 2   |
#                 (-1: never played)
#
# The pairs of member 0 are the rows in its line of _row (it is seat_0: rows 0, 2) and in its column (seat_1: row 1).
# A *group* is a class of scenarios that are renamings or swaps of each other (dond_marl.statistics.scenario_groups).
# Sums by group are single precision, 10 KiB a pair; `totals` are double.
# _most[L, 2, 2 * GROUPS] holds the largest points of each seat on each side of a group (a scenario and the same with
# the seats' values exchanged are two sides), in steps of 1 / STEPS points plus one, so that 0 means "never played".
GAMES_AT_ONCE = 2**18  # games added in one sweep; bounds the memory for the points of a round
STEPS = 25  # steps per point in which the largest points are stored, rounded down
ROUNDING = 1e-6  # of a step
PAIRS_AT_ONCE = 256  # pairs per sweep over their groups
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
Pair = tuple[int, int]  # members in seat_0 and seat_1
Metric = Literal["points", "deals"]
Value = TypeVar("Value")


def _cached(method: Callable[[CrossPlay], Value]) -> Callable[[CrossPlay], Value]:
    """Cache the value of a method of :class:`CrossPlay` until the table changes."""

    @wraps(method)
    def cached(self: CrossPlay) -> Value:
        if method.__name__ not in self._cache:
            self._cache[method.__name__] = method(self)
        value: Value = self._cache[method.__name__]
        return value

    return cached


class CrossPlay:
    """The tally of all pairs that were played, with counts of the members' answers and failed matches."""

    def __init__(self, members: Iterable[str]) -> None:
        self.members: tuple[str, ...] = ()
        self.oracles = frozenset[str]()  # best responses, which play one member: no part of "all others"
        self.place: dict[str, int] = {}
        self.answers: dict[str, Answers] = {}  # own decisions and fallbacks of each member, failed matches included
        self.failed = Counter[str]()  # failed matches by the member at fault
        self.total_games = 0
        self.totals = np.zeros(0, dtype=TOTALS)  # [L]
        self._row = np.zeros((0, 0), dtype=np.int32)  # [seat_0, seat_1] -> 0..L - 1, -1: never played
        self._points = np.zeros((0, 2, GROUPS), dtype=np.float32)  # may be longer than L, as the next three
        self._games = np.zeros((0, GROUPS), dtype=np.float32)
        self._deals = np.zeros((0, GROUPS), dtype=np.float32)
        self._most = np.zeros((0, 2, 2 * GROUPS), dtype=np.uint8)  # by side of a group; 0: never played, see STEPS
        self._cache: dict[str, Any] = {}  # until the next change
        self.add_members(members)

    @property
    def ranked(self) -> tuple[str, ...]:
        """The members but the oracles: the rows of the ladder and of the cross-play table."""
        return tuple(name for name in self.members if name not in self.oracles)

    def add_members(self, members: Iterable[str], oracles: Iterable[str] = ()) -> None:
        """Make room for members that join later, the ``oracles`` among them."""
        self._cache.clear()
        self.members += tuple(members)
        self.oracles |= frozenset(oracles)
        self.place = {name: i for i, name in enumerate(self.members)}
        self._row = np.pad(self._row, (0, len(self.members) - len(self._row)), constant_values=-1)

    def add_round(
        self,
        scenarios: Scenarios,
        legs: Sequence[SeatOrderResult],
        at_fault: Iterable[str],
        lost: Iterable[SeatOrderResult] = (),
    ) -> None:
        """Add the games of one round, all played on ``scenarios``, but those in which a seat was not reached.

        ``at_fault`` names a member for each failed match; such a match enters no points. Of its seat orders, the
        ``lost`` ones, only the counts of answers are added.
        """
        complete = [leg for leg in legs if leg.valid_games is None]
        self.add(scenarios, [self._pair(leg) for leg in complete], [leg.facts for leg in complete])
        for leg in legs:
            if (counted := leg.valid_games) is not None and counted.any():
                rows = np.flatnonzero(counted)
                self.add(scenarios.rows(rows), [self._pair(leg)], [leg.facts[rows]])
        for member, answers in answers_by_member([*legs, *lost]).items():
            self.answers[member] = self.answers.get(member, Answers()) + answers
        self.total_games += len(legs) * scenarios.size
        self.failed.update(at_fault)

    def _pair(self, leg: SeatOrderResult) -> Pair:
        return self.place[leg.seats[0]], self.place[leg.seats[1]]

    @property
    def occupied_groups(self) -> int:
        """Number of groups of scenarios with games."""
        return int(np.count_nonzero(self._games[: len(self.totals)].any(axis=0)))

    def cells_of(
        self, member: str, opponents: Iterable[str] | None = None, seat: int | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The cells of ``member`` with games: rows of its pairs and its seat in each, those as seat_0 first.

        Against ``opponents``, by default all others but oracles; in both seats, or in ``seat``.
        """
        i = self.place[member]
        if opponents is None:
            columns = [self.place[name] for name in self.ranked if name != member]
        else:
            columns = [self.place[name] for name in opponents]
        rows = np.concatenate([self._row[i, columns], self._row[columns, i]]).astype(np.int64)
        seats = np.repeat((0, 1), len(columns))
        stored = rows >= 0 if seat is None else (rows >= 0) & (seats == seat)
        rows, seats = rows[stored], seats[stored]
        played = self.totals["games"][rows] > 0
        return rows[played], seats[played]

    def tally(
        self, metric: Metric, member: str, opponents: Iterable[str] | None = None, seat: int | None = None
    ) -> Tally:
        """Points or deals of a member's cells, ``[cells, GROUPS]``; see :meth:`cells_of`."""
        rows, seats = self.cells_of(member, opponents, seat)
        return Tally(self._points[rows, seats] if metric == "points" else self._deals[rows], self._games[rows])

    def cell(self, row: str, column: str, confidence: float) -> Estimate:
        """Mean points of ``row`` against ``column`` over both seats."""
        return self.tally("points", row, [column]).mean(confidence)

    def decay(self, members: Iterable[str], factor: float) -> None:
        """Multiply the weight of all games so far of ``members`` by ``factor``, 0..1; once for games between two.

        For members that have changed since: the points of a live learner are out of date. Games between members that do
        not change are never reweighted.
        """
        self._cache.clear()
        changed = [self.place[name] for name in members]
        touched = np.concatenate([self._row[changed].ravel(), self._row[:, changed].ravel()])
        rows = np.unique(touched[touched >= 0])
        for name in SUMS:
            self.totals[name][rows] *= factor**2 if name == "squared_weights" else factor
        for sums in (self._points, self._games, self._deals):
            sums[rows] *= np.float32(factor)
        for seat, pairs in enumerate((self._row[:, changed], self._row[changed])):  # reached against a changed member
            self._most[pairs[pairs >= 0], seat] = 0

    def add(self, scenarios: Scenarios, pairs: Sequence[Pair], facts: Sequence[NDArray[np.void]]) -> None:
        """Add the games of ``pairs``; ``facts[pair][K]`` are those of all ``scenarios``."""
        if not pairs:
            return
        self._cache.clear()
        block = _sorted_block(scenarios)
        for sweep in _sweeps(pairs, scenarios.size):
            self._add(block, pairs[sweep], facts[sweep])

    @_cached
    def payoffs(self) -> Payoffs:
        """The figures of every cell, ``nan`` where nothing was played; read-only."""
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
        return Payoffs(*map(_read_only, payoffs))

    @_cached
    def shrunk(self) -> Shrunk:
        """The expected points of every cell (:func:`league.standings.ratings.shrink`)."""
        return shrink(self.payoffs())

    @_cached
    def best_reached(self) -> NDArray[np.float64]:
        """The largest points reached by any member against each member, ``[2, N]`` by the seat of the one that reached.

        The best game on each scenario, up to renaming of items, averaged over scenarios; ``nan`` if no game was played
        against the member as it is now. A lower bound of the points of a best response with perfect information.
        Read-only.
        """
        most = np.full((2, len(self._row)), np.nan)
        for member in range(len(self._row)):
            for seat, pairs in enumerate((self._row[:, member], self._row[member])):
                pairs = pairs[pairs >= 0]
                best = self._most[pairs, seat].max(axis=0, initial=0)
                often = np.repeat(self._games[pairs].sum(axis=0, dtype=np.float64), 2) * (best > 0)
                if often.any():
                    most[seat, member] = (best - 1.0) @ often / often.sum() / STEPS
        return _read_only(most)

    def resampled_means(self, weights: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
        """The table of means ``[N, 2, N]`` for each row of ``weights[., GROUPS]``, weights of groups of scenarios."""
        first, second = np.nonzero(self._row >= 0)
        rows, size = self._row[first, second], len(self._row)
        for start in range(0, len(weights), REPLICATES_AT_ONCE):
            sweep = weights[start : start + REPLICATES_AT_ONCE].T.astype(np.float32)
            games = self._games[: len(self.totals)] @ sweep
            points = self._points[: len(self.totals)] @ sweep  # [L, 2, replicates]
            with np.errstate(invalid="ignore"):
                means = (points / games[:, None])[rows].astype(np.float64)
            for replicate in range(sweep.shape[1]):
                table = np.full((size, 2, size), np.nan)
                table[first, 0, second], table[second, 1, first] = means[:, 0, replicate], means[:, 1, replicate]
                yield table

    def _rows_for(self, pairs: Sequence[Pair]) -> NDArray[np.int64]:
        """The rows of ``pairs``; new pairs get new rows at the end."""
        first, second = np.array(pairs, dtype=np.int64).T
        unplayed = self._row[first, second] < 0
        before, after = len(self.totals), len(self.totals) + int(unplayed.sum())
        self._row[first[unplayed], second[unplayed]] = np.arange(before, after)
        self.totals = np.concatenate([self.totals, np.zeros(after - before, dtype=TOTALS)])
        if after > len(self._games):
            room = max(after, len(self._games) * 3 // 2)
            for name in ("_points", "_games", "_deals", "_most"):
                stored = getattr(self, name)
                grown = np.zeros((room, *stored.shape[1:]), dtype=stored.dtype)  # pages that stay zero take no memory
                grown[:before] = stored[:before]
                setattr(self, name, grown)
        rows: NDArray[np.int64] = self._row[first, second].astype(np.int64)
        return rows

    def _add(self, block: _SortedBlock, pairs: Sequence[Pair], facts: Sequence[NDArray[np.void]]) -> None:
        # `block.order` sorts the scenarios by group, so that each group is one slice and `reduceat` sums slices:
        #
        #   scenario (sorted)   7   2   9 | 4 | 1   5     points[pair, seat, K] in this order
        #   group               3   3   3 | 8 | 11  11    groups = [3, 8, 11], groups_start = [0, 3, 4]
        #
        # np.add.reduceat(points, groups_start) gives one sum per group, added to the columns `groups` of the row.
        # The largest points go by side of a group in the same way, after one more sort (`by_side`).
        rows, scores = self._rows_for(pairs), np.stack([games["scores"] for games in facts]).transpose(0, 2, 1)
        points = scores[:, :, block.order] * block.tenths.T  # [pairs, 2, K]
        by_group = np.add.reduceat(points, block.groups_start, axis=2)
        self._points[rows[:, None, None], np.arange(2)[:, None], block.groups] += by_group.astype(np.float32)
        self._games[rows[:, None], block.groups] += block.games_in_group.astype(np.float32)
        by_side = np.maximum.reduceat(points[:, :, block.by_side], block.sides_start, axis=2)
        places = rows[:, None, None], np.arange(2)[:, None], block.sides
        self._most[places] = np.maximum(self._most[places], (1 + by_side * STEPS + ROUNDING).astype(np.uint8))
        closed = np.stack([games["deal"] for games in facts])[:, block.order].astype(np.float32)
        self._deals[rows[:, None], block.groups] += np.add.reduceat(closed, block.groups_start, axis=1)
        added = np.zeros(len(rows), dtype=TOTALS)
        added["games"] = added["squared_weights"] = len(block.order)
        added["deals"] = [np.count_nonzero(games["deal"]) for games in facts]
        added["turns"] = [games["turns"].sum(dtype=np.int64) for games in facts]
        added["nash"], added["most"] = block.nash, block.most
        added["wins"] = ((np.sign(points - points[:, ::-1]) + 1) / 2).sum(axis=2)
        added["points"], added["squares"] = points.sum(axis=2), np.einsum("lsk,lsk->ls", points, points)
        for name in SUMS:
            self.totals[name][rows] += added[name]
        for start in range(0, len(rows), PAIRS_AT_ONCE):
            sweep = rows[start : start + PAIRS_AT_ONCE]
            self.totals["error"][sweep] = _squared_errors(self._points[sweep], self._games[sweep])


def share(points: Estimate, most: float) -> Estimate:
    """Points as a share of ``most``, a number without error; ``nan`` if that is not positive."""
    most = most if most > 0 else np.nan
    return Estimate(points.mean / most, points.n, points.low / most, points.high / most)


def lead(cross: CrossPlay, first: str, second: str, confidence: float) -> Estimate:
    """Mean points of ``first`` over its opponents minus those of ``second`` over its own, both seats, points of ten.

    The interval is paired: both means come from the same scenarios. It is ``nan`` if one of them has played more
    opponents than the other.
    """
    ahead, behind = cross.tally("points", first), cross.tally("points", second)
    difference = float(ahead.means().mean() - behind.means().mean())
    if len(ahead.games) != len(behind.games):
        return Estimate(difference, 0, np.nan, np.nan)
    # The mean of all cells, the second's with a minus, is half the difference.
    sums, games = np.concatenate([ahead.sums, -behind.sums]), np.concatenate([ahead.games, behind.games])
    half = Tally(sums, games).mean(confidence)
    return Estimate(2 * half.mean, half.n, 2 * half.low, 2 * half.high)


def write_crossplay(path: Path, cross: CrossPlay, confidence: float) -> None:
    """Write every cell: points of ``member`` against ``against``, mean of both seats."""
    pairs = ((row, column) for row in cross.ranked for column in cross.ranked)
    cells = ((*pair, cross.cell(*pair, confidence)) for pair in pairs)
    rows = ((row, column, cell.n, cell.mean, cell.low, cell.high) for row, column, cell in cells)
    write_csv(path, ("member", "against", "games", "points", "points_low", "points_high"), rows)


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


def _sweeps(pairs: Sequence[Pair], size: int) -> Iterator[slice]:
    """Slices of ``pairs`` without repeated pairs, each of at most ``GAMES_AT_ONCE`` games or of one pair."""
    start, in_sweep = 0, set[Pair]()
    for i, pair in enumerate(pairs):
        if pair in in_sweep or (len(in_sweep) + 1) * size > max(GAMES_AT_ONCE, size):
            yield slice(start, i)
            start, in_sweep = i, set()
        in_sweep.add(pair)
    if in_sweep:
        yield slice(start, len(pairs))


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
