"""Meta-game of a league: every member is a strategy of a two-seat general-sum game, the cross-play table.

Equilibria, the best of them for both seats, ratings of the members in them, and replicator dynamics. All are functions
of two payoff tables, one per seat: bargaining is general-sum, and the seats differ.

A coarse correlated equilibrium (CCE) is a distribution over pairs of members in which no seat gains by committing to a
member before the draw (Moulin & Vial 1978). In a correlated equilibrium (CE) no seat gains by another member after it
has seen its own part of the draw either (Aumann 1974). Both sets are polytopes, so linear programs find the best one;
they are solved by column generation (:mod:`league.standings.linear_programs`), because findings with intervals need
hundreds of them: with 64 members a program over all pairs takes 0.2 s, and this way 0.02 s. Replicator dynamics promise
no equilibrium. A = members of seat_0, B = of seat_1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dond_marl.statistics import TEN
from league.standings.linear_programs import (
    Deviations,
    Pairs,
    ProgramSolution,
    Swaps,
    Table,
    least,
    least_gain,
    nearest_to_even,
)

SETTLED = 1e-9  # relative growth of the Nash product at which the search for vertices ends
MOST_VERTICES = 100  # of the planar image of the polytope; each search adds one, a dozen is much
BINDING = 1e-7  # shadow price, of prices that add up to 1, above which a constraint binds in every solution
NOISE = 1e-9  # points of ten; smaller gains of a deviation are rounding
STEP = 0.05  # of an exponential step of the replicator per point of ten of advantage
AT_REST = 1e-12  # points of ten; a smaller gain of the best single member ends the dynamics
CHECK_EVERY = 50  # steps between two checks of that
CLEAR = 1e-6  # a distribution with all gains this far below 0 is a feasible start
DETERMINED = 1e-9  # tenths; a gain that varies less over all solutions is determined
STEEP = 1e3  # largest sum of coefficients with which a gain is derived from others, for their rounding
UNBOUND = 10.0  # tenths; above every possible gain
MOST_COMPARED = 2000  # largest number of pairs for that derivation: with more, another program is faster


class MetaGame(NamedTuple):
    """Payoffs of each seat, points of ten, for seat_0's member ``a`` and seat_1's member ``b``: two ``[A, B]``."""

    first: Table
    second: Table


class JointMixture(NamedTuple):
    """A distribution over pairs of members, with its values and its distance from equilibrium."""

    chances: Table  # [A, B], adds up to 1
    values: tuple[float, float]  # of seat_0 and seat_1, points of ten
    # Largest gain of a seat by committing to one member before the draw or, for a CE, by playing another member than
    # the one drawn for it (times the chance of that draw): 0 in an equilibrium, up to rounding.
    gap: float

    @property
    def welfare(self) -> float:
        """Points of ten of both seats."""
        return self.values[0] + self.values[1]

    @property
    def mixtures(self) -> tuple[Table, Table]:
        """Marginal shares of the members in seat_0, ``[A]``, and in seat_1, ``[B]``."""
        return self.chances.sum(axis=1), self.chances.sum(axis=0)

    def conditionals(self, drawn: tuple[float, float]) -> tuple[Table, Table]:
        """Shares of opponents in seat_0, ``[A]``, and in seat_1, ``[B]``, given the member drawn for the other seat.

        ``drawn``: a number in [0, 1) that selects the member drawn for seat_1, and one for that of seat_0.
        """
        pairs = zip(self.mixtures, drawn[::-1], strict=True)
        picked = [int(np.count_nonzero(np.cumsum(mixture) <= quantile * mixture.sum())) for mixture, quantile in pairs]
        rows, columns = self.chances[:, picked[1]], self.chances[picked[0]]
        return rows / rows.sum(), columns / columns.sum()


def game_of(mean: Table) -> MetaGame:
    """The game of a table ``mean[member, seat, opponent]``, points of ten; every cell has a value.

    See :func:`league.standings.ratings.complete` for tables with cells without games.
    """
    assert np.isfinite(mean).all(), "a cell has no payoff"
    return MetaGame(mean[:, 0, :], mean[:, 1, :].T)


class Equilibria:
    """CCEs of one game; each program starts from the pairs with a chance in earlier ones (``start`` for the first)."""

    def __init__(self, game: MetaGame, start: Pairs | None = None) -> None:
        self.game, self.deviations = game, Deviations(*game)
        self.pairs = self.deviations.likely() if start is None else np.union1d(start, self.deviations.likely())
        self._within: Table | None = None  # bound of the gains of deviations, once feasible pairs are found
        self._best: dict[tuple[float, float], JointMixture] = {}

    def best(self, weights: tuple[float, float]) -> JointMixture:
        """The CCE that maximizes the weighted sum of both seats' values."""
        if weights not in self._best:
            value = (weights[0] * self.game.first + weights[1] * self.game.second).ravel()
            scale = max(float(np.abs(value).max()), NOISE)
            self._best[weights] = self.joint(least(self.deviations, -value / scale, self._bound(), self.pairs))
        return self._best[weights]

    def _bound(self) -> Table:
        """The bound 0 for all gains, or within rounding of it; some distribution over ``self.pairs`` satisfies it."""
        if self._within is None:
            rows = self.deviations.rows
            every, none = np.ones(rows, dtype=bool), np.zeros(rows)
            solved = least_gain(self.deviations, every, none, self.deviations.pairs, self.pairs, -CLEAR)
            self.pairs, self._within = solved.pairs, np.full(rows, max(float(solved.gains.max()), 0.0))
        return self._within

    def joint(self, solved: ProgramSolution) -> JointMixture:
        """The distribution found by a program, with its values and gap."""
        self.pairs = np.union1d(self.pairs, solved.pairs)
        table = np.zeros(self.game.first.size)
        table[solved.pairs] = solved.chances
        values = float(table @ self.game.first.ravel()), float(table @ self.game.second.ravel())
        return JointMixture(table.reshape(self.game.first.shape), values, max(TEN * float(solved.gains.max()), 0.0))


