"""Files of games: what is written replays, and what cannot be done is told in a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dond_marl.records.files import read_lines
from tests.command import dond, run_dond

LINES = "1,2,3 8,1,0 4,0,2\n1,5,1 4,0,6 3,1,2\n2,2,1 1,1,6 0,4,2\n"


@pytest.fixture
def instances(tmp_path) -> Path:
    (tmp_path / "instances.txt").write_text(LINES)
    return tmp_path / "instances.txt"


def transcripts(*words) -> int:
    """The exit code."""
    return dond("data", "transcripts", *words)


def openspiel(file: Path, out: Path, *others, play=("tough", "pushover")) -> list[object]:
    return ["openspiel", "--file", file, "--play", *play, "--out", out, *others]


def test_instances_are_played_by_both_openers_and_replayed(instances, tmp_path, capsys):
    out = tmp_path / "games.jsonl"
    assert transcripts(*openspiel(instances, out)) == 0
    printed = capsys.readouterr()
    assert "1 of 3 instances are refused" in printed.err and "4 games that replay exactly" in printed.out
    assert [game.occupants[0] for game in read_lines(out)] == ["tough"] * 2 + ["pushover"] * 2
    assert transcripts(*openspiel(instances, out, "--max-count", 5)) == 0 and len(list(read_lines(out))) == 6
    assert not capsys.readouterr().err
    assert transcripts("replay", out, "--show", 1) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("On the table: 1 book, 2 hats, 3 balls.") and "6 games replay" in shown


def test_talks_are_written_with_those_that_are_no_exact_games_marked(data_dir, tmp_path, capsys):
    out = tmp_path / "talks.jsonl"
    assert transcripts("dialogues", "--data-dir", data_dir, "--split", "test", "--out", out) == 0
    assert transcripts("replay", out) == 0
    printed = capsys.readouterr().out
    assert "236 games that replay exactly, 309 more that are no exact games" in printed
    assert "236 games replay to the outcome they state (AGREE 226, END 10)" in printed
    assert "244 are no exact games: utterance was not read" in printed


@pytest.mark.parametrize(
    ("words_of", "code", "words"),
    [
        (lambda i, out: openspiel(i, out, play=("tought", "tough")), 2, "did you mean 'tough'?"),
        (lambda i, out: openspiel(i, out, "--max-count", 1), 2, "no instance holds at most 1"),
        (lambda i, out: openspiel(i, out, "--seed", -1), 2, "--seed must be an integer of at least 0"),
        (lambda i, out: openspiel(i.with_name("none"), out), 2, "cannot be read as a file of instances"),
        (lambda i, out: openspiel(i, out / "no" / "folder"), 1, "No such file"),
        (lambda i, out: ["dialogues", "--data-dir", i.parent, "--out", out], 2, "train.txt: no such data file"),
        (lambda i, out: ["replay", i], 1, "instances.txt:1: a record is one line of JSON"),
    ],
)
def test_a_mistake_is_told_in_a_line(instances, tmp_path, capsys, words_of, code, words):
    assert transcripts(*words_of(instances, tmp_path / "out.jsonl")) == code
    printed = capsys.readouterr().err
    assert words in printed and "Traceback" not in printed


@pytest.mark.parametrize("show", [0, 5])
def test_a_changed_game_is_found_by_its_line(instances, tmp_path, capsys, show):
    out = tmp_path / "games.jsonl"
    transcripts(*openspiel(instances, out))
    lines = out.read_text().splitlines()
    changed = json.loads(lines[2])
    changed["outcome"]["scores"][0] += 1
    out.write_text("\n".join([*lines[:2], json.dumps(changed), *lines[3:]]) + "\n")
    assert transcripts("replay", out, "--show", show) == 1
    assert "games.jsonl:3: the game replays to" in capsys.readouterr().err


def test_a_process_of_its_own_does_the_same(instances, tmp_path):
    words = ("--file", instances, "--max-count", 5, "--play", "tough", "nice", "--out", "games.jsonl")
    done = run_dond("data", "transcripts", "openspiel", *words, cwd=tmp_path)
    assert done.returncode == 0 and "6 games" in done.stdout, done.stderr
    done = run_dond("data", "transcripts", "replay", "games.jsonl", cwd=tmp_path)
    assert done.returncode == 0 and "6 games replay" in done.stdout, done.stderr
