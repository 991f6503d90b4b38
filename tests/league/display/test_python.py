"""From Python: one call plays what the command plays; results print as tables, become frames, and say what is wrong."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dond_marl.errors import InputError
from dond_marl.occupants import seat_occupant
from league import evaluate_pair, open_league, play_league, train
from league.settings.read import ConfigError
from tests.command import HERE, in_process

SMALL = {
    "members": ["heuristic", "tough"],
    "league.rounds": 1,
    "league.block_size": 8,
    "env.max_turns": 2,
    "league.evaluate": "false",
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_league_is_the_commands_league_and_its_tables_are_frames(here):
    played = play_league("league_scripted.yaml", SMALL, seed=4, folder="mine")
    words = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    assert in_process("league", "--config", "league_scripted.yaml", "--seed", 4, *words, "--quiet").returncode == 0
    theirs = open_league("runs")
    assert played.folder.parent.name == "mine" and theirs.folder.parent.name == "league_scripted"
    for table in ("games", "acts", "payoffs"):
        mine = played.frame(table)
        assert len(mine) and mine.equals(theirs.frame(table)) and mine.attrs == {"left_out": []}
    assert len(played.frame("games")) == (2 + 2) * 8  # both orders of the pair, and each against itself
    assert "Ladder" in str(theirs) and "heuristic" in str(theirs) and str(theirs).splitlines()[0] in str(played)
    with pytest.raises(InputError, match="there are games, acts, payoffs, ratings"):
        played.frame("scores")


def test_a_training_leaves_a_member_that_plays(here, capsys):
    small = {"training.num_train_steps": 200, "training.rollout": 1, "training.num_envs": 64}
    learned = train(settings={"env.partner": "tough", "env.max_turns": 3, **small}, seed=5)
    assert capsys.readouterr().out == ""
    log = learned.frame()
    assert log.decisions.iloc[-1] >= 200 and log["update"].tolist() == list(range(1, len(log) + 1))
    assert seat_occupant(learned.member).traits.learned and str(learned).startswith("In short: train/0001")
    pair = evaluate_pair(learned.member, "tough", sample=4, max_turns=3)
    figures = pair.frame()
    own = figures[(figures.line == pair.evaluation.played.name) & (figures.view == "both seats")]
    (points,) = own[own.figure == "points"]["mean"]
    assert points == pair.evaluation.played.figures["both seats"].points.mean and "max_turns 3" in repr(pair)


def test_a_partner_of_ones_own_class_is_evaluated_as_its_name_is():
    by_name = evaluate_pair("heuristic", "tough", sample=4, max_turns=3)
    mine = evaluate_pair(seat_occupant("heuristic"), "tough", sample=4, max_turns=3)
    assert mine.evaluation.played.figures == by_name.evaluation.played.figures


def test_mistakes_are_those_of_the_command_before_a_folder_is_made(here):
    with pytest.raises(ConfigError, match="unknown key"):
        play_league("league_scripted.yaml", {"league.round": 1})
    with pytest.raises(InputError, match=r"league\.rounds takes a text, a number"):
        play_league("league_scripted.yaml", {"league.rounds": object()})
    with pytest.raises(ConfigError, match="no occupant is called 'nobody'"):
        play_league("league_scripted.yaml", {"members": ["nobody"]})
    with pytest.raises(InputError, match=r"workers must be an integer in 1\.\.4096; got 0"):
        play_league("league_scripted.yaml", workers=0)
    with pytest.raises(InputError, match="settings are a mapping"):
        play_league("league_scripted.yaml", ["league.rounds=1"])
    with pytest.raises(InputError, match="dond train --algo bc"):
        train("bc_config.yaml", {"env.data_dir": str(here)})
    assert not (here / "runs").exists()


@pytest.mark.parametrize(
    "given", [{"sample": 0}, {"sample": -1}, {"sample": 2.5}, {"confidence": 95}, {"seed": -1}, {"max_turns": 0}]
)
def test_an_evaluation_that_cannot_be_is_refused_with_what_is_allowed(given):
    with pytest.raises(InputError, match=f"{next(iter(given))} must be"):
        evaluate_pair("heuristic", "tough", **{"sample": 4, "max_turns": 3, **given})


def test_importing_the_calls_loads_nothing_heavy():
    code = "import sys; from league import train; print({'torch', 'pandas', 'scipy'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=HERE, check=True)
    assert done.stdout.strip() == "set()"
