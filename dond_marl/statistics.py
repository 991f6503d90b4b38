"""Estimates with confidence intervals: over scenarios, over training seeds, and over independent trials.

Games on one scenario are not independent: the same pool and values come back with the items renamed, with the seats'
values exchanged, in another pass over the source, and against every opponent. The sampling unit is therefore the orbit
of a scenario under renaming of items and exchange of seats. Each of the 475 orbits of ``lewis`` is a group, those of
other scenarios are hashed into ``GROUPS`` groups, and the spread between groups gives the interval (random groups and a
linearized ratio: Wolter 2007, *Introduction to Variance Estimation*, chapters 2 and 6). Memory does not grow with the
number of games.

A training seed gives one trained policy, which plays every partner in both seats, so its scores are not independent
either. Partners are programs of families, and a conclusion is about partners like these. Figures of arms are therefore
resampled on both sides, seeds as wholes, families, and members within drawn families: the crossed bootstrap (Owen 2007,
*The Pigeonhole Bootstrap*, Annals of Applied Statistics 1). Every family has the same weight, whatever the number of
its members in a roster.

n = seeds, W = partners, R = replicates. Scores: ``[n, W, 2]`` by seed, partner and seat, ``nan`` where a cell has none
(the same cells for every seed); points of ten or shares of a reference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain, combinations
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.errors import InputError
from dond_marl.randomness import GOLDEN, generator
from dond_marl.scenarios.sources import Scenarios, lewis_orbits, orbits

Table = NDArray[np.float64]
Index = NDArray[np.intp]
Bools = NDArray[np.bool_]
GROUPS = 512  # more groups give steadier intervals; memory grows with them
NO_VARIANCE = 1e-18  # of a share; a smaller variance is rounding
TEN = 10.0  # a seat's whole pool, in points of ten
REPLICATES = 10_000
PERMUTATIONS = 200_000  # all assignments of ten seeds each to two arms are 184,756
ROUNDING = 1e-9  # sums that differ by less of themselves are equal
SEED_CONFIDENCE = 0.95  # two-sided, of intervals over seeds, partners and trials
TWO_ONE_SIDED = 0.90  # the interval of two one-sided tests at 5 %
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

    def __float__(self) -> float:
        return float(self.mean)


UNKNOWN = Estimate(math.nan, 0, math.nan, math.nan)  # without any games


class Estimates(NamedTuple):
    """An array of values of any shape, each with a two-sided interval; ``nan`` where a value or interval is unknown."""

    value: Table
    low: Table
    high: Table

    def entry(self, *index: int) -> Estimates:
        """The values and bounds at one index."""
        return Estimates(self.value[index], self.low[index], self.high[index])


Verdict = Literal["better", "worse", "equivalent", "undecided"]


class PermutationTest(NamedTuple):
    """A p-value and the smallest one that so many seeds can give; both ``nan`` with fewer than two of an arm."""

    p: float
    floor: float


class Comparison(NamedTuple):
    """One arm compared with the reference arm on the same W partners."""

    difference: Estimate  # of the headlines; above 0: this arm has more
    verdict: Verdict
    test: PermutationTest  # over seeds, for these partners
    adjusted: float  # its p-value after Holm's correction for all arms that are compared
    without: tuple[tuple[Estimate, Verdict], ...]  # [W] the same without each partner; empty with one partner


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
        return UNKNOWN
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


def headline_scores(scores: Table, families: Sequence[str]) -> Table:
    """The headline of each seed, ``[n]``: the mean over families of the mean over their members, both seats alike.

    ``scores[n, W, 2]`` by seed, partner and seat; ``families[W]``: the family of each partner. A partner counts by the
    seats in which it has a score; one without any is left out. Raises :class:`ScoresError`.
    """
    weights = cell_weights(_check_scores(scores)[0], families)
    value: Table = (np.nan_to_num(scores) * weights).sum(axis=(1, 2))
    return value


def cell_weights(scores: Table, families: Sequence[str]) -> Table:
    """The weight of each cell in the headline, ``[W, 2]``, 0 where ``scores[W, 2]`` is ``nan``; the sum is 1."""
    _, labels, present = _by_partner(scores[None], families)
    has_score = ~np.isnan(scores)
    weights = np.zeros(scores.shape)
    weights[present] = has_score[present] * (_partner_weights(labels) / has_score[present].sum(axis=1))[:, None]
    return weights


def headline(scores: Table, families: Sequence[str], *, fixed: bool = False) -> Estimate:
    """The mean over seeds of :func:`headline_scores`, with its interval for seeds and partners like these; n: seeds.

    ``fixed``: the partners are no sample of others, and seeds alone are resampled. ``nan`` bounds where there is
    nothing to resample: one seed, and fixed partners or one family. Raises :class:`ScoresError`.
    """
    points, labels, _ = _by_partner(scores, families)
    (estimate,) = _crossed_intervals(_draw_seeds(points), labels, fixed, SEED_CONFIDENCE)
    return estimate


def worst_tenth_scores(scores: Table) -> Table:
    """The mean over the worst tenth of the partners, of each seed its own, ``[n]``: :func:`worst_tenth_weights`."""
    points, _, _ = _by_partner(scores, [""] * scores.shape[1])
    return np.array([worst_tenth_weights(row) @ row for row in points])


def compare_arms(
    arms: Mapping[str, Table], reference: str, families: Sequence[str], effect: float, *, fixed: bool = False
) -> dict[str, Comparison]:
    """Every other arm of ``arms`` - the arm named ``reference``, with Holm's correction over all of them.

    ``arms`` hold scores ``[seeds, partners, seats]`` of the same cells; both arms of a difference meet the same
    resampled partners. ``effect``: the smallest difference of interest. ``fixed`` as for :func:`headline`. Raises
    :class:`ScoresError`.
    """
    if reference not in arms:
        raise ScoresError(f"no arm is called {reference!r}; there are {', '.join(arms)}")
    if any(not np.array_equal(np.isnan(scores[0]), np.isnan(arms[reference][0])) for scores in arms.values()):
        raise ScoresError("arms that are compared need scores of the same cells")
    reference_points, labels, _ = _by_partner(arms[reference], families)
    arm_points = {name: _by_partner(scores, families)[0] for name, scores in arms.items() if name != reference}
    weights, everyone = _partner_weights(labels), np.arange(len(labels))
    tests = [permutation_p(points @ weights, reference_points @ weights) for points in arm_points.values()]
    draws = [_draw_seeds(points, reference_points) for points in arm_points.values()]
    verdicts: list[list[tuple[Estimate, Verdict]]] = [[] for _ in arm_points]
    one_out = [np.delete(everyone, partner) for partner in everyone if len(everyone) > 1]
    for subset in (everyone, *one_out):  # the outer loop, as all arms share the resampled partners
        for draw, results in zip(draws, verdicts, strict=True):
            wide, narrow = _crossed_intervals(draw.take(subset), labels[subset], fixed, SEED_CONFIDENCE, TWO_ONE_SIDED)
            results.append((wide, verdict(wide, narrow, effect)))
    adjusted = holm([test.p for test in tests])
    return {
        name: Comparison(*results[0], test, p, tuple(results[1:]))
        for name, results, test, p in zip(arm_points, verdicts, tests, adjusted, strict=True)
    }


def verdict(wide: Estimate, narrow: Estimate, effect: float) -> Verdict:
    """The verdict of a difference by its 95 % and its 90 % interval.

    *Equivalent*: the narrow interval lies within -effect..effect (two one-sided tests at 5 %: Schuirmann 1987), even
    where it excludes 0; else *better* or *worse*: the wide one excludes 0; else *undecided*.
    """
    if narrow.low >= -effect and narrow.high <= effect:
        return "equivalent"
    return "better" if wide.low > 0 else "worse" if wide.high < 0 else "undecided"


class _Draws(NamedTuple):
    """An arm's scores by partner, or the difference of two arms, and replicates over seeds."""

    arms: tuple[Table, ...]  # [n, W] of each
    value: Table  # [W]
    drawn: Table  # [R, W]

    def take(self, partners: Index) -> _Draws:
        """The same for a part of the partners."""
        return _Draws(tuple(points[:, partners] for points in self.arms), self.value[partners], self.drawn[:, partners])


