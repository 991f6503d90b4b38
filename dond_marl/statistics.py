"""Estimates with confidence intervals: over scenarios, over training seeds, and over independent trials.

Games on one scenario are not independent: the same pool and values come back with the items renamed, with the seats'
values exchanged, in another pass over the source, and against every opponent. The sampling unit is therefore the orbit
of a scenario under renaming of items and exchange of seats. Each of the 475 orbits of ``lewis`` is a group, those of
other scenarios are hashed into ``GROUPS`` groups, and the spread between groups gives the interval (random groups and a
linearized ratio: Wolter 2007, *Introduction to Variance Estimation*, chapters 2 and 6). Memory does not grow with the
number of games.

A training seed gives one trained policy, which plays every partner in both seats, so its scores are not independent
either. Over seeds the sampling unit is the *seed*: a figure is made of one number per seed, and seeds are resampled as
wholes, separately within each arm (a stratified bootstrap). Agarwal et al. 2021, *Deep Reinforcement Learning at the
Edge of the Statistical Precipice* (rliable), resample the runs of every task independently because theirs are trained
independently; here such an interval would be too narrow.

n = seeds, W = partners, R = replicates. Scores: ``[n, W, 2]`` by seed, partner and seat, ``nan`` where a cell has none
(the same cells for every seed); points of ten or shares of a reference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.errors import InputError
from dond_marl.randomness import GOLDEN, generator
from dond_marl.scenarios.sources import Scenarios, lewis_orbits, orbits

Table = NDArray[np.float64]
GROUPS = 512  # more groups give steadier intervals; memory grows with them
NO_VARIANCE = 1e-18  # of a share; a smaller variance is rounding
TEN = 10.0  # a seat's whole pool, in points of ten
REPLICATES = 2_000
PERMUTATIONS = 10_000
SEED_CONFIDENCE = 0.95  # two-sided, of intervals over seeds and trials
CUT = 4  # an interquartile mean omits one value in this many at either end
WORST = 0.1  # share of the partners in the worst tenth


class Estimate(NamedTuple):
    """A mean over ``n`` games, seeds or trials with a two-sided interval; ``nan`` bounds: too few to have one."""

    mean: float
    n: int
    low: float
    high: float

    @property
    def margin(self) -> float:
        """Half the interval's width."""
        return (self.high - self.low) / 2


class Estimates(NamedTuple):
    """An array of values of any shape, each with a two-sided interval; ``nan`` where a value or interval is unknown."""

    value: Table
    low: Table
    high: Table

    def entry(self, *place: int) -> Estimates:
        """The values and bounds at one index."""
        return Estimates(self.value[place], self.low[place], self.high[place])


class Profile(NamedTuple):
    """The share of (seed, partner, seat) with a score above each threshold, with pointwise intervals."""

    thresholds: Table  # [T]
    above: tuple[Estimate, ...]  # [T] 0..1


class Comparison(NamedTuple):
    """One arm compared with the reference arm."""

    difference: Estimate  # of the interquartile means over seeds; above 0: this arm has more
    improvement: Estimate  # probability that a seed of this arm has more than one of the other, same partner
    p: float  # of a permutation test of the difference, two-sided
    adjusted: float  # the same after Holm's correction for all arms that are compared


class ScoresError(InputError):
    """The scores are no array ``[seeds, partners, seats]`` of the same cells for every seed, or are empty."""


def points_of_ten(scores: NDArray[np.int16], wholes: NDArray[np.int16]) -> NDArray[np.float64]:
    """Scores as tenths of what the whole pool is worth to the seat, ``[N, 2]`` in 0..10; 0 if it is worth nothing."""
    return scores * (TEN / np.maximum(wholes, 1))


def scenario_groups(scenarios: Scenarios) -> NDArray[np.int64]:
    """The group of each scenario, ``[N]`` in 0..GROUPS - 1; renamings and seat swaps of a scenario share its group.

    Different orbits of ``lewis`` have different groups.
    """
    orbit, of_lewis = orbits(scenarios), lewis_orbits()
    places = np.minimum(np.searchsorted(of_lewis, orbit), len(of_lewis) - 1)
    hashed = (orbit.astype(np.uint64) * GOLDEN >> np.uint64(64 - int(math.log2(GROUPS)))).astype(np.int64)
    return np.where(of_lewis[places] == orbit, places, hashed)


