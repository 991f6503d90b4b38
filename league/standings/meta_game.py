"""The meta-game of a league: every member is a strategy of a two-seat general-sum game, the cross-play table.

Which mixtures of members are stable, which of the stable ones is best for all, and what each member is worth there.
Everything is a function of two payoff tables, one per seat: bargaining is general-sum, and the seats differ.

A coarse correlated equilibrium (CCE) is a distribution over pairs of members from which neither seat gains by naming
another member before it sees the draw (Moulin & Vial 1978). From a correlated equilibrium (CE) it does not gain after
it has seen its own part of the draw either (Aumann 1974). Both sets are polytopes, so that linear programs find the
best one. A = members of seat_0, B = of seat_1. Dynamics on the same game: :mod:`league.standings.evolution`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dond_marl.errors import InputError
from dond_marl.statistics import TEN
from league.standings.linear_programs import Deviations, Pairs, Solved, Swaps, Table, least, least_gain, nearest_to_even

SETTLED = 1e-9  # relative growth of the Nash product that another vertex promises: too little to search on
MOST_VERTICES = 100  # of the planar image of the polytope; each search adds one, a dozen are many
BINDING = 1e-7  # a shadow price above it, of prices that add up to 1, is of a constraint that binds in every solution
NOISE = 1e-9  # points of ten; smaller gains of a deviation are rounding
CLEAR = 1e-6  # a distribution that keeps all gains this far below nothing may be begun with
DETERMINED = 1e-9  # tenths; a gain that varies less over all solutions is known
STEEP = 1e3  # a gain that rests on others this many times over is not read off them, for their rounding
UNBOUND = 10.0  # tenths; more than anything gains
MOST_COMPARED = 2000  # pairs among which gains are compared for that: more take longer than another program


class MetaGameError(InputError):
    """The tables are no game: their shapes differ or are not ``[A, B]``, or a cell holds no number."""


class Game(NamedTuple):
    """What each seat gets, points of ten, when seat_0's member ``a`` meets seat_1's member ``b``: two ``[A, B]``."""

    first: Table
    second: Table


class Joint(NamedTuple):
    """A distribution over pairs of members, and what it is worth."""

    chances: Table  # [A, B], adds up to 1
    values: tuple[float, float]  # of seat_0 and seat_1, points of ten
    # The most that a seat gains by naming one member beforehand, or, of a CE, instead of one that was drawn for it
    # (times the chance of that draw): 0 in an equilibrium, up to rounding.
    gap: float

    @property
    def welfare(self) -> float:
        """Points of ten of both seats."""
        return self.values[0] + self.values[1]

    @property
    def mixtures(self) -> tuple[Table, Table]:
        """How often each member sits in seat_0, ``[A]``, and in seat_1, ``[B]``."""
        return self.chances.sum(axis=1), self.chances.sum(axis=0)

    def met(self, drawn: tuple[float, float]) -> tuple[Table, Table]:
        """Who sits in seat_0, ``[A]``, and in seat_1, ``[B]``, opposite somebody who was told its part of the draw.

        ``drawn``: a number in [0, 1) for the part that seat_1 was told, and one for that of seat_0.
        """
        pairs = zip(self.mixtures, drawn[::-1], strict=True)
        told = [int(np.count_nonzero(np.cumsum(mixture) <= at * mixture.sum())) for mixture, at in pairs]
        rows, columns = self.chances[:, told[1]], self.chances[told[0]]
        return rows / rows.sum(), columns / columns.sum()


def game_of(mean: Table) -> Game:
    """The game of a cross-play table ``mean[member, seat, opponent]``, points of ten.

    Raises :class:`MetaGameError` where a cell was not played: see :func:`league.standings.payoffs.complete`.
    """
    return checked(Game(mean[:, 0, :], mean[:, 1, :].T))


def checked(game: Game) -> Game:
    """The game itself, if its tables can be solved; raises :class:`MetaGameError`."""
    first, second = game
    if first.ndim != 2 or first.shape != second.shape or not first.size:
        raise MetaGameError(f"two tables [A, B] are needed, got {first.shape} and {second.shape}")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        empty = int(np.count_nonzero(~(np.isfinite(first) & np.isfinite(second))))
        raise MetaGameError(f"{empty} of {first.size} pairs of members have no payoff; complete the table first")
    return game


class Equilibria:
    """The CCEs of one game; pairs that mattered in one are looked at first in the next."""

    def __init__(self, game: Game, start: Pairs | None = None) -> None:
        self.game, self.deviations = checked(game), Deviations(*game)
        self.pairs = self.deviations.likely() if start is None else np.union1d(start, self.deviations.likely())
        self._within: Table | None = None  # what deviations may gain, once pairs are known that keep to it
        self._best: dict[tuple[float, float], Joint] = {}

    def best(self, weights: tuple[float, float]) -> Joint:
        """The CCE that maximizes the weighted sum of both seats' values."""
        if weights not in self._best:
            value = (weights[0] * self.game.first + weights[1] * self.game.second).ravel()
            scale = max(float(np.abs(value).max()), NOISE)
            self._best[weights] = self.joint(least(self.deviations, -value / scale, self._bound(), self.pairs))
        return self._best[weights]

    def _bound(self) -> Table:
        """No gain at all; some distribution over the known pairs keeps to that, or to it within rounding."""
        if self._within is None:
            rows = self.deviations.rows
            every, none = np.ones(rows, dtype=bool), np.zeros(rows)
            solved = least_gain(self.deviations, every, none, self.deviations.pairs, self.pairs, -CLEAR)
            self.pairs, self._within = solved.pairs, np.full(rows, max(float(solved.gains.max()), 0.0))
        return self._within

    def joint(self, solved: Solved) -> Joint:
        """The distribution that a program found, and what it is worth."""
        self.pairs = np.union1d(self.pairs, solved.pairs)
        table = np.zeros(self.game.first.size)
        table[solved.pairs] = solved.chances
        values = float(table @ self.game.first.ravel()), float(table @ self.game.second.ravel())
        return Joint(table.reshape(self.game.first.shape), values, max(TEN * float(solved.gains.max()), 0.0))


