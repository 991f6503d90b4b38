"""Our occupants in Kaggle's arena: how pairs are counted and kept; whole games where the arena is installed."""

from __future__ import annotations

import json

import pytest

from dond_marl.envs.turn import turn_of
from dond_marl.errors import InputError
from dond_marl.game import Act, Action, Rules, Scenario, State, apply
from league.experiments.field.arena_prompts import VARIANTS, prompts
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


ARENA_PROMPT = """Bargaining{who}

Your goal is to win.

Pool: {{pool_inline}}. Values: {{values_inline}}. At most {{max_turns}} offers.

History ({{num_offers}}/{{max_turns}} offers used):
{{history_str}}
{{accept_help}}

Respond with your reasoning, then end your response with JSON:
{{{{"action": "agree"}}}}
"""


def test_the_arenas_prompts_become_ours_with_its_goal_and_our_reply(tmp_path):
    names = [name.upper() for name in VARIANTS]
    texts = {name: ARENA_PROMPT.format(who=f" {name}. Player {{player_label}}.") for name in names}
    (tmp_path / "variants.py").write_text("".join(f"_{name}_TEMPLATE = {text!r}\n" for name, text in texts.items()))
    found = prompts(tmp_path / "variants.py")
    state = State(Scenario((1, 3, 1), ((0, 0, 10), (1, 3, 0))), Rules(10))
    asked = found["compact"].render(turn_of(apply(state, Action(Act.PROPOSE, (1, 0, 1)))))[0]
    assert list(found) == list(VARIANTS) and "Your goal is to win." in asked
    assert "Pool: Book, Hat, Basketball: 1,3,1." in asked and "Values: Book, Hat, Basketball: 1,3,0." in asked
    assert "At most 10 offers" in asked and "leaves you 0,3,0" in asked and "A, B, C" in found["generic"].text
    assert "action" not in asked and '{"act_type": 0' in asked and "{" not in asked.replace('{"act_type"', "")
    (tmp_path / "variants.py").write_text("x = 1")
    with pytest.raises(InputError, match="no prompt baseline"):
        prompts(tmp_path / "variants.py")


def test_the_prompts_of_the_installed_arena_are_read(tmp_path):
    pytest.importorskip("kaggle_environments", reason="Kaggle's arena wants an environment of its own")
    done = in_process("experiment", "kaggle", "--prompts", tmp_path)
    assert done.returncode == 0 and {path.stem for path in tmp_path.iterdir()} == set(VARIANTS)
    assert "higher reward than your opponent" in (tmp_path / "baseline.txt").read_text()


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
