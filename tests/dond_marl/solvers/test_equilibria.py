"""Tables of equilibria: the shipped files pay what their notes say, and answer any seat under any names."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dond_marl.errors import InputError
from dond_marl.game import Act, Action, Rules, Scenario, State, apply, legal_actions
from dond_marl.randomness import generator
from dond_marl.scenarios.sources import lewis_space, pack
from dond_marl.seats import Doubles
from dond_marl.solvers.contexts import splits_of
from dond_marl.solvers.equilibria import (
    STORED,
    TEMPERATURES,
    Equilibrium,
    end_deals,
    file_name,
    lewis_pools,
    pools_of,
)
from tests.dond_marl.solvers.table_acts import table_acts


def probs_of(table, counts, utilities, claim, turns_left):
    """The chances of one seat."""
    rows = (np.array([row], dtype=np.int8) for row in (counts, utilities, claim))
    return table.probs(*rows, np.array([turns_left]))[0]


def test_the_files_are_those_of_the_list_and_small():
    files = {path.name: path.stat().st_size for path in STORED.glob("*.xz")}
    assert set(files) == {file_name(turns, heat) for turns, heats in TEMPERATURES.items() for heat in heats}
    assert sum(files.values()) < 2_000_000


def test_scenarios_of_lewis_are_eight_pools_in_their_shares():
    pools, space = lewis_pools(), lewis_space()
    assert sorted(len(pool.values) for pool in pools) == [9, 10, 12, 14, 21, 21, 21, 26]
    for pool in pools:
        share = (np.sort(space.counts, axis=1) == pool.counts).all(axis=1).mean()
        assert pool.prior.sum() == pytest.approx(share)
        np.testing.assert_allclose(pool.prior, pool.prior.T, atol=1e-15)  # the swap of each scenario is one too


def test_played_games_pay_the_noted_values():
    """Games of three turns by the rules of the game, from scenarios as they are named in the paper's space."""
    table, space = Equilibrium.load(3), lewis_space()
    rng, paid = generator(0, "games of tests"), []
    for number in rng.integers(space.size, size=400).tolist():
        scenario = space.scenario(number)
        state, claim = State(scenario, Rules(3)), (-1, -1, -1)
        while not state.is_over:
            chances = probs_of(table, scenario.counts, scenario.utilities[state.mover], claim, state.turns_remaining)
            act = rng.choice(len(chances), p=chances)
            splits = splits_of(np.array([scenario.counts], dtype=np.int8)).oA[0]
            action = _action(act, splits)
            claim = action.oA
            state = apply(state, action)
        paid.append(state.outcome.scores)
    error = np.std(paid, axis=0) / np.sqrt(len(paid))
    assert (np.abs(np.mean(paid, axis=0) - table.values) < 4 * error + 1e-9).all()


def _action(act, splits):
    """The numbered act as a value of the game."""
    kinds = [Action(Act.PROPOSE, tuple(oA)) for oA in splits.tolist()] + [Action(Act.AGREE), Action(Act.DISAGREE)]
    return kinds[act]


def test_other_names_get_the_same_answer():
    """The probabilities of a renamed pool are those of the pool, renamed in the same way."""
    table, counts, utilities, claim = Equilibrium.load(4), (1, 3, 1), (4, 1, 3), (1, 2, 0)
    expected = probs_of(table, counts, utilities, claim, 3)
    splits = splits_of(np.array([counts], dtype=np.int8)).oA[0]
    for order in itertools.permutations(range(3)):
        named = [[vector[i] for i in order] for vector in (counts, utilities, claim)]
        renamed = probs_of(table, *named, 3)
        index = {tuple(oA): n for n, oA in enumerate(splits_of(np.array([named[0]], dtype=np.int8)).oA[0].tolist())}
        same = [renamed[index[tuple(oA[i] for i in order)]] for oA in splits.tolist()] + renamed[-2:].tolist()
        np.testing.assert_allclose(same, expected, atol=1e-15)
    assert expected.max() < 1 or expected[-2] == 1


def test_rows_are_independent():
    """Rows of pools of different sizes get what they get alone, chances that sum to 1, of legal acts only."""
    table, space = Equilibrium.load(2), lewis_space()
    rows = np.arange(0, space.size, 97)
    counts, utilities = space.counts[rows], space.utilities[rows, 1]
    together = table.probs(counts, utilities, counts, np.ones(len(rows), dtype=np.int64))
    assert (together[:, :-2] == 0).all() and together.sum(axis=1) == pytest.approx(1)
    for row in (0, 7, len(rows) - 1):
        alone = table.probs(counts[row : row + 1], utilities[row : row + 1], counts[row : row + 1], np.ones(1))
        np.testing.assert_array_equal(alone[0, -2:], together[row, -2:])


def test_impossible_queries_are_refused():
    table = Equilibrium.load(3)
    with pytest.raises(InputError):
        probs_of(table, (1, 1, 3), (9, 9, 9), (0, 0, 0), 2)
    with pytest.raises(InputError):
        probs_of(table, (1, 1, 3), (4, 3, 1), (0, 0, 0), 3)
    with pytest.raises(InputError, match="turns=11"):
        Equilibrium.load(11)


# -- Deals by END where DISAGREE only refuses: bounds of random policies against every act of the rules----------


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