def _draw_seeds(first: Table, second: Table | None = None) -> _Draws:
    arms = (first,) if second is None else (first, second)
    # einsum, as BLAS would start threads, which take longer than such products where other processes run.
    drawn = [np.einsum("rn,nw->rw", _seed_weights(len(scores), arm), scores) for arm, scores in enumerate(arms)]
    means = [scores.mean(axis=0) for scores in arms]
    return (
        _Draws(arms, means[0], drawn[0]) if second is None else _Draws(arms, means[0] - means[1], drawn[0] - drawn[1])
    )


def _by_partner(scores: Table, families: Sequence[str]) -> tuple[Table, Index, Bools]:
    """Scores ``[n, K]`` by seed and partner that has one, the number of the family of each, and which they are, [W]."""
    _check_scores(scores)
    if len(families) != scores.shape[1]:
        raise ScoresError(f"{scores.shape[1]} partners need a family each, got {len(families)}")
    present: Bools = ~np.isnan(scores[0]).all(axis=1)
    points: Table = np.nanmean(scores[:, present], axis=2)
    return points, np.unique(np.array(families)[present], return_inverse=True)[1], present


def _partner_weights(labels: Index) -> Table:
    """The weight of each partner in the headline, ``[W]``; the sum is 1. ``labels[W]``: the number of its family."""
    numbers, sizes = np.unique(labels, return_counts=True)
    return 1 / (len(numbers) * sizes[np.searchsorted(numbers, labels)])