def mean_of_cells(sums: NDArray[np.float64], games: NDArray[np.float64], confidence: float) -> Estimate:
    """The unweighted mean of the cells' means, with its interval.

    ``sums[C, GROUPS]`` and ``games[C, GROUPS]`` hold each cell's total and count per group of scenarios; cells without
    games are left out. ``confidence`` is two-sided, in (0, 1).
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
    margin = two_sided_quantile(confidence, occupied - 1) * math.sqrt(variance)
    return Estimate(mean, n, mean - margin, mean + margin)


def mean_over_scenarios(
    values: NDArray[Any], groups: NDArray[np.int64], confidence: float, among: NDArray[Any] | None = None
) -> Estimate:
    """The mean of ``values`` with its interval over scenarios; of several cells, the mean of their means.

    Shapes as in :func:`sums_by_group`. ``confidence`` is two-sided, in (0, 1).
    """
    return mean_of_cells(*sums_by_group(values, groups, among), confidence)


def sums_by_group(
    values: NDArray[Any], groups: NDArray[np.int64], among: NDArray[Any] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each cell's total and number of games per group of scenarios, two ``[C, GROUPS]`` for :func:`mean_of_cells`.

    ``values[C, K]``, or ``values[K]`` of one cell, holds one figure per game, and ``groups[K]`` in 0..GROUPS - 1 the
    group of each game's scenario. ``among``, shaped as ``values``, counts the games: a game of 0 is left out, whatever
    its value.
    """
    cells = np.atleast_2d(values)
    counts = np.ones(cells.shape) if among is None else np.atleast_2d(among).astype(np.float64)
    counted = np.where(counts > 0, cells * counts, 0.0)
    sums = [np.bincount(groups, weights=row, minlength=GROUPS) for row in counted]
    games = [np.bincount(groups, weights=row, minlength=GROUPS) for row in counts]
    return np.array(sums), np.array(games)


def rate(happened: NDArray[np.float64], games: NDArray[np.float64], confidence: float) -> Estimate:
    """The share of games in which an event happened, the unweighted mean of the cells' shares, within 0..1.

    Shapes as in :func:`mean_of_cells`. Wilson's interval of as many independent games as would vary as much as the
    groups of scenarios do (Dean & Pagano 2015, *Evaluating Confidence Interval Methods for Binomial Proportions in
    Clustered Surveys*): games on one scenario are not independent. Where it happened always or never, the number of
    trials is the number of groups.
    """
    mean, n, _, high = mean_of_cells(happened, games, confidence)
    if math.isnan(high):
        return Estimate(mean, n, math.nan, math.nan)
    occupied = int((games.sum(axis=0) > 0).sum())
    variance = ((high - mean) / two_sided_quantile(confidence, occupied - 1)) ** 2
    trials = mean * (1 - mean) / variance if variance > NO_VARIANCE else float(occupied)
    return Estimate(mean, n, *wilson(mean, trials, confidence, occupied - 1))


def wilson(share: float, trials: float, confidence: float, freedom: float | None = None) -> tuple[float, float]:
    """Wilson's bounds of a share in 0..1 of so many trials (Wilson 1927), within 0..1.

    ``freedom``: degrees of freedom of Student's quantile, where the number of trials is itself estimated; by default
    the normal quantile.
    """
    quantile = two_sided_quantile(confidence, freedom)
    least = quantile**2 / trials
    center, margin = share + least / 2, math.sqrt(least * (share * (1 - share) + least / 4))
    return max((center - margin) / (1 + least), 0.0), min((center + margin) / (1 + least), 1.0)


def mean_of(values: Sequence[float], confidence: float) -> Estimate:
    """The mean of independent values, such as one per seed, with Student's interval; ``n`` is their number."""
    n, mean = len(values), float(np.mean(values)) if len(values) else math.nan
    if n < 2:
        return Estimate(mean, n, math.nan, math.nan)
    margin = two_sided_quantile(confidence, n - 1) * float(np.std(values, ddof=1)) / math.sqrt(n)
    return Estimate(mean, n, mean - margin, mean + margin)


def two_sided_quantile(confidence: float, freedom: float | None = None) -> float:
    """Half the width of a two-sided interval in standard errors: Student's quantile, or the normal one by default."""
    if freedom is None:
        return NormalDist().inv_cdf(0.5 + confidence / 2)
    from scipy.special import stdtrit  # slow to import, and only needed here

    return float(stdtrit(freedom, 0.5 + confidence / 2))


def worst_tenth_weights(scores: Sequence[float] | Table) -> Table:
    """The weight of each of ``scores[W]`` in the mean of their worst tenth, at least one of them; the sum is 1.

    A fraction of a score counts by its fraction: of 25 scores the two lowest count whole and the third half (the
    conditional value at risk: Rockafellar & Uryasev 2000).
    """
    values = np.asarray(scores, dtype=np.float64)
    size = max(WORST * len(values), 1.0)
    weights = np.empty(len(values))
    weights[np.argsort(values, kind="stable")] = np.clip(size - np.arange(len(values)), 0.0, 1.0) / size
    return weights