def max_welfare_cce(game: Game | Equilibria) -> Joint:
    """The CCE with the most points of ten for both seats together.

    Source: Marris et al. 2021, *Multi-Agent Training beyond Zero-Sum with Correlated Equilibrium Meta-Solvers*
    (maximum welfare CCE). Raises :class:`MetaGameError`.
    """
    return _of(game).best((1.0, 1.0))


def max_gini_cce(game: Game) -> Joint:
    """The CCE that is spread most evenly over pairs of members: the greatest Gini impurity, ``1 - sum of squares``.

    There is exactly one, and members that nobody gains by naming are in it too.
    Source: Marris et al. 2021 (maximum Gini coarse correlated equilibrium). Raises :class:`MetaGameError`.
    """
    return _most_even(game, Deviations(*checked(game)))


def max_gini_ce(game: Game) -> Joint:
    """The CE that is spread most evenly over pairs of members, as :func:`max_gini_cce`; its ``gap`` is a CE's.

    Source: Marris et al. 2021 (maximum Gini correlated equilibrium). Raises :class:`MetaGameError`.
    """
    return _most_even(game, Swaps(*checked(game)))


def _most_even(game: Game, deviations: Deviations | Swaps) -> Joint:
    chances = nearest_to_even(deviations)
    values = float(chances @ game.first.ravel()), float(chances @ game.second.ravel())
    gap = max(TEN * float(deviations.gained(chances).max()), 0.0)
    return Joint(chances.reshape(game.first.shape), values, gap)


def strictest_cce(game: Game | Equilibria) -> Joint:
    """The CCE in which the greatest gain of any deviation is least: who names a member beforehand loses the most.

    Source: Marris et al. 2021 (CCE of minimum epsilon). Raises :class:`MetaGameError`.
    """
    equilibria = _of(game)
    deviations = equilibria.deviations
    every, none = np.ones(deviations.rows, dtype=bool), np.zeros(deviations.rows)
    return equilibria.joint(least_gain(deviations, every, none, deviations.pairs, equilibria.pairs, -math.inf))