@lru_cache(maxsize=16)
def _resampled_partners(labels: tuple[int, ...]) -> Table:
    """The weight of each partner in each replicate, ``[R, W]``; rows sum to 1.

    F families are drawn with replacement, and of each drawn one as many members as it has:

        families  A A B C   (labels 0 0 1 2)
        drawn     A B A     -> 2 + 2 draws among A's members, 1 of B's, none of C's, each of weight 1 / (F size)
    """
    numbers, places, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    rng, F = generator(0, "partners"), len(numbers)
    times = rng.multinomial(F, np.full(F, 1 / F), size=REPLICATES)  # [R, F]
    weights = np.empty((REPLICATES, len(labels)))
    for family, size in enumerate(sizes.tolist()):
        drawn = rng.multinomial(times[:, family] * size, np.full(size, 1 / size))
        weights[:, places == family] = drawn / (F * size)
    weights.flags.writeable = False
    return weights


@lru_cache(maxsize=16)
def _seed_weights(n: int, arm: int) -> Table:
    """The weight of each seed in each replicate, ``[R, n]``; arms of a difference have draws of their own."""
    weights: Table = generator(0, "seeds", arm).multinomial(n, np.full(n, 1 / n), size=REPLICATES) / n
    weights.flags.writeable = False
    return weights


def _crossed_intervals(draws: _Draws, labels: Index, fixed: bool, *confidences: float) -> list[Estimate]:
    """A headline with an interval for each of ``confidences``, by the crossed bootstrap of seeds and partners.

    Percentiles are expanded as for a mean of so many values as Satterthwaite's degrees of freedom of the seeds' and
    the families' variances say (Hesterberg 2015, *What Teachers Should Know About the Bootstrap*, section 5): with few
    seeds or families plain percentiles are too narrow.
    """
    weights = _partner_weights(labels)
    numbers, labels = np.unique(labels, return_inverse=True)  # without gaps, so that equal sizes share their draws
    mean, n = float(draws.value @ weights), min(map(len, draws.arms))
    parts = [
        (float((points @ weights).var(ddof=1)) / len(points), len(points) - 1)
        for points in draws.arms
        if len(points) > 1
    ]
    if not fixed and len(numbers) > 1:
        by_family = [draws.value[labels == family].mean() for family in range(len(numbers))]
        parts.append((float(np.var(by_family, ddof=1)) / len(numbers), len(numbers) - 1))
    total = sum(variance for variance, _ in parts)
    if total <= NO_VARIANCE:
        bound = mean if parts else math.nan
        return [Estimate(mean, n, bound, bound) for _ in confidences]
    sampled = np.broadcast_to(weights, draws.drawn.shape) if fixed else _resampled_partners(tuple(labels.tolist()))
    drawn = np.einsum("rw,rw->r", draws.drawn, sampled)
    freedom = total**2 / sum(variance**2 / degrees for variance, degrees in parts)
    estimates = []
    for confidence in confidences:
        expanded = math.sqrt(1 + 1 / freedom) * two_sided_quantile(confidence, freedom)
        tail = NormalDist().cdf(-expanded)
        low, high = np.quantile(drawn, [tail, 1 - tail]).tolist()
        estimates.append(Estimate(mean, n, low, high))
    return estimates


