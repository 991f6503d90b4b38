"""Payoff tables of a league and ratings from them: shrunk cells, take and give, distinctness, bootstrap intervals.

A cell with few games is shrunk towards the additive prediction of :func:`take_give` (what its member takes, what its
opponent gives, and the seat), never towards a constant; the strength is estimated from the accuracy of that prediction
(empirical Bayes: Efron & Morris 1975; Morris 1983). Intervals come from a Bayesian bootstrap (Rubin 1981): groups of
scenarios, the sampling units, get random weights (:func:`league.figures.tally.scenario_weights`) and the rating is
computed again. Other ratings are :func:`elo`, by games won, and
:func:`league.standings.meta_game.deviation_rating`. Points of ten. N = members.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.statistics import TEN

Table = NDArray[np.float64]
STRENGTH = 8.0  # weight of the prediction in games, if there are too few cells to estimate it
STRENGTHS = (1.0, 200.0)  # bounds of the estimated weight, in games
POPOVICIU = TEN**2 / 4  # the largest variance of points between 0 and 10 (Popoviciu 1935)
RIDGE = 0.5  # ridge penalty in cells: a member with 11 opponents in both seats is shrunk by 2 %
RELIABLE = 8.0  # games with which a cell has half its full weight
ELO_MEAN, ELO_SCALE = 1500.0, 400 / math.log(10)  # the mean member; 400 more are odds of ten to one
DRAWN = 0.1  # games that each member has drawn with the mean member, so that the Elo of one that wins all is finite
ALIKE = 0.25  # points of ten; a root mean square distance of cells from which two members count as two


class Payoffs(NamedTuple):
    """The figures of every cell, ``[N, 2, N]`` by member, its seat and its opponent; ``nan``: unknown."""

    mean: NDArray[np.float64]  # points of ten
    games: NDArray[np.float64]  # effective: (sum of weights)**2 / sum of squared weights; 0 if never played
    variance: NDArray[np.float64]  # of one game's points
    error: NDArray[np.float64]  # variance of the mean, over groups of scenarios
    won: NDArray[np.float64]  # share of the games that the member won, 0..1; a draw is half a win


class Shrunk(NamedTuple):
    """Expected points of every cell, ``[N, 2, N]``, also of cells without games."""

    mean: Table  # nan only if no cell has games
    strength: float  # weight of the prediction, in games


def shrink(payoffs: Payoffs) -> Shrunk:
    """The posterior mean of every cell: ``(n * mean + strength * prediction) / (n + strength)``, n effective games.

    ``strength`` is estimated from the cells.
    """
    played = payoffs.games > 0
    if not played.any():
        return Shrunk(np.full(payoffs.mean.shape, np.nan), STRENGTH)
    prediction = take_give(payoffs.mean, payoffs.games).predictions()
    strength = _estimated_strength(payoffs, prediction, _pooled_variance(payoffs))
    share = payoffs.games / (payoffs.games + strength)
    return Shrunk(share * np.nan_to_num(payoffs.mean) + (1 - share) * prediction, strength)


def complete(mean: Table, games: Table) -> Table:
    """A table of means ``[N, 2, N]`` for :mod:`league.standings.meta_game`; its missing cells are predicted."""
    played = ~np.isnan(mean)
    return mean if played.all() else np.where(played, mean, take_give(mean, games).predictions())


def _pooled_variance(payoffs: Payoffs) -> float:
    """The variance of one game around its cell's mean, pooled over all cells."""
    freedom = np.where(np.isnan(payoffs.variance), 0.0, payoffs.games - 1)
    if freedom.sum() <= 0:
        return POPOVICIU
    return float((freedom * np.nan_to_num(payoffs.variance)).sum() / freedom.sum())