def mean_score(scores: Table) -> Table:
    """The mean over partners and seats, ``[n]``; a partner counts by the seats in which it has a score."""
    mean: Table = np.nanmean(_check_scores(scores).reshape(len(scores), -1), axis=1)
    return mean


def interquartile_mean(values: Table) -> Table:
    """The mean of the middle half along the last axis: ``n // 4`` values are left out at either end.

    As ``rliable.metrics.aggregate_iqm`` does. Of fewer than four values it is their mean.
    """
    size = values.shape[-1]
    cut = size // CUT
    mean: Table = np.sort(values, axis=-1)[..., cut : size - cut].mean(axis=-1)
    return mean


def iqm_over_seeds(values: Sequence[float] | Table) -> Estimate:
    """The interquartile mean of ``values[n]``, one number per seed such as :func:`mean_score`, with its interval.

    The interval is the bootstrap's standard error times Student's quantile: percentiles of a bootstrap of ten seeds
    cover 90 % where 95 % is stated.
    """
    return _over_seeds(interquartile_mean, np.asarray(values, dtype=np.float64))


def mean_over_seeds(values: Sequence[float] | Table) -> Estimate:
    """The mean of ``values[n]``, one number per seed, with the interval of :func:`iqm_over_seeds`."""
    return _over_seeds(lambda drawn: drawn.mean(axis=-1), np.asarray(values, dtype=np.float64))


def iqm_difference(first: Sequence[float] | Table, second: Sequence[float] | Table) -> Estimate:
    """Interquartile mean of ``first[n]`` - that of ``second[m]``, one number per seed; ``n`` is the smaller of both.

    Seeds of the arms are not paired. Degrees of freedom after Welch 1947.
    """
    both = [np.asarray(values, dtype=np.float64) for values in (first, second)]
    value = float(interquartile_mean(both[0]) - interquartile_mean(both[1]))
    sizes = [len(values) for values in both]
    if min(sizes) < 2:
        return Estimate(value, min(sizes), math.nan, math.nan)
    variances = [_error(interquartile_mean, values, place) ** 2 for place, values in enumerate(both)]
    if not sum(variances):
        return Estimate(value, min(sizes), value, value)
    freedom = sum(variances) ** 2 / sum(v * v / (n - 1) for v, n in zip(variances, sizes, strict=True))
    margin = two_sided_quantile(SEED_CONFIDENCE, freedom) * math.sqrt(sum(variances))
    return Estimate(value, min(sizes), value - margin, value + margin)


def probability_of_improvement(first: Table, second: Table) -> Estimate:
    """The probability that a seed of ``first[n, W, 2]`` scores more than one of ``second[m, W, 2]``; a tie is half.

    The mean over cells of Mann & Whitney's statistic (Agarwal et al. 2021, section 4). Both hold the same cells. The
    interval is Wilson's of as many independent trials as would give the bootstrap's standard error, so that it stays
    within 0..1 and has a width where one arm is always better. Raises :class:`ScoresError`.
    """
    mine, theirs = (_cells(_check_scores(scores)) for scores in (first, second))
    if mine.shape[1] != theirs.shape[1]:
        raise ScoresError(f"both arms need the same cells, got {mine.shape[1]} and {theirs.shape[1]}")
    n, m = len(mine), len(theirs)
    wins = ((mine[:, None] > theirs).mean(axis=2) + (mine[:, None] >= theirs).mean(axis=2)) / 2  # [n, m]
    value, smaller = float(wins.mean()), min(n, m)
    if smaller < 2:
        return Estimate(value, smaller, math.nan, math.nan)
    drawn = generator(0, "seeds, improvement")
    rows, columns = (
        np.apply_along_axis(np.bincount, 1, drawn.integers(size, size=(REPLICATES, size)), minlength=size) / size
        for size in (n, m)
    )
    again = ((rows @ wins) * columns).sum(axis=1)
    variance = float(again.var()) * smaller / (smaller - 1)
    trials = max(value * (1 - value) / variance, smaller) if variance > NO_VARIANCE else float(smaller)
    return Estimate(value, smaller, *wilson(value, trials, SEED_CONFIDENCE, smaller - 1))


