"""The numbering of acts and the grid of offers."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.game import Act, Scenario, State, apply, legal_actions
from dond_marl.splits import action_at, action_count, action_index, grid, legal_action_mask


def test_grid_order():
    assert grid(4).shape == (125, 3)
    assert grid(4)[:6].tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 2], [0, 0, 3], [0, 0, 4], [0, 1, 0]]
    with pytest.raises(ValueError, match="read-only"):
        grid(4)[0, 0] = 1


@pytest.mark.parametrize("max_count", [1, 3, 4, 10])
def test_action_numbers_round_trip(max_count):
    numbers = np.arange(action_count(max_count))
    act, oA = action_at(numbers, max_count)
    assert (action_index(act, oA, max_count) == numbers).all()
    size = (max_count + 1) ** 3
    assert np.bincount(act, minlength=5).tolist() == [size, size, 1, 1, 1]


def test_oA_of_other_acts_is_ignored_in_numbers():
    anything = np.array([[4, 2, 1], [0, 0, 0]], dtype=np.int8)
    for act in (Act.AGREE, Act.DISAGREE, Act.END):
        assert len(set(action_index(np.full(2, act, dtype=np.int8), anything, 4).tolist())) == 1


def test_vector_mask_is_the_legal_acts():
    scenario = Scenario((1, 0, 3), ((2, 1, 1), (1, 0, 3)))
    state = State(scenario)
    for _ in range(2):
        may_agree = np.array([bool(state.history)])
        mask = legal_action_mask(np.array([scenario.counts], dtype=np.int8), may_agree, 4)[0]
        act, oA = action_at(np.flatnonzero(mask), 4)
        assert [(a, tuple(o)) for a, o in zip(act, oA.tolist(), strict=True)] == list(legal_actions(state))
        state = apply(state, legal_actions(state)[0])
