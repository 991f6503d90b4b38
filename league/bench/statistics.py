"""Figures over training seeds: what another seed would have given, and which arm is better than which.

A seed gives one trained policy, which meets every partner in both seats: its scores go together, and the *seed* is the
unit of doubt. So each figure is made of one number a seed, and seeds are drawn again as wholes, each arm's among its
own (a stratified bootstrap). Agarwal et al. 2021, *Deep Reinforcement Learning at the Edge of the Statistical
Precipice* (rliable), draw the runs of every task apart, for theirs are trained apart; ours are not, and an interval
made that way would be too narrow. n = seeds, W = partners, R = replicates. Scores: ``[n, W, 2]`` by seed, partner and
seat, ``nan`` where a cell has none (the same cells for every seed); points of ten or shares of a reference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.errors import InputError
from dond_marl.randomness import generator

Table = NDArray[np.float64]
PerSeed = Callable[[Table], Table]  # scores [n, W, 2] to one number a seed, [n]
REPLICATES = 2_000
PERMUTATIONS = 10_000
CUT = 4  # an interquartile mean leaves out one value in so many at either end
TINY = 1e-9  # a standard error of a share; a smaller one is rounding
DECILE = 0.1  # share of the partners that the worst decile holds


class Figure(NamedTuple):
    """A figure over ``n`` seeds with a two-sided interval; ``nan`` bounds: one seed, or none."""

    value: float
    low: float
    high: float
    n: int


class Profile(NamedTuple):
    """The share of (seed, partner, seat) with a score above each threshold, with pointwise intervals."""

    thresholds: Table  # [T]
    above: tuple[Figure, ...]  # [T] 0..1


class Comparison(NamedTuple):
    """One arm against the one that all are compared with."""

    difference: Figure  # of the interquartile means over seeds; above 0: this arm has more
    improvement: Figure  # the chance that a seed of this arm has more than one of the other against the same partner
    p: float  # of a permutation test of the difference, two-sided
    adjusted: float  # the same after Holm's correction for all arms that are compared


class ScoresError(InputError):
    """The scores are no table ``[seeds, partners, seats]`` of the same cells for every seed, or hold none."""


def mean_score(scores: Table) -> Table:
    """The mean over partners and seats, ``[n]``; a partner counts by the seats in which it has a score."""
    mean: Table = np.nanmean(_checked(scores).reshape(len(scores), -1), axis=1)
    return mean


def worst_decile(scores: Table) -> Table:
    """The mean over the tenth of the partners, at least one, with whom each seed does worst, ``[n]``.

    A partner's score is the mean of its seats. A fraction of a partner counts by its fraction: of 25 partners the two
    worst count whole and the third half (the conditional value at risk: Rockafellar & Uryasev 2000).
    """
    scores = _checked(scores)
    some = ~np.isnan(scores[0]).all(axis=1)
    ordered = np.sort(np.nanmean(scores[:, some], axis=2), axis=1)
    held = max(DECILE * ordered.shape[1], 1.0)
    weights = np.clip(held - np.arange(ordered.shape[1]), 0.0, 1.0)
    decile: Table = ordered @ weights / held
    return decile


def worst_cell(scores: Table) -> Table:
    """The lowest score of each seed over partners and seats, ``[n]``."""
    lowest: Table = np.nanmin(_checked(scores).reshape(len(scores), -1), axis=1)
    return lowest


def interquartile_mean(values: Table) -> Table:
    """The mean of the middle half along the last axis: ``n // 4`` values are left out at either end.

    As ``rliable.metrics.aggregate_iqm`` does. Of fewer than four values it is their mean.
    """
    size = values.shape[-1]
    cut = size // CUT
    mean: Table = np.sort(values, axis=-1)[..., cut : size - cut].mean(axis=-1)
    return mean


def middle(values: Sequence[float] | Table, confidence: float = 0.95) -> Figure:
    """The interquartile mean over seeds of one number a seed, ``[n]``, with its interval.

    ``values`` come from :func:`mean_score`, :func:`worst_decile`, :func:`worst_cell` or anything else that is one
    number a seed. The interval is the bootstrap's standard error times Student's quantile, for percentiles of a
    bootstrap of ten seeds cover 90 % where they say 95 %. ``confidence`` is two-sided, in (0, 1).
    """
    return _over_seeds(interquartile_mean, np.asarray(values, dtype=np.float64), confidence)


def mean(values: Sequence[float] | Table, confidence: float = 0.95) -> Figure:
    """The mean over seeds of one number a seed, ``[n]``, with Student's interval; a bad seed counts whole."""
    return _over_seeds(lambda drawn: drawn.mean(axis=-1), np.asarray(values, dtype=np.float64), confidence)


