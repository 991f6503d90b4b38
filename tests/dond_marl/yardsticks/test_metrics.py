"""Figures carry their doubt."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dond_marl.scenarios.sources import Scenarios, lewis_space, open_source
from dond_marl.scenarios.views import orbits
from dond_marl.yardsticks.metrics import (
    GROUPS,
    mean_of_cells,
    mean_over_scenarios,
    points_of_ten,
    rate,
    scenario_groups,
)


def test_points_of_ten_are_tenths_of_the_own_whole_pool():
    scores = np.array([[6, 4], [30, 0], [0, 7]], dtype=np.int16)
    wholes = np.array([[10, 10], [60, 40], [0, 14]], dtype=np.int16)
    assert points_of_ten(scores, wholes).tolist() == [[6, 4], [5, 0], [0, 5]]


@pytest.mark.parametrize("source", [("lewis", "all"), ("uniform", None)])
def test_a_scenario_its_swap_and_its_renamings_are_one_unit_of_doubt(source):
    name, split = source
    table = open_source(name, split=split).block(0, 0, 3000)
    groups = scenario_groups(table)
    for order in itertools.permutations(range(3)):
        renamed = Scenarios(table.counts[:, order], table.utilities[:, :, order])
        assert (scenario_groups(renamed) == groups).all()
        assert (scenario_groups(renamed.swapped()) == groups).all()


def test_each_of_the_475_games_of_the_legal_space_is_a_group_of_its_own():
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


def test_cells_weigh_the_same_however_many_games_they_hold():
    a, b = _groups({0: [2] * 30, 1: [2] * 30}), _groups({0: [8], 1: [8]})
    assert mean_of_cells(np.array([a[0], b[0]]), np.array([a[1], b[1]]), 0.95).mean == 5


def test_too_little_to_tell_says_so_instead_of_guessing():
    nothing = mean_of_cells(np.zeros((2, GROUPS)), np.zeros((2, GROUPS)), 0.95)
    assert nothing.n == 0 and math.isnan(nothing.mean) and math.isnan(nothing.low)
    sums, games = _groups({4: [1, 2, 3]})
    one = mean_of_cells(sums[None], games[None], 0.95)
    assert one.mean == 2 and math.isnan(one.low) and math.isnan(one.high)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 40))
def test_a_mean_over_scenarios_is_that_of_the_sums_by_group_and_leaves_other_games_out(seed, cells, games):
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


def test_a_rate_of_independent_games_has_wilsons_interval():
    # Newcombe 1998, table I: 81 of 263 at 95 %, method 3; with a group a game only the quantile is Student's.
    happened, games = np.zeros((2, 1, GROUPS))
    happened[0, :81], games[0, :263] = 1, 1
    share = rate(happened, games, 0.95)
    assert (share.mean, share.n) == (81 / 263, 263)
    assert (share.low, share.high) == (pytest.approx(0.2553, abs=1e-3), pytest.approx(0.3662, abs=1e-3))


def test_games_that_come_in_groups_make_a_rate_less_sure_and_one_that_is_certain_is_not_sure():
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
