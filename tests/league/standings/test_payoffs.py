"""Payoff cells: sums, decay, shrinkage, bounds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dond_marl.game import Scenario
from dond_marl.scenarios.sources import Scenarios, open_source, pack
from dond_marl.statistics import GROUPS, mean_of_cells, points_of_ten, scenario_groups
from league.play.values import FACTS
from league.standings import crossplay as cells_module
from league.standings.crossplay import CrossPlay
from league.standings.ratings import STRENGTH, STRENGTHS, Payoffs, complete, shrink, take_give

SCENARIO = Scenario((1, 1, 3), ((4, 3, 1), (1, 3, 2)))  # worth 10 to each seat
OTHER = Scenario((2, 1, 1), ((2, 3, 3), (1, 4, 4)))


def facts(scores: object) -> np.ndarray:
    """The facts of games of these scores, ``[K, 2]`` points."""
    games = np.zeros(len(scores), dtype=FACTS)
    games["scores"] = scores
    return games


def add(cells: CrossPlay, scenarios: Scenarios, legs: dict[tuple[int, int], list[tuple[int, int]]]) -> None:
    cells.add(scenarios, list(legs), [facts(scores) for scores in legs.values()])


def random_legs(rng: np.random.Generator, members: int, scenarios: Scenarios) -> dict:
    pairs = itertools.product(range(members), repeat=2)
    return {pair: np.floor(rng.random((scenarios.size, 2)) * (scenarios.pool_values + 1)).astype(int) for pair in pairs}


def payoffs_of(mean: np.ndarray, games: np.ndarray, variance: float = 4.0) -> Payoffs:
    known = np.where(games > 0, mean, np.nan)
    spread = np.where(games > 1, variance, np.nan)
    unknown = np.full(mean.shape, np.nan)
    return Payoffs(known, games, spread, spread / np.maximum(games, 1), unknown)


def test_cells_by_hand():
    # The first scenario twice, the second once: member 0 opens and gets 8 and 6 in the first, 4 in the second.
    cells = CrossPlay("abc")
    add(cells, pack([SCENARIO, OTHER, SCENARIO]), {(0, 1): [(8, 3), (4, 4), (6, 5)]})
    payoffs = cells.payoffs()
    assert payoffs.mean[0, 0, 1] == 6 and payoffs.mean[1, 1, 0] == 4
    assert payoffs.games[0, 0, 1] == 3 and payoffs.games.sum() == 6
    assert payoffs.variance[0, 0, 1] == pytest.approx(4)  # of 8, 4, 6
    # As in tests/dond_marl/test_statistics.py: influences (14 - 12) / 3 and (4 - 6) / 3, 2 / 1 * (4/9 + 4/9).
    assert payoffs.error[0, 0, 1] == pytest.approx(16 / 9)
    assert math.isnan(payoffs.mean[0, 1, 1]) and math.isnan(payoffs.mean[2, 0, 0])


def test_error_needs_two_groups():
    cells = CrossPlay("ab")
    for scores in ([(8, 3)], [(4, 4)]):
        add(cells, pack([SCENARIO]), {(0, 1): scores})
    payoffs = cells.payoffs()
    assert payoffs.mean[0, 0, 1] == 6 and payoffs.games[0, 0, 1] == 2 and math.isnan(payoffs.error[0, 0, 1])


@pytest.mark.parametrize("at_once", [1, 100, 10**9])
def test_cells_equal_recounting_for_any_sweep_size(monkeypatch, at_once):
    monkeypatch.setattr(cells_module, "GAMES_AT_ONCE", at_once)
    rng, cells, games = np.random.default_rng(0), CrossPlay("ab"), {}
    cells.add_members("c")
    for _ in range(3):
        scenarios = open_source("uniform").draw(rng, 40)
        legs = random_legs(rng, 3, scenarios)
        add(cells, scenarios, legs)
        groups = scenario_groups(scenarios)
        for (a, b), scores in legs.items():
            points = points_of_ten(scores, scenarios.pool_values)
            games.setdefault((a, 0, b), []).append((groups, points[:, 0]))
            games.setdefault((b, 1, a), []).append((groups, points[:, 1]))
    payoffs = cells.payoffs()
    for cell, parts in games.items():
        groups, points = (np.concatenate(part) for part in zip(*parts, strict=True))
        assert payoffs.mean[cell] == pytest.approx(points.mean())
        assert payoffs.variance[cell] == pytest.approx(points.var(ddof=1))
        sums = np.bincount(groups, weights=points, minlength=GROUPS)
        counts = np.bincount(groups, minlength=GROUPS).astype(float)
        margin = mean_of_cells(sums[None], counts[None], 0.95).margin
        quantile = 1.9799  # Student's, about 119 degrees of freedom
        assert quantile * math.sqrt(payoffs.error[cell]) == pytest.approx(margin, rel=0.01)


def test_repeated_leg_counts_twice():
    cells = CrossPlay("ab")
    cells.add(pack([SCENARIO]), [(0, 1), (0, 1)], [facts([(8, 3)]), facts([(4, 4)])])
    assert cells.payoffs().games[0, 0, 1] == 2 and cells.payoffs().mean[0, 0, 1] == 6


def test_decay():
    cells = CrossPlay("abc")
    add(cells, pack([SCENARIO]), {pair: [(8, 2)] for pair in itertools.product(range(3), repeat=2)})
    cells.decay("ab", 0.5)  # both live; games between them count half, not a quarter
    add(cells, pack([SCENARIO]), {pair: [(2, 8)] for pair in itertools.product(range(3), repeat=2)})
    payoffs = cells.payoffs()
    assert payoffs.mean[2, 0, 2] == 5 and payoffs.games[2, 0, 2] == 2
    for live in ((0, 0, 2), (2, 0, 0), (0, 0, 1), (1, 0, 1)):
        assert payoffs.mean[live] == pytest.approx((0.5 * 8 + 2) / 1.5)
        assert payoffs.games[live] == pytest.approx(1.5**2 / 1.25)
    cells.decay("a", 0.0)
    assert cells.payoffs().games[0].sum() == cells.payoffs().games[:, :, 0].sum() == 0
    assert np.isnan(cells.payoffs().mean[0]).all() and cells.payoffs().games[1, 0, 2] > 0
    assert not len(cells.cells_of("a", "b")[0]) and cells.cells_of("b", "c")[1].tolist() == [0, 1]


def test_resampling_with_equal_weights():
    rng, cells = np.random.default_rng(0), CrossPlay("abc")
    scenarios = open_source("lewis").draw(rng, 50)
    add(cells, scenarios, {pair: scores for pair, scores in random_legs(rng, 3, scenarios).items() if pair != (2, 2)})
    for table in cells.resampled_means(np.ones((2, GROUPS))):
        assert table == pytest.approx(cells.payoffs().mean, nan_ok=True, abs=1e-5)
        assert math.isnan(table[2, 0, 2])


# Shrinkage.


def test_shrink_by_hand():
    # Two members, every cell 6 games. What one takes and leaves explains all but the second cell.
    mean = np.full((2, 2, 2), 5.0)
    mean[0, 0, 1] = 9.0
    games = np.full((2, 2, 2), 6.0)
    prediction = take_give(mean, games).predictions()
    # The means' squared distances from it, four fewer than cells, less what 6 games that vary by 4 make of them.
    strength = 4 / (((mean - prediction) ** 2).sum() / (8 - 4) - 4 / 6)
    shrunk = shrink(payoffs_of(mean, games, variance=4.0))
    assert shrunk.strength == pytest.approx(strength) and 1 < strength < 200
    assert shrunk.mean[0, 0, 1] == pytest.approx((6 * 9 + strength * prediction[0, 0, 1]) / (6 + strength))


def test_unplayed_cells_get_the_prediction():
    # Member 0 takes 3 more than the others; it has no games against member 3.
    rng, take = np.random.default_rng(0), np.array([3.0, 0, 0, 0])
    mean = 4 + take[:, None, None] + rng.normal(0, 0.1, (4, 2, 4))
    games = np.full((4, 2, 4), 100.0)
    games[0, :, 3] = 0
    payoffs = payoffs_of(mean, games)
    shrunk = shrink(payoffs)
    assert shrunk.mean[0, 0, 3] == pytest.approx(7, abs=0.3)
    filled = complete(payoffs.mean, payoffs.games)
    assert filled[0, 0, 3] == shrunk.mean[0, 0, 3] and filled[1, 0, 2] == mean[1, 0, 2]


def test_strength_depends_on_prediction_accuracy():
    rng, games = np.random.default_rng(1), np.full((10, 2, 10), 20.0)
    additive = rng.normal(5, 1, 10)[:, None, None] + rng.normal(0, 1, 10)[None, None, :]
    noise = rng.normal(0, math.sqrt(9 / 20), (10, 2, 10))
    learned = {}
    for far in (0.0, 1.0, 3.0):  # how far true means lie from the prediction: 9 / far**2 games is right
        mean = additive + rng.normal(0, far, (10, 2, 10)) + noise
        learned[far] = shrink(payoffs_of(mean, games, variance=9.0)).strength
    assert learned[0.0] == STRENGTHS[1] or learned[0.0] > 50
    assert learned[1.0] == pytest.approx(9, rel=0.4)
    assert learned[3.0] == pytest.approx(1, rel=0.4)


@given(st.data())
@settings(max_examples=50)
def test_expectations_are_finite(data):
    size = data.draw(st.integers(1, 5))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    games = rng.integers(0, 4, (size, 2, size)) * rng.integers(0, 100, (size, 2, size)).astype(float)
    shrunk = shrink(payoffs_of(10 * rng.random(games.shape), games))
    if not games.any():
        assert np.isnan(shrunk.mean).all() and shrunk.strength == STRENGTH
        return
    assert np.isfinite(shrunk.mean).all()


# What was reached.


def test_best_reached_by_hand():
    cells = CrossPlay("abcd")
    add(cells, pack([SCENARIO, SCENARIO, OTHER]), {(0, 2): [(4, 1), (6, 1), (3, 5)], (1, 2): [(5, 2), (2, 9), (7, 0)]})
    reached = cells.best_reached()
    assert reached[0, 2] == pytest.approx((2 * 6 + 7) / 3)  # as often as each was played
    assert reached[1, 0] == pytest.approx((2 * 1 + 5) / 3) and reached[1, 1] == pytest.approx((2 * 9 + 0) / 3)
    assert np.isnan(reached[:, 3]).all() and np.isnan(reached[0, :2]).all() and np.isnan(reached[1, 2])


def test_best_reached_under_renaming_and_swap():
    renamed = Scenario((3, 1, 1), ((1, 4, 3), (2, 1, 3)))
    cells = CrossPlay("ab")
    add(cells, pack([SCENARIO, renamed]), {(0, 1): [(2, 8), (9, 0)]})
    assert cells.best_reached()[0, 1] == 9
    cells = CrossPlay("ab")
    add(cells, pack([SCENARIO, Scenario((1, 1, 3), SCENARIO.utilities[::-1])]), {(0, 1): [(2, 8), (9, 0)]})
    assert cells.best_reached()[0, 1] == pytest.approx((2 + 9) / 2)


def test_decay_resets_best_reached():
    cells = CrossPlay("abc")
    add(cells, pack([SCENARIO]), {(0, 1): [(6, 3)], (2, 1): [(8, 2)], (1, 2): [(5, 5)]})
    cells.decay("a", 0.5)
    reached = cells.best_reached()
    assert reached[0, 1] == 8 and np.isnan(reached[1, 0]) and reached[0, 2] == 5
    cells.decay("c", 0.5)
    assert cells.best_reached()[0, 1] == 8  # what a learner could once do against another can be done


def test_payoffs_are_cached_until_a_change():
    """All callers share one read-only table."""
    cells = CrossPlay("abc")
    changes = [
        lambda: add(cells, pack([SCENARIO, OTHER]), {(0, 1): [(4, 1), (6, 1)], (1, 2): [(5, 2), (2, 9)]}),
        lambda: cells.decay("a", 0.5),
        lambda: cells.add_members("d"),
        lambda: add(cells, pack([SCENARIO]), {(3, 1): [(9, 0)]}),
    ]
    before: list[bytes] = []
    for change in changes:
        change()
        payoffs, reached = cells.payoffs(), cells.best_reached()
        assert cells.payoffs() is payoffs and cells.best_reached() is reached
        now = [table.tobytes() for table in (*payoffs, reached)]
        assert now != before
        before = now
        for table in (*payoffs, reached):
            with pytest.raises(ValueError, match="read-only"):
                table[0] = 0
