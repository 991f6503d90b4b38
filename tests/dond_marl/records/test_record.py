"""A written game reads back the same and replays to the outcome it states; a damaged one is refused with the reason."""

from __future__ import annotations

import dataclasses
import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dond_marl.batch import GameBatch
from dond_marl.game import Act, Action, Ending, Rules, Scenario, State, apply, forfeit
from dond_marl.records.files import read_lines, write_lines
from dond_marl.records.record import (
    GameRecord,
    InexactGame,
    RecordError,
    from_json,
    game_from_line,
    record_of,
    records_of,
    replay,
    to_json,
    to_line,
)
from dond_marl.records.transcript import transcript
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Cause, decide

TABLE = Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1)))


def deal() -> State:
    state = apply(State(TABLE), Action(Act.PROPOSE, (1, 1, 2)))
    state = apply(state, Action(Act.INSIST, (0, 2, 0)))
    return apply(state, Action(Act.AGREE))


def test_a_record_is_one_line_that_a_person_can_read():
    line = to_line(record_of(deal(), ("tough", "heuristic"), source="lewis", seed=3))
    assert line == (
        '{"version": 1, "scenario": {"counts": [1, 2, 2], "utilities": [[4, 1, 2], [0, 4, 1]]}, '
        '"rules": {"max_turns": 10, "disagree": "ends"}, "occupants": ["tough", "heuristic"], '
        '"actions": [["PROPOSE", [1, 1, 2]], ["INSIST", [0, 2, 0]], ["AGREE"]], '
        '"outcome": {"ending": "AGREE", "allocation": [[1, 0, 2], [0, 2, 0]], "scores": [8, 8], "rule_broken": null}, '
        '"source": "lewis", "seed": 3}'
    )
    assert (
        from_json(line)
        == from_json(json.loads(line))
        == record_of(deal(), ("tough", "heuristic"), source="lewis", seed=3)
    )


def test_typed_words_are_recorded():
    plain = record_of(deal(), ("human", "heuristic"))
    record = dataclasses.replace(plain, words=("gimme \u202e it all", None, None))
    line = to_line(record)
    assert line.startswith('{"version": 1, ')
    assert line.endswith('"words": ["gimme \\u202e it all", null, null]}')
    assert from_json(line) == record
    assert replay(record) == replay(plain)
    assert dataclasses.replace(record, words=()) == plain
    assert ' (typed: "gimme ? it all")' in transcript(record).splitlines()[3]
    with pytest.raises(RecordError, match="words must"):
        from_json({**json.loads(line), "words": ["one"]})


@pytest.mark.parametrize(
    ("max_turns", "disagree", "illegal"),
    list(itertools.product((1, 5), ("ends", "rejects"), ("raise", "forfeit"))),
)
def test_batched_games_read_back_and_replay(max_turns, disagree, illegal):
    rng = np.random.default_rng([max_turns, disagree == "ends", illegal == "raise"])
    rules, source = Rules(max_turns, disagree), open_source("uniform")
    table = GameBatch(source.draw(rng, 60), rules, illegal=illegal)
    while table.open:
        turns = table.turns()
        act = (rng.random((turns.size, 5)) * (turns.act_mask * np.array([6, 3, 2, 1, 0.5]))).argmax(axis=1)
        oA = rng.integers(0, turns.counts + 1)
        fits = rng.random(turns.size) < 0.4
        oA[fits] = turns.last_partner_offer_for_me[fits]
        if illegal == "forfeit":
            act[rng.random(turns.size) < 0.05] = Act.AGREE
        cause = np.where(rng.random(turns.size) < 0.05, Cause.UNPARSABLE, Cause.FREE).astype(np.int8)
        table.step(decide(act, oA)._replace(cause=cause))
    games = table.games()
    written = records_of(games, ("one", "other"), source=source.label, seed=5)
    assert len(written) == 60
    for row, record in enumerate(written):
        assert from_json(to_line(record)) == record
        state = replay(record)
        assert state.outcome.scores == tuple(games.scores[row]) and state.outcome.ending == games.ending[row]
        assert len(record.causes) in (0, len(record.actions))
        assert transcript(record).splitlines()[-1].startswith(("Deal", "No deal"))


def test_forfeited_game_replays_with_its_rule():
    state = forfeit(apply(State(TABLE), Action(Act.PROPOSE, (1, 0, 0))), "AGREE needs an offer")
    record = from_json(to_line(record_of(state, ("a", "b"))))
    assert replay(record) == state and record.outcome.ending is Ending.ILLEGAL
    assert "seat_1 broke a rule (AGREE needs an offer)" in transcript(record)


def test_wrong_outcome_is_refused():
    record = record_of(deal(), ("a", "b"))
    wrong = [
        (dataclasses.replace(record, outcome=dataclasses.replace(record.outcome, scores=(9, 8))), "replays to"),
        (dataclasses.replace(record, actions=record.actions[:-1]), "not over after its 2 acts"),
        (dataclasses.replace(record, actions=record.actions[2:]), "turn 1 cannot be played: AGREE needs"),
    ]
    for record, complaint in wrong:
        with pytest.raises(RecordError, match=complaint):
            replay(record)
    with pytest.raises(RecordError, match="this one goes on"):
        record_of(State(TABLE), ("a", "b"))


