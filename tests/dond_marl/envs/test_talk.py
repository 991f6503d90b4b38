"""Messages with acts in the environments: spaces, checkers of other libraries, valid and invalid texts, records."""

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
from dond_marl.game import MESSAGE_CHARACTERS, Act, Action, IllegalAct, Rules, Scenario, State, apply
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
def test_checkers_of_other_libraries_pass_with_messages():
    api_test(deal_or_no_dialog_v0.env(**TALKS), num_cycles=300)
    seed_test(lambda: deal_or_no_dialog_v0.env(**TALKS), num_cycles=100)
    parallel_api_test(deal_or_no_dialog_v0.parallel_env(**TALKS), num_cycles=300)
    api_test(view(deal_or_no_dialog_v0.env(**TALKS), "discrete", "box"), num_cycles=300)
    check_env(gymnasium.make("DealOrNoDialog-v0", partner="heuristic", **TALKS).unwrapped)


def test_message_space_and_the_partners_observation():
    env = deal_or_no_dialog_v0.env(**TALKS)
    env.reset(options={"scenario": TABLE})
    space = env.action_space("seat_0")["message"]
    assert (space.min_length, space.max_length) == (0, 40)
    assert "".join(space.character_list) == MESSAGE_CHARACTERS
    assert env.observation_space("seat_1")["last_partner_message"] == space
    assert env.observe("seat_1")["last_partner_message"] == ""
    env.step(say(Act.PROPOSE, (1, 0, 2), "The hats are yours."))
    assert env.observe("seat_1")["last_partner_message"] == "The hats are yours."
    env.step(say(Act.PROPOSE, (0, 2, 1)))  # a message may be left out
    assert env.observe("seat_0")["last_partner_message"] == ""
    assert env.observe("seat_1")["last_partner_message"] == "The hats are yours."
    assert env.negotiation.messages == ("The hats are yours.", "")


@pytest.mark.parametrize("message", ["x" * 41, "caf\u00e9", "two\nlines", 7])
def test_invalid_message_is_refused_without_change(message):
    env = deal_or_no_dialog_v0.env(**TALKS)
    env.reset(options={"scenario": TABLE})
    with pytest.raises(InvalidAction, match="message"):
        env.step({"act_type": 0, "oA": [1, 0, 2], "message": message})
    assert env.negotiation.history == ()


def test_no_message_pieces_without_messages():
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


def test_messages_leak_no_values():
    seen = []
    for table in (TABLE, OTHER):
        env = deal_or_no_dialog_v0.env(**TALKS, max_turns=4)
        env.reset(options={"scenario": table})
        for action in (say(0, (1, 0, 2), "I like hats"), say(1, (0, 2, 0), "no"), say(0, (1, 0, 1), "books!")):
            env.step(action)
            mask = env.infos["seat_1"]["action_mask"]
            shown = {k: v.tobytes() if isinstance(v, np.ndarray) else v for k, v in env.observe("seat_1").items()}
            seen.append((shown, np.asarray(mask).tobytes()))
    assert seen[:3] == seen[3:]


def test_record_keeps_messages_and_rules():
    state = State(SCENARIO, Rules(4, "rejects", 40))
    state = apply(state, Action(Act.DISAGREE), "hello")
    state = apply(state, Action(Act.PROPOSE, (0, 2, 0)))
    state = apply(state, Action(Act.AGREE), "ok")
    record = record_of(state, ("talker", "human"))
    line = to_line(record)
    assert line.startswith('{"version": 1, ') and '"message_length": 40}' in line
    assert line.endswith('"messages": ["hello", "", "ok"]}')
    assert from_json(line) == record and replay(record) == state
    assert transcript(record).splitlines()[3].endswith('"hello"')
    with pytest.raises(RecordError, match="messages"):
        from_json(line.replace('["hello", "", "ok"]', '["hello"]'))
    with pytest.raises(RecordError, match=r"turn 1 .* at most 3"):
        replay(from_json(line.replace('"message_length": 40', '"message_length": 3')))


def test_views_send_no_messages_and_vectors_refuse_them():
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
