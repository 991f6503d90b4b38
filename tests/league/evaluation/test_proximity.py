"""Shares of a reference's points, their interquartile mean, and ratios, with known answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import trim_mean

from dond_marl.yardsticks.metrics import GROUPS
from league.evaluation.outcomes import Outcomes
from league.evaluation.proximity import beside, interquartile_mean, proximity


def games(own, deal=1.0, groups=None) -> Outcomes:
    """Outcomes of which only own points, deals and groups are looked at."""
    own = np.asarray(own, dtype=float)
    fill = dict.fromkeys(Outcomes._fields, np.zeros(len(own)))
    groups = np.arange(len(own)) % GROUPS if groups is None else np.asarray(groups)
    return Outcomes(**{**fill, "own": own, "deal": np.full(len(own), deal), "groups": groups})


def test_the_middle_half_worked_by_hand():
    # Of 8 values the 2 smallest and the 2 largest are left out; of 5 one each; of 3 none.
    assert interquartile_mean(np.array([[8, 1, 2, 3, 4, 5, 6, 100.0]])).tolist() == [4.5]
    assert interquartile_mean(np.array([[0, 1, 2, 3, 100.0]])).tolist() == [2]
    assert interquartile_mean(np.array([[0, 1, 5.0]])).tolist() == [2]


def test_what_is_not_known_is_left_out_of_each_row_by_itself():
    rows = np.array([[math.nan, 1, 2, 3, 4], [0, 1, math.nan, math.nan, 5], [math.nan] * 5])
    assert interquartile_mean(rows) == pytest.approx([2.5, 2, math.nan], nan_ok=True)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_the_middle_half_is_what_scipy_trims_to(values):
    assert interquartile_mean(np.array([values]))[0] == pytest.approx(trim_mean(values, 0.25))


def test_shares_are_of_means_at_most_1_and_unknown_where_the_reference_gets_nothing():
    own = [(games([2, 4]), games([9, 9])), (games([1, 1]), games([0, 0]))]
    reference = [(games([5, 7]), games([6, 6])), (games([0, 0]), games([4, 4]))]
    found = proximity(own, reference, seed=0, confidence=0.9)
    assert found.cells.value == pytest.approx(np.array([[0.5, 1], [math.nan, 0]]), nan_ok=True)
    assert float(found.middle.value) == pytest.approx(0.5)  # 0, 1/2 and 1


def test_what_is_in_proportion_everywhere_is_known_exactly_and_partners_that_differ_are_not():
    rng = np.random.default_rng(0)
    reference = [(games(rng.random(50) + 5), games(rng.random(50) + 5)) for _ in range(8)]
    alike = [tuple(games(0.9 * seat.own) for seat in seats) for seats in reference]
    found = proximity(alike, reference, seed=1, confidence=0.95)
    for rated in (found.middle, found.of_partners):
        assert [float(each) for each in rated] == pytest.approx([0.9] * 3)
    unlike = [tuple(games(0.1 * (w + 1) * seat.own) for seat in seats) for w, seats in enumerate(reference)]
    found = proximity(unlike, reference, seed=1, confidence=0.95)
    assert float(found.middle.value) == pytest.approx(0.45)
    assert found.middle.high - found.middle.low == pytest.approx(0, abs=1e-9)
    assert found.of_partners.low < 0.35 and found.of_partners.high > 0.55


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000))
def test_the_interval_covers_what_more_scenarios_would_show(seed):
    """One seed in a hundred may miss by chance; none may miss by far."""
    rng = np.random.default_rng(seed)
    share, size = 0.8, 300
    theirs = [tuple(games(rng.normal(6, 1, size)) for _ in range(2)) for _ in range(4)]
    mine = [tuple(games(share * 6 + rng.normal(0, 1, size)) for _ in range(2)) for _ in range(4)]
    found = proximity(mine, theirs, seed=seed, confidence=0.9999)
    assert found.middle.low - 0.01 <= share <= found.middle.high + 0.01
    assert 0.005 < found.middle.high - found.middle.low < 0.2


def test_a_figure_beside_the_references_weighs_every_cell_alike():
    own = [(games([1] * 4, deal=0.5), games([1] * 4, deal=1.0))]
    reference = [(games([1] * 4, deal=1.0), games([1] * 4, deal=1.0))]
    found = beside("deal", own, reference, seed=0, confidence=0.9)
    assert [float(each.value) for each in found] == pytest.approx([0.75, 1, 0.75])
    assert [float(each) for each in found.ratio] == pytest.approx([0.75] * 3)
    unknown = [(games([math.nan, 4]), games([2, 2]))]
    assert float(beside("own", unknown, reference, seed=0, confidence=0.9).own.value) == pytest.approx(3)


def test_one_scenario_has_no_interval():
    own = [(games([4, 4], groups=[3, 3]), games([4, 4], groups=[3, 3]))]
    found = proximity(own, own, seed=0, confidence=0.9)
    assert float(found.middle.value) == 1 and math.isnan(found.middle.low)
