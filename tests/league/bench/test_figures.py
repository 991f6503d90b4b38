"""Figures of a submission: by hand, and equal to what the statistics over seeds make of the same scores."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import strategies as st

from dond_marl.scenarios.sources import PARTS, open_source
from league.bench.figures import Figures, noisy_mean
from league.bench.protocol import ALL, HEADLINE, lewis_field
from league.evaluation.matches import Repeated

SCORES = st.lists(st.floats(0, 10, allow_subnormal=False), min_size=1, max_size=40)


def games_of(points: np.ndarray) -> Repeated:
    """Games in which everything but the points is nothing, ``points[2, R, N]``."""
    return Repeated(points, np.zeros_like(points), np.zeros_like(points), np.zeros_like(points), {})


def test_the_noise_of_a_mean_by_hand():
    # Two replicates of two scenarios: 4 and 6, 1 and 1. Their means, 5 and 1, are averaged without error; the mean of
    # two draws that differ by 2 has the variance 1, and it is half of the whole.
    values = np.array([[4.0, 1.0], [6.0, 1.0]])
    mean, variance, games = noisy_mean(values, np.array([0, 1]))
    assert (mean, variance, games) == (3.0, pytest.approx(1 / 4), 4)


def test_shared_noise_of_renamings_is_clustered():
    values = np.array([[4.0, 4.0], [6.0, 6.0]])
    apart, together = (noisy_mean(values, np.array(orbits))[1] for orbits in ((0, 1), (0, 0)))
    assert (apart, together) == (pytest.approx(1 / 2), pytest.approx(1.0))


def test_one_replicate_holds_no_noise_and_no_scenario_no_mean():
    assert noisy_mean(np.array([[1.0, 3.0]]), np.array([0, 1])) == (2.0, 0.0, 2)
    assert math.isnan(noisy_mean(np.zeros((3, 0)), np.zeros(0, dtype=np.int64))[0])


def test_interval_has_its_nominal_coverage():
    rng, field, covered = np.random.default_rng(5), lewis_field(), 0
    truth = rng.random((2, 1, field.source.table.size)) * 6
    for _ in range(200):
        points = truth + rng.normal(size=(2, 4, truth.shape[2]))
        figures = Figures({"somebody": games_of(points)}, field)
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
        mean = Figures({"somebody": games_of(points)}, field).mean("points", [(0, 0)], ALL)
        assert mean.mean == pytest.approx(points[0].mean())
        assert (mean.high > mean.low) is doubt
    assert not lewis_field(300).whole


def test_invalid_games_are_left_out():
    field = lewis_field(300)
    points = np.ones((2, 1, field.source.table.size))
    points[0, 0, :100] = np.nan
    mean = Figures({"somebody": games_of(points)}, field).mean("points", [(0, 0)], ALL)
    assert (mean.mean, mean.n) == (1.0, 200)