def _estimated_strength(payoffs: Payoffs, prediction: Table, pooled: float) -> float:
    """The variance of a game divided by that of true means around the prediction (method of moments), in STRENGTHS."""
    played = payoffs.games > 0
    members = np.count_nonzero(played.any(axis=(1, 2)) | played.any(axis=(0, 1)))
    freedom = np.count_nonzero(played) - 2 * members  # degrees of freedom: cells minus fitted parameters
    if freedom <= 0:
        return STRENGTH
    squares = float(((payoffs.mean - prediction)[played] ** 2).sum()) / freedom
    between = squares - pooled * float((1 / payoffs.games[played]).mean())
    if between <= 0:
        return STRENGTHS[1]
    return min(max(pooled / between, STRENGTHS[0]), STRENGTHS[1])


class TakeGive(NamedTuple):
    """Additive fit ``base + seat[s] + take[i] + give[j]`` of the points of ten of ``i`` in seat ``s`` against ``j``."""

    base: float
    seat: Table  # [2], of seat_0 and seat_1; adds up to 0
    take: Table  # [N], a member's own points above the mean; nan without games
    give: Table  # [N], its opponents' points above the mean; take + give is what it adds to welfare

    def predictions(self) -> Table:
        """Every cell ``[N, 2, N]``; a member without games is predicted as the mean member."""
        take, give = np.nan_to_num(self.take), np.nan_to_num(self.give)
        cells: Table = self.base + self.seat[None, :, None] + take[:, None, None] + give[None, None, :]
        return cells


def take_give(mean: Table, games: Table, shares: Table | None = None) -> TakeGive:
    """Fit take and give to ``mean[N, 2, N]`` with ``games[N, 2, N]`` (0: not played, ``nan`` there).

    Ridge regression (Hoerl & Kennard 1970) in which a cell weighs ``games / (games + RELIABLE)``, so that opponents
    count about equally however many games they played. ``shares[N]`` above 0 are weights of members, equal if left
    out: see :func:`distinctness`. At least one cell must be played.
    """
    weight = np.where(np.isnan(mean), 0.0, games / (games + RELIABLE))
    assert weight.any(), "no cell was played"
    shares = np.ones(len(weight)) if shares is None else shares
    weight = weight * shares[:, None, None] * shares
    seat = weight * np.array([0.5, -0.5])[:, None]
    size = len(weight)
    of_take, of_give = np.diag(weight.sum(axis=(1, 2))), np.diag(weight.sum(axis=(0, 1)))
    # Unknowns: base, seat_0's advantage over seat_1, take, give.
    squares = np.zeros((2 + 2 * size, 2 + 2 * size))
    squares[0, 0], squares[0, 1], squares[1, 1] = weight.sum(), seat.sum(), weight.sum() / 4
    squares[0, 2 : 2 + size], squares[0, 2 + size :] = weight.sum(axis=(1, 2)), weight.sum(axis=(0, 1))
    squares[1, 2 : 2 + size], squares[1, 2 + size :] = seat.sum(axis=(1, 2)), seat.sum(axis=(0, 1))
    squares[2 : 2 + size, 2 : 2 + size], squares[2 + size :, 2 + size :] = of_take, of_give
    squares[2 : 2 + size, 2 + size :] = weight.sum(axis=1)
    ridge = RIDGE * np.concatenate([[1.0], shares, shares])
    squares = np.triu(squares) + np.triu(squares, 1).T + np.diag(np.append(0.0, ridge))
    points, advantage = weight * np.nan_to_num(mean), seat * np.nan_to_num(mean)
    sums = np.concatenate([[points.sum(), advantage.sum()], points.sum(axis=(1, 2)), points.sum(axis=(0, 1))])
    fit = np.linalg.solve(squares, sums)
    played = weight.any(axis=(1, 2)) | weight.any(axis=(0, 1))
    take, give = (np.where(played, part, np.nan) for part in (fit[2 : 2 + size], fit[2 + size :]))
    return TakeGive(float(fit[0]), fit[1] * np.array([0.5, -0.5]), take, give)


