"""Estimates over scenarios, over training seeds and over trials: against rliable and statsmodels, by hand, coverage."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import norm

from dond_marl.scenarios.sources import Scenarios, lewis_space, open_source, orbits
from dond_marl.statistics import (
    GROUPS,
    Estimate,
    ScoresError,
    compare_arms,
    holm,
    interquartile_mean,
    iqm_difference,
    iqm_over_seeds,
    mean_of_cells,
    mean_over_scenarios,
    mean_over_seeds,
    mean_score,
    performance_profile,
    permutation_p,
    points_of_ten,
    probability_of_improvement,
    rate,
    scenario_groups,
    wilson,
    worst_tenth_weights,
)

FEW = 400  # simulations; 95 % is then known to +-2.1 %


def test_points_of_ten_divide_by_the_value_of_the_whole_pool():
    scores = np.array([[6, 4], [30, 0], [0, 7]], dtype=np.int16)
    wholes = np.array([[10, 10], [60, 40], [0, 14]], dtype=np.int16)
    assert points_of_ten(scores, wholes).tolist() == [[6, 4], [5, 0], [0, 5]]


@pytest.mark.parametrize("source", [("lewis", "all"), ("uniform", None)])
def test_swaps_and_renamings_of_a_scenario_share_its_group(source):
    name, split = source
    table = open_source(name, split=split).block(0, 0, 3000)
    groups = scenario_groups(table)
    for order in itertools.permutations(range(3)):
        renamed = Scenarios(table.counts[:, order], table.utilities[:, :, order])
        assert (scenario_groups(renamed) == groups).all()
        assert (scenario_groups(renamed.swap_seats()) == groups).all()


def test_each_orbit_of_lewis_has_its_own_group():
    groups = scenario_groups(lewis_space())
    pairs = set(zip(groups.tolist(), orbits(lewis_space()).tolist(), strict=True))
    assert len(pairs) == len({group for group, _ in pairs}) == 475
    assert groups.min() >= 0 and groups.max() < GROUPS


def test_other_scenarios_spread_over_all_groups():
    wide = scenario_groups(open_source("uniform", max_count=10).draw(np.random.default_rng(0), 20_000))
    sizes = np.bincount(wide, minlength=GROUPS)
    assert len(sizes) == GROUPS and sizes.min() > 0 and sizes.max() < 3 * sizes.mean()


def _groups(values: dict[int, list[float]]) -> tuple[np.ndarray, np.ndarray]:
    sums, games = np.zeros(GROUPS), np.zeros(GROUPS)
    for group, points in values.items():
        sums[group], games[group] = sum(points), len(points)
    return sums, games


def test_mean_and_interval_worked_by_hand():
    # One cell; group 3 holds games worth 4 and 6, group 9 one game worth 8: mean 18 / 3 = 6.
    # Influences: (10 - 6 * 2) / 3 = -2/3 and (8 - 6) / 3 = 2/3; variance 2 / 1 * (4/9 + 4/9) = 16/9,
    # standard error 4/3.
    # Two groups leave one degree of freedom: Student's 97.5 % quantile is 12.7062.
    sums, games = _groups({3: [4, 6], 9: [8]})
    estimate = mean_of_cells(sums[None], games[None], 0.95)
    assert estimate.mean == 6 and estimate.n == 3
    assert estimate.margin == pytest.approx(12.7062 * 4 / 3, rel=1e-4)


def test_cells_have_equal_weight_whatever_their_games():
    a, b = _groups({0: [2] * 30, 1: [2] * 30}), _groups({0: [8], 1: [8]})
    assert mean_of_cells(np.array([a[0], b[0]]), np.array([a[1], b[1]]), 0.95).mean == 5


def test_too_few_groups_have_no_interval():
    nothing = mean_of_cells(np.zeros((2, GROUPS)), np.zeros((2, GROUPS)), 0.95)
    assert nothing.n == 0 and math.isnan(nothing.mean) and math.isnan(nothing.low)
    sums, games = _groups({4: [1, 2, 3]})
    one = mean_of_cells(sums[None], games[None], 0.95)
    assert one.mean == 2 and math.isnan(one.low) and math.isnan(one.high)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 40))
def test_mean_over_scenarios_equals_mean_of_cells_of_the_counted_games(seed, cells, games):
    """To the last bit; what is left out may hold any number, and none at all."""
    rng = np.random.default_rng(seed)
    values, groups = rng.random((cells, games)), rng.integers(0, 6, games)
    sums = np.stack([np.bincount(groups, weights=row, minlength=GROUPS) for row in values])
    counts = np.stack([np.bincount(groups, minlength=GROUPS).astype(float)] * cells)
    assert str(mean_over_scenarios(values, groups, 0.9)) == str(mean_of_cells(sums, counts, 0.9))
    among = rng.random((cells, games)) < 0.6
    kept = [
        (np.bincount(groups[m], row[m], GROUPS), np.bincount(groups[m], minlength=GROUPS))
        for row, m in zip(values, among, strict=True)
    ]
    by_hand = mean_of_cells(*(np.stack(part).astype(float) for part in zip(*kept, strict=True)), 0.9)
    values[~among] = np.nan
    assert str(mean_over_scenarios(values, groups, 0.9, among)) == str(by_hand)


def test_rate_of_independent_games_has_wilsons_interval():
    # Newcombe 1998, table I: 81 of 263 at 95 %, method 3; with a group a game only the quantile is Student's.
    happened, games = np.zeros((2, 1, GROUPS))
    happened[0, :81], games[0, :263] = 1, 1
    share = rate(happened, games, 0.95)
    assert (share.mean, share.n) == (81 / 263, 263)
    assert (share.low, share.high) == (pytest.approx(0.2553, abs=1e-3), pytest.approx(0.3662, abs=1e-3))


def test_rate_counts_groups_and_is_never_certain():
    happened, games = np.zeros((2, 1, GROUPS))
    games[0, :50] = 1
    happened[0, :20] = 1
    apart = rate(happened, games, 0.95)
    assert rate(8 * happened, 8 * games, 0.95).margin == pytest.approx(apart.margin)  # the same again is no news
    always = rate(games, games, 0.95)
    assert always.mean == always.high == 1 and always.low == pytest.approx(50 / (50 + 2.0096**2), rel=1e-4)
    never = rate(0 * games, games, 0.95)
    assert never.mean == never.low == 0 and never.high == pytest.approx(1 - always.low)


def test_a_rate_weighs_cells_alike_and_knows_when_it_knows_nothing():
    happened, games = np.zeros((2, 2, GROUPS))
    games[0, :2], games[1, :2], happened[1] = 50, 1, games[1]
    assert rate(happened, games, 0.95).mean == 0.5
    nothing = rate(np.zeros((1, GROUPS)), np.zeros((1, GROUPS)), 0.95)
    assert math.isnan(nothing.mean) and math.isnan(nothing.low) and nothing.n == 0
    assert math.isnan(rate(games[:1, :1], games[:1, :1], 0.95).low)  # one group


def test_wilsons_interval():
    """None of ten: the upper bound is z^2 / (10 + z^2) with z = 1.959964."""
    assert wilson(0.0, 10, 0.95) == (0.0, pytest.approx(0.277533, abs=1e-6))
    assert wilson(0.5, 10, 0.95) == (pytest.approx(0.236593, abs=1e-6), pytest.approx(1 - 0.236593, abs=1e-6))


def rounded(rng: np.random.Generator, about: float, seeds: int) -> np.ndarray:
    """Scores of three partners in both seats with one decimal, so that some are equal."""
    return np.round(rng.normal(about, 1, (seeds, 6)), 1).reshape(seeds, 3, 2)


def test_values_equal_those_of_rliable_and_statsmodels():
    # rliable 1.2.0: metrics.aggregate_iqm of each seed's mean, metrics.probability_of_improvement and
    # library.create_performance_profile of the same numbers as [seeds, 6]; statsmodels 0.15 multipletests "holm".
    rng = np.random.default_rng(7)
    first, second = rounded(rng, 5, 10), rounded(rng, 5.4, 8)
    assert iqm_over_seeds(mean_score(first)).mean == pytest.approx(4.838888888888889, abs=1e-12)
    assert iqm_over_seeds(mean_score(second)).mean == pytest.approx(5.408333333333333, abs=1e-12)
    assert probability_of_improvement(first, second).mean == pytest.approx(0.3208333333333333, abs=1e-12)
    profile = performance_profile(first, [4, 5, 6])
    assert [figure.mean for figure in profile.above] == pytest.approx([0.8, 0.41666667, 0.08333333], abs=1e-8)
    assert holm([0.01, 0.04, 0.03, 0.005, 0.6]) == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.6])


def test_mean_score_worked_by_hand():
    # Two seeds, three partners, both seats; the second partner has no score in seat_1.
    scores = np.array([[[1, 3], [4, np.nan], [8, 4]], [[5, 5], [1, np.nan], [9, 9]]], dtype=float)
    assert mean_score(scores).tolist() == [4, 5.8]


def test_worst_tenth_of_25_is_two_and_a_half():
    scores = np.arange(25.0)[::-1]
    assert worst_tenth_weights(scores) @ scores == pytest.approx((0 + 1 + 2 / 2) / 2.5)
    assert worst_tenth_weights([3.0, 1.0, 2.0]).tolist() == [0, 1, 0]  # one at least


def test_interquartile_mean_omits_a_quarter_at_either_end():
    assert interquartile_mean(np.array([100.0, 1, 2, 3, 4, 5, 6, -50])) == 3.5
    assert interquartile_mean(np.array([1.0, 2, 9])) == 4  # of fewer than four none
    bad = iqm_over_seeds([5, 5.1, 4.9, 5, 5.2, 4.8, 5, 5, 5.1, 0])
    assert bad.mean == pytest.approx(5.0, abs=0.02) and mean_over_seeds([5] * 9 + [0]).mean == 4.5


def test_mean_over_seeds_has_students_interval():
    figure = mean_over_seeds([1, 2, 3, 4])
    # Standard deviation 1.29099, of the mean half of it; Student's quantile with 3 degrees of freedom is 3.18245.
    assert figure.high - figure.mean == pytest.approx(3.18245 * 1.29099 / 2, rel=0.05)  # the bootstrap's error
    assert figure.n == 4 and figure.mean == 2.5


def test_one_seed_has_a_value_and_no_interval():
    assert str(iqm_over_seeds([3.0])) == str(Estimate(3.0, 1, math.nan, math.nan))
    one, many = np.full((1, 2, 2), 5.0), np.full((3, 2, 2), 4.0)
    assert probability_of_improvement(one, many).mean == 1 and math.isnan(probability_of_improvement(one, many).low)
    assert math.isnan(iqm_difference([1.0], [2.0, 3.0]).high) and math.isnan(permutation_p(np.ones(1), np.ones(3)))
    assert math.isnan(performance_profile(one, [1.0]).above[0].low)
    assert math.isnan(iqm_over_seeds([]).mean)


def test_improvement_is_never_certain():
    first, second = np.full((10, 4, 2), 6.0), np.full((10, 4, 2), 5.0)
    always = probability_of_improvement(first, second)
    assert always.mean == always.high == 1 and 0.5 < always.low < 0.9
    assert probability_of_improvement(first, first).mean == 0.5


def test_permutation_p_of_three_seeds_is_at_least_a_tenth():
    assert permutation_p(np.array([1.0, 2, 3]), np.array([7.0, 8, 9])) == pytest.approx(0.1)


@given(st.lists(st.floats(0, 1), max_size=8), st.randoms(use_true_random=False))
def test_holm_ignores_order_and_lies_between_p_and_bonferroni(p, rng):
    adjusted, order = holm(p), list(range(len(p)))
    rng.shuffle(order)
    assert holm([p[place] for place in order]) == [adjusted[place] for place in order]
    for before, after in zip(p, adjusted, strict=True):
        assert before <= after <= min(before * len(p), 1.0)


@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(2, 12))
def test_order_of_seeds_does_not_matter_and_improvements_add_up(seed, n, m):
    rng = np.random.default_rng(seed)
    first, second = (np.round(rng.normal(5, 1, (size, 3, 2)), 1) for size in (n, m))
    shuffled = rng.permutation(n)
    assert iqm_over_seeds(mean_score(first[shuffled])).mean == pytest.approx(iqm_over_seeds(mean_score(first)).mean)
    better, worse = probability_of_improvement(first, second), probability_of_improvement(second, first)
    assert better.mean + worse.mean == pytest.approx(1)
    assert 0 <= better.low <= better.mean + 1e-12 and better.mean - 1e-12 <= better.high <= 1 + 1e-12


def test_compare_arms_corrects_for_their_number():
    rng = np.random.default_rng(0)
    arms = {
        "pool": rng.normal(5, 0.2, (10, 4, 2)),
        "same": rng.normal(5, 0.2, (10, 4, 2)),
        "better": rng.normal(6, 0.2, (10, 4, 2)),
    }
    found = compare_arms(arms, "pool")
    assert list(found) == ["same", "better"]
    assert found["better"].difference.low > 0.5 and found["better"].adjusted < 0.01
    assert found["same"].difference.low < 0 < found["same"].difference.high and found["same"].adjusted > 0.05
    assert found["better"].adjusted == pytest.approx(2 * found["better"].p)
    with pytest.raises(ScoresError):
        compare_arms(arms, "league")


@pytest.mark.parametrize(
    "scores",
    [
        np.ones((3, 4)),
        np.ones((0, 4, 2)),
        np.full((2, 3, 2), np.nan),
        np.where(np.arange(12).reshape(2, 3, 2) == 4, np.nan, 1.0),  # a cell that only one of the seeds has
    ],
)
def test_malformed_scores_are_refused(scores):
    with pytest.raises(ScoresError):
        mean_score(scores)


def seeds_of(rng: np.random.Generator, seeds: int, spread: float, about: float = 0.0) -> np.ndarray:
    """Twenty partners in both seats: what a seed brings to all of them, and what it brings to each."""
    return about + spread * rng.standard_normal((seeds, 1, 1)) + rng.standard_normal((seeds, 20, 2))


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [3, 5, 10, 20])
@pytest.mark.parametrize("of", [mean_over_seeds, iqm_over_seeds])
def test_intervals_over_seeds_cover_the_truth(of, seeds):
    rng, hits = np.random.default_rng(seeds), 0
    for _ in range(2 * FEW):
        figure = of(mean_score(seeds_of(rng, seeds, 1.0)))
        hits += figure.low <= 0 <= figure.high
    assert (
        0.93 <= hits / (2 * FEW) <= (0.97 if seeds != 5 or of is mean_over_seeds else 0.99)
    )  # of five the middle three


@pytest.mark.slow
def test_iqm_interval_covers_with_failing_seeds():
    """A trained policy that has failed lies four standard deviations below; the truth is of the mixture."""
    rng, hits = np.random.default_rng(0), 0
    many = rng.standard_normal(2_000_000) - 4 * (rng.random(2_000_000) < 0.1)
    low, high = np.quantile(many, [0.25, 0.75])
    truth = many[(many >= low) & (many <= high)].mean()
    for _ in range(2 * FEW):
        figure = iqm_over_seeds(rng.standard_normal(10) - 4 * (rng.random(10) < 0.1))
        hits += figure.low <= truth <= figure.high
    assert 0.93 <= hits / (2 * FEW) <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(10, 10), (10, 4)])
def test_difference_interval_covers_with_unequal_variances(sizes):
    rng, hits = np.random.default_rng(1), 0
    for _ in range(2 * FEW):
        first, second = (mean_score(seeds_of(rng, size, spread)) for size, spread in zip(sizes, (1, 0.3), strict=True))
        figure = iqm_difference(first, second)
        hits += figure.low <= 0 <= figure.high
    assert 0.93 <= hits / (2 * FEW) <= 0.98


@pytest.mark.slow
@pytest.mark.parametrize(("ahead", "spread"), [(0.0, 1.0), (1.0, 1.0), (1.0, 0.3)])
def test_improvement_and_profile_intervals_cover(ahead, spread):
    rng, improved, above = np.random.default_rng(2), 0, np.zeros(3)
    truth, thresholds = ndtr(ahead / math.sqrt(2 * (spread**2 + 1))), np.array([-1.0, 0.0, 1.0])
    shares = norm.sf(thresholds / math.sqrt(spread**2 + 1))
    for _ in range(FEW):
        first, second = seeds_of(rng, 10, spread, ahead), seeds_of(rng, 10, spread)
        figure = probability_of_improvement(first, second)
        improved += figure.low <= truth <= figure.high
        profile = performance_profile(second, thresholds)
        above += [own.low <= share <= own.high for own, share in zip(profile.above, shares, strict=True)]
    assert 0.93 <= improved / FEW <= 0.98
    assert (above / FEW).min() >= 0.92 and (above / FEW).mean() <= 0.98


@pytest.mark.slow
def test_permutation_test_has_its_nominal_level():
    rng = np.random.default_rng(3)
    draw: Callable[[], np.ndarray] = lambda: rng.standard_normal(5)  # noqa: E731
    assert np.mean([permutation_p(draw(), draw()) <= 0.05 for _ in range(2 * FEW)]) <= 0.065