def difference(first: Sequence[float] | Table, second: Sequence[float] | Table, confidence: float = 0.95) -> Figure:
    """The interquartile mean of ``first[n]`` less that of ``second[m]``; ``n`` is the smaller number of seeds.

    Seeds of the arms are not paired. Degrees of freedom after Welch 1947.
    """
    both = [np.asarray(values, dtype=np.float64) for values in (first, second)]
    value = float(interquartile_mean(both[0]) - interquartile_mean(both[1]))
    sizes = [len(values) for values in both]
    if min(sizes) < 2:
        return Figure(value, math.nan, math.nan, min(sizes))
    variances = [_error(interquartile_mean, values, place) ** 2 for place, values in enumerate(both)]
    if not sum(variances):
        return Figure(value, value, value, min(sizes))
    freedom = sum(variances) ** 2 / sum(v * v / (n - 1) for v, n in zip(variances, sizes, strict=True))
    margin = _student(confidence, freedom) * math.sqrt(sum(variances))
    return Figure(value, value - margin, value + margin, min(sizes))


def probability_of_improvement(first: Table, second: Table, confidence: float = 0.95) -> Figure:
    """The chance that a seed of ``first[n, W, 2]`` scores more than one of ``second[m, W, 2]``, ties half, over cells.

    The mean over cells of Mann & Whitney's statistic (Agarwal et al. 2021, section 4). Both hold the same cells. The
    interval is Wilson's of as many independent trials as would give the bootstrap's standard error, so that it stays
    within 0..1 and is not nothing where one arm is always better.
    """
    mine, theirs = (_cells(_checked(scores)) for scores in (first, second))
    if mine.shape[1] != theirs.shape[1]:
        raise ScoresError(f"both arms need the same cells, got {mine.shape[1]} and {theirs.shape[1]}")
    n, m = len(mine), len(theirs)
    wins = ((mine[:, None] > theirs).mean(axis=2) + (mine[:, None] >= theirs).mean(axis=2)) / 2  # [n, m]
    value = float(wins.mean())
    if min(n, m) < 2:
        return Figure(value, math.nan, math.nan, min(n, m))
    drawn = generator(0, "seeds, improvement")
    rows, columns = (_counts(drawn.integers(size, size=(REPLICATES, size)), size) / size for size in (n, m))
    again = ((rows @ wins) * columns).sum(axis=1)
    smaller = min(n, m)
    error = float(again.std()) * math.sqrt(smaller / (smaller - 1))
    trials = max(value * (1 - value) / error**2, smaller) if error > TINY else float(smaller)
    return Figure(value, *_wilson(value, trials, smaller - 1, confidence), smaller)


def performance_profile(scores: Table, thresholds: Sequence[float] | Table, confidence: float = 0.95) -> Profile:
    """The share of seeds and cells whose score is above each of ``thresholds[T]`` (Agarwal et al. 2021, section 4).

    Intervals hold at one threshold at a time. They are Wilson's; how much the cells of a seed go together is told from
    all thresholds at once, for at one with few scores above it ten seeds cannot tell.
    """
    cells, at = _cells(_checked(scores)), np.asarray(thresholds, dtype=np.float64)
    shares = (cells[:, :, None] > at).mean(axis=1)  # [n, T]
    above, n = shares.mean(axis=0), len(shares)
    if n < 2:
        return Profile(at, tuple(Figure(float(value), math.nan, math.nan, n) for value in above))
    spread = float(shares.var(axis=0, ddof=1).sum()) / n
    trials = max(float((above * (1 - above)).sum()) / spread, n) if spread > TINY else float(n)
    return Profile(at, tuple(Figure(v, *_wilson(v, trials, n - 1, confidence), n) for v in above.tolist()))


