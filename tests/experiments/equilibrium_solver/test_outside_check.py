"""OpenSpiel's own best responses and exploitability, on this game as one of its own, agree with ours."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.game import Act, Scenario, State
from dond_marl.scenarios.sources import pack
from dond_marl.solvers.equilibria import pools_of
from dond_marl.splits import action_index
from experiments.equilibrium_solver.exploitability import nash_conv
from experiments.equilibrium_solver.mirror_descent import anneal
from experiments.equilibrium_solver.tree import Tree
from tests.experiments.equilibrium_solver.perfect_recall import anything

pyspiel = pytest.importorskip("pyspiel", reason="pip install -e '.[bench]' brings OpenSpiel")
pytestmark = pytest.mark.bench

from open_spiel.python.algorithms import exploitability  # noqa: E402  # needs pyspiel
from open_spiel.python.policy import Policy  # noqa: E402  # needs pyspiel

from partners.adapters.openspiel_game import TYPE, DealGame, DealState  # noqa: E402  # needs pyspiel

# One hat and one ball, worth ten points to everybody; the two orders of the items' names are equally likely.
VALUES = [((0, 3, 7), (0, 8, 2)), ((0, 8, 2), (0, 3, 7)), ((0, 3, 7), (0, 3, 7)), ((0, 5, 5), (0, 8, 2))]
PAIRS = [
    (first[:1] + a, second[:1] + b)
    for first, second in VALUES
    for a, b in ((first[1:], second[1:]), (first[:0:-1], second[:0:-1]))
]
TABLE = pack([Scenario((0, 1, 1), pair) for pair in PAIRS])
MAX_COUNT = 4  # of the numbering of acts


class TinyState(DealState):
    """A game over one of the scenarios of the small table."""

    def chance_outcomes(self):
        return [(deal, 1 / TABLE.size) for deal in range(TABLE.size)]

    def _apply_action(self, action):
        if self.table is None:
            self.table = State(TABLE.scenario(action), self.rules)
        else:
            super()._apply_action(action)


class TinyGame(DealGame):
    def new_initial_state(self):
        return TinyState(self)


class Played(Policy):
    """A policy of a tree in OpenSpiel's hands: it answers INSIST as PROPOSE, and says neither INSIST nor END."""

    def __init__(self, game, tree, policy):
        super().__init__(game, [0, 1])
        self.tree, self.policy = tree, policy
        self.views = {tuple(values): view for view, values in enumerate(tree.pool.values.tolist())}
        self.place = {tuple(oA): number for number, oA in enumerate(tree.pool.splits.tolist())}

    def action_probabilities(self, state, player_id=None):
        table, tree, memory = state.table, self.tree, 0
        for turn, said in enumerate(table.history):
            claim = self.place[said.oA]
            memory = memory * tree.width + claim if tree.extends_memory(turn) else claim
        chances = self.policy[len(table.history)][self.views[table.scenario.utilities[table.mover]], memory]
        acts = np.array([Act.PROPOSE] * tree.width + [Act.AGREE, Act.DISAGREE])
        kept = np.vstack([tree.pool.splits, np.zeros((2, 3), dtype=np.int8)])
        numbers = action_index(acts, kept, MAX_COUNT)
        return {number: chance for number, chance in zip(numbers.tolist(), chances.tolist(), strict=True) if chance > 0}


@pytest.mark.parametrize("turns", [2, 3])
@pytest.mark.parametrize("how", ["anything", "annealed"])
def test_openspiel_finds_the_same_exploitability(turns, how):
    """Both seats' gains together, of a random policy and of an equilibrium."""
    (pool,) = pools_of(TABLE)
    tree = Tree(pool, turns, "perfect")
    policy = anneal(tree, [1.0, 0.1])[-1].policy if how == "annealed" else anything(tree, turns)
    game = TinyGame({"max_turns": turns})
    assert game.get_type().short_name == TYPE.short_name
    played = Played(game, tree, policy)
    theirs = exploitability.nash_conv(game, played, return_only_nash_conv=False, use_cpp_br=False)
    ours = nash_conv(tree, policy)
    np.testing.assert_allclose(theirs.player_improvements, ours.gains, atol=1e-6)
    assert theirs.nash_conv == pytest.approx(ours.nash_conv, abs=1e-6)
    assert how == "annealed" or ours.nash_conv > 0.001
