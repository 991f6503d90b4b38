"""Prompts of language models and the replies to them."""

from __future__ import annotations

import json
import re
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dond_marl.batch import GameBatch
from dond_marl.envs.turn import turn_of
from dond_marl.game import (
    MAX_MESSAGE_LENGTH,
    MESSAGE_CHARACTERS,
    Act,
    Action,
    Rules,
    Scenario,
    State,
    apply,
    legal_actions,
)
from dond_marl.records.transcript import as_message
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import decide
from partners.llm.occupant import llm
from partners.llm.prompt import (
    SHIPPED,
    VARIABLES,
    PromptError,
    Template,
    disagree_rule,
    load_template,
    variables,
)
from partners.llm.reply import Legal, LegalReply, Reason, legal_rows, read_reply, reply_line

# The line that says what to reply, word for word.
QUOTED = (
    "Return ONLY one JSON object on a single line with keys: `act_type` (0-4), `oA` ([3 ints]), `confidence` (0-1)."
)
POOL = Scenario((1, 2, 3), ((4, 3, 0), (1, 0, 3)))


def played(*said: tuple[Act, tuple[int, int, int]], rules: Rules = Rules()) -> State:
    state = State(POOL, rules)
    for act, oA in said:
        state = apply(state, Action(act, oA))
    return state


def variables_of(state: State, **options: object) -> dict[str, str]:
    return variables(turn_of(state, prior="", **options))[0]


def test_full_prompt_uses_every_variable():
    template = load_template()
    assert QUOTED in template.text.splitlines()
    assert set(re.findall(r"\{(\w+)\}", template.text)) == set(VARIABLES)


def test_short_prompt_has_every_fact():
    state = played((Act.PROPOSE, (1, 2, 0)), (Act.INSIST, (0, 1, 3)))
    full, short, brief = (load_template(shipped=name).render(turn_of(state, prior=""))[0] for name in SHIPPED)
    template = load_template(shipped="short")
    assert set(re.findall(r"\{(\w+)\}", template.text)) == set(VARIABLES)
    for fact in variables_of(state).values():
        assert fact in short
    for act in Act:
        assert f"{int(act)} {act.name}:" in template.text
    assert len(brief) < len(short) < len(full)
    (example,) = re.findall(r'\{"act_type.*\}', template.text)
    assert isinstance(read_reply(example, Legal((1, 1, 1), (0,))), LegalReply)


def test_prompt_name_and_path_exclude_each_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, path in SHIPPED.items():
        assert load_template(path) == load_template(shipped=name)
    with pytest.raises(PromptError, match="full, short, brief"):
        load_template(shipped="tiny")
    with pytest.raises(PromptError, match=r"path 'mine\.txt'"):
        load_template("mine.txt", "short")
    assert llm("openai", "m", "http://127.0.0.1:9/v1", prompt="short").template == load_template(shipped="short")


def test_worked_examples_are_legal():
    lines = load_template().text.splitlines()
    said = []
    for number, line in enumerate(lines):
        if line.startswith('{"act_type"'):
            counts = tuple(int(digit) for digit in re.findall(r"\d", lines[number - 1])[:3])
            said.append(read_reply(line, Legal(counts, (0, 1, 2, 3, 4) if "proposes" in lines[number - 1] else (0, 1))))
    assert said[0] == LegalReply(Action(Act.AGREE), 0.99)
    assert [answer.action for answer in said[1:]] == [Action(Act.PROPOSE, (2, 1, 0)), Action(Act.PROPOSE, (0, 1, 1))]


def test_opening_prompt():
    assert variables_of(State(POOL)) == {
        "counts_csv": "1,2,3",
        "my_utils_csv": "4,3,0",
        "last_partner_act_token": "NONE",
        "last_offer_csv": "NONE",
        "turns": "10",
        "p": "hidden",
        "history_str": "(nothing yet)",
        "max_turns": "10",
        "disagree_rule": disagree_rule(Rules()),
        "whole": "10",
        "offer_points": "NONE",
        "legal_acts": "0 PROPOSE, 1 INSIST, 3 DISAGREE, 4 END",
    }