def distinctness(payoffs: Payoffs) -> Table:
    """Weight of each member, ``[N]`` in (0, 1]: members that play alike share the weight of one.

    So clones, and snapshots that hardly differ, do not decide what the others take and give. The similarity of two
    members is one minus their mean squared distance over all cells that both have played, beyond sampling error, in
    squares of ``ALIKE`` (similarity-sensitive abundance: Leinster & Cobbold 2012).
    """
    cells = np.concatenate([payoffs.mean, payoffs.mean.transpose(2, 1, 0)], axis=1).reshape(len(payoffs.mean), -1)
    errors = np.concatenate([payoffs.error, payoffs.error.transpose(2, 1, 0)], axis=1).reshape(cells.shape)
    errors = np.nan_to_num(errors)
    alike = np.zeros(len(cells))
    for member, (means, error) in enumerate(zip(cells, errors, strict=True)):
        shared = ~np.isnan(means) & ~np.isnan(cells)
        beyond = np.where(shared, (means - cells) ** 2, 0.0) - shared * (error + errors)
        squares = np.maximum(beyond.sum(axis=1) / np.maximum(shared.sum(axis=1), 1), 0.0)
        likeness = np.where(shared.any(axis=1), np.maximum(1 - squares / ALIKE**2, 0.0), 0.0)
        likeness[member] = 1.0
        alike[member] = likeness.sum()
    shares: Table = 1 / alike
    return shares


class Elo(NamedTuple):
    """Elo of each member and its standard error, ``[N]``; ``nan`` for members that have met no other."""

    rating: Table
    error: Table


def elo(payoffs: Payoffs) -> Elo:
    """The Elo of each member from games with others: the seat with more of its whole has won, a draw is half a win.

    The maximum-likelihood fit of all games at once (Bradley & Terry 1952), in which opponents count about equally, as
    in :func:`take_give`, and the order of games does not matter. Errors are those of a misspecified likelihood (White
    1982); games of one group of scenarios count as fewer, by as much as the points of their cell spread more.
    """
    size = len(payoffs.games)
    with np.errstate(divide="ignore", invalid="ignore"):
        independent = np.where(payoffs.error > 0, payoffs.variance / payoffs.error, payoffs.games)
    other = ~np.eye(size, dtype=bool)
    number = np.where(other, np.fmin(independent, payoffs.games).sum(axis=1), 0.0)  # [N, N] of both seats
    games = np.where(other, payoffs.games.sum(axis=1), 0.0)
    won = np.nan_to_num((np.nan_to_num(payoffs.won) * payoffs.games).sum(axis=1) / np.where(games > 0, games, np.nan))
    weight = games / (games + RELIABLE)
    strength = np.zeros(size)  # in units of ELO_SCALE
    for _ in range(100):
        expected = 1 / (1 + np.exp(strength[None, :] - strength[:, None]))
        drawn = 1 / (1 + np.exp(-strength))
        slope = (weight * (won - expected)).sum(axis=1) + DRAWN * (0.5 - drawn)
        spread = weight * expected * (1 - expected)
        curvature = np.diag(spread.sum(axis=1) + DRAWN * drawn * (1 - drawn)) - spread
        step = np.linalg.solve(curvature, slope)
        strength += step / max(1.0, float(np.abs(step).max(initial=0.0)))
        if np.abs(step).max(initial=0.0) < 1e-9:
            break
    # The slopes of two members share the chance of their games, with opposite signs.
    chance = weight**2 * expected * (1 - expected) / np.where(number > 0, number, np.inf)
    inverse = np.linalg.inv(curvature)
    variance = inverse @ (np.diag(chance.sum(axis=1)) - chance) @ inverse
    unknown = np.where(games.any(axis=1), 0.0, np.nan)
    rating = ELO_MEAN + ELO_SCALE * (strength - np.mean(strength[games.any(axis=1)] if games.any() else strength))
    return Elo(rating + unknown, ELO_SCALE * np.sqrt(np.maximum(variance.diagonal(), 0.0)) + unknown)