def nash_bargaining_cce(game: Game | Equilibria, disagreement: tuple[float, float] = (0.0, 0.0)) -> Joint:
    """The CCE with the greatest product of what both seats gain over ``disagreement`` (no deal: nothing).

    Frank-Wolfe on ``log`` of the product with the linear program as oracle, fully corrective: the product depends on
    the pair of values alone, so that the best point of the hull of all vertices found lies on a segment between two of
    them and has a closed form. Stops when no vertex promises to multiply the product by more than ``1 + SETTLED``.
    Where no CCE gives both seats more than ``disagreement``, every product is nothing: the max-welfare CCE then.
    Source: Nash 1950; Frank & Wolfe 1956; Jaggi 2013, section 3 (fully corrective). Raises :class:`MetaGameError`.
    """
    equilibria, floor = _of(game), np.array(disagreement)
    widest = best = equilibria.best((1.0, 1.0))
    vertices = [widest]

    def better(best: Joint, vertex: Joint) -> Joint:
        """The greatest product of the hull of all vertices found and one more."""
        tried = [best, vertex, *(_between(vertex, other, floor) for other in vertices)]
        vertices.append(vertex)
        return max(tried, key=lambda joint: _product(joint, floor))

    for weights in ((1.0, 0.0), (0.0, 1.0)):
        best = better(best, equilibria.best(weights))
    if _product(best, floor) <= NOISE**2:
        return widest
    while len(vertices) < MOST_VERTICES:
        slope = 1 / (np.array(best.values) - floor)  # of the logarithm of the product
        vertex = equilibria.best((float(slope[0]), float(slope[1])))
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


def deviation_rating(game: Game | Equilibria) -> tuple[Table, Table]:
    """What naming each member gains in the strictest CCE, ``[A]`` and ``[B]`` points of ten, at most 0; more is better.

    The greatest gain of any deviation is made as small as it can be, deviations that must gain that much are set
    aside, the greatest of the others is made as small as it can be, and so on: unique, and unmoved by clones,
    mixtures of members and constants added to an opponent's column. A member that is never worth naming rates low.
    At most A + B linear programs, of which the first is by far the largest. Source: Marris et al. 2025, *Deviation
    Ratings: A General, Clone-Invariant Rating Method*, arXiv 2502.11645. Raises :class:`MetaGameError`.
    """
    equilibria = _of(game)
    deviations, allowed = equilibria.deviations, equilibria.deviations.pairs
    rating, pairs = np.full(deviations.rows, math.nan), equilibria.pairs
    bound = np.full(deviations.rows, UNBOUND)
    while (open_ := np.isnan(rating)).any():
        solved = least_gain(deviations, open_, np.where(open_, 0.0, bound), allowed, pairs, -math.inf)
        binding = open_ & (solved.prices > BINDING)
        rating[binding] = bound[binding] = solved.gains[open_].max()
        bound = np.maximum(bound, solved.gains)  # within rounding: what was found keeps to the bounds of what follows
        # A pair that costs something has no chance in any solution (complementary slackness): the programs shrink.
        free, pairs = allowed[solved.reduced[allowed] <= BINDING], solved.pairs
        allowed = np.union1d(free, pairs[solved.chances > 0])
        _read_off(deviations, rating, allowed, solved)
    a = len(equilibria.game.first)
    return TEN * rating[:a], TEN * rating[a:]


def _read_off(deviations: Deviations, rating: Table, allowed: Pairs, solved: Solved) -> None:
    """Set aside every deviation that gains the same in all solutions that are left, for it follows from what is known.

    What is known: chances of ``allowed`` pairs add up to 1, and deviations that are set aside gain what they gain.
    Such a deviation needs no bound of its own in the programs that follow.
    """
    open_ = np.isnan(rating)
    if not open_.any() or len(allowed) > MOST_COMPARED:
        return
    gains = deviations.of(allowed)
    known, asked = np.vstack([np.ones(len(allowed)), gains[~open_]]), gains[open_]
    shares = np.linalg.lstsq(known.T, asked.T, rcond=None)[0]  # [known, asked]
    follows = np.abs(asked - shares.T @ known).max(axis=1) <= DETERMINED
    follows &= np.abs(shares).sum(axis=0) <= STEEP
    rating[np.flatnonzero(open_)[follows]] = solved.gains[open_][follows]


def _of(game: Game | Equilibria) -> Equilibria:
    return game if isinstance(game, Equilibria) else Equilibria(game)
