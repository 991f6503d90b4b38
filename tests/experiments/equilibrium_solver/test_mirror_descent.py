"""Mirror descent: quantal response at its temperatures, colder and colder; the paper's short games within the bar."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.game import Scenario
from dond_marl.scenarios.sources import pack
from dond_marl.solvers.equilibria import lewis_pools, pools_of
from experiments.equilibrium_solver.exploitability import memory_gains, nash_conv, total
from experiments.equilibrium_solver.make_tables import escape
from experiments.equilibrium_solver.mirror_descent import anneal, quantal_gap
from experiments.equilibrium_solver.tree import Tree

PAIRS = [((0, 2, 3), (0, 4, 1)), ((0, 4, 1), (0, 2, 3)), ((0, 2, 3), (0, 2, 3)), ((0, 3, 2), (0, 4, 1))]
POOL = pools_of(pack([Scenario((0, 1, 1), pair) for pair in PAIRS]))[0]
FALLING = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)


def test_the_last_answer_is_logistic():
    """With a turn left AGREE is as much likelier than to walk away as the exponent of what is offered over heat."""
    tree = Tree(POOL, 2)
    last = anneal(tree, [0.7])[-1].policy[1]
    offered = POOL.points[:, ::-1]
    np.testing.assert_allclose(np.log(last[..., -2] / last[..., -1]), offered / 0.7, atol=1e-3)


@pytest.mark.parametrize(("turns", "memory"), [(2, "last offer"), (3, "last offer"), (4, "perfect")])
def test_less_is_gained_the_colder_it_gets(turns, memory):
    """At the end of every temperature less is gained by best responses than at the end of the one before."""
    tree = Tree(POOL, turns, memory)
    stages = anneal(tree, FALLING)
    gains = [round(nash_conv(tree, stage.policy).nash_conv, 9) for stage in stages]
    assert gains == sorted(gains, reverse=True)
    assert gains[0] > 0.4 and gains[-1] < 0.01
    assert max(stage.gap for stage in stages) < 2e-4


def test_the_gap_is_nothing_at_a_quantal_response_only():
    tree = Tree(POOL, 3)
    stage = anneal(tree, [0.5])[-1]
    assert stage.gap == quantal_gap(tree, stage.policy, 0.5) < 1e-4
    assert quantal_gap(tree, tree.uniform(), 0.5) > 0.1
    assert quantal_gap(tree, stage.policy, 0.2) > 0.01


def test_names_do_not_matter_to_an_equilibrium():
    """Where two items are as many and as good to a seat it claims the one as often as the other."""
    pool = next(pool for pool in lewis_pools() if pool.counts.tolist() == [1, 3, 3])
    policy = anneal(Tree(pool, 4), [1.0, 0.1])[-1].policy
    for views, splits in pool.renamings:
        named = np.concatenate([splits, len(splits) + np.arange(2)])
        np.testing.assert_allclose(policy[1], policy[1][views[:, None, None], splits[:, None], named], atol=1e-12)


def test_an_escape_leaves_less_to_gain():
    """By plans for several turns, which descent does not look for; no step makes the result worse."""
    pool = next(pool for pool in lewis_pools() if pool.counts.tolist() == [2, 2, 3])
    tree = Tree(pool, 5)
    stage = anneal(tree, FALLING)[-1]
    left = [memory_gains(tree, escape(tree, stage, steps, 0.0).policy).nash_conv for steps in (0, 1, 12)]
    assert left[0] == memory_gains(tree, stage.policy).nash_conv
    assert left[0] >= left[1] >= left[2] and left[2] < left[0] / 2


@pytest.mark.parametrize("turns", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_short_games_of_the_paper_are_solved(turns):
    """Nobody gains more than a hundredth of a point of ten over the whole legal space, whatever it remembers."""
    temperatures = (1.0, 0.3, 0.1, 0.03, 0.01)
    parts = [(tree, anneal(tree, temperatures)[-1].policy) for tree in (Tree(pool, turns) for pool in lewis_pools())]
    assert 0 <= total([nash_conv(tree, policy) for tree, policy in parts]).nash_conv < 0.01


@pytest.mark.slow  # 25 s
def test_four_turns_of_the_paper_are_solved_with_perfect_recall():
    temperatures = (1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.015, 0.01)
    trees = [Tree(pool, 4, "perfect") for pool in lewis_pools()]
    gains = total([nash_conv(tree, anneal(tree, temperatures, sweeps=75)[-1].policy) for tree in trees])
    assert 0 <= gains.nash_conv < 0.01