def test_prompt_is_from_the_movers_view():
    # seat_0 keeps a book and both hats; seat_1 insists on a hat and the balls, which leaves a book and a hat.
    state = played((Act.PROPOSE, (1, 2, 0)), (Act.INSIST, (0, 1, 3)))
    texts = variables_of(state)
    assert texts["history_str"].splitlines() == [
        "1. you: PROPOSE, you keep 1,2,0, partner gets 0,0,3",
        "2. partner: INSIST, partner keeps 0,1,3, you get 1,1,0",
    ]
    assert texts["last_partner_act_token"] == "INSIST"
    assert (texts["last_offer_csv"], texts["offer_points"]) == ("1,1,0", "7")
    assert "2 AGREE" in texts["legal_acts"]
    texts = variables_of(played((Act.PROPOSE, (1, 2, 0))))
    assert texts["history_str"] == "1. partner: PROPOSE, partner keeps 1,2,0, you get 0,0,3"
    assert (texts["my_utils_csv"], texts["offer_points"]) == ("1,0,3", "9")


def test_empty_offer_differs_from_no_offer():
    assert variables_of(played((Act.PROPOSE, (1, 2, 3))))["last_offer_csv"] == "0,0,0"
    rules = Rules(disagree="rejects")
    refused = variables_of(played((Act.DISAGREE, (0, 0, 0)), rules=rules))
    assert (refused["last_partner_act_token"], refused["last_offer_csv"]) == ("DISAGREE", "NONE")
    assert refused["disagree_rule"] == disagree_rule(rules) != disagree_rule(Rules())


def test_revealed_values_are_in_the_prompt():
    assert variables_of(State(POOL), reveal_partner_utilities=True)["p"] == "1,0,3"


def test_history_cap_drops_oldest_acts():
    state = played(*[(Act.PROPOSE, (1, 1, turn % 4)) for turn in range(7)])
    lines = variables(turn_of(state, prior=""), history_cap=2)[0]["history_str"].splitlines()
    assert lines[0].startswith("(5 earlier") and [line.split(",")[0] for line in lines[1:]] == [
        "6. you: PROPOSE",
        "7. partner: PROPOSE",
    ]
    assert variables(turn_of(state, prior=""), history_cap=0)[0]["history_str"].startswith("(7 earlier")


@pytest.mark.parametrize("shipped", SHIPPED)
@pytest.mark.parametrize("reveal", [False, True])
def test_hidden_values_do_not_change_the_prompt(reveal, shipped):
    rng = np.random.Generator(np.random.SFC64(3))
    shown = open_source("uniform").draw(rng, 64)
    template = load_template(shipped=shipped)
    for seat in (0, 1):
        utilities = shown.utilities.copy()
        utilities[:, 1 - seat] = 10 - utilities[:, 1 - seat]
        tables = [
            GameBatch(scenarios, Rules(8, "rejects"), reveal_partner_utilities=reveal)
            for scenarios in (shown, shown._replace(utilities=utilities))
        ]
        for turn in range(8):
            one, other = (template.render(table.turns()) for table in tables)
            if turn % 2 == seat:
                assert (one == other) is not (reveal and "{p}" in template.text)  # the brief prompt never shows them
            said = decide(rng.choice([0, 1, 3], size=64), rng.integers(0, shown.counts + 1))
            for table in tables:
                table.step(said)


def test_rows_are_rendered_independently():
    rng = np.random.default_rng(1)
    table = GameBatch(open_source("uniform").draw(rng, 16), Rules(disagree="rejects"))
    for _ in range(2):
        turns, acts = table.turns(), rng.choice([Act.PROPOSE, Act.INSIST, Act.DISAGREE], 16)
        table.step(decide(acts, rng.integers(0, turns.counts + 1)))
    turns, template = table.turns(), load_template()
    alone = [template.render(turns.rows(np.array([row])))[0] for row in range(16)]
    assert template.render(turns) == alone


def test_only_variables_are_filled_in():
    template = Template('{"act_type": 0} {turns} {} { } {"{p}": [{counts_csv}]} {{turns}} {3}')
    assert template.render(turn_of(State(POOL), prior="")) == ['{"act_type": 0} 10 {} { } {"hidden": [1,2,3]} {10} {3}']


