"""Linear programs over distributions over pairs of members, which look at few pairs at a time.

Of the A * B pairs a best distribution needs no more than A + B + 1. So a program begins with some pairs, and those that
would make its solution better join it until none would (column generation: Dantzig & Wolfe 1960, *Decomposition
Principle for Linear Programs*). What a deviation gains is never written out for all pairs: 200 members have 40,000.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.statistics import TEN

Table = NDArray[np.float64]
Pairs = NDArray[np.int64]  # ascending numbers a * B + b
OPTIMAL = 1e-9  # a pair that makes a solution better by less per unit of chance is not worth another program
EXACT = 1e-10  # the least tolerance that HiGHS takes
# Method, whether to presolve (on programs as dense as these it costs more than it saves), and how much bounds give way,
# in tenths; the next is tried where one has not solved a program.
ATTEMPTS = (
    ("highs-ds", False, 0.0),
    ("highs-ds", True, 0.0),
    ("highs-ipm", True, 0.0),
    ("highs-ds", True, EXACT),
    ("highs-ipm", True, 1e-9),
    ("highs-ds", True, 1e-8),
    ("highs-ds", True, 1e-7),
    ("highs-ipm", True, 1e-7),
)


class Deviations:
    """What each deviation gains on each pair, tenths of the whole: rows are members to name instead, seat_0's first."""

    def __init__(self, first: Table, second: Table) -> None:
        self.first, self.second = first / TEN, second / TEN
        self.seats = first.shape  # A members in seat_0, B in seat_1
        self.rows = sum(first.shape)
        self.pairs: Pairs = np.arange(first.size)

    def of(self, pairs: Pairs) -> Table:
        """The gains on some pairs, ``[A + B, pairs]``."""
        a, b = np.divmod(pairs, self.seats[1])
        return np.vstack([self.first[:, b] - self.first[a, b], self.second[a].T - self.second[a, b]])

    def priced(self, prices: Table) -> Table:
        """``prices[A + B] @ of(all pairs)``, ``[A * B]``, without writing that matrix out."""
        rows, columns = np.split(prices, [self.seats[0]])
        each = (rows @ self.first)[None] + (self.second @ columns)[:, None]
        total: Table = (each - rows.sum() * self.first - columns.sum() * self.second).ravel()
        return total

    def gained(self, chances: Table) -> Table:
        """What each deviation gains under ``chances[A * B]``, ``[A + B]``."""
        joint = chances.reshape(self.seats)
        own = float((joint * self.first).sum()), float((joint * self.second).sum())
        return np.concatenate([self.first @ joint.sum(axis=0) - own[0], joint.sum(axis=1) @ self.second - own[1]])

    def likely(self) -> Pairs:
        """Pairs to begin with: each member with whom it does best, and with whom both together do."""
        best: list[Pairs] = []
        for table in (self.first, self.second, self.first + self.second):
            a, b = np.arange(self.seats[0]), np.arange(self.seats[1])
            best += [a * self.seats[1] + table.argmax(axis=1), table.argmax(axis=0) * self.seats[1] + b]
        return np.unique(np.concatenate(best))


class Swaps:
    """What each deviation by recommendation gains: rows are pairs of a member that was named and one to play instead.

    Who is told what was drawn for its seat may play something else; :class:`Deviations` are fixed before that.
    """

    def __init__(self, first: Table, second: Table) -> None:
        self.first, self.second = first / TEN, second / TEN
        self.seats = first.shape  # A members in seat_0, B in seat_1
        self.rows = sum(size**2 for size in first.shape)  # seat_0's first

    def priced(self, prices: Table) -> Table:
        """What every pair of members costs at ``prices[A * A + B * B]`` of the gains, ``[A * B]``."""
        (a, b), parts = self.seats, np.split(prices, [self.seats[0] ** 2])
        rows, columns = parts[0].reshape(a, a), parts[1].reshape(b, b)
        left = rows.sum(axis=1)[:, None] * self.first + self.second * columns.sum(axis=1)
        total: Table = (rows @ self.first + self.second @ columns.T - left).ravel()
        return total

    def gained(self, chances: Table) -> Table:
        """What each deviation gains under ``chances[A * B]``, ``[A * A + B * B]``, with the chance of being named."""
        joint = chances.reshape(self.seats)
        rows = joint @ self.first.T - (joint * self.first).sum(axis=1, keepdims=True)
        columns = joint.T @ self.second - (joint * self.second).sum(axis=0)[:, None]
        return np.concatenate([rows.ravel(), columns.ravel()])


class Solved(NamedTuple):
    """A program's solution, proven over all the pairs that it was allowed."""

    pairs: Pairs  # that were looked at
    chances: Table  # of each of them
    gains: Table  # [A + B] of each deviation
    prices: Table  # [A + B] what a unit more of each bound is worth; 0 or more
    reduced: Table  # [A * B] what a unit of each pair's chance costs; at least 0 within ``OPTIMAL`` where allowed