def changed(**paths: object) -> dict[str, object]:
    """The record of :func:`deal` with other values at the paths; ``...`` removes a value."""
    value = to_json(record_of(deal(), ("a", "b")))
    for path, replacement in paths.items():
        *sections, last = path.split("__")
        section = value
        for name in sections:
            section = section[name]
        if replacement is ...:
            del section[last]
        else:
            section[last] = replacement
    return value


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("", "one line of JSON"),
        ("[]", "a record must be object"),
        (changed(version=4), "got 4"),
        (changed(scenario=...), "lacks scenario"),
        (changed(score=1), "unknown keys score"),
        (changed(scenario__counts=[0, 0, 0]), "at least one item"),
        (changed(rules__max_turns=0), "max_turns must be"),
        (changed(occupants=["a", 2]), r"occupants\[1\] must be str"),
        (changed(actions=[["SHOUT"]]), r"actions\[0\] must open with one of PROPOSE"),
        (changed(actions=[["AGREE", [0, 0, 0]]]), r"actions\[0\] must hold 1 entries"),
        (changed(outcome__ending="WON"), "outcome.ending must be one of"),
        (changed(outcome__allocation=[[1, 1, 1]]), "outcome.allocation must hold 2 entries"),
        (changed(causes=[0]), "causes must be empty or one for each act, 3 in all"),
        (changed(causes=[0, 0, 99]), r"causes must be in 0\.\."),
        (changed(seed="3"), r"seed must be int \| null"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_malformed_record_names_the_field(given, complaint):
    with pytest.raises(RecordError, match=complaint):
        from_json(given)


# -- Files of games read back the same; a line that cannot be read is named, and an inexact game never replays---


SAID = (Action(Act.PROPOSE, (1, 0, 2)), None, Action(Act.END))
TALK = InexactGame(TABLE, ("human", "human"), SAID, ((1, 0, 2), (0, 2, 0)), "utterance 2 was not read: alternatives")
LINE = (
    '{"version": 1, "inexact": "utterance 2 was not read: alternatives", '
    '"scenario": {"counts": [1, 2, 2], "utilities": [[4, 1, 2], [0, 4, 1]]}, "occupants": ["human", "human"], '
    '"said": [["PROPOSE", [1, 0, 2]], null, ["END"]], "selected": [[1, 0, 2], [0, 2, 0]]}'
)


def exact() -> GameRecord:
    state = apply(apply(State(TABLE), Action(Act.PROPOSE, (1, 0, 2))), Action(Act.AGREE))
    return record_of(state, ("tough", "heuristic"))


def test_inexact_game_is_one_line():
    assert to_line(TALK) == LINE and game_from_line(LINE) == TALK


def test_a_transcript_of_it_shows_what_is_not_known():
    assert transcript(TALK).splitlines()[3:] == [
        "1. seat_0: I would keep 1 book, 2 balls; you would get 2 hats.",
        "2. seat_1: (not known)",
        "3. seat_0: Enough talk: my last claim stands.",
        "Selected: seat_0 gets 1 book, 2 balls (8 points); seat_1 gets 2 hats (8 points).",
        "No exact game: utterance 2 was not read: alternatives.",
    ]


def test_a_file_of_both_kinds_reads_back_in_order(tmp_path):
    path = tmp_path / "games.jsonl"
    assert write_lines(path, [exact(), TALK, exact()]) == (2, 1)
    assert list(read_lines(path)) == [exact(), TALK, exact()]
    assert path.read_bytes().count(b"\n") == 3
    path.write_bytes(path.read_bytes() + b"\n")
    assert list(read_lines(path)) == [exact(), TALK, exact()]


def test_a_file_is_written_atomically(tmp_path):
    path = tmp_path / "games.jsonl"
    write_lines(path, [exact()])

    def broken():
        yield TALK
        raise RecordError("no more")

    with pytest.raises(RecordError, match="no more"):
        write_lines(path, broken())
    assert list(read_lines(path)) == [exact()] and list(tmp_path.iterdir()) == [path]


offers = st.builds(Action, st.sampled_from([Act.PROPOSE, Act.INSIST]), st.tuples(*[st.integers(0, 9)] * 3))
others = st.sampled_from([None, Action(Act.AGREE), Action(Act.DISAGREE), Action(Act.END)])
splits = st.tuples(*[st.integers(0, 2)] * 3)


@given(
    said=st.lists(offers | others, max_size=12).map(tuple),
    selected=st.none() | st.tuples(splits, splits),
    why=st.text(min_size=1),
    source=st.none() | st.text(),
)
def test_whatever_is_known_of_a_game_survives_the_line(said, selected, why, source):
    game = InexactGame(TABLE, ("a", "b"), said, selected, why, source)
    line = to_line(game)
    assert "\n" not in line and game_from_line(line) == game


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 2}, "version must be 1"),
        ({"said": [["SHOUT"]]}, r"said\[0\] must open with"),
        ({"selected": [[1, 0, 2]]}, "selected must hold 2"),
        ({"scenario": {"counts": [0, 0, 0], "utilities": [[0, 0, 0]] * 2}}, "at least one item"),
        ({"outcome": {}}, "unknown keys outcome"),
    ],
)
def test_a_damaged_line_is_refused_with_the_reason(change, words):
    with pytest.raises(RecordError, match=words):
        game_from_line(json.dumps({**json.loads(LINE), **change}))


def test_unreadable_line_is_named(tmp_path):
    path = tmp_path / "games.jsonl"
    path.write_text(f"{to_line(exact())}\n[1]\n")
    with pytest.raises(RecordError, match=r"games.jsonl:2: a record must be object"):
        list(read_lines(path))
    with pytest.raises(RecordError, match="cannot be read as a file of games"):
        list(read_lines(tmp_path / "none.jsonl"))
