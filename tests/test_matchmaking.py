"""Whom a learner practices against."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from league.matchmaking import FLOOR, regret, uniform

points = st.one_of(st.floats(0, 10), st.just(float("nan")))


@given(st.lists(st.tuples(points, points), min_size=1, max_size=500))
def test_chances_are_chances_whatever_is_known_and_nobody_is_forgotten(pairs):
    scored, reachable = np.array(pairs).T
    chances = regret(scored, reachable)
    assert chances.shape == scored.shape and np.isclose(chances.sum(), 1)
    assert (chances >= FLOOR / len(chances) - 1e-12).all()


@given(st.lists(st.booleans(), min_size=1, max_size=30).filter(lambda won: not all(won)))
def test_on_wins_and_losses_it_is_alphastars_hard_form(won):
    # AlphaStar: weight (1 - x)**2 for a win rate x; here a win is 10 points of ten and 10 are reachable.
    x = np.array(won, dtype=float)
    weight = (1 - x) ** 2
    expected = (1 - FLOOR) * weight / weight.sum() + FLOOR / len(x)
    assert np.abs(regret(10 * x, np.full(len(x), 10.0)) - expected).max() < 1e-12


def test_where_nothing_is_left_to_gain_everybody_is_met_equally_often():
    assert regret(np.array([5.0, 7.0, 10.0]), np.array([5.0, 6.0, 9.0])).tolist() == uniform(3).tolist()


def test_a_regret_worked_by_hand():
    # 2 and 4 points are left to gain: weights .04 and .16, shares .2 and .8, of nine tenths, and a twentieth each.
    assert regret(np.array([6.0, 4.0]), np.array([8.0, 8.0])) == pytest.approx([0.9 * 0.2 + 0.05, 0.9 * 0.8 + 0.05])


def test_an_opponent_never_met_counts_as_if_everything_were_left_to_gain():
    chances = regret(np.array([7.0, np.nan]), np.array([8.0, np.nan]))
    assert chances[1] > 0.9
