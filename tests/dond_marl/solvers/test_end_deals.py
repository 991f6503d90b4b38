"""Deals by END where DISAGREE only refuses: bounds of random policies against every act of the rules."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.game import Rules, Scenario, State, apply, legal_actions
from dond_marl.randomness import generator
from dond_marl.scenarios.sources import pack
from dond_marl.seats import Doubles
from dond_marl.solvers.equilibria import TEMPERATURES, Equilibrium, end_deals, pools_of
from tests.dond_marl.solvers.table_acts import table_acts

# One hat and one ball; three ways to value them, of which two are the other's under other names.
PAIRS = [((0, 2, 3), (0, 4, 1)), ((0, 4, 1), (0, 2, 3)), ((0, 2, 3), (0, 2, 3)), ((0, 3, 2), (0, 4, 1))]
POOL = pools_of(pack([Scenario((0, 1, 1), pair) for pair in PAIRS]))[0]
N = POOL.width


def uniform(turns: int) -> list[Doubles]:
    """The even policy over the acts of a table: no AGREE on the first turn, no claim on the last."""
    policy = []
    for turn in range(turns):
        legal = np.array([turn < turns - 1] * N + [turn > 0, True])
        policy.append(np.tile(legal / legal.sum(), (len(POOL.values), N if turn else 1, 1)))
    return policy


def random_policy(turns: int, seed: int) -> list[Doubles]:
    """A policy drawn at random among all."""
    rng = generator(seed, "policies of tests")
    drawn = [rng.exponential(size=chances.shape) * (chances > 0) for chances in uniform(turns)]
    return [chances / chances.sum(axis=-1, keepdims=True) for chances in drawn]


def pairs_of_views():
    """Every pair of views that may meet, its chance and the scenario."""
    views = [tuple(values) for values in POOL.values.tolist()]
    for first, second in np.argwhere(POOL.prior > 0).tolist():
        scenario = Scenario(tuple(POOL.counts.tolist()), (views[first], views[second]))
        yield (first, second), POOL.prior[first, second], scenario


def played(policy, disagree):
    """Points of ten of both seats where both play the policy, by the rules of the game alone."""
    total = np.zeros(2)

    def play(state, chance, pair):
        if state.is_over:
            wholes = [state.scenario.pool_value(seat) for seat in (0, 1)]
            total[:] += chance * 10 * np.array(state.outcome.scores) / wholes
            return
        for action, share in table_acts(POOL, policy, state, pair[state.mover]):
            play(apply(state, action), chance * share, pair)

    for pair, chance, scenario in pairs_of_views():
        play(State(scenario, Rules(len(policy), disagree)), chance, pair)
    return total


def best_response(policy, seat, disagree):
    """Points of ten of the best of all responses: every act after every history."""

    def best(games):  # (state, the partner's view, weight), which look alike to the seat
        some = games[0][0]
        if some.is_over:
            points = sum(weight * state.outcome.scores[seat] for state, _, weight in games)
            return points * 10 / some.scenario.pool_value(seat)
        if some.mover == seat:
            return max(best([(apply(s, action), view, w) for s, view, w in games]) for action in legal_actions(some))
        after = {}
        for state, view, weight in games:
            for action, chance in table_acts(POOL, policy, state, view):
                after.setdefault(action, []).append((apply(state, action), view, weight * chance))
        return sum(best(alike) for alike in after.values())

    by_view = {}
    for pair, chance, scenario in pairs_of_views():
        game = State(scenario, Rules(len(policy), disagree)), pair[1 - seat], chance
        by_view.setdefault(pair[seat], []).append(game)
    return sum(best(games) for games in by_view.values())


@pytest.mark.parametrize("turns", [1, 2, 3, 4, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seat", [0, 1])
def test_rejects_gains_stay_within_the_bound(turns, seat):
    """The best response lies between that of the other rule and the bound above it; up to three turns END adds none."""
    policy = random_policy(turns, turns)
    value, least = best_response(policy, seat, "rejects"), best_response(policy, seat, "ends")
    assert least - 1e-12 <= value <= least + end_deals(POOL, policy).most[seat] + 1e-12
    if turns < 4:
        assert value == pytest.approx(least, abs=1e-12)


@pytest.mark.parametrize("seat", [0, 1])
def test_policy_that_never_walks_away_early_is_worth_the_same_under_both_rules(seat):
    policy = random_policy(4, 6)
    for chances in policy[1:3]:
        chances[..., -1] = 0
        chances[:, N - 1, -2] = 0
        chances /= chances.sum(axis=-1, keepdims=True)
    assert end_deals(POOL, policy).most == (0, 0)
    assert best_response(policy, seat, "rejects") == pytest.approx(best_response(policy, seat, "ends"), abs=1e-12)


def test_walking_away_from_the_own_claim_closes_a_deal():
    """A policy that walks away half the time from what it claimed itself, and otherwise leaves everything."""
    policy = uniform(4)
    policy[0][:] = np.arange(N + 2) == 1
    policy[2][:] = (np.arange(N + 2) == 0) / 2 + (np.arange(N + 2) == N + 1) / 2
    value, without = best_response(policy, 1, "rejects"), best_response(policy, 1, "ends")
    assert without + 0.5 < value <= without + end_deals(POOL, policy).most[1] + 1e-12


@pytest.mark.slow
def test_refusal_may_pay():
    """A policy that leaves its partner just what that claims, is refused, and then ends the game or grants all."""
    last, middle, policy = N - 1, N // 2, uniform(5)
    for chances in policy[1::2]:
        chances[:] = 0
    policy[1][..., last + 2] = 1  # it walks away, but from one claim, which it takes at its word
    policy[1][:, middle] = np.arange(N + 2) == last - middle
    policy[3][..., last] = 1  # it claims everything, but after a refusal
    policy[3][:, last] = (np.arange(N + 2) == 0) / 2 + (np.arange(N + 2) == last + 2) / 2
    value, without = best_response(policy, 0, "rejects"), best_response(policy, 0, "ends")
    assert without + 0.5 < value <= without + end_deals(POOL, policy).most[0] + 1e-12


@pytest.mark.parametrize("turns", [1, 2, 3, 4])
def test_self_play_points_follow_the_rules(turns):
    policy = random_policy(turns, turns)
    paid = end_deals(POOL, policy).paid
    np.testing.assert_allclose(played(policy, "ends") + paid, played(policy, "rejects"), atol=1e-12)
    assert (sum(paid) > 0) == (turns == 4)


@pytest.mark.parametrize(
    ("turns", "temperature"), [(turns, heat) for turns, heats in TEMPERATURES.items() for heat in heats]
)
def test_shipped_tables_gain_little_more_under_rejects(turns, temperature):
    """The rule adds less than 0.01 points to what may be gained, and nothing in games of up to four turns."""
    ends, rejects = (Equilibrium.load(turns, temperature, rule) for rule in ("ends", "rejects"))
    assert max(rejects.end_deals.most) < (1e-6 if turns <= 4 else 0.01)
    np.testing.assert_allclose(rejects.values, ends.values, atol=1e-4)
    for seat, more in enumerate(rejects.end_deals.most):
        (least, most), (lowest, highest) = (
            np.subtract(table.responses[seat], table.values[seat]) for table in (ends, rejects)
        )
        assert highest <= most + more + 1e-12
        assert lowest == pytest.approx(least, abs=1e-4)
