"""The hint experiment: who is compared, what is counted, and what is written."""

from __future__ import annotations

import csv
import json
import math
from functools import partial
from pathlib import Path

import pytest
import torch

from dond_marl.statistics import mean_of
from experiments.hints.experiment import Arm, Experiment, Mark, _known_as, _training, arms, hints_of, run
from experiments.hints.findings import curve, first_reached, markdown, results, rows
from experiments.hints.settings import ExperimentConfig
from league.settings.read import ConfigError, load_config
from league.tasks.hinters import llm_spec
from partners.provenance import ProvenanceError
from partners.rosters import roster
from tests.command import dond

torch.set_num_threads(1)
ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "experiments" / "configs" / "hint_experiment.yaml"
command = partial(dond, "experiment", "hints", "--config", CONFIG)
TELLS, MIXED, NOBODY = Arm("expert", 0.0), Arm("expert", 0.5), Arm("none", 0.0)


def test_the_language_model_is_one_that_was_not_made_here_and_the_students_is_called_so(monkeypatch):
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    config = load_config(CONFIG, ("experiment.hinters=[llm,student]",), ExperimentConfig)
    asked, taught = (llm_spec(hints_of(config, who)) for who in ("llm", "student"))
    assert asked["model"] == "smollm2" and asked["provider"] == "hf" and asked["sorted_items"]
    assert taught["model"] is None and taught["provider"] == "hf" and "sorted_items" not in taught
    named = load_config(CONFIG, ("hints.models.hf=mine", "hints.options={prompt: short}"), ExperimentConfig)
    assert llm_spec(hints_of(named, "llm"))["model"] == "mine" and "dtype" not in llm_spec(hints_of(named, "llm"))
    assert _known_as(config, "llm") != _known_as(config, "student") != _known_as(named, "student")


def mark(decisions: int, hinted: float, alone: float = 0.0, arm: Arm = TELLS, seed: int = 0) -> Mark:
    return Mark(arm, seed, decisions, 2 * decisions, hinted, alone, 1.0, 0.5)


def test_nothing_is_withheld_from_whoever_is_told_nothing():
    config = load_config(CONFIG, (), ExperimentConfig)
    told = [arm.name for arm in arms(config.experiment)]
    assert told[:3] == ["none", "random", "random, 50% withheld"] and len(told) == 9
    assert [name.split("(")[0] for name in told[3::2]] == ["trembling", "expert", "best_response"]
    assert all(name.endswith(", 50% withheld") for name in told[4::2])


def test_who_is_told_nothing_has_the_network_of_the_others_and_learns_as_if_each_hint_were_withheld():
    config = small()
    learners = {who: _training(config, Arm(who, 0.0), 0) for who in ("none", "heuristic")}
    shapes = [training.learner.network.shape for training in learners.values()]
    assert shapes[0] == shapes[1] and shapes[0].hints
    first, second = (training.learner.network.state_dict() for training in learners.values())
    assert all(torch.equal(first[name], second[name]) for name in first)
    learners["none"].step()
    tally = learners["none"].whisper.tally
    assert tally["withheld"] > 0 and not tally["asked"]


def small(**changes: object) -> ExperimentConfig:
    settings = {"env.max_turns": 3, "training.num_envs": 8, "training.rollout": 3, "training.minibatch": 16,
                "training.hidden": [8], "training.num_train_steps": 120, "experiment.every": 60,
                "experiment.seeds": 2, **changes}  # fmt: skip
    return load_config(CONFIG, [f"{key}={value}" for key, value in settings.items()], ExperimentConfig)


def test_the_decisions_to_a_share_lie_on_the_line_between_two_measurements():
    """Without hints 40 % at 0, 60 % at 100, 50 % at 200, 90 % at 300: 70 % is half way from 200 to 300."""
    marks = [mark(0, 1, 0.4), mark(100, 1, 0.6), mark(200, 1, 0.5), mark(300, 1, 0.9)]
    assert first_reached(marks, 0.5) == pytest.approx(50)
    assert first_reached(marks, 0.7) == pytest.approx(250)
    assert first_reached(marks, 0.4) == 0
    assert first_reached(marks, 0.95) is None


def test_an_interval_over_seeds_is_students():
    """1, 2, 3: mean 2, standard error 1 / sqrt 3, and the t of two degrees of freedom is 4.3027."""
    assert mean_of([1, 2, 3], 0.95).margin == pytest.approx(4.30265 / math.sqrt(3), rel=1e-5)
    assert math.isnan(mean_of([1.0], 0.95).low) and mean_of([1.0], 0.95).mean == 1
    assert math.isnan(mean_of([], 0.95).mean)


def two_seeds() -> Experiment:
    marks = [
        mark(0, 0.2, 0.2), mark(100, 0.8, 0.6), mark(0, 0.4, 0.1, seed=1), mark(120, 0.6, 0.2, seed=1),
        mark(100, 0.9, 0.9, MIXED), mark(0, 0.1, 0.1, NOBODY), mark(100, 0.5, 0.5, NOBODY),
        mark(0, 0.1, 0.1, NOBODY, 1), mark(100, 0.7, 0.7, NOBODY, 1),
    ]  # fmt: skip
    tallies = {TELLS.name: {"asked": 8, "available": 6}}
    return Experiment(marks, {"expert": 0.75}, tallies, 8.0, "lewis")


def test_a_curve_is_the_mean_of_its_seeds_step_by_step():
    drawn = curve(two_seeds(), TELLS, lambda measured: measured.hinted)
    assert drawn.decisions.tolist() == [0, 110]
    assert [point.mean for point in drawn.shares] == pytest.approx([0.3, 0.7])


