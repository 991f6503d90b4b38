"""Where DISAGREE only refuses: policies of a tree against every act of the rules, after every history."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.game import Act, Action, Rules, Scenario, State, apply, legal_actions, rest
from dond_marl.solvers.equilibria import TEMPERATURES, Equilibrium, end_deals
from experiments.equilibrium_solver.exploitability import best_response
from experiments.equilibrium_solver.mirror_descent import anneal
from experiments.equilibrium_solver.tree import Tree
from tests.experiments.equilibrium_solver.perfect_recall import anything, with_perfect_recall
from tests.experiments.equilibrium_solver.test_exploitability import POOL


def answers(tree, policy, state, view):
    """What a seat with that view says, (act, chance): the table at the head of ``equilibria.py``, word for word."""
    n, turn, splits = tree.width, len(state.history), [tuple(oA) for oA in tree.pool.splits.tolist()]
    last_act, standing = state.last_act(1 - state.mover), state.claims[1 - state.mover]
    refused, last = last_act is Act.DISAGREE, state.turns_remaining == 1
    everything = state.scenario.counts
    heard = everything if standing is None or (refused and not last) else standing
    chances = policy[turn][view, splits.index(heard) if turn else 0]
    said = [(Action(Act.PROPOSE, oA), chance) for oA, chance in zip(splits, chances, strict=False)]
    walk = Action(Act.END)
    if last:
        walk = Action(Act.PROPOSE, everything if turn == 0 or any(heard) else (0, 0, 0))
    agree = Action(Act.AGREE)
    if refused:
        agree = Action(Act.PROPOSE, rest(everything, heard)) if last else Action(Act.END)
    return [(act, chance) for act, chance in [*said, (agree, chances[n]), (walk, chances[n + 1])] if chance > 0]


def tables(tree):
    """Every pair of views that may meet, its chance and the scenario."""
    views = [tuple(values) for values in tree.pool.values.tolist()]
    for first, second in np.argwhere(tree.pool.prior > 0).tolist():
        scenario = Scenario(tuple(tree.pool.counts.tolist()), (views[first], views[second]))
        yield (first, second), tree.pool.prior[first, second], scenario


def played(tree, policy):
    """What the policy gets from itself by the rules alone, points of ten."""
    total = np.zeros(2)

    def play(state, chance, pair):
        if state.is_over:
            wholes = [state.scenario.pool_value(seat) for seat in (0, 1)]
            total[:] += chance * 10 * np.array(state.outcome.scores) / wholes
            return
        for act, share in answers(tree, policy, state, pair[state.mover]):
            play(apply(state, act), chance * share, pair)

    for pair, chance, scenario in tables(tree):
        play(State(scenario, Rules(tree.turns, "rejects")), chance, pair)
    return total


def best_by_the_rules(tree, policy, seat):
    """The best of all responses under ``disagree="rejects"``, points of ten: every act after every history."""

    def best(games):  # (state, the partner's view, weight), which look alike to the seat
        some = games[0][0]
        if some.is_over:
            return (
                sum(weight * state.outcome.scores[seat] for state, _, weight in games)
                * 10
                / some.scenario.pool_value(seat)
            )
        if some.mover == seat:
            return max(best([(apply(s, act), kind, w) for s, kind, w in games]) for act in legal_actions(some))
        after = {}
        for state, kind, weight in games:
            for act, chance in answers(tree, policy, state, kind):
                after.setdefault(act, []).append((apply(state, act), kind, weight * chance))
        return sum(best(alike) for alike in after.values())

    by_own = {}
    for pair, chance, scenario in tables(tree):
        game = State(scenario, Rules(tree.turns, "rejects")), pair[1 - seat], chance
        by_own.setdefault(pair[seat], []).append(game)
    return sum(best(games) for games in by_own.values())


def best_where_it_ends(tree, policy, seat):
    perfect, same = with_perfect_recall(tree, policy)
    return perfect.values(best_response(perfect, same, seat))[seat]


@pytest.mark.parametrize("turns", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("seat", [0, 1])
def test_rejects_gains_stay_within_the_bound(turns, seat):
    """Of any policy: the best response lies between that of the other rule and the bound above it."""
    tree = Tree(POOL, turns)
    policy = anything(tree, turns)
    found, least = best_by_the_rules(tree, policy, seat), best_where_it_ends(tree, policy, seat)
    assert least - 1e-12 <= found <= least + end_deals(tree.pool, policy).most[seat] + 1e-12
    if turns < 4:  # END closes nothing yet
        assert found == pytest.approx(least, abs=1e-12)


@pytest.mark.parametrize("seat", [0, 1])
def test_a_policy_that_never_walks_away_early_is_worth_the_same_under_both_rules(seat):
    """Four turns, where END may close a deal: who neither walks away nor grants everything leaves no more."""
    tree = Tree(POOL, 4)
    policy = anything(tree, 6)
    for chances in policy[1:3]:
        chances[..., -1] = 0
        chances[:, tree.width - 1, -2] = 0
        chances /= chances.sum(axis=-1, keepdims=True)
    assert end_deals(tree.pool, policy).most == (0, 0)
    assert best_by_the_rules(tree, policy, seat) == pytest.approx(best_where_it_ends(tree, policy, seat), abs=1e-12)


def test_the_corner_is_real():
    """Who walks away half the time from what it claimed itself closes that deal, and otherwise leaves everything."""
    tree = Tree(POOL, 4)
    policy = tree.uniform()
    policy[0][:] = np.arange(tree.width + 2) == 1
    policy[2][:] = (np.arange(tree.width + 2) == 0) / 2 + (np.arange(tree.width + 2) == tree.width + 1) / 2
    best, without = best_by_the_rules(tree, policy, 1), best_where_it_ends(tree, policy, 1)
    assert without + 0.5 < best <= without + end_deals(tree.pool, policy).most[1] + 1e-12


def test_refusal_may_pay():
    """Who leaves its partner just what that claims, is refused, and then ends the game or grants everything."""
    tree = Tree(POOL, 5)
    last, policy = tree.width - 1, tree.uniform()
    middle = tree.width // 2
    for chances in policy[1::2]:
        chances[:] = 0
    policy[1][..., last + 2] = 1  # it walks away, but from one claim, which it takes at its word
    policy[1][:, middle] = np.arange(tree.width + 2) == last - middle
    policy[3][..., last] = 1  # it claims everything, but after a refusal
    policy[3][:, last] = (np.arange(tree.width + 2) == 0) / 2 + (np.arange(tree.width + 2) == last + 2) / 2
    best, without = best_by_the_rules(tree, policy, 0), best_where_it_ends(tree, policy, 0)
    assert without + 0.5 < best <= without + end_deals(tree.pool, policy).most[0] + 1e-12


@pytest.mark.parametrize("turns", [1, 2, 3, 4])
def test_self_play_points_follow_the_rules(turns):
    tree = Tree(POOL, turns)
    policy = anything(tree, turns)
    more = end_deals(tree.pool, policy)
    np.testing.assert_allclose(np.add(tree.values(policy), more.paid), played(tree, policy), atol=1e-12)
    assert (sum(more.paid) > 0) == (turns == 4)


def test_a_cold_equilibrium_is_one_under_both_rules():
    """Found where DISAGREE ends the game; by the rules, nobody gains where it only refuses."""
    tree = Tree(POOL, 3)
    settled = anneal(tree, [1.0, 0.3, 0.1, 0.03, 0.01])[-1].policy
    gains = [best_by_the_rules(tree, settled, seat) - tree.values(settled)[seat] for seat in (0, 1)]
    assert 0 <= sum(gains) < 0.01


@pytest.mark.parametrize(
    ("turns", "temperature"), [(turns, heat) for turns, some in TEMPERATURES.items() for heat in some]
)
def test_shipped_tables_have_small_gains(turns, temperature):
    """The rule adds less than 0.01 points to what may be gained, and nothing in games of up to four turns."""
    ends, rejects = (Equilibrium.load(turns, temperature, rule) for rule in ("ends", "rejects"))
    assert max(rejects.end_deals.most) < (1e-6 if turns <= 4 else 0.01)
    np.testing.assert_allclose(rejects.values, ends.values, atol=1e-4)
    for seat, more in enumerate(rejects.end_deals.most):
        (least, most), (lowest, highest) = (np.subtract(of.responses[seat], of.values[seat]) for of in (ends, rejects))
        assert highest <= most + more + 1e-12
        assert lowest == pytest.approx(least, abs=1e-4)
