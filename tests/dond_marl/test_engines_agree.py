"""The batched engine plays exactly the rules of game.py, under every variant, turn by turn."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dond_marl.batch import GameBatch
from dond_marl.envs.turn import turn_of
from dond_marl.game import Act, Action, IllegalAct, Rules, State, apply, forfeit, may_agree, rule_against
from dond_marl.scenarios.sources import open_source, pack
from dond_marl.seats import Turns, decide

VARIANTS = list(itertools.product((1, 2, 3, 4, 7, 10), ("ends", "rejects"), ("raise", "forfeit"), (False, True)))
GAMES = 300  # per variant and source: 48 tables of 300 games
TALKS = ("", "", "I like hats.", "no!", '{}[]~ "')


def assert_same_view(turns: Turns, row: int, state: State, reveal: bool) -> None:
    """Every field of a row of turns says what the state says."""
    seat, scenario = state.mover, state.scenario
    claim = state.claims[1 - seat]
    assert turns.seat == seat
    assert tuple(turns.counts[row]) == scenario.counts
    assert tuple(turns.my_utilities[row]) == scenario.utilities[seat]
    assert tuple(turns.partner_utilities[row]) == (scenario.utilities[1 - seat] if reveal else (0, 0, 0))
    last = state.last_act(1 - seat)
    assert turns.last_partner_act[row] == (Act.END if last is None else last)
    offered = (0, 0, 0) if claim is None else tuple(c - k for c, k in zip(scenario.counts, claim, strict=True))
    assert tuple(turns.last_partner_offer_for_me[row]) == offered
    assert turns.turns_remaining[row] == state.turns_remaining
    assert turns.act_mask[row].tolist() == [True, True, may_agree(state, seat), True, True]
    alone = turn_of(state, reveal_partner_utilities=reveal, prior="")
    for history, i in ((turns.history, row), (alone.history, 0)):
        assert history.act[i].tolist() == [action.act_type for action in state.history]
        assert history.oA[i].tolist() == [list(action.oA) for action in state.history]
        assert history.messages[i].tolist() == (list(state.messages) or [""] * len(state.history))
    for name in ("last_partner_act", "last_partner_offer_for_me", "act_mask"):
        assert getattr(alone, name)[0].tolist() == getattr(turns, name)[row].tolist()


@pytest.mark.parametrize("source", ["uniform", pytest.param("lewis", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("max_turns", "disagree", "illegal", "reveal"), VARIANTS)
def test_random_play_is_the_same_in_both_engines(source, max_turns, disagree, illegal, reveal):
    rng = np.random.default_rng([max_turns, disagree == "ends", illegal == "raise", reveal])
    assert_the_same_play(source, Rules(max_turns, disagree), illegal, reveal, rng, GAMES)


@pytest.mark.parametrize("illegal", ["raise", "forfeit"])
def test_messages_are_the_same_in_both_engines(illegal):
    rules = Rules(5, "rejects", message_length=20)
    assert_the_same_play("lewis", rules, illegal, False, np.random.default_rng([5, 20]), 200)


def assert_the_same_play(source, rules, illegal, reveal, rng, size):
    scenarios = open_source(source).draw(rng, size)
    table = GameBatch(scenarios, rules, reveal_partner_utilities=reveal, illegal=illegal)
    states = [State(scenarios.scenario(i), rules) for i in range(size)]
    while table.open:
        turns, live = table.turns(), table.live
        for row in rng.choice(len(live), size=min(len(live), 5), replace=False):
            assert_same_view(turns, int(row), states[live[row]], reveal)
        weights = turns.act_mask * np.array([6, 3, 1, 1, 0.5])  # long games, every ending
        act = (rng.random((turns.size, 5)) * weights).argmax(axis=1).astype(np.int8)
        oA = rng.integers(0, turns.counts + 1, dtype=np.int8)
        # Half of the final claims complement the partner's, so that selections close deals too.
        fits = rng.random(turns.size) < 0.3
        oA[fits] = turns.last_partner_offer_for_me[fits]
        if illegal == "forfeit":
            wild = rng.random(turns.size) < 0.05
            act[wild] = rng.integers(0, 5, size=int(wild.sum()))
            oA[wild] = rng.integers(0, 5, size=(int(wild.sum()), 3))
        said = rng.choice(np.array(TALKS, dtype=object), size=turns.size) if rules.message_length else None
        for row, game in enumerate(live):
            message = said[row] if said is not None else ""
            action = Action(Act(int(act[row])), tuple(oA[row].tolist()))
            broken = rule_against(states[game], action)
            states[game] = apply(states[game], action, message) if broken is None else forfeit(states[game], broken)
        table.step(decide(act, oA)._replace(messages=said))
        assert set(table.live.tolist()) == {i for i, s in enumerate(states) if not s.is_over}
    games = table.games()
    for i, state in enumerate(states):
        outcome = state.outcome
        assert outcome is not None
        assert games.ending[i] == outcome.ending
        assert tuple(games.scores[i]) == outcome.scores
        assert bool(games.deal[i]) == outcome.deal
        assert tuple(map(tuple, games.allocation[i])) == (outcome.allocation or ((0, 0, 0), (0, 0, 0)))
        assert games.turns[i] == len(state.history)
        assert games.act[i, : games.turns[i]].tolist() == [a.act_type for a in state.history]
        assert games.oA[i, : games.turns[i]].tolist() == [list(a.oA) for a in state.history]
        assert (games.act[i, games.turns[i] :] == -1).all()
        assert not games.oA[i, games.turns[i] :].any()
        if rules.message_length and games.messages is not None:
            assert games.messages[i, : games.turns[i]].tolist() == list(state.messages)
            assert not any(games.messages[i, games.turns[i] :])
        else:
            assert games.messages is None and not any(state.messages)


def test_illegal_act_in_a_batch_names_the_game():
    scenarios = open_source("lewis").draw(np.random.default_rng(0), 8)
    table = GameBatch(scenarios)
    act, oA = np.zeros(8, dtype=np.int8), scenarios.counts.copy()
    oA[5, 1] += 1
    with pytest.raises(IllegalAct, match="first in game 5: PROPOSE"):
        table.step(decide(act, oA))
    assert table.turns_taken == 0 and table.open == 8
    table.step(decide(act, scenarios.counts))
    assert table.turns_taken == 1


@pytest.mark.parametrize(
    ("act", "oA", "complaint"),
    [
        (np.zeros(3, dtype=np.int8), np.zeros((2, 3), dtype=np.int8), "need act_type"),
        (np.zeros(2, dtype=np.int8), np.zeros((2, 2), dtype=np.int8), "need act_type"),
        (np.zeros(2), np.zeros((2, 3), dtype=np.int8), "whole numbers"),
        (np.array([0, 5]), np.zeros((2, 3), dtype=np.int8), "0..4"),
        (np.array([0, -1]), np.zeros((2, 3), dtype=np.int8), "0..4"),
    ],
)
def test_invalid_decisions_raise(act, oA, complaint):
    scenarios = pack([open_source("lewis").table.scenario(0)] * 2, "lewis")
    for mode in ("raise", "forfeit"):
        table = GameBatch(scenarios, illegal=mode)
        with pytest.raises(ValueError, match=complaint):
            table.step(decide(np.zeros(2), np.zeros((2, 3)))._replace(act_type=act, oA=oA))


def test_overflowing_claims_are_illegal():
    scenarios = pack([open_source("lewis").table.scenario(0)], "lewis")
    for claim in (-1, 5, 127, 128, 256, 257, 2**40, -(2**40)):
        table = GameBatch(scenarios)
        with pytest.raises(IllegalAct):
            table.step(decide(np.zeros(1), np.zeros((1, 3)))._replace(oA=np.full((1, 3), claim)))