def mean_difference(first: Sequence[float] | Table, second: Sequence[float] | Table) -> Estimate:
    """Mean of ``first[n]`` - mean of ``second[m]``, one number per seed, with Welch's interval; n: the smaller number.

    Seeds of the arms are not paired.
    """
    smaller, value = min(len(first), len(second)), float(np.mean(first) - np.mean(second))
    if smaller < 2 or not np.var(first) + np.var(second):
        bound = math.nan if smaller < 2 else value
        return Estimate(value, smaller, bound, bound)
    from scipy.stats import ttest_ind  # slow to import, and only needed here

    ends = ttest_ind(first, second, equal_var=False).confidence_interval(SEED_CONFIDENCE)
    return Estimate(value, smaller, float(ends.low), float(ends.high))


def permutation_p(first: Table, second: Table) -> PermutationTest:
    """The two-sided p-value of the difference of the means of ``first[n]`` and ``second[m]``, one number per seed.

    Null hypothesis: the arms are equal, for these partners. All assignments of seeds to arms are counted, or
    ``PERMUTATIONS`` drawn ones where there are more: with three seeds each no p-value is below 1 in 10. ``nan`` with
    fewer than two seeds of an arm.
    """
    n, m = len(first), len(second)
    if min(n, m) < 2:
        return PermutationTest(math.nan, math.nan)
    pooled = np.concatenate([first, second])
    pooled = pooled - pooled.mean()  # the difference of means is then the sum of the first n up to a factor
    observed = abs(pooled[:n].sum()) * (1 - ROUNDING)
    if math.comb(n + m, n) > PERMUTATIONS:
        rng = generator(0, "seeds, permutations")
        sums = rng.permuted(np.tile(pooled, (PERMUTATIONS, 1)), axis=1)[:, :n].sum(axis=1)
        return PermutationTest(float(1 + (abs(sums) >= observed).sum()) / (1 + PERMUTATIONS), 1 / (1 + PERMUTATIONS))
    assignments = _assignments(n + m, n)
    mirrored = 2 if n == m else 1
    return PermutationTest(
        float((abs(pooled[assignments].sum(axis=1)) >= observed).mean()), mirrored / len(assignments)
    )


@lru_cache(maxsize=4)
def _assignments(number: int, n: int) -> NDArray[np.uint8]:
    """All choices of ``n`` among ``number`` seeds, ``[C, n]``."""
    flat = chain.from_iterable(combinations(range(number), n))
    return np.fromiter(flat, np.uint8, math.comb(number, n) * n).reshape(-1, n)


def holm(p: Sequence[float]) -> list[float]:
    """P-values corrected for their number: Holm 1979. ``nan`` values are no tests, and stay."""
    order = sorted((value, i) for i, value in enumerate(p) if not math.isnan(value))
    adjusted, largest = [math.nan] * len(p), 0.0
    for rank, (value, i) in enumerate(order):
        largest = max(largest, min(value * (len(order) - rank), 1.0))
        adjusted[i] = largest
    return adjusted


def _check_scores(scores: Table) -> Table:
    if scores.ndim != 3 or not scores.size:
        raise ScoresError(f"scores are [seeds, partners, seats], got {scores.shape}")
    missing = np.isnan(scores)
    if missing.all() or (missing != missing[0]).any():
        raise ScoresError("every seed needs scores of the same cells, and of one at least")
    return scores
