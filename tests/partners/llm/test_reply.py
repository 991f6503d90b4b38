"""The reply parser: legality and reasons of refusal."""

from __future__ import annotations

import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dond_marl.envs.turn import turn_of
from dond_marl.game import MAX_MESSAGE_LENGTH, MESSAGE_CHARACTERS, Act, Action, Scenario, State, apply, legal_actions
from dond_marl.records.transcript import as_message
from partners.llm.reply import Legal, LegalReply, Reason, legal_rows, read_reply, reply_line

ALL = (0, 1, 2, 3, 4)
OPENING = Legal((2, 1, 0), (0, 1, 3, 4))  # the partner has made no offer: AGREE is closed
OFFERED = Legal((2, 1, 0), ALL)
GOOD = '{"act_type": 0, "oA": [2, 1, 0], "confidence": 0.5}'

BAD = {
    Reason.EMPTY: ["", " ", "\n", "\r\n\t "],
    Reason.TRUNCATED: [
        "{",
        '{"act_type": 0, "oA": [2, 1',
        '{"act_type": 0, "oA": [2, 1, 0], "confidence": 0.5',
    ],
    Reason.UNPARSABLE: [
        "I agree.",
        "act_type: 0, oA: [2, 1, 0], confidence: 0.5",
        f"```json\n{GOOD}\n```",
        f"Sure! {GOOD}",
        f"<think>hm</think>{GOOD}",
        f'"{GOOD}"',
        "\ufeff" + GOOD,  # a byte order mark
        GOOD.replace('"', "'"),
        GOOD.replace("0.5", "NaN"),
        GOOD.replace("}", ",}"),
        "[" * 100_000,
        "a" * 1_000_000,
    ],
    Reason.WRONG_KEYS: [
        "{}",
        '{"act_type": 2, "confidence": 0.5}',
        GOOD.replace("}", ', "why": "it is fair"}'),
        GOOD.replace("}", ', "act_type": 2}'),
    ],
    Reason.WRONG_TYPE: [
        GOOD.replace(": 0,", ": true,"),
        GOOD.replace(": 0,", ': "PROPOSE",'),
        GOOD.replace("[2, 1, 0]", "null"),
        GOOD.replace("[2, 1, 0]", "[2, 1]"),
        GOOD.replace("[2, 1, 0]", "[true, 1, 0]"),
        GOOD.replace("0.5", "true"),
    ],
    Reason.OUT_OF_RANGE: [
        GOOD.replace(": 0,", ": 5,"),
        GOOD.replace(": 0,", f": {'9' * 4000},"),
        GOOD.replace("[2", "[-1"),
        GOOD.replace("[2", f"[-{'9' * 4000}"),
    ],
    Reason.ILLEGAL: [
        GOOD.replace("[2", "[3"),
        GOOD.replace(": 0,", ": 1,").replace("[2", "[10"),
        '{"act_type": 2, "oA": [0, 0, 0], "confidence": 1}',
    ],
}  # fmt: skip
LINES = [(reason, line) for reason, lines in BAD.items() for line in lines]


@pytest.mark.parametrize(("reason", "line"), LINES, ids=lambda given: ascii(given)[:40])
def test_bad_line_reason(reason, line):
    assert read_reply(line, OPENING) is reason
    lenient = read_reply(line, OPENING, reading="lenient")
    assert lenient is reason or "`" in line or "<think>" in line or "\ufeff" in line


WHITE = [f" {GOOD}\n", f"\t{GOOD}\r\n", GOOD.replace(" ", ""), GOOD.replace(",", " ,"), GOOD.replace(", ", ",\r\n")]


@pytest.mark.parametrize("line", [GOOD, *WHITE, json.dumps(json.loads(GOOD), indent=2)])
def test_white_space_is_ignored(line):
    assert read_reply(line, OPENING) == LegalReply(Action(Act.PROPOSE, (2, 1, 0)), 0.5)


@pytest.mark.parametrize(
    ("said", "read"), [("3.5", 1), ("1.0001", 1), ("95", 1), ("1e999", 1), ("-0.1", 0), ("-1e999", 0)]
)
def test_confidence_is_clipped_and_noted(said, read):
    action = Action(Act.PROPOSE, (2, 1, 0))
    assert read_reply(GOOD.replace("0.5", said), OPENING) == LegalReply(action, read, ("confidence_clipped",))


