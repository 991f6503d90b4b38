"""Figures with their doubt: points of ten, and means with intervals over scenarios.

Games on one scenario are not independent: the same pool and values come back with the items renamed, with the seats'
values exchanged, in another pass over the source, and against every opponent. So the orbit of a scenario, whatever its
items are called and whichever seat holds which values, is the unit of doubt. Each of the 475 orbits of ``lewis`` is a
group, those of other scenarios are hashed into ``GROUPS`` groups, and the spread between groups gives the interval
(random groups and a linearized ratio: Wolter 2007, *Introduction to Variance Estimation*, chapters 2 and 6). That
takes the same memory for a thousand games and a billion.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.scenarios.space import Scenarios
from dond_marl.scenarios.views import lewis_orbits, orbits

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: Knuth 1998, volume 3, section 6.4
GROUPS = 512  # more groups give steadier intervals; memory grows with them
NO_VARIANCE = 1e-18  # of a share; less is rounding
TEN = 10.0  # a seat's whole pool, in points of ten


class Estimate(NamedTuple):
    """A mean over ``n`` games with a two-sided interval; ``nan`` bounds say that there is too little to tell."""

    mean: float
    n: int
    low: float
    high: float

    @property
    def margin(self) -> float:
        """Half the interval's width."""
        return (self.high - self.low) / 2


def points_of_ten(scores: NDArray[np.int16], wholes: NDArray[np.int16]) -> NDArray[np.float64]:
    """Scores as tenths of what the whole pool is worth to the seat, ``[N, 2]`` in 0..10; 0 if it is worth nothing."""
    return scores * (TEN / np.maximum(wholes, 1))


def scenario_groups(scenarios: Scenarios) -> NDArray[np.int64]:
    """The group of each scenario, ``[N]`` in 0..GROUPS - 1, the same for all that are renamings or swaps of each other.

    Two scenarios of ``lewis`` that are not have different groups.
    """
    orbit, of_lewis = orbits(scenarios), lewis_orbits()
    places = np.minimum(np.searchsorted(of_lewis, orbit), len(of_lewis) - 1)
    hashed = (orbit.astype(np.uint64) * GOLDEN >> np.uint64(64 - int(math.log2(GROUPS)))).astype(np.int64)
    return np.where(of_lewis[places] == orbit, places, hashed)


def mean_of_cells(sums: NDArray[np.float64], games: NDArray[np.float64], confidence: float) -> Estimate:
    """The unweighted mean of the cells' means, with its interval.

    ``sums[C, GROUPS]`` and ``games[C, GROUPS]`` hold each cell's total and count per group of scenarios; cells that
    hold no game are left out. ``confidence`` is two-sided, in (0, 1).
    """
    in_cell = games.sum(axis=1)
    filled = in_cell > 0
    n = int(in_cell.sum())
    if not n:
        return Estimate(math.nan, 0, math.nan, math.nan)
    sums, games, in_cell = sums[filled], games[filled], in_cell[filled]
    means = sums.sum(axis=1) / in_cell
    mean = float(means.mean())
    occupied = int((games.sum(axis=0) > 0).sum())
    if occupied < 2:
        return Estimate(mean, n, math.nan, math.nan)
    influence = ((sums - means[:, None] * games) / in_cell[:, None]).mean(axis=0)
    variance = occupied / (occupied - 1) * float((influence**2).sum())
    margin = _student_quantile(0.5 + confidence / 2, occupied - 1) * math.sqrt(variance)
    return Estimate(mean, n, mean - margin, mean + margin)


def mean_over_scenarios(
    values: NDArray[Any], groups: NDArray[np.int64], confidence: float, among: NDArray[Any] | None = None
) -> Estimate:
    """The mean of ``values`` with its interval over scenarios; of several cells, the mean of their means.

    Shapes as in :func:`by_group`. ``confidence`` is two-sided, in (0, 1).
    """
    return mean_of_cells(*by_group(values, groups, among), confidence)


def by_group(
    values: NDArray[Any], groups: NDArray[np.int64], among: NDArray[Any] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each cell's total and number of games per group of scenarios, two ``[C, GROUPS]`` for :func:`mean_of_cells`.

    ``values[C, K]``, or ``values[K]`` of one cell, holds one figure per game, and ``groups[K]`` in 0..GROUPS - 1 the
    group of each game's scenario. ``among``, shaped as ``values``, counts the games: a game of 0 is left out, whatever
    its value.
    """
    cells = np.atleast_2d(values)
    counted = np.ones(cells.shape) if among is None else np.atleast_2d(among).astype(np.float64)
    kept = np.where(counted > 0, cells * counted, 0.0)
    sums = [np.bincount(groups, weights=row, minlength=GROUPS) for row in kept]
    games = [np.bincount(groups, weights=row, minlength=GROUPS) for row in counted]
    return np.array(sums), np.array(games)


def rate(happened: NDArray[np.float64], games: NDArray[np.float64], confidence: float) -> Estimate:
    """The share of games in which something happened, the unweighted mean of the cells' shares, within 0..1.

    Shapes as in :func:`mean_of_cells`. Wilson's interval (Wilson 1927) of as many independent games as would vary as
    much as the groups of scenarios do (Dean & Pagano 2015, *Evaluating Confidence Interval Methods for Binomial
    Proportions in Clustered Surveys*): games on one scenario are not independent. Where it happened always or never,
    the groups are all that is counted.
    """
    mean, n, _, high = mean_of_cells(happened, games, confidence)
    if math.isnan(high):
        return Estimate(mean, n, math.nan, math.nan)
    occupied = int((games.sum(axis=0) > 0).sum())
    quantile = _student_quantile(0.5 + confidence / 2, occupied - 1)
    variance = ((high - mean) / quantile) ** 2
    trials = mean * (1 - mean) / variance if variance > NO_VARIANCE else float(occupied)
    least = quantile**2 / trials
    center, margin = mean + least / 2, math.sqrt(least * (mean * (1 - mean) + least / 4))
    return Estimate(mean, n, max((center - margin) / (1 + least), 0.0), min((center + margin) / (1 + least), 1.0))


def mean_of(values: Sequence[float], confidence: float) -> Estimate:
    """The mean of independent values, such as one per seed, with Student's interval; ``n`` is how many there are."""
    n, mean = len(values), float(np.mean(values)) if len(values) else math.nan
    if n < 2:
        return Estimate(mean, n, math.nan, math.nan)
    margin = _student_quantile(0.5 + confidence / 2, n - 1) * float(np.std(values, ddof=1)) / math.sqrt(n)
    return Estimate(mean, n, mean - margin, mean + margin)


def _student_quantile(probability: float, freedom: int) -> float:
    from scipy.special import stdtrit  # slow to import, and only needed here

    return float(stdtrit(freedom, probability))