def test_unknown_variable_is_refused():
    with pytest.raises(PromptError, match=r"line 2: .*did you mean 'turns'.*counts_csv, "):
        Template("Pool {counts_csv}\n{turn}", "here")


def test_unusable_prompt_file(tmp_path):
    for content, reason in ((b" \n", "is empty"), (b"ok \xff", "must be UTF-8 text; byte 3 is not")):
        (tmp_path / "p.txt").write_bytes(content)
        with pytest.raises(PromptError, match=rf"p\.txt {reason}"):
            load_template(tmp_path / "p.txt")
    with pytest.raises(PromptError, match=r"none\.txt"):
        load_template(tmp_path / "none.txt")


# -- The reply parser


ALL = (0, 1, 2, 3, 4)
OPENING = Legal((2, 1, 0), (0, 1, 3, 4))  # the partner has made no offer: AGREE is closed
OFFERED = Legal((2, 1, 0), ALL)
GOOD = '{"act_type": 0, "oA": [2, 1, 0], "confidence": 0.5}'

BAD = {
    Reason.EMPTY: ["", "\r\n\t "],
    Reason.TRUNCATED: ["{", '{"act_type": 0, "oA": [2, 1'],
    Reason.UNPARSABLE: [
        "I agree.",
        f"```json\n{GOOD}\n```",
        f"Sure! {GOOD}",
        f"<think>hm</think>{GOOD}",
        GOOD.replace("0.5", "NaN"),
        "[" * 100_000,
        "a" * 1_000_000,
    ],
    Reason.WRONG_KEYS: ['{"act_type": 2, "confidence": 0.5}', GOOD.replace("}", ', "act_type": 2}')],
    Reason.WRONG_TYPE: [
        GOOD.replace(": 0,", ": true,"),
        GOOD.replace("[2, 1, 0]", "[2, 1]"),
        GOOD.replace("[2, 1, 0]", "[true, 1, 0]"),
        GOOD.replace("0.5", "true"),
    ],
    Reason.OUT_OF_RANGE: [GOOD.replace(": 0,", f": {'9' * 4000},"), GOOD.replace("[2", "[-1")],
    Reason.ILLEGAL: [GOOD.replace("[2", "[3"), '{"act_type": 2, "oA": [0, 0, 0], "confidence": 1}'],
}
LINES = [(reason, line) for reason, lines in BAD.items() for line in lines]


@pytest.mark.parametrize(("reason", "line"), LINES, ids=lambda given: ascii(given)[:40])
def test_bad_line_reason(reason, line):
    assert read_reply(line, OPENING) is reason
    lenient = read_reply(line, OPENING, reading="lenient")
    assert lenient is reason or "`" in line or "<think>" in line


def test_white_space_is_ignored():
    for line in (GOOD, f"\t{GOOD}\r\n", GOOD.replace(" ", ""), json.dumps(json.loads(GOOD), indent=2)):
        assert read_reply(line, OPENING) == LegalReply(Action(Act.PROPOSE, (2, 1, 0)), 0.5)


@pytest.mark.parametrize(("said", "read"), [("95", 1), ("1e999", 1), ("-0.1", 0)])
def test_confidence_is_clipped_and_noted(said, read):
    action = Action(Act.PROPOSE, (2, 1, 0))
    assert read_reply(GOOD.replace("0.5", said), OPENING) == LegalReply(action, read, ("confidence_clipped",))


THOUGHT = "<think>The hats {2} are worth\nmore, so [2, 1, 0].</think>\n"
LENIENT = {
    f"```json\n{GOOD}\n```": ("let_pass_fence",),
    f"{THOUGHT}\n```json\n{GOOD}\n```": ("let_pass_thinking", "let_pass_fence"),
    f"The hats {{2}} are worth more.\n</think>\n\n{GOOD}": ("let_pass_thinking",),
    f"\ufeff{GOOD}": (),
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
        f"<think>hm{GOOD}",
        f"{THOUGHT}{THOUGHT}{GOOD}",
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
