"""The interval of a benchmark's mean, where all scenarios are played and only the noise of the players is left."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dond_marl.scenarios.sources import lewis_space
from dond_marl.statistics import scenario_groups
from league.bench.figures import noisy_mean
from league.figures.tally import Tally


@pytest.mark.slow
@pytest.mark.parametrize("replicates", [2, 4])
def test_interval_covers_with_shared_noise(replicates):
    """Every scenario has its own mean; chance comes half to the game, renamings alike, and half to the scenario."""
    groups, rng, hits = scenario_groups(lewis_space()), np.random.default_rng(replicates), []
    orbit = np.unique(groups, return_inverse=True)[1]
    means = 5 + 3 * rng.standard_normal(len(groups))  # fixed: the set is what it is
    for _ in range(1000):
        luck = rng.standard_normal((replicates, orbit.max() + 1))[:, orbit]
        values = means + luck + rng.standard_normal((replicates, len(groups)))
        mean, variance, _ = noisy_mean(Tally.of(values, groups))
        hits.append(abs(mean - means.mean()) <= 1.96 * math.sqrt(variance))
    assert 0.93 <= np.mean(hits) <= 0.97