THOUGHT = "<think>The hats {2} are worth\nmore, so [2, 1, 0].</think>\n"
LENIENT = {
    f"```json\n{GOOD}\n```": ("let_pass_fence",),
    f"```{GOOD}```": ("let_pass_fence",),
    f"{THOUGHT}{GOOD}": ("let_pass_thinking",),
    f"{THOUGHT}\n```json\n{GOOD}\n```": ("let_pass_thinking", "let_pass_fence"),
    f"<think>{'hm ' * 15_000}</think>{GOOD}": ("let_pass_thinking",),
    f"The hats {{2}} are worth more.\n</think>\n\n{GOOD}": ("let_pass_thinking",),
    f"hm</think>\n```JSON\n{GOOD}\n```": ("let_pass_thinking", "let_pass_fence"),
    f"\ufeff{GOOD}": (),
    f"\ufeff```Json\n\ufeff{GOOD}\n```": ("let_pass_fence",),
}


@pytest.mark.parametrize("text", LENIENT, ids=lambda given: ascii(given)[:40])
def test_lenient_reading_removes_fence_and_thinking(text):
    said = LegalReply(Action(Act.PROPOSE, (2, 1, 0)), 0.5, LENIENT[text])
    assert read_reply(text, OPENING, reading="lenient") == said
    assert read_reply(text, OPENING) is Reason.UNPARSABLE


@pytest.mark.parametrize(
    "text",
    [
        f"Sure!\n```json\n{GOOD}\n```",
        f"```json\n{GOOD}\n```\n```json\n{GOOD}\n```",
        f"```python\n{GOOD}\n```",
        f"```json\n{GOOD}",
        f"<think>hm{GOOD}",
        f"{THOUGHT}{THOUGHT}{GOOD}",
        f"I say {THOUGHT}{GOOD}",
        f"hm</think>hm</think>{GOOD}",
        "```" + "\n " * 30_000,
    ],
    ids=lambda given: ascii(given)[:40],
)
def test_lenient_reading_does_not_guess(text):
    assert read_reply(text, OPENING, reading="lenient") is Reason.UNPARSABLE


TALK = OFFERED._replace(say=MAX_MESSAGE_LENGTH)
TAGS = st.lists(st.sampled_from(["{", "}", "[", "]", '"', "\\", "</think>", "<think>", "```", "json", "a "])).map(
    "".join
)


@given(st.text(MESSAGE_CHARACTERS, max_size=MAX_MESSAGE_LENGTH) | TAGS, st.sampled_from(["strict", "lenient"]))
def test_reply_line_with_a_message_round_trip(message, reading):
    line = reply_line(Action(Act.PROPOSE, (2, 1, 0)), 1 / 3, message)
    said = read_reply(line, TALK, reading=reading)
    assert isinstance(said, LegalReply) and said[:2] == (Action(Act.PROPOSE, (2, 1, 0)), 1 / 3)
    assert said.say == as_message(message, MAX_MESSAGE_LENGTH)
    assert said.notes == (() if said.say == message else ("say_trimmed",))
    fenced = read_reply(f"```json\n{line}\n```", TALK, reading="lenient")
    assert fenced == said._replace(notes=("let_pass_fence", *said.notes))


def test_message_that_is_cut_off():
    line = reply_line(Action(Act.END), 1, "so {I} think [that]")
    reasons = {read_reply(line[:end], TALK, reading="lenient") for end in range(1, len(line))}
    assert reasons == {Reason.TRUNCATED}


def test_key_order_and_integer_confidence():
    assert read_reply('{"confidence": 1, "oA": [0,0,0], "act_type": 1}', OPENING) == LegalReply(Action(Act.INSIST), 1.0)


def test_oA_is_ignored_unless_an_offer():
    for act in (Act.AGREE, Act.DISAGREE, Act.END):
        said = read_reply(f'{{"act_type": {int(act)}, "oA": [9, 9, 9], "confidence": 0}}', OFFERED)
        assert said == LegalReply(Action(act, (0, 0, 0)), 0.0)


def test_truncated_reply():
    assert read_reply("", OPENING, finished=False) is Reason.TRUNCATED
    assert read_reply("Let me", OPENING, finished=False) is Reason.TRUNCATED
    assert read_reply(GOOD[:20], OPENING, finished=False) is Reason.TRUNCATED
    assert read_reply(GOOD, OPENING, finished=False) == LegalReply(Action(Act.PROPOSE, (2, 1, 0)), 0.5)
    assert read_reply(GOOD.replace("[2", "[3"), OPENING, finished=False) is Reason.ILLEGAL


def test_reply_line_round_trip():
    for counts in product(range(5), repeat=3):
        if not any(counts):
            continue
        state = State(Scenario(counts, ((1, 1, 1), (1, 1, 1))))
        for state in (state, apply(state, Action(Act.PROPOSE, (0, 0, 0)))):  # noqa: B020
            (legal,) = legal_rows(turn_of(state, prior=""))
            actions = list(legal.actions())
            assert actions == list(legal_actions(state))
            for action in actions:
                assert read_reply(reply_line(action, 0.25), legal) == LegalReply(action, 0.25)