def least(deviations: Deviations, costs: Table, bound: Table, start: Pairs) -> Solved:
    """The least ``costs[A * B] @ chances`` in which no deviation gains more than ``bound[A + B]``.

    ``start`` must hold a distribution that keeps to the bounds: see :func:`least_gain`.
    """
    return _generate(deviations, costs, bound, None, deviations.pairs, start)


def least_gain(
    deviations: Deviations, open_: NDArray[np.bool_], bound: Table, allowed: Pairs, start: Pairs, enough: float
) -> Solved:
    """The least that the greatest gain of the ``open_`` deviations can be, where the others keep to ``bound``.

    Only ``allowed`` pairs have a chance. Ends before it is proven where the greatest gain is at most ``enough``.
    """
    return _generate(deviations, np.zeros(len(deviations.pairs)), bound, open_, allowed, start, enough)


def nearest_to_even(deviations: Deviations | Swaps) -> Table:
    """The distribution over all pairs with the least sum of squares from which no deviation gains, ``[A * B]``.

    A quadratic program by its dual, which has one unknown a deviation: for prices p of the gains G the best
    distribution is the projection of ``-G' p`` onto the simplex (Held, Wolfe & Crowder 1974), and the gains there are
    the dual's gradient.
    """
    from scipy.optimize import minimize  # slow to import, and only needed here

    def dual(prices: Table) -> tuple[float, Table]:
        chances = _onto_simplex(-deviations.priced(prices))
        gains = deviations.gained(chances)
        return -(0.5 * float(chances @ chances) + float(prices @ gains)), -gains

    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 0.0, "gtol": EXACT, "maxcor": 30}
    start = np.zeros(deviations.rows)
    done = minimize(dual, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(start), options=options)
    return _onto_simplex(-deviations.priced(done.x))


def _onto_simplex(point: Table) -> Table:
    """The nearest point whose coordinates are at least 0 and add up to 1."""
    falling = np.sort(point)[::-1]
    above = (np.cumsum(falling) - 1) / np.arange(1, len(point) + 1)
    nearest: Table = np.maximum(point - above[np.count_nonzero(falling > above) - 1], 0.0)
    return nearest


def _generate(
    deviations: Deviations,
    costs: Table,
    bound: Table,
    open_: NDArray[np.bool_] | None,
    allowed: Pairs,
    start: Pairs,
    enough: float = -np.inf,
) -> Solved:
    closed = np.ones(len(costs), dtype=bool)
    closed[allowed] = False
    pairs = start[~closed[start]]
    if not len(pairs):
        pairs = allowed[:1]
    while True:
        gains, weighed, limits = deviations.of(pairs), costs[pairs], [(0.0, None)] * len(pairs)
        total = np.ones(len(pairs))
        if open_ is not None:  # one more unknown, the greatest gain: it is free, and is what is paid for
            gains = np.hstack([gains, -open_[:, None].astype(float)])
            weighed, total = np.append(weighed, 1.0), np.append(total, 0.0)
        done = _solve(weighed, gains, bound, total, [*limits, *([(None, None)] if open_ is not None else [])])
        prices = np.maximum(-done.ineqlin.marginals, 0.0)
        reduced = costs + deviations.priced(prices) - float(done.eqlin.marginals[0])
        joining = _joining(np.where(closed, np.inf, reduced).reshape(deviations.seats))
        joining = np.setdiff1d(joining, pairs, assume_unique=True)
        if not len(joining) or done.fun <= enough:
            chances = np.maximum(done.x[: len(pairs)], 0.0)
            chances /= chances.sum()
            return Solved(pairs, chances, gains[:, : len(pairs)] @ chances, prices, reduced)
        pairs = np.union1d(pairs, joining)


def _joining(reduced: Table) -> Pairs:
    """The best pair of every member in either seat, where it makes the solution better."""
    width = reduced.shape[1]
    rows = np.arange(len(reduced)) * width + reduced.argmin(axis=1)
    columns = reduced.argmin(axis=0) * width + np.arange(width)
    best = np.unique(np.concatenate([rows, columns]))
    joining: Pairs = best[reduced.ravel()[best] < -OPTIMAL]
    return joining


def _solve(
    costs: Table, upper: Table, bound: Table, equal: Table, limits: list[tuple[float | None, float | None]]
) -> Any:  # scipy's OptimizeResult, which has no types
    """Minimize ``costs @ x`` where ``upper @ x <= bound`` and ``equal @ x == 1``; every such program has a solution.

    Clones and zeros make programs so degenerate that a solver may lose its way at the least tolerances; another finds
    it. Bounds that were solved for are met by few distributions, and within rounding by none: they give way a little.
    """
    from scipy.optimize import linprog  # slow to import, and only needed here

    for method, presolve, way in ATTEMPTS:
        tolerance = max(way, EXACT)
        done = linprog(
            costs,
            A_ub=upper,
            b_ub=bound + way,
            A_eq=equal[None],
            b_eq=[1.0],
            bounds=limits,
            method=method,
            options={
                "presolve": presolve,
                "primal_feasibility_tolerance": tolerance,
                "dual_feasibility_tolerance": tolerance,
            },
        )
        if done.status == 0:
            return done
    raise AssertionError(done.message)