def max_welfare_cce(game: MetaGame | Equilibria) -> JointMixture:
    """The CCE with the most points of ten for both seats together.

    Source: Marris et al. 2021, *Multi-Agent Training beyond Zero-Sum with Correlated Equilibrium Meta-Solvers*
    (maximum welfare CCE).
    """
    return _equilibria_of(game).best((1.0, 1.0))


def max_gini_cce(game: MetaGame) -> JointMixture:
    """The CCE that is spread most evenly over pairs of members: the greatest Gini impurity, ``1 - sum of squares``.

    It is unique; members that are no profitable deviation are in it too.
    Source: Marris et al. 2021 (maximum Gini coarse correlated equilibrium).
    """
    return _most_even(game, Deviations(*game))


def max_gini_ce(game: MetaGame) -> JointMixture:
    """The CE that is spread most evenly over pairs of members, as :func:`max_gini_cce`; its ``gap`` is a CE's.

    Source: Marris et al. 2021 (maximum Gini correlated equilibrium).
    """
    return _most_even(game, Swaps(*game))


def _most_even(game: MetaGame, deviations: Deviations | Swaps) -> JointMixture:
    chances = nearest_to_even(deviations)
    values = float(chances @ game.first.ravel()), float(chances @ game.second.ravel())
    gap = max(TEN * float(deviations.expected_gains(chances).max()), 0.0)
    return JointMixture(chances.reshape(game.first.shape), values, gap)


def nash_bargaining_cce(game: MetaGame | Equilibria) -> JointMixture:
    """The CCE with the greatest product of both seats' values; without a deal both get 0.

    Frank-Wolfe on ``log`` of the product with the linear program as oracle, fully corrective: the product depends on
    the pair of values alone, so that the best point of the hull of all vertices found lies on a segment between two of
    them and has a closed form. Stops when no vertex can multiply the product by more than ``1 + SETTLED``.
    If no CCE gives both seats more than 0, every product is 0: the max-welfare CCE then.
    Source: Nash 1950; Frank & Wolfe 1956; Jaggi 2013, section 3 (fully corrective).
    """
    equilibria = _equilibria_of(game)
    widest = best = equilibria.best((1.0, 1.0))
    vertices = [widest]

    def better(best: JointMixture, vertex: JointMixture) -> JointMixture:
        """The greatest product in the hull of all vertices so far and one more."""
        tried = [best, vertex, *(_best_on_segment(vertex, other) for other in vertices)]
        vertices.append(vertex)
        return max(tried, key=_product)

    for weights in ((1.0, 0.0), (0.0, 1.0)):
        best = better(best, equilibria.best(weights))
    if _product(best) <= NOISE**2:
        return widest
    while len(vertices) < MOST_VERTICES:
        slope = 1 / np.array(best.values)  # of the logarithm of the product
        vertex = equilibria.best((float(slope[0]), float(slope[1])))
        if slope @ (np.array(vertex.values) - best.values) <= SETTLED:
            break
        best = better(best, vertex)
    return best


def _best_on_segment(start: JointMixture, end: JointMixture) -> JointMixture:
    """The greatest product on the segment between two distributions."""
    step = np.array(end.values) - start.values
    curved = float(step.prod())  # along the segment the product is a parabola, concave where the seats disagree
    share = -float(start.values @ step[::-1]) / (2 * curved) if curved < 0 else float(step.sum() > 0)
    share = min(max(share, 0.0), 1.0)
    first, second = (1 - share) * np.array(start.values) + share * np.array(end.values)
    return JointMixture(
        (1 - share) * start.chances + share * end.chances,
        (float(first), float(second)),
        (1 - share) * start.gap + share * end.gap,
    )


