"""Beliefs of a seat about its partner's values."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.batch import GameBatch
from dond_marl.game import Scenario
from dond_marl.scenarios.sources import lewis_space, open_source, pack, value_vectors
from dond_marl.solvers.contexts import beliefs, partner_beliefs


def row(values):
    return np.array([values], dtype=np.int8)


def listed(belief, index=0):
    """The types of one row with their weights, padding left out."""
    return {
        tuple(types.tolist()): weight
        for types, weight in zip(belief.types[index], belief.weights[index], strict=True)
        if weight > 0
    }


def test_lewis_belief_is_uniform_over_fitting_scenarios():
    space = lewis_space()
    chosen = np.random.default_rng(0).choice(space.size, 60, replace=False)
    belief = beliefs("lewis", space.counts[chosen], space.utilities[chosen, 0])
    for index, scenario in enumerate(chosen):
        fits = (space.counts == space.counts[scenario]).all(axis=1)
        fits &= (space.utilities[:, 0] == space.utilities[scenario, 0]).all(axis=1)
        expected = {tuple(types.tolist()): 1 / fits.sum() for types in space.utilities[fits, 1]}
        assert listed(belief, index) == pytest.approx(expected)


def test_both_seats_have_equal_beliefs():
    space = lewis_space()
    first = beliefs("lewis", space.counts, space.utilities[:, 0])
    other = space.swap_seats()
    second = beliefs("lewis", other.counts, other.utilities[:, 1])
    assert (first.types == second.types).all()


def test_the_true_values_are_always_possible_and_the_weights_add_up():
    for name in ("lewis", "uniform"):
        scenarios = open_source(name).draw(np.random.default_rng(1), 200)
        belief = beliefs(name, scenarios.counts, scenarios.utilities[:, 0])
        true = (belief.types == scenarios.utilities[:, 1][:, None]).all(axis=2)
        assert ((true * belief.weights).sum(axis=1) > 0).all()
        assert belief.weights.sum(axis=1) == pytest.approx(np.ones(200))


def test_the_whole_space_has_438_private_views_with_1_to_26_partner_types():
    space = lewis_space()
    views, first = np.unique(np.hstack([space.counts, space.utilities[:, 0]]), axis=0, return_index=True)
    belief = beliefs("lewis", space.counts[first], space.utilities[first, 0])
    types = (belief.weights > 0).sum(axis=1)
    assert len(views) == 438
    assert (types.min(), types.max(), types.sum()) == (1, 26, space.size)


def test_the_published_games_have_354_private_views_with_2_to_26_partner_types(data_dir):
    # reference: 354 distinct private contexts in selfplay.txt; 16.6 types on average over its 8,172 lines
    games = open_source("self_play", data_dir=data_dir).table
    counts, values = np.repeat(games.counts, 2, axis=0), games.utilities.reshape(-1, 3)
    types = (beliefs("self_play", counts, values).weights > 0).sum(axis=1)
    assert len(np.unique(np.hstack([counts, values]), axis=0)) == 354
    assert (types.min(), types.max()) == (2, 26)
    assert types.mean() == pytest.approx(16.6, abs=0.1)


def test_under_the_uniform_prior_any_values_but_none_at_all_are_equally_likely():
    probabilities = listed(beliefs("uniform", row((1, 2, 3)), row((5, 0, 1))))
    assert len(probabilities) == 11**3 - 1
    assert (0, 0, 0) not in probabilities
    assert set(probabilities.values()) == {1 / 1330}


def test_a_budget_leaves_the_values_that_make_the_pool_worth_it():
    # pool: 1 book, 2 hats, 4 balls, worth 2 points: two books' worth or one hat
    pools = np.array([[1, 2, 4], [1, 1, 1]], dtype=np.int8)
    belief = beliefs("uniform(budget=2)", pools, np.zeros((2, 3), dtype=np.int8))
    assert listed(belief) == {(0, 1, 0): 0.5, (2, 0, 0): 0.5}
    assert len(listed(belief, 1)) == 6  # (2,0,0) and its like, (1,1,0) and its like


def test_unknown_views_fall_back_to_possible_values():
    # One book each way is no pool of the paper, but can be worth 10 to the partner.
    pool = row((1, 1, 1))
    expected = {tuple(v.tolist()) for v in value_vectors((1, 1, 1), 10)}
    assert set(listed(beliefs("lewis", pool, row((10, 0, 0))))) == expected
    # Ten balls of at least one point ... and three hats: nothing but all balls at 1 point is worth 10.
    assert set(listed(beliefs("lewis", row((0, 0, 10)), row((0, 0, 1))))) == {
        (a, b, 1) for a in range(11) for b in range(11)
    }
    # Eleven is no multiple of seven: any values may be.
    assert len(listed(beliefs("uniform(budget=11)", row((0, 0, 7)), row((0, 0, 1))))) == 1330
    assert len(listed(beliefs("", pool, row((1, 1, 1))))) == 1330


def test_rows_in_and_outside_of_the_space_do_not_mix():
    space = lewis_space()
    counts, values = space.counts[:3].copy(), space.utilities[:3, 0].copy()
    alone = [listed(beliefs("lewis", counts[i : i + 1], values[i : i + 1])) for i in range(3)]
    values[1] = (10, 10, 10)
    mixed = beliefs("lewis", counts, values)
    assert listed(mixed, 0) == pytest.approx(alone[0])
    assert listed(mixed, 2) == pytest.approx(alone[2])
    assert set(listed(mixed, 1)) == {tuple(v.tolist()) for v in value_vectors(tuple(counts[1].tolist()), 10)}


@pytest.mark.parametrize("prior", ["lewis", "uniform", "uniform(budget=10)"])
def test_revealed_values_are_certain(prior):
    table = GameBatch(
        pack([Scenario((1, 2, 3), ((4, 3, 0), (1, 0, 3))), Scenario((1, 2, 3), ((1, 0, 3), (4, 3, 0)))], prior),
        reveal_partner_utilities=True,
    )
    belief = partner_beliefs(table.turns())
    assert [listed(belief, i) for i in (0, 1)] == [{(1, 0, 3): 1.0}, {(4, 3, 0): 1.0}]
