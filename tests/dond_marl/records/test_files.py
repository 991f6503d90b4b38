"""Files of games read back the same; a line that cannot be read is named, and an inexact game never replays."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dond_marl.game import Act, Action, Scenario, State, apply
from dond_marl.records.files import read_lines, write_lines
from dond_marl.records.record import GameRecord, InexactGame, RecordError, game_from_line, record_of, to_line
from dond_marl.records.transcript import transcript

TABLE = Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1)))
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
        ({"inexact": ""}, "inexact must"),
        ({"inexact": 3}, "inexact must be str"),
        ({"said": [["SHOUT"]]}, r"said\[0\] must open with"),
        ({"said": None}, "said must be a list"),
        ({"selected": [[1, 0, 2]]}, "one list per seat"),
        ({"scenario": {"counts": [0, 0, 0], "utilities": [[0, 0, 0]] * 2}}, "at least one item"),
        ({"outcome": {}}, "unknown keys outcome"),
        ({"source": 4}, "source must be str"),
    ],
)
def test_a_damaged_line_is_refused_with_the_reason(change, words):
    with pytest.raises(RecordError, match=words):
        game_from_line(json.dumps({**json.loads(LINE), **change}))


def test_unreadable_line_is_named(tmp_path):
    path = tmp_path / "games.jsonl"
    path.write_text(f"{to_line(exact())}\n[1]\n")
    with pytest.raises(RecordError, match=r"games.jsonl:2: a record is an object"):
        list(read_lines(path))
    with pytest.raises(RecordError, match="cannot be read as a file of games"):
        list(read_lines(tmp_path / "none.jsonl"))
