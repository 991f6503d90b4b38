"""Solution concepts of bargaining theory by enumeration: the Pareto set and the chosen splits of a scenario.

Both seats' values are known here (full information) and no deal pays 0/0. Everything is in points of ten
(:func:`dond_marl.statistics.points_of_ten`), so that pools worth 10 and pools worth 120 compare. A pool has few
splits, so each is scored and compared, with whole numbers only: a tie is a tie, and a concept is the *set* of splits
that satisfy it. Where one number has to be printed it is the mean over that set, each split weighing the same: a fair
draw among them, which needs no order of items and names no seat.

============  =========================================================================================================
Pareto        no other split gives one seat more and neither less
Nash          largest product of both scores (Nash 1950, *The Bargaining Problem*), among the Pareto splits: that only
              matters where no split gives both seats something
egalitarian   largest smaller share, then largest larger one (Kalai 1977, *Proportional Solutions to Bargaining
              Situations*, made Pareto-optimal by the lexicographic maximin of Imai 1983, *Individual Monotonicity and
              Lexicographic Maxmin Solution*); in points of ten also the Kalai-Smorodinsky
              solution (1975, *Other Solutions to Nash's Bargaining Problem*): the ideal point is ten for either seat
utilitarian   largest sum of both shares
ultimatum     the opener's best among the splits that leave the responder at least one point, ties in its favour: what
              a last offer gets from a responder that prefers any point to none
============  =========================================================================================================

N scenarios, K = ``(max_count + 1)**3`` rows of :func:`dond_marl.splits.grid`, each read as what ``seat_0`` gets.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import MAX_COUNT
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Bools, Doubles
from dond_marl.splits import grid, grid_size
from dond_marl.statistics import TEN

Integers = NDArray[np.int64]

BLOCK_CELLS = 1 << 16  # scenarios times splits worked on at a time: temporaries of some 8 MiB stay near the processor
CACHED_CELLS = 1 << 20  # tables up to this size are remembered; the Lewis space has 661,875 cells
CACHED_TABLES = 4  # some 8 bytes a cell: at most 32 MiB in all


class Concept(NamedTuple):
    """The splits that a concept selects in each of N scenarios, and what they pay on average over that set.

    A set is empty, and pays 0, only where an ultimatum has nothing to offer to its responder.
    """

    splits: Bools  # [N, K] rows of the grid
    point: Doubles  # [N, 2] points of ten
    smaller: Doubles  # [N] the smaller share, points of ten
    product: Doubles  # [N] of both shares, 0..100


class Measures(NamedTuple):
    """Joint, smaller and product of pairs of shares, as whole numbers that compare exactly within one scenario.

    With ``w`` the seats' whole values (1 in place of 0), joint and smaller are in units of TEN / (w0 w1) points of ten,
    the product in units of TEN**2 / (w0 w1).
    """

    joint: Integers
    smaller: Integers
    product: Integers


class Solutions(NamedTuple):
    """N solved scenarios. Arrays are read-only: they are shared with every caller that asks for the same table."""

    scenarios: Scenarios
    max_count: int
    best: Measures  # [N] each the largest over all splits
    pareto: Concept
    nash: Concept
    egalitarian: Concept
    utilitarian: Concept
    ultimatum: tuple[Concept, Concept]  # by the seat that makes the offer

    @property
    def size(self) -> int:
        return self.scenarios.size

    @property
    def joint(self) -> Doubles:
        """W*, the largest joint score, ``[N]`` points of ten."""
        return self.best.joint * (TEN / _unit(self.scenarios))

    @property
    def smaller(self) -> Doubles:
        """The largest smaller share, ``[N]`` points of ten."""
        return self.best.smaller * (TEN / _unit(self.scenarios))

    @property
    def product(self) -> Doubles:
        """P*, the largest product of both shares, ``[N]`` in 0..100."""
        return self.best.product * (TEN**2 / _unit(self.scenarios))


def solve(scenarios: Scenarios, max_count: int | None = None) -> Solutions:
    """Every concept in every scenario, on ``grid(max_count)``, by default the smallest that holds all pools.

    Small tables are remembered by their content. A result takes some 8 bytes per scenario and split: solve a large
    table of large pools in parts. Raises :class:`ValueError` for a pool beyond ``max_count``.
    """
    largest = int(scenarios.counts.max(initial=1))
    if max_count is None:
        max_count = largest
    if not largest <= max_count <= MAX_COUNT:
        raise ValueError(f"max_count must be in {largest}..{MAX_COUNT} for pools with {largest} items; got {max_count}")
    table = scenarios.counts.astype(np.int8).tobytes(), scenarios.utilities.astype(np.int8).tobytes()
    small = scenarios.size * grid_size(max_count) <= CACHED_CELLS
    return (_solve_known if small else _solve_table)(*table, max_count)


def split_scores(scenarios: Scenarios, max_count: int) -> tuple[Integers, Bools]:
    """Points of every split (not of ten), ``[2, N, K]``, and a mask of the grid's rows that are splits, ``[N, K]``.

    Rows that ask for more than there is pay nothing.
    """
    rows = grid(max_count)
    splits: Bools = np.all(rows <= scenarios.counts[:, None], axis=2)
    values, wholes = scenarios.utilities.astype(np.float64), scenarios.pool_values.astype(np.int64)
    first = (values[:, 0] @ rows.T).astype(np.int64)  # small whole numbers: exact, and floats multiply faster
    second = wholes[:, 1:] - (values[:, 1] @ rows.T).astype(np.int64)
    return np.stack([first, second]) * splits, splits


def measures(scores: Integers, wholes: Integers) -> Measures:
    """The measures of pairs of scores ``[2, ...]`` in points, given both seats' whole values, ``[2, ...]`` too."""
    first, second = scores
    whole_0, whole_1 = np.maximum(wholes, 1)
    scaled = first * whole_1, second * whole_0
    return Measures(scaled[0] + scaled[1], np.minimum(*scaled), first * second)


