"""Best responses to partners that remember or are drawn for each game: against brute force, and against their play."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dond_marl.envs.turn import only_action, turn_of
from dond_marl.errors import NotComputable
from dond_marl.game import Act, Rules, Scenario, State, apply, legal_actions
from dond_marl.occupants import OccupantNameError, seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import lewis_space, pack
from dond_marl.seats import Traits, decide
from dond_marl.solvers.adaptive import Adaptive, is_enumerable
from dond_marl.solvers.automata import personas_of
from dond_marl.solvers.best_response import best_response_value
from dond_marl.solvers.contexts import contexts_in
from partners.best_response import BestResponse
from partners.catalogue import PARTNERS
from partners.mixture import Mixture


class Moody:
    """Says any act by lot, but always the same after the same summary: what it was offered so far, modulo a few."""

    traits = Traits(deterministic=True)

    def __init__(self, mood, memory=3):
        self.mood, self.memory = mood, memory

    def summary(self, turns):
        claims = turns.history.oA[:, 1 - turns.seat :: 2][:, :-1]
        return (claims.sum(axis=(1, 2)) % self.memory)[:, None]

    def act(self, turns):
        memory = turns.history.oA[:, 1 - turns.seat :: 2].sum(axis=(1, 2)) % self.memory
        acts, claims = [], []
        columns = (turns.counts, turns.my_utilities, turns.last_partner_act, turns.last_partner_offer_for_me, memory)
        rows = np.column_stack([*columns, turns.turns_remaining]).astype(np.int64)
        for row, mask, counts in zip(rows, turns.act_mask, turns.counts, strict=True):
            rng = np.random.default_rng([self.mood, *row.tolist()])
            weights = mask * np.array([5, 2, 1, 0.3, 0.5])
            acts.append(rng.choice(5, p=weights / weights.sum()))
            claims.append(rng.integers(0, counts + 1))
        return decide(np.array(acts), np.array(claims))


POOL = (1, 1, 1)
VALUES = [(6, 4, 0), (2, 3, 5), (8, 1, 1), (0, 0, 10), (5, 5, 0), (3, 3, 4)]


def by_brute_force(personas, table, seat, rules, prior=""):
    """Expectimax over what the seat has seen, with the readable rules: points of ten. States carry their chances."""
    answers = {}

    def answer(number, state):
        key = number, state.scenario, state.history
        if key not in answers:
            answers[key] = only_action(personas[number][1].act(turn_of(state, prior=prior)))
        return answers[key]

    def value(states):
        if states[0][2].is_over:
            return sum(chance * points(state) for chance, _, state in states)
        if len(states[0][2].history) % 2 != seat:
            return after([(chance, number, apply(state, answer(number, state))) for chance, number, state in states])
        options = [action for action in legal_actions(states[0][2]) if action.act_type != Act.DISAGREE]
        return max(after([(chance, number, apply(state, a)) for chance, number, state in states]) for a in options)

    def points(state):
        values = state.scenario.utilities[seat]
        pool_value = sum(n * v for n, v in zip(state.scenario.counts, values, strict=True))
        return state.outcome.scores[seat] * 10 / max(pool_value, 1)

    def after(states):
        groups = {}
        for branch in states:
            state = branch[2]
            groups.setdefault((state.scenario.counts, state.scenario.utilities[seat], state.history), []).append(branch)
        return sum(value(group) for group in groups.values())

    starts = [(c / len(table), w, State(s, rules)) for s in table for w, (c, _) in enumerate(personas)]
    return after(starts)


@st.composite
def tables(draw):
    """A few scenarios over one small pool, some alike."""
    number = draw(st.integers(1, 4))
    pairs = draw(st.lists(st.tuples(*[st.sampled_from(VALUES)] * 2), min_size=number, max_size=number))
    return [Scenario(POOL, pair) for pair in pairs]


@settings(max_examples=15)
@given(tables(), st.integers(0, 10_000), st.integers(1, 3), st.integers(0, 1), st.integers(1, 4))
def test_response_to_memory_equals_brute_force(table, mood, memory, seat, turns):
    partner, rules = Moody(mood, memory), Rules(turns)
    expected = by_brute_force([(1.0, partner)], table, seat, rules)
    game = Adaptive(partner, contexts_in(pack(table), seat), seat, rules, "")
    assert game.value() == (pytest.approx(expected, abs=1e-9), True)


@settings(max_examples=5)
@given(tables(), st.lists(st.integers(0, 10_000), min_size=2, max_size=3), st.integers(0, 1), st.integers(2, 4))
def test_response_to_drawn_persona_equals_brute_force(table, moods, seat, turns):
    mixed = Mixture([Moody(mood) for mood in moods], [n + 1 for n in range(len(moods))])
    expected = by_brute_force(mixed.personas(), table, seat, Rules(turns))
    game = Adaptive(mixed, contexts_in(pack(table), seat), seat, Rules(turns), "")
    assert game.value() == (pytest.approx(expected, abs=1e-9), True)


@settings(max_examples=10)
@given(tables(), st.integers(0, 10_000), st.integers(0, 1), st.integers(3, 7), st.integers(1, 6))
def test_small_effort_gives_an_upper_bound(table, mood, seat, turns, effort):
    contexts, rules = contexts_in(pack(table), seat), Rules(turns)
    truth, exact = Adaptive(Moody(mood), contexts, seat, rules, "").value()
    bound, sure = Adaptive(Moody(mood), contexts, seat, rules, "", effort=effort).value()
    revealed = Adaptive(Moody(mood), contexts.certain(), seat, rules, "").value()[0]
    assert exact and truth - 1e-9 <= bound <= revealed + 1e-9
    assert not sure or bound == pytest.approx(truth)


PLAYED = ["concession_rule", "versatile", "punisher", "heuristic", "personas", "ultimatum"]


@pytest.mark.parametrize(
    ("spec", "seat"),
    [pytest.param(spec, seat, marks=[pytest.mark.slow] * (spec == "personas")) for spec in PLAYED for seat in (0, 1)],
)
def test_played_response_earns_its_computed_value(spec, seat):
    """On some pools of the legal space."""
    partner, space = seat_occupant(spec), lewis_space()
    pools = np.unique(space.counts, axis=0)[[1, 14]]
    rows = np.flatnonzero((space.counts[:, None] == pools).all(axis=2).any(axis=1))
    table = space.rows(rows)
    contexts = contexts_in(table, seat)
    game = Adaptive(partner, contexts, seat, Rules(), "lewis")
    value, exact = game.value()
    assert exact
    response = BestResponse(partner, contexts)
    total = 0.0
    for chance, persona in personas_of(partner):
        pair = (response, persona) if seat == 0 else (persona, response)
        total += chance * rollout(pair, table, seed=0).scores[:, seat].mean()
    assert total == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(
    "spec", ["heuristic", *(pytest.param(name, marks=pytest.mark.slow) for name in ("boulware", "stubborn", "level_k"))]
)
def test_memoryless_partners_agree_with_expectimax(spec):
    partner, space = seat_occupant(spec), lewis_space()
    table = space.rows(slice(None, None, 15))
    for seat in (0, 1):
        contexts = contexts_in(table, seat)
        expected = best_response_value(partner, contexts, seat)
        assert Adaptive(partner, contexts, seat, Rules(), "lewis").value() == (pytest.approx(expected, abs=1e-9), True)


def test_deterministic_catalogue_partners_are_tractable():
    """Built-in partners that are deterministic, or drawn from such, and that need no parameters."""
    bounded = {"bayes_reply", "best_response", "checkpoint", "expert", "human", "llm", "mixture"}
    for name in sorted(PARTNERS.keys() - bounded):
        with suppress(OccupantNameError):
            partner = seat_occupant(name)
            assert personas_of(partner) is None or is_enumerable(partner, Rules()), name


def test_partner_with_memory_needs_a_summary_in_long_games():
    class Silent(Moody):
        summary = None

    assert not is_enumerable(Silent(1), Rules(10))


def test_intractable_partners_are_refused():
    contexts = contexts_in(pack([Scenario(POOL, (VALUES[0], VALUES[1]))]), 0)
    for partner, rules in ((seat_occupant("random"), Rules()), (Moody(1), Rules(10, "rejects"))):
        with pytest.raises(NotComputable):
            Adaptive(partner, contexts, 0, rules, "")


def test_unexplained_history_uses_latest_answers():
    """The seat claims everything twice; no member would give the first answer, some would give the second."""
    members = [seat_occupant(spec) for spec in ("linear", "tough")]
    space = lewis_space()
    pool_of = np.flatnonzero((space.counts == np.unique(space.counts, axis=0)[1]).all(axis=1))
    table = space.rows(pool_of)
    pool = Adaptive(Mixture(members), contexts_in(table, 0), 0, Rules(), "lewis").pool(0)
    splits = pool.automaton.splits.oA[0]
    claims, n = np.array([len(splits) - 1]), len(splits)
    level, next_level = pool.automaton.levels[10], pool.automaton.levels[8]
    mind = int(np.flatnonzero(pool.chances[0])[0])
    i = int(np.flatnonzero(next_level.policy == mind)[0])
    answer = int(next_level.answer[i, claims[0]])
    assert answer < 2 * n, "it goes on"
    never = next(number for number in range(n) if not (level.answer[:, claims[0]] == number).any())
    numbers = np.array([[claims[0], never, claims[0], answer]])
    acts, offers = (numbers // n).astype(np.int8), splits[numbers % n]
    assert not len(pool.beliefs_after(np.array([0]), acts, offers).member)
    latest = pool.beliefs_after_latest(np.array([0]), acts, offers)
    expected = {m for m in np.flatnonzero(pool.chances[0]) if (next_level.policy == m).any()}
    answers = {int(m): int(next_level.answer[np.flatnonzero(next_level.policy == m)[0], claims[0]]) for m in expected}
    assert set(pool.automaton.levels[6].policy[latest.member]) == {m for m, reply in answers.items() if reply == answer}
    explained = np.array([[claims[0], int(level.answer[mind, claims[0]])]])
    if explained[0, 1] < 2 * n:  # where somebody explains all of it, nothing else counts
        beliefs = [
            f(np.array([0]), (explained // n).astype(np.int8), splits[explained % n])
            for f in (pool.beliefs_after, pool.beliefs_after_latest)
        ]
        np.testing.assert_array_equal(beliefs[0].member, beliefs[1].member)
