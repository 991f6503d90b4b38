"""Play over a pool, against the readable rules followed act by act; the same whatever the items are called."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.game import Act, Action, Rules, Scenario, State, apply
from dond_marl.scenarios.sources import lewis_space, pack
from dond_marl.solvers.equilibria import lewis_pools, pools_of
from experiments.equilibrium_solver.tree import Tree, average_renamings
from tests.experiments.equilibrium_solver.perfect_recall import anything

# One book, two hats and no ball; each seat values them in one of two ways, and one pairing cannot come up.
TINY = pack(
    [
        Scenario((0, 1, 2), ((0, 2, 4), (0, 6, 2))),
        Scenario((0, 1, 2), ((0, 6, 2), (0, 2, 4))),
        Scenario((0, 1, 2), ((0, 6, 2), (0, 6, 2))),
    ]
)
POOL = pools_of(TINY)[0]


def followed(tree: Tree, policy: list[np.ndarray]) -> tuple[np.ndarray, float]:
    """What a policy pays both seats, points of ten, and how often it closes a deal, by the rules of the game alone."""
    pool, total, deals = tree.pool, np.zeros(2), 0.0
    views = [tuple(values) for values in pool.values.tolist()]
    splits = [tuple(oA) for oA in pool.splits.tolist()]

    def play(state: State, chance: float, memory: int, pair: tuple[int, int]) -> None:
        nonlocal deals
        if state.is_over:
            assert state.outcome is not None
            for seat in (0, 1):
                total[seat] += chance * state.outcome.scores[seat] * 10 / state.scenario.pool_value(seat)
            deals += chance * state.outcome.deal
            return
        turn, n = len(state.history), tree.width
        chances = policy[turn][pair[turn % 2], memory]
        for split, oA in enumerate(splits):
            if chances[split] > 0:
                after = memory * n + split if tree.extends_memory(turn) else split
                play(apply(state, Action(Act.PROPOSE, oA)), chance * chances[split], after, pair)
        for act, place in ((Act.AGREE, n), (Act.DISAGREE, n + 1)):
            if chances[place] > 0:
                play(apply(state, Action(act)), chance * chances[place], 0, pair)

    for first, second in np.argwhere(pool.prior > 0).tolist():
        table = Scenario(tuple(pool.counts.tolist()), (views[first], views[second]))
        play(State(table, Rules(tree.turns)), pool.prior[first, second], 0, (first, second))
    return total, deals


@pytest.mark.parametrize(
    ("turns", "memory"), [(1, "last offer"), (2, "perfect"), (3, "last offer"), (4, "last offer"), (4, "perfect")]
)
def test_values_are_those_of_the_rules(turns, memory):
    """What any policy pays is what the rules pay it, act by act, whatever it remembers."""
    tree = Tree(POOL, turns, memory)
    policy = anything(tree, turns)
    paid, deals = followed(tree, policy)
    np.testing.assert_allclose(tree.values(policy), paid, atol=1e-12)
    assert tree.deals(policy) == pytest.approx(deals, abs=1e-12)


def test_reach_probabilities_sum_to_continuing_games():
    """Who may hear something on a turn hears all that was claimed on the turn before."""
    tree = Tree(POOL, 4, "perfect")
    policy = anything(tree, 3)
    reach = tree.reach(policy)
    for turn in range(3):
        claimed = (reach[turn].sum(axis=1)[..., None] * policy[turn][..., :-2]).sum()
        assert reach[turn + 1].sum() == pytest.approx(claimed, abs=1e-12)


def test_the_paper_has_eight_pools():
    """The 5,295 scenarios are 8 pools in order, and each pool's share is that of its scenarios under all names."""
    pools, space = lewis_pools(), lewis_space()
    assert len(pools) == 8
    assert sorted(len(pool.values) for pool in pools) == [9, 10, 12, 14, 21, 21, 21, 26]
    for pool in pools:
        share = (np.sort(space.counts, axis=1) == pool.counts).all(axis=1).mean()
        assert pool.prior.sum() == pytest.approx(share)
        np.testing.assert_allclose(pool.prior, pool.prior.T, atol=1e-15)  # the swap of each scenario is one too


def test_play_is_the_same_under_other_names():
    """An even policy is worth the same to a view and to that view under another name."""
    pool = next(pool for pool in lewis_pools() if pool.counts.tolist() == [1, 1, 3])
    tree = Tree(pool, 3)
    policy = average_renamings(pool, anything(tree, 1))
    assert not np.allclose(policy[1], anything(tree, 1)[1])
    for views, splits in pool.renamings:
        named = np.concatenate([splits, tree.width + np.arange(2)])
        np.testing.assert_allclose(policy[1], policy[1][views[:, None, None], splits[:, None], named], atol=1e-15)
