"""Intervals of ratings and of the meta-game hold the truth as often as they say, or more often where they say so.

What a game brings is drawn for each group of scenarios anew, so that the truth is that of no scenarios in particular.
"""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.statistics import Estimates
from league.figures.tally import scenario_weights, with_interval, with_wide_interval
from league.standings.meta_game import Equilibria, deviation_rating, game_of, max_welfare_cce
from league.standings.ratings import take_give

pytestmark = pytest.mark.slow
SAYS = 0.95


def held(rated: Estimates, truth: np.ndarray) -> np.ndarray:
    return (rated.low - 1e-9 <= truth) & (truth <= rated.high + 1e-9)


def means(rng: np.random.Generator, truth: np.ndarray, groups: int, replicates: int) -> tuple[np.ndarray, np.ndarray]:
    """A table of means as a league of so many groups of scenarios shows it, and its replicates."""
    brought = truth + rng.normal(0, 1.5, (groups, 1, 1, 1)) + rng.normal(0, 2.5, (groups, *truth.shape))
    weights = scenario_weights(rng, replicates)[:, :groups]
    return brought.mean(axis=0), np.tensordot(weights / weights.sum(axis=1, keepdims=True), brought, 1)


def table_of(rng: np.random.Generator, size: int, clones: bool) -> np.ndarray:
    take = rng.normal(5.5, 0.7, (size, 1, 1))
    table = np.clip(take + rng.normal(0, 0.5, (size, 2, 1)) + rng.normal(0, 0.8, (size, 2, size)), 0, 10)
    alike = np.arange(size) % (size // 2)
    return table[np.ix_(alike, (0, 1), alike)] + rng.normal(0, 0.03, table.shape) if clones else table


def test_coverage_of_take_and_give():
    rng, hits = np.random.default_rng(0), []
    games = np.full((5, 2, 5), 400.0)
    for _ in range(400):
        truth = table_of(rng, 5, clones=False)
        mean, draws = means(rng, truth, 300, 200)
        value, real = (take_give(table, games) for table in (mean, truth))
        again = [take_give(table, games) for table in draws]
        for name in ("take", "give"):
            drawn = np.stack([getattr(fit, name) for fit in again])
            hits.append(held(with_interval(getattr(value, name), drawn, SAYS, enough=True), getattr(real, name)))
    assert 0.93 <= np.mean(hits) <= 0.97


@pytest.mark.parametrize("clones", [False, True])
def test_coverage_of_the_meta_game(clones):
    """Where members are about equally good these figures turn, and their intervals are wide by intent."""
    rng = np.random.default_rng(clones)
    hits: dict[str, list[np.ndarray]] = {}

    def figures(table: np.ndarray) -> dict[str, np.ndarray]:
        equilibria = Equilibria(game_of(table))
        best = max_welfare_cce(equilibria)
        return {
            "deviation": np.concatenate(deviation_rating(equilibria)),
            "welfare": np.array([best.welfare]),
            "values": np.array(best.values),
            "shares": np.concatenate(best.mixtures),
        }

    ranges = {"deviation": (-10.0, 0.0), "shares": (0.0, 1.0)}
    for _ in range(60 if clones else 100):  # minutes; a figure that is one number is then known to +-5 %
        truth = table_of(rng, 4, clones)
        mean, draws = means(rng, truth, 300, 40)
        value, real, again = figures(mean), figures(truth), [figures(table) for table in draws]
        for name, own in value.items():
            drawn = np.stack([other[name] for other in again])
            rated = with_wide_interval(own, drawn, SAYS, enough=True, within=ranges.get(name, (0.0, 20.0)))
            assert (rated.low <= own).all() and (own <= rated.high).all()
            hits.setdefault(name, []).append(held(rated, real[name]))
    for name, each in hits.items():
        assert np.mean(each) >= 0.93, f"{name}: {np.mean(each):.1%}"
