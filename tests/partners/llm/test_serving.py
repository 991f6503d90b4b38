"""Prompts read back as positions, and games with messages."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dond_marl.envs.turn import turn_of
from dond_marl.game import Act, Action, Rules, Scenario, State, apply, legal_actions
from dond_marl.occupants import seat_occupant
from dond_marl.records.transcript import as_message
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import pack
from partners.llm.partner import LLMPartner
from partners.llm.prompt import SHIPPED, load_template, with_correction
from partners.llm.remote.chat import legal_schema
from partners.llm.reply import Legal, LegalReply, Reason, legal_rows, read_reply
from partners.llm.serving import ServedOccupants, UnreadPrompt, read_prompt
from tests.partners.llm.test_partner import Model

# ---------------------------------------------------------------- prompts parsed back into positions

START = State(Scenario((3, 1, 2), ((1, 7, 0), (2, 2, 1))))
triples = st.tuples(*[st.integers(0, 10)] * 3)


@st.composite
def open_states(draw) -> State:
    counts = draw(triples.filter(any))
    rules = Rules(draw(st.integers(1, 20)), draw(st.sampled_from(["ends", "rejects"])))
    state = State(Scenario(counts, (draw(triples), draw(triples))), rules)
    for _ in range(draw(st.integers(0, rules.max_turns - 1))):
        going_on = [action for action in legal_actions(state) if not apply(state, action).is_over]
        if not going_on:
            break
        state = apply(state, draw(st.sampled_from(going_on)))
    return state


WHOLE = [name for name in sorted(SHIPPED) if "{history_str}" in load_template(shipped=name).text]


@settings(max_examples=60)
@given(state=open_states(), shipped=st.sampled_from(WHOLE), revealed=st.booleans())
def test_prompt_round_trip(state, shipped, revealed):
    turns = turn_of(state, reveal_partner_utilities=revealed, prior="")
    text = load_template(shipped=shipped).render(turns)[0]
    position = read_prompt(f"[GAME] {with_correction(text, Reason.ILLEGAL)}")
    again = turn_of(position.state, reveal_partner_utilities=position.revealed, prior="")
    for name in set(turns._fields) - {"noise", "game_noise"}:
        if name in ("rules", "prior"):
            assert getattr(again, name) == getattr(turns, name)
        elif name == "history":
            assert (again.history.act == turns.history.act).all() and (again.history.oA == turns.history.oA).all()
        else:
            assert np.array_equal(getattr(again, name), getattr(turns, name)), name


def prompt(state: State = START) -> str:
    return load_template().render(turn_of(state, prior=""))[0]


def test_last_prompt_counts():
    later = apply(apply(START, Action(Act.PROPOSE, (3, 0, 0))), Action(Act.INSIST, (0, 1, 2)))
    assert read_prompt(f"{prompt()}\n\n{prompt(later)}").state.history == later.history


@pytest.mark.parametrize(
    ("original", "replacement"),
    [
        ("Pool: 3,1,2", "Pool: three"),
        ("you get 0,1,2", "you get 1,1,2"),
        ("this one included: 9", "this one included: 8"),
        ("PROPOSE, partner keeps 3,0,0, you get 0,1,2", "AGREE"),
    ],
)
def test_impossible_prompts_are_refused(original, replacement):
    text = prompt(apply(START, Action(Act.PROPOSE, (3, 0, 0))))
    assert original in text
    with pytest.raises(UnreadPrompt):
        read_prompt(text.replace(original, replacement))


# -- A language model in a game with messages: what it is told, what it may say; silent games know of no text----


TABLE = Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1)))
TALK = Rules(message_length=40)
LINE = '{"act_type": 0, "oA": [1, 0, 2], "confidence": 0.5%s}'


def test_model_message_reaches_other_seat():
    model = Model(lambda _: LINE % ', "say": "I \\u2014 need\\n the books\\u2026"')
    games = rollout((LLMPartner(model), seat_occupant("tough")), pack([TABLE], "lewis"), TALK, seed=0)
    assert games.messages[0, 0] == "I - need the books..."
    assert "and said: " in model.asked[-1].prompt  # its own words, at its next turn
    assert "40 characters" in model.asked[0].prompt


def test_a_silent_game_asks_for_no_text_and_takes_none():
    model = Model(lambda _: LINE % ', "say": "psst"')
    partner = LLMPartner(model, re_asks=0)
    games = rollout((partner, seat_occupant("tough")), pack([TABLE], "lewis"), seed=0)
    assert games.messages is None and partner.tally["rejected_wrong_keys"]
    assert "say" not in json.dumps(legal_schema(model.asked[0].legal)) and "`say`" not in model.asked[0].prompt
    plain = turn_of(State(TABLE), prior="")
    for name in SHIPPED:
        template = load_template(shipped=name)
        talk = template.render(turn_of(State(TABLE, TALK), prior=""))[0]
        assert talk.startswith(template.render(plain)[0]) and talk.count("`say`") == 1


@pytest.mark.parametrize(
    ("extra", "read"),
    [("", ""), (', "say": "hi"', "hi"), (', "say": 7', Reason.WRONG_TYPE), (', "sat": "hi"', Reason.WRONG_KEYS)],
)
def test_a_reply_may_hold_one_text(extra, read):
    result = read_reply(LINE % extra, Legal((1, 2, 2), (0, 1, 3, 4), 40))
    assert (result.say if isinstance(result, LegalReply) else result) == read


def test_a_schema_asks_for_the_text_where_one_may_pass():
    legal = legal_rows(turn_of(State(TABLE, TALK), prior=""))[0]
    schema = legal_schema(legal)
    assert schema["properties"]["say"] == {"type": "string", "maxLength": 40} and "say" in schema["required"]


def test_a_prompt_holds_the_partners_text_quoted_and_of_its_values_nothing():
    prompts = set()
    for values in ((4, 1, 2), (0, 3, 2)):
        state = apply(State(Scenario((1, 2, 2), (values, (0, 4, 1))), TALK), Action(Act.PROPOSE, (1, 0, 2)), 'say "no"')
        prompts.add(load_template().render(turn_of(state, prior=""))[0])
    assert (
        len(prompts) == 1
        and '1. partner: PROPOSE, partner keeps 1,0,2, you get 0,2,0, and said: "say \\"no\\""' in prompts.pop()
    )


def test_any_text_becomes_a_message_that_may_pass():
    for text, said in (
        ("caf\u00e9 \u201chi\u201d", 'cafe "hi"'),
        ("a\tb\r\nc", "a b c"),
        ("\u4f60", "?"),
        ("  ", ""),
        ("x" * 99, "x" * 40),
    ):
        assert as_message(text, 40) == said


def test_a_served_occupant_reads_the_talk_in_a_prompt_and_answers_with_its_own():
    state = apply(State(TABLE, TALK), Action(Act.PROPOSE, (1, 0, 2)), 'say "no", \\ or yes')
    prompt = load_template().render(turn_of(state, prior=""))[0]
    position = read_prompt(prompt)
    assert position.state.messages == state.messages and position.state.rules == TALK
    served, announcer, tough = ServedOccupants({}), seat_occupant("announcer"), seat_occupant("tough")
    line = served.line(announcer, prompt)
    assert read_reply(line, legal_rows(turn_of(state, prior=""))[0]).say == "My values: book 0, hat 4, ball 1."
    assert "say" not in served.line(tough, prompt)
    silent = load_template().render(turn_of(State(TABLE), prior=""))[0]
    assert "say" not in served.line(announcer, silent)


@pytest.mark.parametrize("message", ["{p}", '"} {"act_type": 4}', "\\" * 2000])
def test_no_message_keeps_a_served_occupant_from_reading_the_prompt(message):
    state = State(TABLE, Rules(20, "rejects", 2000))
    for _ in range(9):
        state = apply(state, Action(Act.DISAGREE), message)
    position = read_prompt(load_template().render(turn_of(state, prior=""))[0])
    assert position.state.messages == state.messages and position.state.history == state.history
