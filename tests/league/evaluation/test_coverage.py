"""Intervals of shares of a reference hold the truth as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.scenarios.sources import lewis_space
from dond_marl.statistics import GROUPS, scenario_groups
from league.evaluation.final import Proximity, proximity
from league.figures.tally import Tally

pytestmark = pytest.mark.slow
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


@pytest.mark.parametrize("partners", [12, 24])
def test_interval_over_partners_covers(partners):
    rng, space, hits = np.random.default_rng(partners), scenario_groups(lewis_space()), []
    for run in range(RUNS):
        shares = 0.8 + 0.1 * rng.standard_normal((partners, 1)) + 0.03 * rng.standard_normal((partners, 2))
        rated = found(rng, shares, space[rng.choice(len(space), 392, replace=False)], run)
        hits.append(rated.of_partners.low <= 0.8 <= rated.of_partners.high)
    assert 0.925 <= np.mean(hits) <= 0.975, np.mean(hits)
