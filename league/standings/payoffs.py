"""What a member can expect against another: cells shrunk towards what both do elsewhere.

A cell of few games is pulled towards the additive prediction of :func:`league.standings.ratings.take_give` (what its
member takes, what its opponent leaves, which seat it sits in), never towards a number fixed beforehand; how strongly is
learned from how well that prediction does (empirical Bayes: Efron & Morris 1975; Morris 1983). Points of ten.
N = members.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.statistics import TEN
from league.standings.cells import Payoffs
from league.standings.ratings import take_give

Table = NDArray[np.float64]
STRENGTH = 8.0  # games that the prediction is worth where the cells are too few to tell
STRENGTHS = (1.0, 200.0)  # a prediction worth less than a game, or that 200 games cannot outweigh, is not believed
POPOVICIU = TEN**2 / 4  # the most that points between 0 and 10 can vary (Popoviciu 1935)


class Shrunk(NamedTuple):
    """Expected points of every cell, ``[N, 2, N]``, also of cells that were not played."""

    mean: Table  # nan only where no cell at all was played
    strength: float  # games that the prediction was worth


def shrink(payoffs: Payoffs) -> Shrunk:
    """The posterior of every cell: ``(n * mean + strength * prediction) / (n + strength)``, n effective games.

    ``strength`` is learned from the cells.
    """
    played = payoffs.games > 0
    if not played.any():
        return Shrunk(np.full(payoffs.mean.shape, np.nan), STRENGTH)
    prediction = take_give(payoffs.mean, payoffs.games).predicted()
    strength = _learned_strength(payoffs, prediction, _pooled_variance(payoffs))
    share = payoffs.games / (payoffs.games + strength)
    return Shrunk(share * np.nan_to_num(payoffs.mean) + (1 - share) * prediction, strength)


def surely_reached(payoffs: Payoffs) -> Table:
    """What some member is known to earn against each, ``[2, N]`` by the seat it sits in; ``nan``: nobody has met it.

    The most of all members' means less one standard error each, so that it is not the luck of the best of many. It is
    a lower bound of what a best response earns, and an amount that a policy is known for.
    """
    sure = np.where(payoffs.games > 0, payoffs.mean - np.sqrt(payoffs.error), np.nan)
    known = np.where(np.isnan(sure), -np.inf, sure).max(axis=0)  # nan: an error that is not known
    return np.where(np.isinf(known), np.nan, known)


def complete(payoffs: Payoffs) -> Table:
    """The table of means ``[N, 2, N]`` for :mod:`league.standings.meta_game`, predicted where nothing was played."""
    return np.where(payoffs.games > 0, payoffs.mean, shrink(payoffs).mean)


def _pooled_variance(payoffs: Payoffs) -> float:
    """The variance of one game about its cell's mean, over all cells."""
    freedom = np.where(np.isnan(payoffs.variance), 0.0, payoffs.games - 1)
    if freedom.sum() <= 0:
        return POPOVICIU
    return float((freedom * np.nan_to_num(payoffs.variance)).sum() / freedom.sum())


def _learned_strength(payoffs: Payoffs, prediction: Table, pooled: float) -> float:
    """A game's variance over how far true means lie from the prediction (by moments), within ``STRENGTHS``."""
    played = payoffs.games > 0
    members = np.count_nonzero(played.any(axis=(1, 2)) | played.any(axis=(0, 1)))
    left = np.count_nonzero(played) - 2 * members  # cells less what was fitted to them
    if left <= 0:
        return STRENGTH
    squares = float(((payoffs.mean - prediction)[played] ** 2).sum()) / left
    between = squares - pooled * float((1 / payoffs.games[played]).mean())
    if between <= 0:
        return STRENGTHS[1]
    return min(max(pooled / between, STRENGTHS[0]), STRENGTHS[1])