def compare(
    arms: Mapping[str, Table], against: str, *, of: PerSeed = mean_score, confidence: float = 0.95
) -> dict[str, Comparison]:
    """Every other arm of ``arms`` against the one named ``against``, with Holm's correction over all of them.

    ``arms`` hold scores ``[seeds, partners, seats]`` of the same cells; ``of`` makes one number a seed of them.
    Raises :class:`ScoresError`.
    """
    if against not in arms:
        raise ScoresError(f"no arm is called {against!r}; there are {', '.join(arms)}")
    other, others = of(arms[against]), [name for name in arms if name != against]
    values = {name: of(arms[name]) for name in others}
    p = [permutation_p(values[name], other) for name in others]
    return {
        name: Comparison(
            difference(values[name], other, confidence),
            probability_of_improvement(arms[name], arms[against], confidence),
            p[place],
            adjusted,
        )
        for place, (name, adjusted) in enumerate(zip(others, holm(p), strict=True))
    }


def permutation_p(first: Table, second: Table) -> float:
    """The chance of a difference of interquartile means as large, either way, if the arms did not matter.

    All ways to deal the seeds out to the arms, or ``PERMUTATIONS`` of them: with three seeds each no result is rarer
    than 1 in 10. ``nan`` with fewer than two seeds of an arm.
    """
    if min(len(first), len(second)) < 2:
        return math.nan
    from scipy.stats import permutation_test  # slow to import, and only needed here

    def statistic(mine: Table, theirs: Table, axis: int) -> Table:
        return interquartile_mean(np.moveaxis(mine, axis, -1)) - interquartile_mean(np.moveaxis(theirs, axis, -1))

    drawn = generator(0, "seeds, permutations")
    return float(permutation_test((first, second), statistic, n_resamples=PERMUTATIONS, rng=drawn).pvalue)


def holm(p: Sequence[float]) -> list[float]:
    """P-values that hold for all of them together: Holm 1979. ``nan`` values are no tests, and stay."""
    order = sorted((value, place) for place, value in enumerate(p) if not math.isnan(value))
    adjusted, largest = [math.nan] * len(p), 0.0
    for rank, (value, place) in enumerate(order):
        largest = max(largest, min(value * (len(order) - rank), 1.0))
        adjusted[place] = largest
    return adjusted


def _over_seeds(statistic: Callable[[Table], Table], values: Table, confidence: float) -> Figure:
    if values.ndim != 1 or np.isnan(values).any():
        raise ScoresError(f"one number a seed is needed, got {values.shape} with {np.isnan(values).sum()} missing")
    n = len(values)
    value = float(statistic(values)) if n else math.nan
    if n < 2:
        return Figure(value, math.nan, math.nan, n)
    margin = _student(confidence, n - 1) * _error(statistic, values)
    return Figure(value, value - margin, value + margin, n)


def _error(statistic: Callable[[Table], Table], values: Table, arm: int = 0) -> float:
    """The standard error of a statistic of n seeds, drawn again; n - 1 of them are free."""
    n = len(values)
    drawn = values[generator(0, "seeds", arm).integers(n, size=(REPLICATES, n))]
    return float(statistic(drawn).std()) * math.sqrt(n / (n - 1))


def _wilson(share: float, trials: float, freedom: int, confidence: float) -> tuple[float, float]:
    """Wilson's bounds of a share of so many trials, of which the spread of ``freedom`` + 1 seeds told (Wilson 1927)."""
    z = _student(confidence, freedom)
    center, shrunk = share + z * z / (2 * trials), 1 + z * z / trials
    margin = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return (center - margin) / shrunk, (center + margin) / shrunk


def _counts(drawn: NDArray[np.int64], size: int) -> Table:
    """How often each of ``size`` was drawn in each row, ``[R, size]``."""
    rows = np.arange(len(drawn))[:, None] * size
    counts: Table = (
        np.bincount((drawn + rows).ravel(), minlength=len(drawn) * size).reshape(-1, size).astype(np.float64)
    )
    return counts


def _cells(scores: Table) -> Table:
    """Scores by seed and cell that has one, ``[n, C]``."""
    flat = scores.reshape(len(scores), -1)
    return flat[:, ~np.isnan(flat[0])]


def _checked(scores: Table) -> Table:
    if scores.ndim != 3 or not scores.size:
        raise ScoresError(f"scores are [seeds, partners, seats], got {scores.shape}")
    missing = np.isnan(scores)
    if missing.all() or (missing != missing[0]).any():
        raise ScoresError("every seed needs scores of the same cells, and of one at least")
    return scores


def _student(confidence: float, freedom: float) -> float:
    from scipy.special import stdtrit  # slow to import, and only needed here

    return float(stdtrit(freedom, 0.5 + confidence / 2))
