"""Figures over seeds: against rliable and statsmodels, by hand, and as often right as they say."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import norm

from league.bench.statistics import (
    Figure,
    ScoresError,
    compare,
    difference,
    holm,
    interquartile_mean,
    mean,
    mean_score,
    middle,
    performance_profile,
    permutation_p,
    probability_of_improvement,
    worst_cell,
    worst_decile,
)

FEW = 400  # simulations; 95 % is then known to +-2.1 %


def rounded(rng: np.random.Generator, about: float, seeds: int) -> np.ndarray:
    """Scores of three partners in both seats with one decimal, so that some are equal."""
    return np.round(rng.normal(about, 1, (seeds, 6)), 1).reshape(seeds, 3, 2)


def test_as_rliable_and_statsmodels_have_it():
    # rliable 1.2.0: metrics.aggregate_iqm of each seed's mean, metrics.probability_of_improvement and
    # library.create_performance_profile of the same numbers as [seeds, 6]; statsmodels 0.15 multipletests "holm".
    rng = np.random.default_rng(7)
    first, second = rounded(rng, 5, 10), rounded(rng, 5.4, 8)
    assert middle(mean_score(first)).value == pytest.approx(4.838888888888889, abs=1e-12)
    assert middle(mean_score(second)).value == pytest.approx(5.408333333333333, abs=1e-12)
    assert probability_of_improvement(first, second).value == pytest.approx(0.3208333333333333, abs=1e-12)
    profile = performance_profile(first, [4, 5, 6])
    assert [figure.value for figure in profile.above] == pytest.approx([0.8, 0.41666667, 0.08333333], abs=1e-8)
    assert holm([0.01, 0.04, 0.03, 0.005, 0.6]) == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.6])


def test_one_number_a_seed_worked_by_hand():
    # Two seeds, three partners, both seats; the second partner has no score in seat_1.
    scores = np.array([[[1, 3], [4, np.nan], [8, 4]], [[5, 5], [1, np.nan], [9, 9]]], dtype=float)
    assert mean_score(scores).tolist() == [4, 5.8]
    assert worst_decile(scores).tolist() == [2, 1]  # one partner of three at least
    assert worst_cell(scores).tolist() == [1, 1]


def test_the_worst_decile_of_25_partners_is_two_and_a_half():
    scores = np.arange(25.0)[None, :, None].repeat(2, axis=2)
    assert worst_decile(scores).tolist() == [(0 + 1 + 2 / 2) / 2.5]


def test_an_interquartile_mean_leaves_a_quarter_out_at_either_end():
    assert interquartile_mean(np.array([100.0, 1, 2, 3, 4, 5, 6, -50])) == 3.5
    assert interquartile_mean(np.array([1.0, 2, 9])) == 4  # of fewer than four none
    bad = middle([5, 5.1, 4.9, 5, 5.2, 4.8, 5, 5, 5.1, 0])
    assert bad.value == pytest.approx(5.0, abs=0.02) and mean([5] * 9 + [0]).value == 4.5


def test_a_mean_over_seeds_has_students_interval():
    figure = mean([1, 2, 3, 4])
    # Standard deviation 1.29099, of the mean half of it; Student's quantile with 3 degrees of freedom is 3.18245.
    assert figure.high - figure.value == pytest.approx(3.18245 * 1.29099 / 2, rel=0.05)  # the bootstrap's error
    assert figure.n == 4 and figure.value == 2.5


def test_too_few_seeds_have_a_value_and_no_interval():
    assert str(middle([3.0])) == str(Figure(3.0, math.nan, math.nan, 1))
    one, many = np.full((1, 2, 2), 5.0), np.full((3, 2, 2), 4.0)
    assert probability_of_improvement(one, many).value == 1 and math.isnan(probability_of_improvement(one, many).low)
    assert math.isnan(difference([1.0], [2.0, 3.0]).high) and math.isnan(permutation_p(np.ones(1), np.ones(3)))
    assert math.isnan(performance_profile(one, [1.0]).above[0].low)
    assert math.isnan(middle([]).value)


def test_an_arm_that_is_always_better_is_not_certain_to_be():
    first, second = np.full((10, 4, 2), 6.0), np.full((10, 4, 2), 5.0)
    always = probability_of_improvement(first, second)
    assert always.value == always.high == 1 and 0.5 < always.low < 0.9
    assert probability_of_improvement(first, first).value == 0.5


def test_three_seeds_each_can_never_be_rarer_than_one_in_ten():
    assert permutation_p(np.array([1.0, 2, 3]), np.array([7.0, 8, 9])) == pytest.approx(0.1)


@given(st.lists(st.floats(0, 1), max_size=8), st.randoms(use_true_random=False))
def test_holm_is_blind_to_the_order_never_below_a_p_value_and_never_above_bonferroni(p, rng):
    adjusted, order = holm(p), list(range(len(p)))
    rng.shuffle(order)
    assert holm([p[place] for place in order]) == [adjusted[place] for place in order]
    for before, after in zip(p, adjusted, strict=True):
        assert before <= after <= min(before * len(p), 1.0)


@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(2, 12))
def test_figures_do_not_depend_on_which_seed_comes_first_and_chances_add_up(seed, n, m):
    rng = np.random.default_rng(seed)
    first, second = (np.round(rng.normal(5, 1, (size, 3, 2)), 1) for size in (n, m))
    shuffled = rng.permutation(n)
    assert middle(mean_score(first[shuffled])).value == pytest.approx(middle(mean_score(first)).value)
    better, worse = probability_of_improvement(first, second), probability_of_improvement(second, first)
    assert better.value + worse.value == pytest.approx(1)
    assert 0 <= better.low <= better.value + 1e-12 and better.value - 1e-12 <= better.high <= 1 + 1e-12


def test_arms_are_compared_with_one_of_them_and_corrected_for_how_many_they_are():
    rng = np.random.default_rng(0)
    arms = {
        "pool": rng.normal(5, 0.2, (10, 4, 2)),
        "same": rng.normal(5, 0.2, (10, 4, 2)),
        "better": rng.normal(6, 0.2, (10, 4, 2)),
    }
    found = compare(arms, "pool")
    assert list(found) == ["same", "better"]
    assert found["better"].difference.low > 0.5 and found["better"].adjusted < 0.01
    assert found["same"].difference.low < 0 < found["same"].difference.high and found["same"].adjusted > 0.05
    assert found["better"].adjusted == pytest.approx(2 * found["better"].p)
    with pytest.raises(ScoresError, match="no arm is called 'league'; there are pool, same, better"):
        compare(arms, "league")


@pytest.mark.parametrize(
    "scores",
    [
        np.ones((3, 4)),
        np.ones((0, 4, 2)),
        np.full((2, 3, 2), np.nan),
        np.where(np.arange(12).reshape(2, 3, 2) == 4, np.nan, 1.0),  # a cell that only one of the seeds has
    ],
)
def test_scores_that_are_no_table_are_refused_in_words(scores):
    with pytest.raises(ScoresError, match="seed"):
        mean_score(scores)


def seeds_of(rng: np.random.Generator, seeds: int, spread: float, about: float = 0.0) -> np.ndarray:
    """Twenty partners in both seats: what a seed brings to all of them, and what it brings to each."""
    return about + spread * rng.standard_normal((seeds, 1, 1)) + rng.standard_normal((seeds, 20, 2))


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [3, 5, 10, 20])
@pytest.mark.parametrize("of", [mean, middle])
def test_intervals_over_seeds_cover_what_is_true_of_all_seeds(of, seeds):
    rng, hits = np.random.default_rng(seeds), 0
    for _ in range(2 * FEW):
        figure = of(mean_score(seeds_of(rng, seeds, 1.0)))
        hits += figure.low <= 0 <= figure.high
    assert 0.93 <= hits / (2 * FEW) <= (0.97 if seeds != 5 or of is mean else 0.99)  # of five the middle three


@pytest.mark.slow
def test_the_interval_of_the_middle_covers_though_one_seed_in_ten_fails():
    """A trained policy that has failed lies four standard deviations below; the truth is of the mixture."""
    rng, hits = np.random.default_rng(0), 0
    many = rng.standard_normal(2_000_000) - 4 * (rng.random(2_000_000) < 0.1)
    low, high = np.quantile(many, [0.25, 0.75])
    truth = many[(many >= low) & (many <= high)].mean()
    for _ in range(2 * FEW):
        figure = middle(rng.standard_normal(10) - 4 * (rng.random(10) < 0.1))
        hits += figure.low <= truth <= figure.high
    assert 0.93 <= hits / (2 * FEW) <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(10, 10), (10, 4)])
def test_the_interval_of_a_difference_covers_though_one_arm_varies_more(sizes):
    rng, hits = np.random.default_rng(1), 0
    for _ in range(2 * FEW):
        first, second = (mean_score(seeds_of(rng, size, spread)) for size, spread in zip(sizes, (1, 0.3), strict=True))
        figure = difference(first, second)
        hits += figure.low <= 0 <= figure.high
    assert 0.93 <= hits / (2 * FEW) <= 0.98


@pytest.mark.slow
@pytest.mark.parametrize(("ahead", "spread"), [(0.0, 1.0), (1.0, 1.0), (1.0, 0.3)])
def test_the_intervals_of_improvement_and_profile_cover(ahead, spread):
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
def test_a_permutation_test_of_equal_arms_is_below_five_percent_as_often_as_it_says():
    rng = np.random.default_rng(3)
    draw: Callable[[], np.ndarray] = lambda: rng.standard_normal(5)  # noqa: E731
    assert np.mean([permutation_p(draw(), draw()) <= 0.05 for _ in range(2 * FEW)]) <= 0.065
