"""dond data transcripts: import of dialogues, replay of game files, and errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dond_marl.occupants import seat_occupant
from dond_marl.records.files import write_lines
from dond_marl.records.record import records_of
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from partners.network.checkpoint import load_checkpoint
from tests.command import dond, in_process

GAMES = 4


@pytest.fixture
def games(tmp_path) -> Path:
    """A file of games of two scripted partners."""
    source, names = open_source("lewis"), ("tough", "nice")
    result = rollout([seat_occupant(name) for name in names], source.block(0, 0, GAMES), seed=0)
    write_lines(tmp_path / "games.jsonl", iter(records_of(result, names, source=source.label, seed=0)))
    return tmp_path / "games.jsonl"


def transcripts(*words) -> int:
    """The exit code."""
    return dond("data", "transcripts", *words)


def test_dialogues_are_imported_and_inexact_ones_marked(data_dir, tmp_path, capsys):
    out = tmp_path / "talks.jsonl"
    assert transcripts("dialogues", "--data-dir", data_dir, "--split", "test", "--out", out) == 0
    assert transcripts("replay", out) == 0
    printed = capsys.readouterr().out
    for count in ("236 games", "309 more", "AGREE 226, END 10", "244 are"):
        assert count in printed


@pytest.mark.parametrize(
    ("words_of", "code", "named"),
    [
        (lambda folder: ["dialogues", "--data-dir", folder, "--out", folder / "out.jsonl"], 2, "train.txt"),
        (lambda folder: ["replay", folder / "notes.txt"], 1, "notes.txt:1"),
    ],
)
def test_mistake_names_the_file(tmp_path, capsys, words_of, code, named):
    (tmp_path / "notes.txt").write_text("no game\n")
    assert transcripts(*words_of(tmp_path)) == code
    printed = capsys.readouterr().err
    assert named in printed and "Traceback" not in printed


def test_changed_game_is_found_by_its_line(games, capsys):
    lines = games.read_text().splitlines()
    changed = json.loads(lines[2])
    changed["outcome"]["scores"][0] += 1
    games.write_text("\n".join([*lines[:2], json.dumps(changed), *lines[3:]]) + "\n")
    assert transcripts("replay", games, "--show", 5) == 1
    assert "games.jsonl:3" in capsys.readouterr().err


# -- The command `dond export`: a member of a league as a checkpoint---------------------------------------------


LEAGUE = """
env: {scenarios: lewis, split: train, max_turns: 3}
league: {seed: 3, rounds: 2, block_size: 4, evaluate: false}
members: [heuristic, tough]
learners: [{name: main, reward: own, hidden: [8], rollout: 2, num_envs: 8, decisions: 16, snapshot_every: 1}]
stages: [{name: first, rounds: 1, learners: {main: {reward: spite(weight=1)}}}, {name: second}]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    (folder / "league.yaml").write_text(LEAGUE)
    assert in_process("league", "--config", "league.yaml", "--quiet", cwd=folder).returncode == 0
    return folder / "runs" / "league"


def test_exported_checkpoints_name_the_rewards_of_their_stages(run, tmp_path):
    rewards = {"main": "spite(weight=1), then own", "main@1": "spite(weight=1)"}
    for member, reward in rewards.items():
        file = tmp_path / f"{member}.json"
        done = in_process("export", run, "--to", "checkpoint", "--member", member, "--out", file)
        assert done.returncode == 0, done.stderr
        assert load_checkpoint(file).about["reward"] == reward


@pytest.mark.parametrize("words", [("--to", "checkpoint"), ("--to", "csv", "--member", "main")])
def test_options_of_the_other_format_are_refused(run, words):
    assert in_process("export", run, *words).returncode == 2
