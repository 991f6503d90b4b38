"""Figures of a benchmark line: noise, intervals and slices by hand, and that intervals cover."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dond_marl.scenarios.sources import PARTS, lewis_space, open_source
from dond_marl.statistics import GROUPS, scenario_groups
from league.bench.figures import MEASURES, CellMeans, PartnerGames, noisy_mean
from league.bench.protocol import ALL, HEADLINE, Field, lewis_field
from league.evaluation.matches import MEMBER
from league.figures.tally import Tally
from league.play.values import Answers


def games_of(points: np.ndarray, field: Field) -> PartnerGames:
    """Games with one partner of which only the points are known, ``points[2, R, N]``; ``nan``: not reached."""
    groups = scenario_groups(field.source.table)
    slices = np.stack(list(field.slices.values()), axis=1)[:, None, :, None]  # [2, 1, slices, 1, N]
    values = np.zeros((2, points.shape[1], slices.shape[2], len(MEASURES), points.shape[2]))
    values[:, :, :, 0] = points[:, :, None]
    tally = Tally.of(values, groups, np.broadcast_to(slices, values.shape) & ~np.isnan(points)[:, :, None, None])
    return PartnerGames(tally, {MEMBER: Answers(points.size, int(np.isnan(points).sum()))}, 0, 0)


def noise(values: list[list[float]], groups: list[int]) -> tuple[float, float, int]:
    return noisy_mean(Tally.of(np.array(values), np.array(groups)))


def test_noise_of_a_mean_by_hand():
    # Two replicates of two scenarios: 4 and 6, 1 and 1. Their means, 5 and 1, are averaged without error; the mean of
    # two draws that differ by 2 has the variance 1, and it is half of the whole.
    assert noise([[4.0, 1.0], [6.0, 1.0]], [0, 1]) == (3.0, pytest.approx(1 / 4), 4)


def test_shared_noise_of_renamings_is_clustered():
    apart, together = (noise([[4.0, 4.0], [6.0, 6.0]], groups)[1] for groups in ([0, 1], [0, 0]))
    assert (apart, together) == (pytest.approx(1 / 2), pytest.approx(1.0))


def test_one_replicate_has_no_noise_and_no_scenario_no_mean():
    assert noise([[1.0, 3.0]], [0, 1]) == (2.0, 0.0, 2)
    assert math.isnan(noisy_mean(Tally(np.zeros((3, GROUPS)), np.zeros((3, GROUPS))))[0])


@pytest.mark.slow
def test_interval_has_its_nominal_coverage():
    rng, field, covered = np.random.default_rng(5), lewis_field(), 0
    truth = rng.random((2, 1, field.source.table.size)) * 6
    for _ in range(200):
        points = truth + rng.normal(size=(2, 4, truth.shape[2]))
        figures = CellMeans({"partner": games_of(points, field)}, field)
        mean = figures.mean("points", [(0, 0), (0, 1)], ALL)
        covered += mean.low <= truth.mean() <= mean.high
    assert 0.9 <= covered / 200 <= 0.99


def test_slices_partition_the_scenarios():
    field = lewis_field()
    parts = np.stack([field.slices[name] for name in PARTS])
    assert (parts.sum(axis=0) == 1).all()
    assert (field.slices[HEADLINE] == parts[1] | parts[2]).all()
    assert field.slices[HEADLINE][0].sum() == open_source("lewis", split="test").table.size
    assert field.slices[ALL].all() and field.whole


def test_a_sample_of_scenarios_has_an_interval_over_orbits_and_all_of_them_none():
    for field, doubt in ((lewis_field(300), True), (lewis_field(), False)):
        points = np.random.default_rng(1).random((2, 1, field.source.table.size))
        mean = CellMeans({"partner": games_of(points, field)}, field).mean("points", [(0, 0)], ALL)
        assert mean.mean == pytest.approx(points[0].mean())
        assert (mean.high > mean.low) is doubt
    assert not lewis_field(300).whole


def test_invalid_games_are_left_out():
    field = lewis_field(300)
    points = np.ones((2, 1, field.source.table.size))
    points[0, 0, :100] = np.nan
    mean = CellMeans({"partner": games_of(points, field)}, field).mean("points", [(0, 0)], ALL)
    assert (mean.mean, mean.n) == (1.0, 200)


# -- The interval of a benchmark's mean, where all scenarios are played and only the noise of t


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