def _solve_table(counts: bytes, utilities: bytes, max_count: int) -> Solutions:
    scenarios = Scenarios(  # arrays from bytes are read-only and not shared
        np.frombuffer(counts, dtype=np.int8).reshape(-1, 3), np.frombuffer(utilities, dtype=np.int8).reshape(-1, 2, 3)
    )
    rows = BLOCK_CELLS // grid_size(max_count)
    starts = range(0, max(scenarios.size, 1), rows)
    blocks = [_solve_block(scenarios.rows(slice(start, start + rows)), max_count) for start in starts]
    bests, concepts = zip(*blocks, strict=True)
    pareto, nash, egalitarian, utilitarian, *ultimatum = (
        Concept(*map(_concatenate, zip(*parts, strict=True))) for parts in zip(*concepts, strict=True)
    )
    best = Measures(*map(_concatenate, zip(*bests, strict=True)))
    return Solutions(scenarios, max_count, best, pareto, nash, egalitarian, utilitarian, (ultimatum[0], ultimatum[1]))


_solve_known = lru_cache(maxsize=CACHED_TABLES)(_solve_table)


def _solve_block(scenarios: Scenarios, max_count: int) -> tuple[Measures, tuple[Concept, ...]]:
    scores, splits = split_scores(scenarios, max_count)
    wholes = scenarios.pool_values.T[:, :, None].astype(np.int64)
    measured = measures(scores, wholes)
    pareto = _pareto(scores, splits)
    fair = _largest(measured.smaller, splits)
    chosen = (
        pareto,
        _largest(measured.product, pareto),
        _largest(measured.joint, fair),  # the smaller share being equal, a larger sum is a larger larger share
        _largest(measured.joint, splits),
        *(_ultimatum(scores, splits, opener) for opener in (0, 1)),
    )
    points = scores * (TEN / np.maximum(wholes, 1))
    smaller, product = points.min(axis=0), points[0] * points[1]

    def concept(members: Bools) -> Concept:
        number = np.maximum(members.sum(axis=1), 1)

        def mean(values: Doubles) -> Doubles:
            means: Doubles = np.einsum("nk,nk->n", values, members) / number
            return means

        point = np.stack([mean(points[0]), mean(points[1])], axis=1)
        return Concept(members, point, mean(smaller), mean(product))

    best = Measures(*(values.max(axis=1) for values in measured))  # the rows that are no splits pay 0
    return best, tuple(map(concept, chosen))


def _largest(values: Integers, among: Bools) -> Bools:
    """Mask of the row maxima of ``values``, which are not negative, within the mask ``among``."""
    candidates = np.where(among, values, -1)
    largest: Bools = candidates == candidates.max(axis=1, keepdims=True)
    return largest & among


def _pareto(scores: Integers, splits: Bools) -> Bools:
    """The splits that no split dominates, ``[N, K]``."""
    first, second = scores
    size, width = len(first), int(first.max(initial=0)) + 2
    cell = first + np.arange(size)[:, None] * width
    # reach[n, v]: the most that seat_1 can get while seat_0 gets v or more; -1 where seat_0 cannot get that much.
    reach = np.full(size * width, -1, dtype=np.int64)
    np.maximum.at(reach, cell[splits], second[splits])
    reach = np.maximum.accumulate(reach.reshape(size, width)[:, ::-1], axis=1)[:, ::-1].reshape(-1)
    undominated: Bools = (second == reach[cell]) & (second > reach[cell + 1])
    return splits & undominated


def _ultimatum(scores: Integers, splits: Bools, opener: int) -> Bools:
    """Mask of the splits that an opener claims if the other seat can only take or leave them, ``[N, K]``."""
    opener_points, responder_points = scores[opener], scores[1 - opener]
    return _largest(responder_points, _largest(opener_points, splits & (responder_points > 0)))


def _unit(scenarios: Scenarios) -> Doubles:
    """Common denominator of the measures: the product of both pool values, ``[N]``."""
    product: Doubles = np.maximum(scenarios.pool_values, 1).prod(axis=1, dtype=np.float64)
    return product


def _concatenate(parts: tuple[NDArray[Any], ...]) -> NDArray[Any]:
    joined = np.concatenate(parts)
    joined.flags.writeable = False
    return joined
