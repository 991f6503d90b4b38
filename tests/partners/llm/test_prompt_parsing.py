"""Prompts parsed back into positions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dond_marl.envs.turn import turn_of
from dond_marl.game import Act, Action, Rules, Scenario, State, apply, legal_actions
from partners.llm.prompt import SHIPPED, load_template, with_correction
from partners.llm.reply import Reason
from partners.llm.serving import UnreadPrompt, read_prompt

START = State(Scenario((3, 1, 2), ((1, 7, 0), (2, 2, 1))))
triples = st.tuples(*[st.integers(0, 10)] * 3)


@st.composite
def open_states(draw) -> State:
    counts = draw(triples.filter(any))
    rules = Rules(draw(st.integers(1, 20)), draw(st.sampled_from(["ends", "rejects"])))
    state = State(Scenario(counts, (draw(triples), draw(triples))), rules)
    for _ in range(draw(st.integers(0, rules.max_turns - 1))):
        going_on = [action for action in legal_actions(state) if not apply(state, action).over]
        if not going_on:
            break
        state = apply(state, draw(st.sampled_from(going_on)))
    return state


WHOLE = [name for name in sorted(SHIPPED) if "{history_str}" in load_template(shipped=name).text]


@settings(max_examples=60, deadline=None)
@given(state=open_states(), shipped=st.sampled_from(WHOLE), revealed=st.booleans())
def test_prompt_round_trip(state, shipped, revealed):
    seen = turn_of(state, reveal_partner_utilities=revealed)
    text = load_template(shipped=shipped).render(seen)[0]
    position = read_prompt(f"[GAME] {with_correction(text, Reason.ILLEGAL)}")
    again = turn_of(position.state, reveal_partner_utilities=position.revealed)
    for name in set(seen._fields) - {"noise", "game_noise"}:
        if name in ("rules", "prior"):
            assert getattr(again, name) == getattr(seen, name)
        elif name == "history":
            assert (again.history.act == seen.history.act).all() and (again.history.oA == seen.history.oA).all()
        else:
            assert np.array_equal(getattr(again, name), getattr(seen, name)), name


def prompt(state: State = START) -> str:
    return load_template().render(turn_of(state))[0]


def test_last_prompt_counts():
    later = apply(apply(START, Action(Act.PROPOSE, (3, 0, 0))), Action(Act.INSIST, (0, 1, 2)))
    assert read_prompt(f"{prompt()}\n\n{prompt(later)}").state.history == later.history


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Pool: 3,1,2", "Pool: three"),
        ("Pool: 3,1,2", "Pool: 1,1,1"),
        ("partner: PROPOSE", "you: PROPOSE"),
        ("1. partner", "3. partner"),
        ("1. partner", "(2 earlier acts are not shown)\n3. partner"),
        ("you get 0,1,2", "you get 1,1,2"),
        ("this one included: 9", "this one included: 8"),
        ("of 10\n", "of 1000\n"),
        ("PROPOSE, partner keeps 3,0,0, you get 0,1,2", "AGREE"),
        ("PROPOSE, partner keeps 3,0,0, you get 0,1,2", "PROPOSE"),
        ("PROPOSE, partner keeps 3,0,0, you get 0,1,2", "END"),
    ],
)
def test_impossible_prompts_are_refused(old, new):
    text = prompt(apply(START, Action(Act.PROPOSE, (3, 0, 0))))
    assert old in text
    with pytest.raises(UnreadPrompt):
        read_prompt(text.replace(old, new))