def _product(joint: JointMixture) -> float:
    return max(joint.values[0], 0.0) * max(joint.values[1], 0.0)


def deviation_rating(game: MetaGame | Equilibria) -> tuple[Table, Table]:
    """Deviation rating: gain of a deviation to each member in the strictest CCE, ``[A]`` and ``[B]``, points of ten.

    At most 0; more is better.

    The greatest gain of any deviation is minimised, deviations that must gain that much are fixed, the greatest gain of
    the others is minimised, and so on: unique, and invariant to clones, mixtures of members and constants added to an
    opponent's column. A member that is never a good deviation rates low.
    At most A + B linear programs, of which the first is by far the largest. Source: Marris et al. 2025, *Deviation
    Ratings: A General, Clone-Invariant Rating Method*, arXiv 2502.11645.
    """
    equilibria = _equilibria_of(game)
    deviations, allowed = equilibria.deviations, equilibria.deviations.pairs
    rating, pairs = np.full(deviations.rows, math.nan), equilibria.pairs
    bound = np.full(deviations.rows, UNBOUND)
    while (open_ := np.isnan(rating)).any():
        solved = least_gain(deviations, open_, np.where(open_, 0.0, bound), allowed, pairs, -math.inf)
        binding = open_ & (solved.prices > BINDING)
        rating[binding] = bound[binding] = solved.gains[open_].max()
        bound = np.maximum(bound, solved.gains)  # within rounding: keeps the next program feasible
        # A pair with a positive reduced cost has no chance in any solution (complementary slackness): programs shrink.
        free, pairs = allowed[solved.reduced[allowed] <= BINDING], solved.pairs
        allowed = np.union1d(free, pairs[solved.chances > 0])
        _fix_determined(deviations, rating, allowed, solved)
    a = len(equilibria.game.first)
    return TEN * rating[:a], TEN * rating[a:]


def _fix_determined(deviations: Deviations, rating: Table, allowed: Pairs, solved: ProgramSolution) -> None:
    """Fix every deviation whose gain is the same in all remaining solutions, in place of programs of their own.

    Known: chances of ``allowed`` pairs add up to 1, and the gains of deviations that are fixed already. A gain that is
    a linear combination of these is determined.
    """
    open_ = np.isnan(rating)
    if not open_.any() or len(allowed) > MOST_COMPARED:
        return
    gains = deviations.gains_on(allowed)
    determined, undetermined = np.vstack([np.ones(len(allowed)), gains[~open_]]), gains[open_]
    shares = np.linalg.lstsq(determined.T, undetermined.T, rcond=None)[0]  # [known, others]
    follows = np.abs(undetermined - shares.T @ determined).max(axis=1) <= DETERMINED
    follows &= np.abs(shares).sum(axis=0) <= STEEP
    rating[np.flatnonzero(open_)[follows]] = solved.gains[open_][follows]


def _equilibria_of(game: MetaGame | Equilibria) -> Equilibria:
    return game if isinstance(game, Equilibria) else Equilibria(game)


def replicator_dynamics(game: MetaGame, floor: float, *, steps: int = 20_000) -> tuple[Table, Table]:
    """The mixtures ``[A]`` and ``[B]`` at the end of replicator dynamics, from uniform ones, one population per seat.

    Shares grow with the payoff above the average, but no share falls below ``floor / members``, 0 <= ``floor`` < 1
    (projected replicator dynamics: Lanctot et al. 2017, section 3.1). In exponential steps of ``STEP`` (Hofbauer &
    Sigmund 1998, chapter 7), until no single member would gain ``AT_REST``.
    """
    first, second = game
    x, y = (np.full(size, 1.0 / size) for size in first.shape)
    for step in range(steps + 1):
        opening, answering = first @ y, x @ second
        gap = opening.max() - x @ opening + answering.max() - y @ answering
        if step == steps or (step % CHECK_EVERY == 0 and gap <= AT_REST):
            break
        x, y = _replicator_step(x, opening, floor), _replicator_step(y, answering, floor)
    return x, y


def _replicator_step(shares: Table, worth: Table, floor: float) -> Table:
    """The next shares ``[A]`` of members with payoffs ``worth[A]``."""
    grown = shares * np.exp(STEP * (worth - worth.max()))
    least = floor / len(shares)
    above = np.maximum(grown / grown.sum() - least, 0.0)
    moved: Table = least + (1 - floor) * above / above.sum()
    return moved
