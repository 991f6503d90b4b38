"""Our occupants in Kaggle's arena: how pairs are counted and kept; whole games where the arena is installed."""

from __future__ import annotations

import json

import pytest

from league.experiments.field.kaggle import Game, Pair, counted, lines, markdown, parsed, perform
from tests.command import in_process

GAMES = [[Game((10.0, 4.0), True), Game((6.0, 6.0), True)], [Game((0.0, 0.0), False), Game((2.0, 9.0), True)]]


def test_a_pair_is_counted_over_tables_and_shown_from_both_sides():
    pair = counted("a", "b", GAMES)
    assert (pair.points.mean, pair.left.mean, pair.deals.mean) == (4.5, 4.75, 0.75)
    assert (pair.wins.mean, pair.losses.mean, pair.points.n) == (0.25, 0.25, 2)
    rows = [line.split(" | ") for line in markdown([pair]).splitlines()[2:]]
    assert [row[0] for row in rows] == ["| a", "| b"] and rows[0][2] == "4"
    assert rows[0][3].startswith("4.50") and rows[1][3].startswith("4.75")


def test_without_the_arena_the_command_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "kaggle_environments", None)
    done = in_process("experiment", "kaggle", "--tables", 2, "--output-dir", tmp_path)
    assert done.returncode == 2 and "pip install kaggle-environments" in done.stderr


def test_games_in_the_arena_are_played_kept_and_read_again(tmp_path):
    pytest.importorskip("kaggle_environments", reason="Kaggle's arena wants an environment of its own")
    players = [("heuristic", "heuristic"), ("random", "random")]
    first = list(perform(players, 2, tmp_path))
    assert [(pair.first, pair.second, pair.points.n) for pair in first] == [
        ("heuristic", "heuristic", 2), ("heuristic", "random", 2), ("random", "random", 2),
    ]  # fmt: skip
    kept = sorted(tmp_path.glob("*.json"))
    assert len(kept) == 3 and all(len(json.loads(path.read_text())["games"]) == 2 for path in kept)
    assert list(perform(players, 2, tmp_path)) == first  # from the folder: the arena's own agent is not seeded
    assert next(iter(perform(players[:1], 2, tmp_path / "anew"))) == first[0]  # ours are
    assert [pair.first for pair in parsed(lines(first, players).splitlines())] == [pair.first for pair in first]
    assert isinstance(first[0], Pair)
