"""Regret matching: regrets vanish in the game of own points, averages are equilibria of spite."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.errors import InputError
from dond_marl.game import Scenario
from dond_marl.scenarios.space import pack
from dond_marl.yardsticks.equilibria.exploitability import nash_conv
from dond_marl.yardsticks.equilibria.pools import pools_of
from dond_marl.yardsticks.equilibria.regret import regret_matching
from dond_marl.yardsticks.equilibria.tree import Tree

PAIRS = [((0, 2, 3), (0, 4, 1)), ((0, 4, 1), (0, 2, 3)), ((0, 2, 3), (0, 2, 3)), ((0, 3, 2), (0, 4, 1))]
POOL = pools_of(pack([Scenario((0, 1, 1), pair) for pair in PAIRS]))[0]


@pytest.mark.parametrize("turns", [2, 3, 4])
def test_nobody_would_settle_on_another_policy(turns):
    """What is gained by a fixed policy, against the joint play over the iterations, falls below a hundredth."""
    tree = Tree(POOL, turns, "perfect")
    early, late = (max(regret_matching(tree, number).gaps) for number in (10, 300))
    assert late < 0.01 < early


@pytest.mark.parametrize("turns", [2, 3, 4])
def test_averages_are_an_equilibrium_of_spite(turns):
    """In the game of zero sum the averages are hardly exploitable, and both seats' values are each other's negative."""
    tree = Tree(POOL, turns, "perfect", spite=True)
    gains = nash_conv(tree, regret_matching(tree, 300).average)
    assert 0 <= gains.nash_conv < 0.01
    assert gains.values[0] == pytest.approx(-gains.values[1], abs=1e-12)
    assert nash_conv(tree, tree.uniform()).nash_conv > 0.3


def test_an_average_is_drawn_before_the_game():
    """Against the average a best response gets what it gets on average against the policies that were played."""
    tree = Tree(POOL, 3, "perfect")
    one, two = regret_matching(tree, 1), regret_matching(tree, 2)
    for seat in (0, 1):
        assert one.values[seat] == pytest.approx(tree.values(one.average)[seat], abs=1e-12)
    assert not np.allclose(two.values, tree.values(two.average))


def test_no_iterations_are_refused():
    with pytest.raises(InputError, match="at least 1"):
        regret_matching(Tree(POOL, 2), 0)
