"""Best responses to partners that remember or are drawn for each game: against brute force, and against their play."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dond_marl.errors import NotComputable
from dond_marl.game import Rules, Scenario
from dond_marl.occupants import OccupantNameError, seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import lewis_space, pack
from dond_marl.solvers.adaptive import Adaptive, is_enumerable
from dond_marl.solvers.automata import personas_of
from dond_marl.solvers.best_response import best_response_value
from dond_marl.solvers.contexts import contexts_in
from partners.best_response import BestResponse
from partners.catalogue import PARTNERS
from partners.mixture import Mixture
from tests.dond_marl.solvers.brute_force import Whimsical, by_brute_force

POOL = (1, 1, 1)
VALUES = [(6, 4, 0), (2, 3, 5), (8, 1, 1), (0, 0, 10), (5, 5, 0), (3, 3, 4)]


@st.composite
def tables(draw):
    """A few scenarios over one small pool, some alike."""
    number = draw(st.integers(1, 4))
    pairs = draw(st.lists(st.tuples(*[st.sampled_from(VALUES)] * 2), min_size=number, max_size=number))
    return [Scenario(POOL, pair) for pair in pairs]


@settings(max_examples=15)
@given(tables(), st.integers(0, 10_000), st.integers(1, 3), st.integers(0, 1), st.integers(1, 4))
def test_response_to_memory_equals_brute_force(table, mood, memory, seat, turns):
    partner, rules = Whimsical(mood, memory), Rules(turns)
    expected = by_brute_force([(1.0, partner)], table, seat, rules)
    game = Adaptive(partner, contexts_in(pack(table), seat), seat, rules, "")
    assert game.value() == (pytest.approx(expected, abs=1e-9), True)


@settings(max_examples=5)
@given(tables(), st.lists(st.integers(0, 10_000), min_size=2, max_size=3), st.integers(0, 1), st.integers(2, 4))
def test_response_to_drawn_persona_equals_brute_force(table, moods, seat, turns):
    mixed = Mixture([Whimsical(mood, 3) for mood in moods], [n + 1 for n in range(len(moods))])
    expected = by_brute_force(mixed.personas(), table, seat, Rules(turns))
    game = Adaptive(mixed, contexts_in(pack(table), seat), seat, Rules(turns), "")
    assert game.value() == (pytest.approx(expected, abs=1e-9), True)


@settings(max_examples=10)
@given(tables(), st.integers(0, 10_000), st.integers(0, 1), st.integers(3, 7), st.integers(1, 6))
def test_small_effort_gives_an_upper_bound(table, mood, seat, turns, effort):
    contexts, rules = contexts_in(pack(table), seat), Rules(turns)
    truth, exact = Adaptive(Whimsical(mood, 3), contexts, seat, rules, "").value()
    bound, sure = Adaptive(Whimsical(mood, 3), contexts, seat, rules, "", effort=effort).value()
    revealed = Adaptive(Whimsical(mood, 3), contexts.certain(), seat, rules, "").value()[0]
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
    class Silent(Whimsical):
        summary = None

    assert not is_enumerable(Silent(1, 3), Rules(10))


def test_intractable_partners_are_refused():
    contexts = contexts_in(pack([Scenario(POOL, (VALUES[0], VALUES[1]))]), 0)
    for partner, rules in ((seat_occupant("random"), Rules()), (Whimsical(1, 3), Rules(10, "rejects"))):
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