def test_the_table_says_what_was_learned_and_how_many_got_how_far():
    first, second, nobody = rows(two_seeds(), [0.15, 0.5])
    assert first.reached[0.15].n == 2
    reached = first.reached[0.5]  # without hints: 20 % at 0 and 60 % at 100
    assert reached.n == 1 and reached.mean == pytest.approx(75) and math.isnan(reached.low)
    assert first.hinted.mean == pytest.approx(0.7) and first.alone.mean == pytest.approx(0.4)
    assert first.acts == 220 and nobody.acts == 200
    assert first.gain.mean == pytest.approx(0.4 - 0.6) and first.gain.low < -0.2 < first.gain.high
    assert math.isnan(nobody.gain.mean) and math.isnan(nobody.p) and first.p >= 1 / 3
    assert first.available == 0.75 and math.isnan(second.available)
    text = markdown(two_seeds(), [0.5, 0.95]).splitlines()
    assert len(text) == 5 and all(line.count("|") == text[0].count("|") for line in text)
    assert "0.1k (1 of 2 seeds) | not reached" in text[2] and "75.0%" in text[2] and "-20.0" in text[2]
    lines = [json.loads(line) for line in results(two_seeds()).splitlines()]
    assert lines[0]["hinters"] == {"expert": 0.75} and len(lines) == 1 + 9
    assert lines[2] == {"hinter": "expert", "dropout": 0.0, "seed": 0, "decisions": 100, "acts": 200, "hinted": 0.8,
                        "alone": 0.6, "hinted_deals": 1.0, "alone_deals": 0.5}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("experiment.dropouts=[2]", "dropouts must be a list of numbers in 0..1"),
        ("experiment.shares=[]", "shares must be a list"),
        ("experiment.hinters=[nobody]", r"experiment.hinters\[0\]: no occupant is called 'nobody'"),
        ("experiment.hinters=[expert,expert]", "each once"),
        ("experiment.hinters=[]", "each once"),
        ("experiment.seeds=0", "an integer in 1..1000"),
    ],
)
def test_settings_that_cannot_be_are_refused(given, why):
    with pytest.raises(ConfigError, match=why):
        load_config(CONFIG, [given], ExperimentConfig)


def test_the_command_trains_measures_and_draws(tmp_path, capsys):
    small = (
        "env.max_turns=3", "training.num_envs=8", "training.rollout=3", "training.minibatch=16",
        "training.hidden=[8]", "training.num_train_steps=120", "experiment.every=120", "experiment.seeds=2",
        "experiment.hinters=[none, random, heuristic]", "experiment.dropouts=[0.5]", f"output_dir={tmp_path}/runs",
    )  # fmt: skip
    figure = tmp_path / "docs" / "figure.png"
    assert command("--plot", figure, overrides=small) == 0
    run = tmp_path / "runs" / "0001"
    shown = capsys.readouterr().out
    assert "heuristic, 50% withheld, seed 1" in shown and "exact best response to heuristic" in shown
    for path in (figure, run / "learning_curves.png"):
        assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 20_000
    with (run / "marks.csv").open() as file:
        marks = list(csv.DictReader(file))
    assert {row["hinter"] for row in marks} == {"none", "random", "heuristic"}
    assert all(row["told"] == row["alone"] for row in marks if row["hinter"] == "none")
    assert any(row["told"] != row["alone"] for row in marks if row["hinter"] == "heuristic")
    last = [int(row["decisions"]) for row in marks if row["hinter"] == "none" and row["seed"] == "0"]
    assert last[0] == 0 and last[-1] >= 120 and last == sorted(last)
    for row in marks:  # seats alternate: own decisions are half of the acts, but for the odd one of a game
        assert int(row["acts"]) == pytest.approx(2 * int(row["decisions"]), rel=0.35)
    assert (run / "table.md").read_text().count("\n") == 5
    assert (run / "results.jsonl").read_text().count("\n") == 1 + len(marks)
    assert command("--plot", tmp_path / "figure.bmp", overrides=small) == 2
    assert command(overrides=(*small[1:], "env.partner=random", "env.max_turns=10")) == 1
    assert "no exact best response to random" in capsys.readouterr().err


def test_advice_of_the_test_roster_is_refused_before_anything_is_learned():
    whispering = roster("test")[-1]
    config = small(**{"experiment.hinters": f'["{whispering}"]'})
    with pytest.raises(ProvenanceError, match="in the roster test"):
        run(config, print)


def test_a_learner_that_is_done_is_not_trained_again_and_a_damaged_file_is(tmp_path):
    config = small(**{"experiment.hinters": "[none,heuristic]", "experiment.dropouts": "[0.5]"})
    said: list[str] = []
    first = run(config, said.append, folder=tmp_path)
    files = sorted(tmp_path.glob("*.json"))
    assert len(files) == 4
    files[0].write_text("{")
    times = [path.stat().st_mtime_ns for path in files]
    assert run(config, said.append, folder=tmp_path) == first
    assert [path.stat().st_mtime_ns == time for path, time in zip(files, times, strict=True)] == [False, *[True] * 3]
    other = config.model_copy(update={"training": config.training.model_copy(update={"lr": 0.5})})
    assert run(other, said.append, folder=tmp_path) != first and len(list(tmp_path.glob("*.json"))) == 8


@pytest.mark.slow
def test_workers_change_no_figure():
    config = small(**{"experiment.hinters": "[none,heuristic]"})
    assert run(config, print) == run(config, print, workers=2)
