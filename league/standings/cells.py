"""Running sums of who scored what against whom, for the pairs that have met and for no others.

The unit of storage is the leg, member ``a`` in seat_0 against member ``b`` in seat_1: it holds two payoff cells (``a``
in seat_0 against ``b``, ``b`` in seat_1 against ``a``) that share their scenarios. Sums by group of scenarios
(:func:`dond_marl.statistics.scenario_groups`) give intervals; they are single precision, 10 KiB a leg, means
are double. L = legs stored, N = members, K = scenarios of a block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.scenarios.sources import Scenarios
from dond_marl.scenarios.views import swapped_in_orbit
from dond_marl.statistics import GROUPS, TEN, Estimate, mean_of_cells, rate, scenario_groups
from dond_marl.yardsticks.solve import solve

GAMES_AT_ONCE = 2**18  # added in one sweep; bounds the memory that a round's points take
STEPS = 25  # of a point: in these the most that was reached is kept, rounded down
ROUNDING = 1e-6  # of a step
LEGS_AT_ONCE = 256  # whose groups are gone through in one sweep
REPLICATES_AT_ONCE = 32  # resampled tables in one product
TOTALS = np.dtype(
    [
        ("games", "<f8"),  # sum of weights; a weight is 1 until decay makes it less
        ("squared_weights", "<f8"),
        ("deals", "<f8"),
        ("turns", "<f8"),
        ("points", "<f8", (2,)),  # of ten, per seat
        ("nash", "<f8", (2,)),  # of ten, at the Nash point of each game's scenario
        ("most", "<f8"),  # of ten, the largest joint score that each game's scenario allows
        ("squares", "<f8", (2,)),
        ("wins", "<f8", (2,)),  # games in which the seat had more of its whole than the other; a draw is half of one
        ("error", "<f8", (2,)),  # variance of the mean between groups of scenarios; no sum, made anew by each addition
    ]
)
SUMS = tuple(name for name in TOTALS.names or () if name != "error")


class Payoffs(NamedTuple):
    """The figures of every cell, ``[N, 2, N]`` by member, its seat and its opponent; ``nan``: not known."""

    mean: NDArray[np.float64]  # points of ten
    games: NDArray[np.float64]  # effective: (sum of weights)**2 / sum of squared weights; 0 where never met
    variance: NDArray[np.float64]  # of one game's points
    error: NDArray[np.float64]  # variance of the mean, over groups of scenarios
    won: NDArray[np.float64]  # share of the games that the member won, 0..1; a draw is half a win


class Cells:
    """Running sums of every leg that was played."""

    def __init__(self, members: int) -> None:
        self.totals = np.zeros(0, dtype=TOTALS)  # [L]
        self._row = np.full((members, members), -1, dtype=np.int32)  # [seat_0, seat_1] -> 0..L - 1, -1: never met
        self._sums = np.zeros((0, 2, GROUPS), dtype=np.float32)  # points; may be longer than L
        self._games = np.zeros((0, GROUPS), dtype=np.float32)
        self._deals = np.zeros((0, GROUPS), dtype=np.float32)
        self._most = np.zeros((0, 2, 2 * GROUPS), dtype=np.uint8)  # by side of a group; 0: never met, see STEPS
        self._payoffs: Payoffs | None = None  # worked out since the last change
        self._reached: NDArray[np.float64] | None = None  # the same

    def _changed(self) -> None:
        self._payoffs = self._reached = None

    def admit(self, members: int) -> None:
        """Make room for ``members`` in all."""
        self._changed()
        self._row = np.pad(self._row, (0, members - len(self._row)), constant_values=-1)

    @property
    def occupied(self) -> int:
        """Groups of scenarios that hold games."""
        return int(np.count_nonzero(self._games[: len(self.totals)].any(axis=0)))

    def met(self, member: int, others: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the legs of ``member`` against ``others`` are stored that hold games, and its seat in each, 0 first."""
        rows = np.concatenate([self._row[member, others], self._row[others, member]]).astype(np.int64)
        seats = np.repeat((0, 1), len(others))
        rows, seats = rows[rows >= 0], seats[rows >= 0]
        kept = self.totals["games"][rows] > 0
        return rows[kept], seats[kept]

    def groups(
        self, rows: NDArray[np.int64], seats: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Points of each leg's seat, and games, by group of scenarios: two ``[rows, GROUPS]``."""
        return self._sums[rows, seats].astype(np.float64), self._games[rows].astype(np.float64)

    def points(self, rows: NDArray[np.int64], seats: NDArray[np.int64], confidence: float) -> Estimate:
        """The mean of one member's cells, each weighing the same: its points in ``seats`` of the legs in ``rows``."""
        return mean_of_cells(*self.groups(rows, seats), confidence)

    def deals(self, rows: NDArray[np.int64], confidence: float) -> Estimate:
        """The share of games with a deal, the mean of the legs in ``rows``, each weighing the same."""
        return rate(self._deals[rows].astype(np.float64), self._games[rows].astype(np.float64), confidence)

    def decay(self, members: Sequence[int], factor: float) -> None:
        """Weigh all games so far of ``members`` by ``factor``, 0..1, once also where two of them met.

        For members that have changed since: what a live learner scored is not what it scores. Games between members
        that do not change keep their weight for good.
        """
        self._changed()
        touched = np.concatenate([self._row[members].ravel(), self._row[:, members].ravel(), np.zeros(0, np.int32)])
        rows = np.unique(touched[touched >= 0])
        for name in SUMS:
            self.totals[name][rows] *= factor**2 if name == "squared_weights" else factor
        self._sums[rows] *= np.float32(factor)
        self._games[rows] *= np.float32(factor)
        self._deals[rows] *= np.float32(factor)
        for seat, legs in enumerate((self._row[:, members], self._row[members])):  # whom it was reached against
            self._most[legs[legs >= 0], seat] = 0

    def add(self, scenarios: Scenarios, legs: Sequence[tuple[int, int]], facts: Sequence[NDArray[np.void]]) -> None:
        """Add the games of ``legs``, members in seat_0 and seat_1; ``facts[leg][K]`` are those of all ``scenarios``."""
        if not legs:
            return
        self._changed()
        block = _block(scenarios)
        for sweep in _sweeps(legs, scenarios.size):
            self._add(block, legs[sweep], facts[sweep])

    def payoffs(self) -> Payoffs:
        """The figures of every cell, ``nan`` where nothing was played; worked out once between two changes."""
        if self._payoffs is None:
            self._payoffs = Payoffs(*map(_fixed, self._worked_out()))
        return self._payoffs

    def _worked_out(self) -> Payoffs:
        first, second = np.nonzero(self._row >= 0)
        rows = self._row[first, second]
        kept = self.totals["games"][rows] > 0
        first, second, rows = first[kept], second[kept], rows[kept]
        size = len(self._row)
        payoffs = Payoffs(*(np.full((size, 2, size), np.nan) for _ in Payoffs._fields))
        payoffs.games[:] = 0
        totals = self.totals[rows]
        mean, games, variance = _figures(totals)
        for seat, places in enumerate(((first, 0, second), (second, 1, first))):
            payoffs.mean[places], payoffs.games[places] = mean[:, seat], games
            payoffs.variance[places] = variance[:, seat]
            payoffs.error[places] = totals["error"][:, seat]
            payoffs.won[places] = totals["wins"][:, seat] / totals["games"]
        return payoffs

    def reached(self) -> NDArray[np.float64]:
        """The most that anybody has reached against each member, ``[2, N]`` by the seat it was reached in.

        The best game on each scenario, whatever its items are called, the mean over scenarios; ``nan``: nobody has met
        the member as it is. It is a lower bound of what a best response that knows everything gets. Worked out once
        between two changes.
        """
        if self._reached is None:
            self._reached = _fixed(self._most_reached())
        return self._reached

    def _most_reached(self) -> NDArray[np.float64]:
        most = np.full((2, len(self._row)), np.nan)
        for member in range(len(self._row)):
            for seat, legs in enumerate((self._row[:, member], self._row[member])):
                legs = legs[legs >= 0]
                best = self._most[legs, seat].max(axis=0, initial=0)
                often = np.repeat(self._games[legs].sum(axis=0, dtype=np.float64), 2) * (best > 0)
                if often.any():
                    most[seat, member] = (best - 1.0) @ often / often.sum() / STEPS
        return most

    def resampled(self, weights: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
        """The table of means ``[N, 2, N]`` with the groups of scenarios weighed by each of ``weights[., GROUPS]``."""
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

    def _place(self, legs: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
        """Where ``legs`` are stored; new ones at the end."""
        first, second = np.array(legs, dtype=np.int64).T
        new = self._row[first, second] < 0
        before, after = len(self.totals), len(self.totals) + int(new.sum())
        self._row[first[new], second[new]] = np.arange(before, after)
        self.totals = np.concatenate([self.totals, np.zeros(after - before, dtype=TOTALS)])
        if after > len(self._games):
            room = max(after, len(self._games) * 3 // 2)
            kept, most = (self._sums, self._games, self._deals), self._most
            self._sums = np.zeros((room, 2, GROUPS), dtype=np.float32)  # pages that stay zero take no memory
            self._games, self._deals = np.zeros((2, room, GROUPS), dtype=np.float32)
            self._most = np.zeros((room, 2, 2 * GROUPS), dtype=np.uint8)
            for new_sums, sums in zip((self._sums, self._games, self._deals), kept, strict=True):
                new_sums[:before] = sums[:before]
            self._most[:before] = most[:before]
        rows: NDArray[np.int64] = self._row[first, second].astype(np.int64)
        return rows

    def _add(self, block: _Block, legs: Sequence[tuple[int, int]], facts: Sequence[NDArray[np.void]]) -> None:
        rows, scores = self._place(legs), np.stack([games["scores"] for games in facts]).transpose(0, 2, 1)
        points = scores[:, :, block.order] * block.tenths.T  # [legs, 2, K], a scenario's games side by side
        sums_by_group = np.add.reduceat(points, block.groups_start, axis=2)
        self._sums[rows[:, None, None], np.arange(2)[:, None], block.groups] += sums_by_group.astype(np.float32)
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
            self.totals["error"][some] = _errors(self._sums[some], self._games[some])


class _Block(NamedTuple):
    """The scenarios of a block, ordered so that those of one group are side by side."""

    order: NDArray[np.int64]  # [K]
    tenths: NDArray[np.float64]  # [K, 2] points of ten that a point is worth
    groups_start: NDArray[np.int64]
    groups: NDArray[np.int64]  # that occur
    games_in_group: NDArray[np.int64]
    by_side: NDArray[np.int64]  # [K] an order of these in which those of one side of a group are side by side
    sides_start: NDArray[np.int64]
    sides: NDArray[np.int64]  # that occur
    nash: NDArray[np.float64]  # [2] points of ten at the Nash points, summed
    most: float  # points of ten, the largest joint scores, summed


def _block(scenarios: Scenarios) -> _Block:
    group = scenario_groups(scenarios)
    named = np.column_stack([scenarios.counts, scenarios.utilities.reshape(scenarios.size, -1)])
    order = np.lexsort((*named.T[::-1], group))
    groups, groups_start, games_in_group = np.unique(group[order], return_index=True, return_counts=True)
    side = (2 * group + swapped_in_orbit(scenarios))[order]
    by_side = np.argsort(side, kind="stable")
    sides, sides_start = np.unique(side[by_side], return_index=True)
    tenths, solved = TEN / np.maximum(scenarios.pool_values[order], 1), solve(scenarios)
    nash, most = solved.nash.point.sum(axis=0), float(solved.joint.sum())
    return _Block(order, tenths, groups_start, groups, games_in_group, by_side, sides_start, sides, nash, most)


def _sweeps(legs: Sequence[tuple[int, int]], size: int) -> Iterator[slice]:
    """Slices of ``legs`` in which no leg stands twice, each of at most ``GAMES_AT_ONCE`` games or of one leg."""
    start, seen = 0, set[tuple[int, int]]()
    for place, leg in enumerate(legs):
        if leg in seen or (len(seen) + 1) * size > max(GAMES_AT_ONCE, size):
            yield slice(start, place)
            start, seen = place, set()
        seen.add(leg)
    if seen:
        yield slice(start, len(legs))


def _fixed(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same table, which nobody can write into: it is shared."""
    table.flags.writeable = False
    return table


def _figures(totals: NDArray[np.void]) -> tuple[NDArray[np.float64], ...]:
    """Mean ``[L, 2]``, effective games ``[L]`` and variance ``[L, 2]``."""
    weight = totals["games"][:, None]
    mean = totals["points"] / weight
    games = totals["games"] ** 2 / totals["squared_weights"]
    about = np.maximum(totals["squares"] / weight - mean**2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where(games > 1, about.T * games / (games - 1), np.nan).T
    return mean, games, variance


def _errors(sums: NDArray[np.float32], games: NDArray[np.float32]) -> NDArray[np.float64]:
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
