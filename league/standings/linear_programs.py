"""Linear programs over distributions of pairs of members, by column generation.

Of the A * B pairs an optimal distribution needs at most A + B + 1. So a program starts with some pairs, and pairs with
a negative reduced cost join it until there are none (column generation: Dantzig & Wolfe 1960, *Decomposition Principle
for Linear Programs*). The matrix of gains is never built for all pairs: 200 members have 40,000.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.statistics import TEN

Table = NDArray[np.float64]
Pairs = NDArray[np.int64]  # ascending numbers a * B + b
OPTIMAL = 1e-9  # smallest improvement per unit of chance for which a pair joins
EXACT = 1e-10  # the smallest tolerance of HiGHS
# Method, presolve (on programs as dense as these it costs more than it saves), and relaxation of the bounds, in tenths.
# The next attempt is made if one fails.
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
    """Gains of deviations on pairs, tenths of the whole: one row per member to commit to, those of seat_0 first."""

    def __init__(self, first: Table, second: Table) -> None:
        self.first, self.second = first / TEN, second / TEN
        self.seats = first.shape  # A members in seat_0, B in seat_1
        self.rows = sum(first.shape)
        self.pairs: Pairs = np.arange(first.size)

    def gains_on(self, pairs: Pairs) -> Table:
        """The gains on some pairs, ``[A + B, pairs]``."""
        a, b = np.divmod(pairs, self.seats[1])
        return np.vstack([self.first[:, b] - self.first[a, b], self.second[a].T - self.second[a, b]])

    def price(self, prices: Table) -> Table:
        """Price of each pair, ``prices[A + B] @ gains_on(all pairs)``, ``[A * B]``, without building that matrix."""
        rows, columns = np.split(prices, [self.seats[0]])
        gains = (rows @ self.first)[None] + (self.second @ columns)[:, None]
        total: Table = (gains - rows.sum() * self.first - columns.sum() * self.second).ravel()
        return total

    def expected_gains(self, chances: Table) -> Table:
        """Expected gain of each deviation under ``chances[A * B]``, ``[A + B]``."""
        joint = chances.reshape(self.seats)
        values = float((joint * self.first).sum()), float((joint * self.second).sum())
        return np.concatenate([self.first @ joint.sum(axis=0) - values[0], joint.sum(axis=1) @ self.second - values[1]])

    def likely(self) -> Pairs:
        """Starting pairs: each member with its best opponent by its own payoff, and by the sum of both."""
        best: list[Pairs] = []
        for table in (self.first, self.second, self.first + self.second):
            a, b = np.arange(self.seats[0]), np.arange(self.seats[1])
            best += [a * self.seats[1] + table.argmax(axis=1), table.argmax(axis=0) * self.seats[1] + b]
        return np.unique(np.concatenate(best))


class Swaps:
    """Gains of deviations after the draw: one row per member drawn and member to play instead.

    They depend on the seat's own part of the draw; :class:`Deviations` are fixed before it.
    """

    def __init__(self, first: Table, second: Table) -> None:
        self.first, self.second = first / TEN, second / TEN
        self.seats = first.shape  # A members in seat_0, B in seat_1
        self.rows = sum(size**2 for size in first.shape)  # seat_0's first

    def price(self, prices: Table) -> Table:
        """Price of each pair at ``prices[A * A + B * B]`` of the gains, ``[A * B]``."""
        (a, b), parts = self.seats, np.split(prices, [self.seats[0] ** 2])
        rows, columns = parts[0].reshape(a, a), parts[1].reshape(b, b)
        drawn = rows.sum(axis=1)[:, None] * self.first + self.second * columns.sum(axis=1)
        total: Table = (rows @ self.first + self.second @ columns.T - drawn).ravel()
        return total

    def expected_gains(self, chances: Table) -> Table:
        """Expected gains under ``chances[A * B]``, times the chance of the draw, ``[A * A + B * B]``."""
        joint = chances.reshape(self.seats)
        rows = joint @ self.first.T - (joint * self.first).sum(axis=1, keepdims=True)
        columns = joint.T @ self.second - (joint * self.second).sum(axis=0)[:, None]
        return np.concatenate([rows.ravel(), columns.ravel()])


class ProgramSolution(NamedTuple):
    """An optimal solution over all allowed pairs."""

    pairs: Pairs  # of the last program
    chances: Table  # of each of them
    gains: Table  # [A + B] gain of each deviation
    prices: Table  # [A + B] shadow price of each bound; 0 or more
    reduced: Table  # [A * B] reduced cost of each pair; at least 0 within OPTIMAL if allowed


def least(deviations: Deviations, costs: Table, bound: Table, start: Pairs) -> ProgramSolution:
    """Minimise ``costs[A * B] @ chances`` subject to gains of deviations of at most ``bound[A + B]``.

    Some distribution over the pairs ``start`` must satisfy the bounds: see :func:`least_gain`.
    """
    return _column_generation(deviations, costs, bound, None, deviations.pairs, start)


def least_gain(
    deviations: Deviations, open_: NDArray[np.bool_], bound: Table, allowed: Pairs, start: Pairs, enough: float
) -> ProgramSolution:
    """Minimise the greatest gain of the ``open_`` deviations; the others gain at most ``bound``.

    Only ``allowed`` pairs have a chance. Stops before optimality once the greatest gain is at most ``enough``.
    """
    return _column_generation(deviations, np.zeros(len(deviations.pairs)), bound, open_, allowed, start, enough)


def nearest_to_even(deviations: Deviations | Swaps) -> Table:
    """The equilibrium with the least sum of squares over all pairs (maximum Gini impurity), ``[A * B]``.

    A quadratic program solved by its dual, with one unknown per deviation: for prices p of the gains G the best
    distribution is the projection of ``-G' p`` onto the simplex (Held, Wolfe & Crowder 1974), and the gains there are
    the dual's gradient.
    """
    from scipy.optimize import minimize  # slow to import, and only needed here

    def dual(prices: Table) -> tuple[float, Table]:
        chances = _onto_simplex(-deviations.price(prices))
        gains = deviations.expected_gains(chances)
        return -(0.5 * float(chances @ chances) + float(prices @ gains)), -gains

    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 0.0, "gtol": EXACT, "maxcor": 30}
    start = np.zeros(deviations.rows)
    solved = minimize(dual, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(start), options=options)
    return _onto_simplex(-deviations.price(solved.x))


def _onto_simplex(point: Table) -> Table:
    """The projection of a point onto the probability simplex."""
    falling = np.sort(point)[::-1]
    above = (np.cumsum(falling) - 1) / np.arange(1, len(point) + 1)
    nearest: Table = np.maximum(point - above[np.count_nonzero(falling > above) - 1], 0.0)
    return nearest


def _column_generation(
    deviations: Deviations,
    costs: Table,
    bound: Table,
    open_: NDArray[np.bool_] | None,
    allowed: Pairs,
    start: Pairs,
    enough: float = -np.inf,
) -> ProgramSolution:
    closed = np.ones(len(costs), dtype=bool)
    closed[allowed] = False
    pairs = start[~closed[start]]
    if not len(pairs):
        pairs = allowed[:1]
    while True:
        gains, weighed, limits = deviations.gains_on(pairs), costs[pairs], [(0.0, None)] * len(pairs)
        total = np.ones(len(pairs))
        if open_ is not None:  # one more unknown, the greatest gain: unbounded, and the objective
            gains = np.hstack([gains, -open_[:, None].astype(float)])
            weighed, total = np.append(weighed, 1.0), np.append(total, 0.0)
        best = _linear_program(weighed, gains, bound, total, [*limits, *([(None, None)] if open_ is not None else [])])
        prices = np.maximum(-best.ineqlin.marginals, 0.0)
        reduced = costs + deviations.price(prices) - float(best.eqlin.marginals[0])
        joining = _improving_pairs(np.where(closed, np.inf, reduced).reshape(deviations.seats))
        joining = np.setdiff1d(joining, pairs, assume_unique=True)
        if not len(joining) or best.fun <= enough:
            chances = np.maximum(best.x[: len(pairs)], 0.0)
            chances /= chances.sum()
            return ProgramSolution(pairs, chances, gains[:, : len(pairs)] @ chances, prices, reduced)
        pairs = np.union1d(pairs, joining)


def _improving_pairs(reduced: Table) -> Pairs:
    """The best pair of every member in either seat, if its reduced cost is negative."""
    width = reduced.shape[1]
    rows = np.arange(len(reduced)) * width + reduced.argmin(axis=1)
    columns = reduced.argmin(axis=0) * width + np.arange(width)
    best = np.unique(np.concatenate([rows, columns]))
    joining: Pairs = best[reduced.ravel()[best] < -OPTIMAL]
    return joining


def _linear_program(
    costs: Table, upper: Table, bound: Table, equal: Table, limits: list[tuple[float | None, float | None]]
) -> Any:  # scipy's OptimizeResult, which has no types
    """Minimize ``costs @ x`` where ``upper @ x <= bound`` and ``equal @ x == 1``; every such program has a solution.

    Clones and zeros make programs so degenerate that one method may fail at the smallest tolerances where another
    succeeds. Bounds from an earlier solution are satisfied by few distributions, within rounding by none: later
    attempts relax them a little.
    """
    from scipy.optimize import linprog  # slow to import, and only needed here

    for method, presolve, slack in ATTEMPTS:
        tolerance = max(slack, EXACT)
        solved = linprog(
            costs,
            A_ub=upper,
            b_ub=bound + slack,
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
        if solved.status == 0:
            return solved
    raise AssertionError(solved.message)
