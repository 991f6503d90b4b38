"""This game as one of OpenSpiel's: OpenSpiel's own checks, and the same play as our rules."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dond_marl.envs.features import BaseLayout, encode
from dond_marl.envs.turn import turn_of
from dond_marl.game import State, apply, legal_actions
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import ScenarioSource, open_source, pack
from dond_marl.splits import action_index
from league.evaluation.exploitability import exploitability_by_seat

pyspiel = pytest.importorskip("pyspiel", reason="pip install -e '.[examples]' brings OpenSpiel")
pytestmark = pytest.mark.bench

from partners.adapters.openspiel_game import NAME, SMALL, action_of, answer  # noqa: E402  # needs pyspiel


def test_it_passes_what_openspiel_checks_of_every_game():
    for settings in (NAME, f"{NAME}(max_turns=3,disagree=rejects,split=paper_test)", SMALL):
        pyspiel.random_sim_test(pyspiel.load_game(settings), num_sims=5, serialize=True, verbose=False)


def test_it_plays_by_our_rules():
    game, draw = pyspiel.load_game(f"{NAME}(disagree=rejects,max_turns=6)"), np.random.default_rng(0)
    table, layout = open_source("lewis", split="train").table, BaseLayout(4, 6)
    endings = set()
    for _ in range(60):
        theirs = game.new_initial_state()
        assert theirs.is_chance_node() and len(theirs.chance_outcomes()) == table.size == 3084
        number = int(draw.integers(table.size))
        theirs.apply_action(number)
        ours = State(table.scenario(number), game.rules)
        while not theirs.is_terminal():
            seat = theirs.current_player()
            assert seat == ours.mover
            acts = [(np.array(said.act_type), np.array(said.oA)) for said in legal_actions(ours)]
            assert theirs.legal_actions() == [int(action_index(*act, 4)) for act in acts]
            assert theirs.observation_tensor(seat) == encode(turn_of(ours, prior=""), layout)[0].tolist()
            act = int(draw.choice(theirs.legal_actions()))
            theirs.apply_action(act)
            ours = apply(ours, action_of(act))
        assert theirs.returns() == list(ours.outcome.scores)
        endings.add(ours.outcome.ending)
    assert len(endings) >= 3


def test_observations_never_depend_on_the_others_values():
    game = pyspiel.load_game(NAME)
    pools = open_source("lewis", split="train").table
    mine = [(pools.scenario(row).counts, pools.scenario(row).utilities[0]) for row in range(200)]
    first = next(row for row in range(200) if mine.count(mine[row]) > 1)
    second = next(row for row in range(first + 1, 200) if mine[row] == mine[first])
    told = []
    for row in (first, second):
        state = game.new_initial_state()
        state.apply_action(row)
        for act in (0, 1):
            state.apply_action(act)
        told.append((state.information_state_string(0), state.observation_string(0), state.observation_tensor(0)))
    assert told[0] == told[1] and "PROPOSE (0, 0, 0); PROPOSE (0, 0, 1)" in told[0][0]


def test_a_partner_answers_there_as_it_does_here():
    game, table = pyspiel.load_game(NAME), open_source("lewis", split="train").table
    pair = seat_occupant("boulware"), seat_occupant("linear")
    rows = np.arange(0, table.size, 400)
    games = rollout(pair, table.rows(rows), seed=0)
    for place, row in enumerate(rows):
        state = game.new_initial_state()
        state.apply_action(int(row))
        while not state.is_terminal():
            state.apply_action(answer(pair[state.current_player()], state))
        assert state.returns() == games.scores[place].tolist()


def test_parameters_that_make_no_game_say_so():
    for wrong, said in (("max_turns=0", "max_turns must be"), ("disagree=never", "disagree"), ("split=none", "split")):
        with pytest.raises(ValueError, match=said):
            pyspiel.load_game(f"{NAME}({wrong})")


def test_resampled_states_keep_the_information_and_cover_every_deal_of_the_own_view():
    state, table = pyspiel.load_game(NAME).new_initial_state(), open_source("lewis", split="train").table
    for action in (3, 1, 2):
        state.apply_action(action)
    sampler = pyspiel.UniformProbabilitySampler(0.0, 1.0)
    for player in (0, 1):
        twins = [state.resample_from_infostate(player, sampler) for _ in range(400)]
        assert {twin.information_state_string(player) for twin in twins} == {state.information_state_string(player)}
        own = (table.counts == table.counts[3]).all(1) & (table.utilities[:, player] == table.utilities[3, player]).all(
            1
        )
        assert {twin.history()[0] for twin in twins} == set(np.flatnonzero(own).tolist())


def test_structs_hold_the_state_and_the_own_view():
    state = pyspiel.load_game(NAME).new_initial_state()
    assert state.to_struct().current_player == "chance" and state.to_struct().counts is None
    state.apply_action(7)
    state.apply_action(state.legal_actions()[-1])  # END: no deal
    whole, view = json.loads(state.to_json()), state.to_observation_struct(1).to_dict()
    scenario = state.table.scenario
    assert whole["utilities"] == [list(values) for values in scenario.utilities] and whole["returns"] == [0, 0]
    assert whole["history"] == [{"player": "seat_0", "act": "END", "keeps": [0, 0, 0]}]
    assert view["my_utilities"] == list(scenario.utilities[1]) and "utilities" not in view
    assert {key: view[key] for key in set(view) & set(whole)} == {key: whole[key] for key in set(view) & set(whole)}
    with pytest.raises(ValueError, match="player is 0 or 1"):
        state.to_observation_struct()  # the game is over


@pytest.mark.slow
@pytest.mark.parametrize("settings", ["", "(disagree=rejects)"])
def test_exploitability_of_the_small_game_is_ours(settings):
    from open_spiel.python import policy
    from open_spiel.python.algorithms import exploitability

    game = pyspiel.load_game(SMALL + settings)
    deals = [deal for deal, _ in game.new_initial_state().chance_outcomes()]
    states = [game.new_initial_state().child(deal) for deal in deals]
    source = ScenarioSource("uniform", None, pack([state.table.scenario for state in states]), 1, 3)
    member = seat_occupant("boulware")
    both = exploitability_by_seat(member, source, game.rules)
    assert all(seat.response.exact for seat in both)
    ours = sum(seat.response.low - seat.self_play for seat in both) * 3 / 10  # points of ten to points
    acting = policy.tabular_policy_from_callable(game, lambda state: {answer(member, state): 1.0})
    assert exploitability.nash_conv(game, acting) == pytest.approx(ours, abs=1e-9) and ours > 0.01
