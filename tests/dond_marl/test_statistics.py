"""Estimates over scenarios, seeds, partners and trials: by hand, against SciPy and statsmodels, and their coverage."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import permutation_test, ttest_ind

from dond_marl.scenarios.sources import Scenarios, lewis_space, open_source, orbits
from dond_marl.statistics import (
    GROUPS,
    Estimate,
    ScoresError,
    cell_weights,
    compare_arms,
    headline,
    headline_scores,
    holm,
    mean_difference,
    mean_of,
    mean_of_cells,
    mean_over_scenarios,
    permutation_p,
    points_of_ten,
    rate,
    scenario_groups,
    sums_by_group,
    two_sided_quantile,
    verdict,
    wilson,
    worst_tenth_scores,
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
        renamed = Scenarios(table.counts[:, order], table.utilities[:, :, order], table.prior)
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
    assert estimate.mean == float(estimate) == 6 and estimate.n == 3
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


def test_mean_of_has_students_interval():
    # Standard deviation 1; two degrees of freedom have the 97.5 % quantile 4.30265.
    estimate = mean_of([1.0, 2.0, 3.0], 0.95)
    assert (estimate.mean, estimate.n) == (2, 3) and estimate.margin == pytest.approx(4.30265 / math.sqrt(3), rel=1e-5)
    alone = mean_of([2.0], 0.95)
    assert alone.mean == 2 and math.isnan(alone.low) and math.isnan(mean_of([], 0.95).mean)


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


def test_wilsons_interval():
    """None of ten: the upper bound is z^2 / (10 + z^2) with z = 1.959964."""
    assert wilson(0.0, 10, 0.95) == (0.0, pytest.approx(0.277533, abs=1e-6))
    assert wilson(0.5, 10, 0.95) == (pytest.approx(0.236593, abs=1e-6), pytest.approx(1 - 0.236593, abs=1e-6))


def test_holms_correction_equals_that_of_statsmodels():
    assert holm([0.01, 0.04, 0.03, 0.005, 0.6]) == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.6])  # 0.15, multipletests


def test_headline_weighs_families_alike():
    # Two seeds; family a has two members, the second without a score in seat_1, family b one.
    scores = np.array([[[1, 3], [4, np.nan], [8, 4]], [[5, 5], [1, np.nan], [9, 9]]], dtype=float)
    assert headline_scores(scores, ["a", "a", "b"]).tolist() == [((2 + 4) / 2 + 6) / 2, ((5 + 1) / 2 + 9) / 2]
    assert cell_weights(scores[0], ["a", "a", "b"]).tolist() == [[1 / 8, 1 / 8], [1 / 4, 0], [1 / 4, 1 / 4]]
    assert headline(scores, ["a", "a", "b"]).mean == pytest.approx(5.25)
    unknown = np.concatenate([scores, np.full((2, 1, 2), np.nan)], axis=1)
    assert headline_scores(unknown, ["a", "a", "b", "c"]).tolist() == headline_scores(scores, ["a", "a", "b"]).tolist()


def test_fixed_partners_leave_the_seeds_alone():
    scores = np.array([1.0, 2, 3, 4])[:, None, None] + np.array([0.0, 5, -5])[:, None]
    scores = np.repeat(scores, 2, axis=2)
    fixed, sampled = (headline(scores, ["a", "b", "c"], fixed=fixed) for fixed in (True, False))
    assert fixed.low > sampled.low and fixed.high < sampled.high
    # Percentiles of the 4^4 samples: at least three of four seeds are 1 in 5.1 % of them, so the expanded one is 1.
    assert (fixed.low, fixed.high, fixed.n) == (pytest.approx(1), pytest.approx(4), 4)


def test_nothing_to_resample_has_no_interval():
    one = np.full((1, 2, 2), 3.0)
    assert str(headline(one, ["a", "a"])) == str(Estimate(3.0, 1, math.nan, math.nan))
    assert str(headline(one, ["a", "b"], fixed=True)) == str(Estimate(3.0, 1, math.nan, math.nan))
    assert headline(one, ["a", "b"]) == Estimate(3.0, 1, 3.0, 3.0)  # two families alike
    assert math.isnan(mean_difference([1.0], [2.0, 3.0]).high)
    assert math.isnan(permutation_p(np.ones(1), np.ones(3)).p)


def test_worst_tenth_scores_are_of_partners():
    scores = np.arange(60, dtype=float).reshape(2, 15, 2)
    assert worst_tenth_scores(scores) == pytest.approx([(0.5 + 2.5 / 2) / 1.5, (30.5 + 32.5 / 2) / 1.5])


def test_worst_tenth_of_25_is_two_and_a_half():
    scores = np.arange(25.0)[::-1]
    assert worst_tenth_weights(scores) @ scores == pytest.approx((0 + 1 + 2 / 2) / 2.5)
    assert worst_tenth_weights([3.0, 1.0, 2.0]).tolist() == [0, 1, 0]  # one at least


@pytest.mark.parametrize(("wide", "narrow", "expected"), [
    ((0.01, 0.09), (0.02, 0.08), "equivalent"),
    ((-0.11, 0.09), (-0.09, 0.08), "equivalent"),
    ((0.01, 0.3), (0.02, 0.2), "better"),
    ((-0.3, -0.01), (-0.2, -0.02), "worse"),
    ((-0.01, 0.3), (0.01, 0.2), "undecided"),
    ((math.nan, math.nan), (math.nan, math.nan), "undecided"),
])  # fmt: skip
def test_verdicts(wide, narrow, expected):
    assert verdict(Estimate(0.0, 5, *wide), Estimate(0.0, 5, *narrow), 0.1) == expected


def test_mean_difference_is_welchs():
    first, second = np.array([1.0, 2, 3, 4]), np.array([3.0, 5, 4])
    variances = first.var(ddof=1) / 4, second.var(ddof=1) / 3
    freedom = sum(variances) ** 2 / (variances[0] ** 2 / 3 + variances[1] ** 2 / 2)
    figure = mean_difference(first, second)
    assert figure.mean == -1.5 and figure.n == 3
    assert figure.margin == pytest.approx(two_sided_quantile(0.95, freedom) * math.sqrt(sum(variances)))


def test_permutation_p_counts_all_assignments_of_seeds():
    rng = np.random.default_rng(3)
    for n, m in ((3, 3), (4, 3), (5, 5)):
        first, second = rng.normal(0.5, 1, n), rng.normal(0, 1, m)
        found = permutation_p(first, second)
        options = {"n_resamples": np.inf, "alternative": "greater"}
        exact = permutation_test((first, second), lambda a, b: abs(a.mean() - b.mean()), **options).pvalue
        assert found.p == pytest.approx(exact) and found.p >= found.floor
    least = permutation_p(np.array([1.0, 2, 3]), np.array([7.0, 8, 9]))
    assert least.p == least.floor == pytest.approx(0.1)
    assert permutation_p(np.zeros(3), np.zeros(3)).p == 1
    many = permutation_p(np.arange(12.0), np.arange(12.0) + 20)  # more assignments than are counted
    assert many.p == many.floor < 1e-4
    near = permutation_p(np.arange(12.0), np.arange(12.0) + 2)
    assert near.p == pytest.approx(ttest_ind(np.arange(12.0), np.arange(12.0) + 2).pvalue, abs=0.02)  # two-sided


@given(st.lists(st.floats(0, 1), max_size=8), st.randoms(use_true_random=False))
def test_holm_ignores_order_and_lies_between_p_and_bonferroni(p, rng):
    adjusted, order = holm(p), list(range(len(p)))
    rng.shuffle(order)
    assert holm([p[place] for place in order]) == [adjusted[place] for place in order]
    for before, after in zip(p, adjusted, strict=True):
        assert before <= after <= min(before * len(p), 1.0)


def test_compare_arms_corrects_for_their_number_and_finds_the_partner_that_decides():
    rng, families = np.random.default_rng(0), ["a", "a", "b", "c", "d"]
    arms = {name: rng.normal(5, 0.02, (10, 5, 2)) for name in ("pool", "same", "better", "by_one")}
    arms["better"] += 1
    arms["by_one"][:, 3] += 4
    found = compare_arms(arms, "pool", families, 0.1)
    assert list(found) == ["same", "better", "by_one"]
    assert [each.verdict for each in found.values()] == ["equivalent", "better", "undecided"]
    assert found["better"].adjusted == pytest.approx(3 * found["better"].test.p) and found["same"].adjusted > 0.05
    assert [verdict for _, verdict in found["better"].without] == ["better"] * 5
    assert [verdict for _, verdict in found["by_one"].without] == ["undecided"] * 3 + ["equivalent", "undecided"]
    assert found["by_one"].without[3][0].mean == pytest.approx(0, abs=0.05)
    assert found["by_one"].difference.mean == pytest.approx(1, abs=0.05)
    with pytest.raises(ScoresError):
        compare_arms(arms, "league", families, 0.1)
    with pytest.raises(ScoresError):
        compare_arms(arms, "pool", families[1:], 0.1)
    with pytest.raises(ScoresError):
        compare_arms({**arms, "fewer": arms["same"][:, :4]}, "pool", families, 0.1)


@pytest.mark.parametrize(
    "scores",
    [
        np.ones((3, 4)),
        np.full((2, 3, 2), np.nan),
        np.where(np.arange(12).reshape(2, 3, 2) == 4, np.nan, 1.0),  # a cell that only one of the seeds has
    ],
)
def test_malformed_scores_are_refused(scores):
    with pytest.raises(ScoresError):
        headline_scores(scores, ["a", "b", "c"])


SIZES = (3, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1)  # of the families, about those of a roster


def arm_of(rng: np.random.Generator, seeds: int, partners: np.ndarray) -> np.ndarray:
    """Scores of an arm: what a seed brings to all partners, and what it brings to each, ``[n, W, 2]``."""
    own = 0.1 * rng.standard_normal((seeds, 1)) + partners + 0.1 * rng.standard_normal((seeds, len(partners)))
    return np.repeat(own[:, :, None], 2, axis=2)


def draw_partners(rng: np.random.Generator, sizes: tuple[int, ...]) -> np.ndarray:
    """What the partners of families of these sizes bring to an arm, ``[W]``."""
    return np.repeat(0.3 * rng.standard_normal(len(sizes)), sizes) + 0.1 * rng.standard_normal(sum(sizes))


def labels_of(sizes: tuple[int, ...]) -> list[str]:
    return [f"family {number}" for number, size in enumerate(sizes) for _ in range(size)]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [3, 10])
def test_interval_of_a_headline_covers_seeds_and_partners(seeds):
    rng, hits = np.random.default_rng(seeds), 0
    for _ in range(FEW):
        figure = headline(arm_of(rng, seeds, draw_partners(rng, SIZES)), labels_of(SIZES))
        hits += figure.low <= 0 <= figure.high
    assert 0.90 <= hits / FEW <= 0.98


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "ahead"), [((2,) * 5, 0.0), ((1,) * 12, 0.2)])
def test_interval_of_a_difference_covers_and_few_verdicts_are_wrong(sizes, ahead):
    """The difference with a partner is that of its family and its own, and the mean over partners is ``ahead``."""
    rng, hits, wrong, times = np.random.default_rng(1), 0, 0, FEW // 2
    for _ in range(times):
        arms = {"a": arm_of(rng, 10, ahead + draw_partners(rng, sizes)), "b": arm_of(rng, 10, np.zeros(sum(sizes)))}
        found = compare_arms(arms, "b", labels_of(sizes), 0.1)["a"]
        hits += found.difference.low <= ahead <= found.difference.high
        wrong += found.verdict in (("better", "worse") if ahead == 0 else ("equivalent", "worse"))
    assert 0.90 <= hits / times <= 0.98 and wrong / times <= 0.1


# -- Intervals over scenarios hold the truth as often as they say


SAYS = 0.95
RUNS = 1500  # 95 % is then known to +-1.1 %
BLOCKS = [64, 392, 2688]  # scenarios; the last as in a finished league


def blocks(size: int, seed: int = 0) -> Iterator[tuple[np.random.Generator, np.ndarray]]:
    """The groups of so many scenarios of the space, ``[K]``, again and again."""
    groups, rng = scenario_groups(lewis_space()), np.random.default_rng(seed)
    for _ in range(RUNS):
        yield rng, groups[rng.choice(len(groups), size, replace=False)]


def covered(estimates: Iterator[Estimate], truth: float, least: float = 0.93, most: float = 0.97) -> None:
    hits = np.mean([estimate.low <= truth <= estimate.high for estimate in estimates])
    assert least <= hits <= most, f"{hits:.1%}"


def mean_of_both_seats(rng: np.random.Generator, groups: np.ndarray) -> Estimate:
    """Games of a scenario go together: what the game brings varies twice as much as what chance brings."""
    brought = 5 + 2 * rng.standard_normal((2, GROUPS))[:, groups]  # by seat
    return mean_over_scenarios(brought + rng.standard_normal(brought.shape), groups, SAYS)


def points_of_a_deal(rng: np.random.Generator, groups: np.ndarray) -> Estimate:
    """Deals close in half of the games, more often where they pay more: 6 points a deal, known by construction."""
    rich = rng.random(GROUPS)[groups] < 0.5
    deal = rng.random(len(groups)) < np.where(rich, 0.75, 0.25)
    return mean_over_scenarios(np.where(rich, 7.0, 3.0) + rng.standard_normal(len(groups)), groups, SAYS, deal)


def welfare_efficiency(rng: np.random.Generator, groups: np.ndarray) -> Estimate:
    """A skewed share: 0.9 to 1 with a deal, 0 without, and deals are as the game is."""
    deal = rng.random(len(groups)) < rng.beta(19, 1, GROUPS)[groups]
    return rate(*sums_by_group(deal * (1 - rng.random(len(groups)) / 10), groups), SAYS)


TRUTHS = (
    (mean_of_both_seats, 5),
    (points_of_a_deal, 6),
    (welfare_efficiency, 0.95 * 0.95),
)


@pytest.mark.slow
@pytest.mark.parametrize("size", BLOCKS)
@pytest.mark.parametrize(("estimate", "truth"), TRUTHS)
def test_intervals_over_scenarios_hold_the_truth(estimate, truth, size):
    covered((estimate(rng, groups) for rng, groups in blocks(size, TRUTHS.index((estimate, truth)))), truth)


@pytest.mark.slow
@pytest.mark.parametrize("size", BLOCKS)
@pytest.mark.parametrize(("closing", "failing"), [(2, 2), (19, 1), (199, 1)])
def test_a_rate_of_deals(closing, failing, size):
    """The chance of a deal differs from game to game; the truth is 50, 95 and 99.5 %."""

    def rates() -> Iterator[Estimate]:
        for rng, groups in blocks(size, 5):
            chance = rng.beta(closing, failing, GROUPS)[groups]
            yield rate(*sums_by_group(rng.random((2, size)) < chance, groups), SAYS)

    # Of 128 games all but one or none close at 99.5 %: no interval can say 95 %, this one says more.
    covered(rates(), closing / (closing + failing), 0.93, 0.985 if closing > 100 else 0.97)
