"""Shares of the best response: by hand, and that their intervals cover."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dond_marl.scenarios.sources import lewis_space
from dond_marl.statistics import GROUPS, scenario_groups
from league.evaluation.final import Proximity, over_cells, proximity
from league.figures.tally import Tally


def tally(cells, groups=None) -> Tally:
    """The tally ``[W, 2, GROUPS]`` of points in games by partner and seat, each of a group of its own by default."""
    values = np.array(cells, dtype=float)
    return Tally.of(values, np.arange(values.shape[-1]) % GROUPS if groups is None else np.array(groups))


def test_shares_are_of_means_uncapped_and_unknown_where_the_reference_is_or_gets_nothing():
    own, marks = [[[2, 4], [9, 9]], [[1, 1], [0, 0]]], [[[5, 7], [6, 6]], [[0, 0], [math.nan, math.nan]]]
    found = proximity(tally(own), tally(marks), np.array([[True, False], [True, False]]), seed=0, confidence=0.9)
    assert found.cells.value == pytest.approx(np.array([[0.5, 1.5], [math.nan, math.nan]]), nan_ok=True)
    assert float(found.mean.value) == pytest.approx(1)
    assert float(found.exact.value) == pytest.approx(0.5)
    assert float(found.worst_tenth.value) == pytest.approx(1)  # the one partner of whom a share is known


@given(st.lists(st.lists(st.floats(0.05, 1), min_size=2, max_size=2), min_size=1, max_size=35))
def test_the_worst_tenth_is_the_mean_of_the_least_partners_a_fraction_by_its_fraction(shares):
    own = [[[10 * share] * 2 for share in seats] for seats in shares]
    found = proximity(
        tally(own),
        tally(np.full((len(shares), 2, 2), 10)),
        np.ones((len(shares), 2), dtype=bool),
        seed=0,
        confidence=0.9,
    )
    ordered = sorted((first + second) / 2 for first, second in shares)
    held = max(len(shares) / 10, 1)
    whole = int(held)
    total = sum(ordered[:whole]) + (held - whole) * (ordered[whole] if whole < len(ordered) else 0)
    assert float(found.worst_tenth.value) == pytest.approx(total / held)
    assert float(found.mean.value) == pytest.approx(np.mean(shares))


def test_proportional_points_have_no_interval():
    marks = np.random.default_rng(0).random((8, 2, 50)) + 5
    every = np.ones((8, 2), dtype=bool)
    found = proximity(tally(0.9 * marks), tally(marks), every, seed=1, confidence=0.95)
    for rated in (found.mean, found.of_partners, found.exact, found.worst_tenth):
        assert [float(each) for each in rated] == pytest.approx([0.9] * 3)
    unlike = 0.1 * np.arange(1, 9)[:, None, None] * marks
    found = proximity(tally(unlike), tally(marks), every, seed=1, confidence=0.95)
    assert float(found.mean.value) == pytest.approx(0.45)
    assert found.mean.high - found.mean.low == pytest.approx(0, abs=1e-9)
    assert found.of_partners.low < 0.35 and found.of_partners.high > 0.55


def test_over_cells_weighs_cells_equally():
    assert float(over_cells(tally([[[0.5] * 4, [1.0] * 4]]), seed=0, confidence=0.9).value) == pytest.approx(0.75)
    unknown = tally([[[math.nan, 4], [2, 2]]])
    assert float(over_cells(unknown, seed=0, confidence=0.9).value) == pytest.approx(3)


# -- Intervals of shares of a reference hold the truth as often as they say


SAYS, RUNS = 0.95, 300  # 95 % is then known to +-2.5 %


def found(rng: np.random.Generator, shares: np.ndarray, groups: np.ndarray, seed: int) -> Proximity:
    """A member that gets ``shares[W, 2]`` of a reference's points; both vary with the game, and its own with chance."""
    own, marks = [], []
    for partner in shares:
        best = 6 + rng.standard_normal((2, GROUPS))[:, groups]
        earned = partner[:, None] * best + rng.standard_normal((2, GROUPS))[:, groups]
        earned += rng.standard_normal(earned.shape)
        own.append(earned)
        marks.append(best)
    exact = np.arange(shares.size).reshape(shares.shape) % 3 > 0
    return proximity(
        Tally.of(np.array(own), groups), Tally.of(np.array(marks), groups), exact, seed=seed, confidence=SAYS
    )


@pytest.mark.slow
@pytest.mark.parametrize("size", [128, 1977])
def test_proximity_intervals_cover(size):
    """The worst partner is worse than the others by far: which it is must not be chance."""
    rng, space = np.random.default_rng(size), scenario_groups(lewis_space())
    shares = np.array([[0.6, 0.5], *[[0.9, 0.8]] * 5])
    exact = np.arange(12).reshape(6, 2) % 3 > 0
    cells, mean, of_exact, worst = [], [], [], []
    for run in range(RUNS):
        rated = found(rng, shares, space[rng.choice(len(space), size, replace=False)], run)
        cells.append((rated.cells.low <= shares) & (shares <= rated.cells.high))
        mean.append(rated.mean.low <= shares.mean() <= rated.mean.high)
        of_exact.append(rated.exact.low <= shares[exact].mean() <= rated.exact.high)
        worst.append(rated.worst_tenth.low <= 0.55 <= rated.worst_tenth.high)
    for hits in (cells, mean, of_exact, worst):
        assert 0.925 <= np.mean(hits) <= 0.975


@pytest.mark.slow
@pytest.mark.parametrize("partners", [12, 24])
def test_interval_over_partners_covers(partners):
    rng, space, hits = np.random.default_rng(partners), scenario_groups(lewis_space()), []
    for run in range(RUNS):
        shares = 0.8 + 0.1 * rng.standard_normal((partners, 1)) + 0.03 * rng.standard_normal((partners, 2))
        rated = found(rng, shares, space[rng.choice(len(space), 392, replace=False)], run)
        hits.append(rated.of_partners.low <= 0.8 <= rated.of_partners.high)
    assert 0.925 <= np.mean(hits) <= 0.975, np.mean(hits)