def performance_profile(scores: Table, thresholds: Sequence[float] | Table) -> Profile:
    """The share of seeds and cells whose score is above each of ``thresholds[T]`` (Agarwal et al. 2021, section 4).

    Intervals hold at one threshold at a time. They are Wilson's; the correlation of a seed's cells is estimated from
    all thresholds together, because ten seeds do not determine it at a threshold with few scores above it.
    """
    cells, at = _cells(_check_scores(scores)), np.asarray(thresholds, dtype=np.float64)
    shares = (cells[:, :, None] > at).mean(axis=1)  # [n, T]
    above, n = shares.mean(axis=0), len(shares)
    if n < 2:
        return Profile(at, tuple(Estimate(float(value), n, math.nan, math.nan) for value in above))
    spread = float(shares.var(axis=0, ddof=1).sum()) / n
    trials = max(float((above * (1 - above)).sum()) / spread, n) if spread > NO_VARIANCE else float(n)
    bounds = (wilson(share, trials, SEED_CONFIDENCE, n - 1) for share in above.tolist())
    return Profile(at, tuple(Estimate(share, n, *ends) for share, ends in zip(above.tolist(), bounds, strict=True)))


def compare_arms(arms: Mapping[str, Table], reference: str) -> dict[str, Comparison]:
    """Every other arm of ``arms`` compared with the arm named ``reference``, with Holm's correction over all of them.

    ``arms`` hold scores ``[seeds, partners, seats]`` of the same cells. Raises :class:`ScoresError`.
    """
    if reference not in arms:
        raise ScoresError(f"no arm is called {reference!r}; there are {', '.join(arms)}")
    other, others = mean_score(arms[reference]), [name for name in arms if name != reference]
    values = {name: mean_score(arms[name]) for name in others}
    p = [permutation_p(values[name], other) for name in others]
    return {
        name: Comparison(
            iqm_difference(values[name], other),
            probability_of_improvement(arms[name], arms[reference]),
            p[place],
            adjusted,
        )
        for place, (name, adjusted) in enumerate(zip(others, holm(p), strict=True))
    }


def permutation_p(first: Table, second: Table) -> float:
    """The two-sided p-value of the difference of interquartile means of ``first[n]`` and ``second[m]``.

    Null hypothesis: the arms are equal.

    All assignments of seeds to arms, or ``PERMUTATIONS`` of them: with three seeds each no p-value is below 1 in 10.
    ``nan`` with fewer than two seeds of an arm.
    """
    if min(len(first), len(second)) < 2:
        return math.nan
    from scipy.stats import permutation_test  # slow to import, and only needed here

    def statistic(mine: Table, theirs: Table, axis: int) -> Table:
        return interquartile_mean(np.moveaxis(mine, axis, -1)) - interquartile_mean(np.moveaxis(theirs, axis, -1))

    drawn = generator(0, "seeds, permutations")
    return float(permutation_test((first, second), statistic, n_resamples=PERMUTATIONS, rng=drawn).pvalue)


def holm(p: Sequence[float]) -> list[float]:
    """P-values corrected for their number: Holm 1979. ``nan`` values are no tests, and stay."""
    order = sorted((value, place) for place, value in enumerate(p) if not math.isnan(value))
    adjusted, largest = [math.nan] * len(p), 0.0
    for rank, (value, place) in enumerate(order):
        largest = max(largest, min(value * (len(order) - rank), 1.0))
        adjusted[place] = largest
    return adjusted


def _over_seeds(statistic: Callable[[Table], Table], values: Table) -> Estimate:
    if values.ndim != 1 or np.isnan(values).any():
        raise ScoresError(f"one number per seed is needed, got {values.shape} with {np.isnan(values).sum()} missing")
    n = len(values)
    value = float(statistic(values)) if n else math.nan
    if n < 2:
        return Estimate(value, n, math.nan, math.nan)
    margin = two_sided_quantile(SEED_CONFIDENCE, n - 1) * _error(statistic, values)
    return Estimate(value, n, value - margin, value + margin)


def _error(statistic: Callable[[Table], Table], values: Table, arm: int = 0) -> float:
    """The bootstrap's standard error of a statistic of n seeds, with n - 1 degrees of freedom."""
    n = len(values)
    drawn = values[generator(0, "seeds", arm).integers(n, size=(REPLICATES, n))]
    return float(statistic(drawn).std()) * math.sqrt(n / (n - 1))


def _cells(scores: Table) -> Table:
    """Scores by seed and cell that has one, ``[n, C]``."""
    flat = scores.reshape(len(scores), -1)
    return flat[:, ~np.isnan(flat[0])]


def _check_scores(scores: Table) -> Table:
    if scores.ndim != 3 or not scores.size:
        raise ScoresError(f"scores are [seeds, partners, seats], got {scores.shape}")
    missing = np.isnan(scores)
    if missing.all() or (missing != missing[0]).any():
        raise ScoresError("every seed needs scores of the same cells, and of one at least")
    return scores
