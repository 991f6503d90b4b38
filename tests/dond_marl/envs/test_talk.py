"""Messages beside acts, and secret claims, in the environments: spaces, checkers, what passes and what does not."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, parallel_api_test, seed_test

from dond_marl import DealVectorEnv, SingleAgentView, deal_or_no_dialog_v0
from dond_marl.envs.spaces import InvalidAction
from dond_marl.envs.views import view
from dond_marl.errors import InputError
from dond_marl.game import MESSAGE_CHARACTERS, Act, Action, IllegalAct, Rules, Scenario, State, apply, may_agree
from dond_marl.records.record import RecordError, from_json, record_of, replay, to_line
from dond_marl.records.transcript import transcript
from dond_marl.seats import Traits, decide

TABLE = {"counts": [1, 2, 2], "utilities": [[4, 1, 2], [0, 4, 1]]}
OTHER = {"counts": [1, 2, 2], "utilities": [[0, 3, 2], [0, 4, 1]]}  # seat_0 values otherwise
SCENARIO = Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1)))
TALKS = {"message_length": 40}

checked = pytest.mark.filterwarnings(
    "ignore:Action space for each agent probably should be:UserWarning",
    "ignore:Observation space for each agent probably should be:UserWarning",
    "ignore:Observation is not a NumPy array:UserWarning",
)


def say(act, oA=(0, 0, 0), message=None):
    return {"act_type": int(act), "oA": list(oA), **({} if message is None else {"message": message})}


@checked
@pytest.mark.parametrize("settings", [TALKS, {**TALKS, "secret_claims": True, "max_turns": 6}, {"secret_claims": True}])
def test_the_checkers_of_other_libraries_pass_with_talk_and_with_secret_claims(settings):
    api_test(deal_or_no_dialog_v0.env(**settings), num_cycles=300)
    seed_test(lambda: deal_or_no_dialog_v0.env(**settings), num_cycles=100)
    parallel_api_test(deal_or_no_dialog_v0.parallel_env(**settings), num_cycles=300)
    api_test(view(deal_or_no_dialog_v0.env(**settings), "discrete", "box"), num_cycles=300)
    check_env(gymnasium.make("DealOrNoDialog-v0", partner="heuristic", **settings).unwrapped)


def test_a_message_is_a_text_of_so_many_printable_characters_and_the_other_seat_reads_it():
    env = deal_or_no_dialog_v0.env(**TALKS)
    env.reset(options={"scenario": TABLE})
    space = env.action_space("seat_0")["message"]
    assert (space.min_length, space.max_length) == (0, 40)
    assert "".join(space.character_list) == MESSAGE_CHARACTERS
    assert env.observation_space("seat_1")["last_partner_message"] == space
    assert env.observe("seat_1")["last_partner_message"] == ""
    env.step(say(Act.PROPOSE, (1, 0, 2), "The hats are yours."))
    assert env.observe("seat_1")["last_partner_message"] == "The hats are yours."
    env.step(say(Act.PROPOSE, (0, 2, 1)))  # nothing need be said
    assert env.observe("seat_0")["last_partner_message"] == ""
    assert env.observe("seat_1")["last_partner_message"] == "The hats are yours."
    assert env.negotiation.messages == ("The hats are yours.", "")


@pytest.mark.parametrize("message", ["x" * 41, "caf\u00e9", "two\nlines", 7, None, b"bytes", ["hats"], np.array([""]),
                                     np.array(["a", "b"])])  # fmt: skip
def test_a_message_outside_its_space_is_refused_and_the_game_goes_on(message):
    env = deal_or_no_dialog_v0.env(**TALKS)
    env.reset(options={"scenario": TABLE})
    with pytest.raises(InvalidAction, match="message"):
        env.step({"act_type": 0, "oA": [1, 0, 2], "message": message})
    assert env.negotiation.history == ()


def test_without_messages_there_is_no_text_anywhere():
    env = deal_or_no_dialog_v0.env()
    env.reset(options={"scenario": TABLE})
    assert "message" not in env.action_space("seat_0").spaces
    assert "last_partner_message" not in env.observation_space("seat_0").spaces
    with pytest.raises(InvalidAction, match="exactly the keys"):
        env.step(say(Act.PROPOSE, (1, 0, 2), "psst"))
    env.step(say(Act.PROPOSE, (1, 0, 2)))
    assert "last_partner_message" not in env.observe("seat_1")
    assert "message" not in env.infos["seat_1"]["action_mask"]
    with pytest.raises(IllegalAct, match="message_length is 0"):
        apply(State(SCENARIO), Action(Act.END), "psst")


@pytest.mark.parametrize("secret", [False, True])
def test_with_the_same_text_the_other_seat_sees_the_same_bytes_whatever_the_speaker_values(secret):
    seen = []
    for table in (TABLE, OTHER):
        env = deal_or_no_dialog_v0.env(**TALKS, secret_claims=secret, max_turns=4)
        env.reset(options={"scenario": table})
        for action in (say(0, (1, 0, 2), "I like hats"), say(1, (0, 2, 0), "no"), say(0, (1, 0, 1), "books!")):
            env.step(action)
            mask = env.infos["seat_1"]["action_mask"]
            told = {k: v.tobytes() if isinstance(v, np.ndarray) else v for k, v in env.observe("seat_1").items()}
            seen.append((told, np.asarray(mask).tobytes()))
    assert seen[:3] == seen[3:]


def test_a_secret_claim_is_not_seen_and_its_act_nowhere():
    told = []
    for claim in (say(0, (1, 0, 2)), say(1, (0, 0, 0)), say(3), say(4), say(2)):
        env = deal_or_no_dialog_v0.env(secret_claims=True, max_turns=4, **TALKS)
        env.reset(options={"scenario": TABLE})
        env.step(say(0, (1, 1, 2), "hm"))
        env.step(say(0, (0, 2, 0), "hats"))
        env.step({**claim, "message": "I claim the book"})  # no text passes beside a claim
        told.append((str(env.observe("seat_1")), str(np.asarray(env.infos["seat_1"]["action_mask"]))))
        assert env.negotiation.messages == ("hm", "hats", "")
    assert len(set(told)) == 1
    assert "hm" in told[0][0]


@pytest.mark.parametrize(
    ("first", "second", "deal"),
    [
        ((0, (1, 0, 2)), (0, (0, 2, 0)), ((1, 0, 2), (0, 2, 0))),  # both claims fit the pool
        ((0, (1, 0, 2)), (0, (0, 2, 1)), None),  # more than the pool
        ((0, (1, 0, 1)), (0, (0, 2, 0)), None),  # less than the pool
        ((2,), (4,), ((1, 0, 2), (0, 2, 0))),  # what seat_1 left; what seat_1 suggested last
        ((2,), (2,), None),  # each what the other left: (1, 0, 2) and (0, 1, 1)
        ((4,), (3,), None),  # a seat that claims nothing
    ],
)
def test_fitting_secret_claims_are_a_deal(first, second, deal):
    state = State(SCENARIO, Rules(5, secret_claims=True))
    for talk in (Action(Act.PROPOSE, (1, 1, 2)), Action(Act.PROPOSE, (0, 2, 0)), Action(Act.INSIST, (1, 1, 1))):
        state = apply(state, talk)
    assert not state.is_over and state.claiming and state.mover == 1
    # max_turns is odd here: seat_1 claims first
    state = apply(state, Action(Act(second[0]), *second[1:]))
    assert not state.is_over and state.public_history == state.history[:3]
    assert may_agree(state, 0)
    state = apply(state, Action(Act(first[0]), *first[1:]))
    assert state.is_over and state.outcome.allocation == deal


def test_nothing_ends_the_talk_before_the_claims():
    rules = Rules(7, "ends", secret_claims=True)
    assert rules == Rules(7, "rejects", secret_claims=True)
    state = State(SCENARIO, rules)
    for act in (Act.END, Act.DISAGREE, Act.END, Act.END, Act.DISAGREE):
        assert not state.is_over and not state.claiming
        state = apply(state, Action(act))
    assert state.claiming


def test_a_record_keeps_the_messages_and_the_rules():
    state = State(SCENARIO, Rules(4, "rejects", 40, True))
    for action, said in (
        (Action(Act.END), "hello"),
        (Action(Act.PROPOSE, (0, 2, 0)), ""),
        (Action(Act.AGREE), "dropped"),
        (Action(Act.END), ""),
    ):
        state = apply(state, action, said)
    record = record_of(state, ("talker", "human"))
    line = to_line(record)
    assert line.startswith('{"version": 1, ') and '"message_length": 40, "secret_claims": true}' in line
    assert line.endswith('"messages": ["hello", "", "", ""]}')
    assert from_json(line) == record and replay(record) == state
    lines = transcript(record).splitlines()[3:]
    assert lines[0].endswith('"hello"') and ["Secret" in each for each in lines] == [False, False, True, True, False]
    with pytest.raises(RecordError, match="messages"):
        from_json(line.replace('["hello", "", "", ""]', '["hello"]'))
    with pytest.raises(RecordError, match=r"turn 1 .* at most 3"):
        replay(from_json(line.replace('"message_length": 40', '"message_length": 3')))


@pytest.mark.parametrize("settings", [{"message_length": -1}, {"message_length": 2001}, {"message_length": 1.5},
                                      {"secret_claims": 1.5}, {"secret_claims": True, "max_turns": 1}])  # fmt: skip
def test_settings_that_make_no_game_are_refused(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        deal_or_no_dialog_v0.env(**settings)


def test_views_send_no_message_and_vectors_refuse():
    env = view(deal_or_no_dialog_v0.env(**TALKS), "flat", "box")
    env.reset(seed=0)
    env.step(env.action_space("seat_0").sample(env.infos["seat_0"]["action_mask"]))
    assert env.unwrapped.negotiation.messages == ("",)
    with pytest.raises(InputError, match="message_length"):
        DealVectorEnv(2, **TALKS)


def test_single_agent_observes_the_partners_message():
    class Talker:
        traits = Traits(deterministic=True)

        def act(self, turns):
            said = decide(np.zeros(turns.size), turns.counts)
            return said._replace(messages=np.full(turns.size, "all mine", dtype=object))

    env = SingleAgentView(deal_or_no_dialog_v0.env(**TALKS), Talker(), seat=1)
    seen, _ = env.reset(seed=0)
    assert seen["last_partner_message"] == "all mine"
    env.step({"act_type": 3, "oA": [0, 0, 0], "message": "no"})
    assert env.game.negotiation.messages == ("all mine", "no")
    silent = SingleAgentView(deal_or_no_dialog_v0.env(), Talker(), seat=1)
    assert "last_partner_message" not in silent.reset(seed=0)[0]
