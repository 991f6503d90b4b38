"""OpenSpiel's players and ours at one table: who plays whom, kept and read again."""

from __future__ import annotations

import json
from itertools import compress

import pytest

from tests.command import dond

pytest.importorskip("pyspiel", reason="pip install -e '.[examples]' brings OpenSpiel")


def test_everybody_meets_everybody_in_both_games_and_what_is_kept_is_not_played_again(tmp_path):
    words = ("experiment", "bargaining", "--player", "linear", "--simulations", "8", "--instances", "2")
    words = (*words, "--output-dir", tmp_path / "kept", "--results", tmp_path / "results.jsonl")
    assert dond(*words) == 0
    _, *rows = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [row["game"] for row in rows] == ["bargaining"] * 7 + ["deal_or_no_dialog"] * 6
    oracle = rows[0]  # instances 0 and 1 of OpenSpiel's file
    assert (oracle["who"], oracle["deals"], oracle["games"]) == ("full_information", 1.0, 2)
    kept = sorted((tmp_path / "kept" / "pairs").iterdir())
    for path in kept[1:]:  # all but one are played again
        path.unlink()
    assert dond(*words) == 0
    _, *again = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    # OpenSpiel's own search in C++ plays other games whenever it is asked, whatever its seed.
    same = [row["game"] != "bargaining" or "is_mcts" not in (row["who"], row["against"]) for row in rows]
    assert sum(same) == 10 and list(compress(again, same)) == list(compress(rows, same))
