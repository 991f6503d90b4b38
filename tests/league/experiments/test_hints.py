"""The hint experiment: who is compared, what is counted, and what is written."""

from __future__ import annotations

import csv
import math
from functools import partial
from pathlib import Path

import pytest
import torch

from dond_marl.yardsticks.metrics import mean_of
from league.experiments.hints.experiment import Arm, Experiment, Mark, arms
from league.experiments.hints.findings import curve, first_reached, markdown, rows
from league.experiments.hints.settings import ExperimentConfig
from league.settings.read import ConfigError, load_config
from tests.command import dond

torch.set_num_threads(1)
ROOT = Path(__file__).resolve().parents[3]
CONFIG = ROOT / "configs" / "hint_experiment.yaml"
command = partial(dond, "experiment", "hints", "--config", CONFIG)
TELLS, MIXED = Arm("expert", 0.0), Arm("expert", 0.5)


def mark(decisions: int, hinted: float, alone: float = 0.0, arm: Arm = TELLS, seed: int = 0) -> Mark:
    return Mark(arm, seed, decisions, hinted, alone, 1.0, 0.5)


def test_nothing_is_withheld_from_whoever_is_told_nothing():
    config = load_config(CONFIG, (), ExperimentConfig)
    assert [arm.name for arm in arms(config.experiment)] == [
        "none", "random", "random, 50% withheld", "expert", "expert, 50% withheld", "llm", "llm, 50% withheld",
    ]  # fmt: skip


def test_the_decisions_to_a_share_lie_on_the_line_between_two_measurements():
    """40 % at 0, 60 % at 100, 50 % at 200, 90 % at 300: 70 % is half way from 200 to 300."""
    marks = [mark(0, 0.4), mark(100, 0.6), mark(200, 0.5), mark(300, 0.9)]
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
        mark(0, 0.2), mark(100, 0.8, 0.6), mark(0, 0.4, seed=1), mark(120, 0.6, 0.2, seed=1),
        mark(100, 0.9, 0.9, MIXED),
    ]  # fmt: skip
    tallies = {TELLS.name: {"asked": 8, "available": 6}}
    return Experiment(marks, {"expert": 0.75}, tallies, 8.0, "lewis")


def test_a_curve_is_the_mean_of_its_seeds_step_by_step():
    drawn = curve(two_seeds(), TELLS, lambda measured: measured.hinted)
    assert drawn.decisions.tolist() == [0, 110]
    assert [point.mean for point in drawn.shares] == pytest.approx([0.3, 0.7])


def test_the_table_says_who_got_how_far_and_how_many_did():
    first, second = rows(two_seeds(), [0.5, 0.7])
    assert first.reached[0.5].n == 2
    reached = first.reached[0.7]
    assert reached.n == 1 and reached.mean == pytest.approx(100 * 5 / 6) and math.isnan(reached.low)
    assert first.hinted.mean == pytest.approx(0.7) and first.alone.mean == pytest.approx(0.4)
    assert first.available == 0.75 and math.isnan(second.available)
    text = markdown(two_seeds(), [0.7, 0.95]).splitlines()
    assert len(text) == 4 and all(line.count("|") == text[0].count("|") for line in text)
    assert "0.1k (1 of 2 seeds) | not reached" in text[2] and "75.0%" in text[2]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("experiment.dropouts=[2]", "dropouts must be a list of numbers in 0..1"),
        ("experiment.shares=[]", "shares must be a list"),
        ("experiment.modes=[nobody]", "experiment.modes"),
        ("experiment.seeds=0", "an integer in 1..1000"),
    ],
)
def test_settings_that_cannot_be_are_refused(given, why):
    with pytest.raises(ConfigError, match=why):
        load_config(CONFIG, [given], ExperimentConfig)


def test_the_command_trains_measures_and_draws(tmp_path, capsys):
    small = (
        "env.max_turns=3", "training.num_envs=8", "training.rollout=3", "training.minibatch=16",
        "training.hidden=[8]", "training.num_train_steps=120", "experiment.every=60", "experiment.seeds=2",
        "experiment.modes=[none, random, expert]", "experiment.dropouts=[0.5]", f"output_dir={tmp_path}/runs",
    )  # fmt: skip
    figure = tmp_path / "docs" / "figure.png"
    assert command("--plot", figure, overrides=small) == 0
    run = tmp_path / "runs" / "0001"
    shown = capsys.readouterr().out
    assert "expert, 50% withheld, seed 1" in shown and "exact best response to heuristic" in shown
    for path in (figure, run / "learning_curves.png"):
        assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 20_000
    with (run / "marks.csv").open() as file:
        marks = list(csv.DictReader(file))
    assert {row["mode"] for row in marks} == {"none", "random", "expert"}
    assert all(row["told"] == row["alone"] for row in marks if row["mode"] == "none")
    assert any(row["told"] != row["alone"] for row in marks if row["mode"] == "expert")
    last = [int(row["decisions"]) for row in marks if row["mode"] == "none" and row["seed"] == "0"]
    assert last[0] == 0 and last[-1] >= 120 and last == sorted(last)
    assert (run / "table.md").read_text().count("\n") == 5
    assert command(overrides=(*small, "env.partner=micro")) == 1
    assert "no exact best response to micro" in capsys.readouterr().err
    assert command("--plot", tmp_path / "figure.bmp", overrides=small) == 2
