"""The league seen from above: every member a strategy, the cross-play table a two-seat general-sum game.

Which mixtures of members are stable, which of the stable ones is best for all, and what each member is worth there.
Everything is a function of two payoff tables, one per seat: bargaining is general-sum, and the seats differ.

A coarse correlated equilibrium (CCE) is a distribution over pairs of members from which neither seat gains by naming
another member before it sees the draw (Moulin & Vial 1978); the set of them is a polytope, so that linear programs
find the best one. A = members of seat_0, B = of seat_1. Dynamics on the same game: :mod:`league.evolution`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.metrics import TEN

Table = NDArray[np.float64]
SETTLED = 1e-9  # relative growth of the Nash product that another vertex promises: too little to search on
MOST_VERTICES = 100  # of the planar image of the polytope; each search adds one, a dozen are many
BINDING = 1e-7  # a shadow price above it, of prices that add up to 1, is of a constraint that binds in every solution
# The tolerances are the least that HiGHS takes; on programs as dense as these its presolve costs more than it saves.
EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "presolve": False}
NOISE = 1e-9  # points of ten; smaller gains of a deviation are rounding


class MetaGameError(ValueError):
    """The tables are no game: another shape is needed, or a cell holds no number."""


class Game(NamedTuple):
    """What each seat gets, points of ten, when seat_0's member ``a`` meets seat_1's member ``b``: two ``[A, B]``."""

    first: Table
    second: Table


class Joint(NamedTuple):
    """A distribution over pairs of members, and what it is worth."""

    chances: Table  # [A, B], adds up to 1
    values: tuple[float, float]  # of seat_0 and seat_1, points of ten
    gap: float  # the most that a seat gains by naming one member beforehand; 0 in a CCE, up to rounding

    @property
    def welfare(self) -> float:
        """Points of ten of both seats."""
        return self.values[0] + self.values[1]

    @property
    def mixtures(self) -> tuple[Table, Table]:
        """How often each member sits in seat_0, ``[A]``, and in seat_1, ``[B]``."""
        return self.chances.sum(axis=1), self.chances.sum(axis=0)


def game_of(mean: Table) -> Game:
    """The game of a cross-play table ``mean[member, seat, opponent]``, points of ten.

    Raises :class:`MetaGameError` where a cell was not played: see :func:`league.payoffs.complete`.
    """
    return checked(Game(mean[:, 0, :], mean[:, 1, :].T))


def checked(game: Game) -> Game:
    """The game, or :class:`MetaGameError`."""
    first, second = game
    if first.ndim != 2 or first.shape != second.shape or not first.size:
        raise MetaGameError(f"two tables [A, B] are needed, got {first.shape} and {second.shape}")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        empty = int(np.count_nonzero(~(np.isfinite(first) & np.isfinite(second))))
        raise MetaGameError(f"{empty} of {first.size} pairs of members have no payoff; complete the table first")
    return game


def deviation_gains(game: Game) -> Table:
    """What each deviation gains on each pair: ``[A + B, A * B]``, seat_0's deviations first.

    Row ``k`` times a distribution over pairs is what a seat gains by always naming member ``k`` instead.
    """
    first, second = game
    a, b = first.shape
    rows = (first[:, None, :] - first[None, :, :]).reshape(a, a * b)  # [deviation, a, b]
    columns = (second.T[:, :, None] - second[None, :, :]).reshape(b, a * b)  # [deviation, a, b]
    return np.vstack([rows, columns])


def max_welfare_cce(game: Game) -> Joint:
    """The CCE with the most points of ten for both seats together.

    Source: Marris et al. 2021, *Multi-Agent Training beyond Zero-Sum with Correlated Equilibrium Meta-Solvers*
    (maximum welfare CCE). Raises :class:`MetaGameError`.
    """
    return _best_cce(checked(game), deviation_gains(game), (1.0, 1.0))


def nash_bargaining_cce(game: Game, disagreement: tuple[float, float] = (0.0, 0.0)) -> Joint:
    """The CCE with the greatest product of what both seats gain over ``disagreement`` (no deal: nothing).

    Frank-Wolfe on ``log`` of the product with the linear program as oracle, fully corrective: the product depends on
    the pair of values alone, so that the best point of the hull of all vertices found lies on a segment between two of
    them and has a closed form. Stops when no vertex promises to multiply the product by more than ``1 + SETTLED``.
    Where no CCE gives both seats more than ``disagreement``, every product is nothing: the max-welfare CCE then.
    Source: Nash 1950; Frank & Wolfe 1956; Jaggi 2013, section 3 (fully corrective). Raises :class:`MetaGameError`.
    """
    gains, floor = deviation_gains(checked(game)), np.array(disagreement)
    widest = best = _best_cce(game, gains, (1.0, 1.0))
    found = [widest]

    def better(best: Joint, vertex: Joint) -> Joint:
        """The greatest product of the hull of all vertices found and one more."""
        tried = [best, vertex, *(_between(vertex, other, floor) for other in found)]
        found.append(vertex)
        return max(tried, key=lambda joint: _product(joint, floor))

    for weights in ((1.0, 0.0), (0.0, 1.0)):
        best = better(best, _best_cce(game, gains, weights))
    if _product(best, floor) <= NOISE**2:
        return widest
    while len(found) < MOST_VERTICES:
        slope = 1 / (np.array(best.values) - floor)  # of the logarithm of the product
        vertex = _best_cce(game, gains, (float(slope[0]), float(slope[1])))
        if slope @ (np.array(vertex.values) - best.values) <= SETTLED:
            break
        best = better(best, vertex)
    return best


def _between(start: Joint, end: Joint, floor: Table) -> Joint:
    """The greatest product on the segment between two distributions."""
    above, step = np.array(start.values) - floor, np.array(end.values) - start.values
    curved = float(step.prod())  # along the segment the product is a parabola, concave where the seats disagree
    share = -float(above @ step[::-1]) / (2 * curved) if curved < 0 else float(step.sum() > 0)
    share = min(max(share, 0.0), 1.0)
    first, second = (1 - share) * np.array(start.values) + share * np.array(end.values)
    return Joint(
        (1 - share) * start.chances + share * end.chances,
        (float(first), float(second)),
        (1 - share) * start.gap + share * end.gap,
    )


def _product(joint: Joint, floor: Table) -> float:
    return float(np.maximum(np.array(joint.values) - floor, 0.0).prod())


def deviation_rating(game: Game) -> tuple[Table, Table]:
    """What naming each member gains in the strictest CCE, ``[A]`` and ``[B]`` points of ten, at most 0; more is better.

    The greatest gain of any deviation is made as small as it can be, deviations that must gain that much are set
    aside, the greatest of the others is made as small as it can be, and so on: unique, and unmoved by clones,
    mixtures of members and constants added to an opponent's column. A member that is never worth naming rates low.
    At most A + B linear programs. Source: Marris et al. 2025, *Deviation Ratings: A General, Clone-Invariant Rating
    Method*, arXiv 2502.11645. Raises :class:`MetaGameError`.
    """
    gains = deviation_gains(checked(game)) / TEN
    rating = np.full(len(gains), math.nan)
    while (open_ := np.isnan(rating)).any():
        pairs = gains.shape[1]
        done = _solve(  # for the least last variable, which bounds the open gains; it is free, chances are 0 or more
            np.append(np.zeros(pairs), 1.0),
            np.hstack([gains, -open_[:, None].astype(float)]),
            np.where(open_, 0.0, rating),
            np.append(np.ones(pairs), 0.0),
            [(0.0, None)] * pairs + [(None, None)],
        )
        prices = -done.ineqlin.marginals  # those of open deviations add up to 1: one at least is positive
        rating[open_ & (prices > BINDING)] = done.fun
        # A pair that costs something has no chance in any solution (complementary slackness): the programs shrink.
        gains = gains[:, done.lower.marginals[:-1] <= BINDING]
    a = len(game.first)
    return TEN * rating[:a], TEN * rating[a:]


def _best_cce(game: Game, gains: Table, weights: tuple[float, float]) -> Joint:
    """The CCE that maximizes the weighted sum of both seats' values."""
    value = (weights[0] * game.first + weights[1] * game.second).ravel()
    scale = max(float(np.abs(value).max()), NOISE)
    pairs = len(value)
    done = _solve(-value / scale, gains / TEN, np.zeros(len(gains)), np.ones(pairs), [(0.0, None)] * pairs)
    return _joint(game, gains, done.x)


def _solve(
    costs: Table, upper: Table, bound: Table, equal: Table, limits: list[tuple[float | None, float | None]]
) -> Any:  # scipy's OptimizeResult, which has no types
    """Minimize ``costs @ x`` where ``upper @ x <= bound`` and ``equal @ x == 1``; every such program has a solution."""
    from scipy.optimize import linprog  # slow to import, and only needed here

    done = linprog(
        costs, A_ub=upper, b_ub=bound, A_eq=equal[None], b_eq=[1.0], bounds=limits, method="highs-ds", options=EXACT
    )
    assert done.status == 0, done.message
    return done


def _joint(game: Game, gains: Table, raw: Table) -> Joint:
    flat = np.maximum(raw, 0.0)
    flat /= flat.sum()
    values = float(flat @ game.first.ravel()), float(flat @ game.second.ravel())
    return Joint(flat.reshape(game.first.shape), values, max(float((gains @ flat).max()), 0.0))
