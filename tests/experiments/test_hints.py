"""The hint experiment: arms, measurements, tables, cache and command."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path

import pytest
import torch

from dond_marl.occupants import seat_occupant
from experiments.hints import (
    PRETRAINED,
    HintArm,
    HintExperiment,
    HintExperimentConfig,
    Measurement,
    _begin_training,
    _hinter_identity,
    first_reached,
    hint_arms,
    hint_lines,
    hint_rows,
    hint_section,
    hint_settings,
    learning_curve,
    run_experiment,
)
from league.play.hinters import hint_provider, llm_spec
from league.settings.read import ConfigError, load_config
from partners.provenance import ProvenanceError
from partners.rosters import roster
from tests.command import experiment

torch.set_num_threads(1)
ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "experiments" / "configs" / "hint_experiment.yaml"
command = partial(experiment, "hints", "--config", CONFIG)
TELLS, MIXED, NOBODY = HintArm("expert", 0.0), HintArm("expert", 0.5), HintArm("none", 0.0)


def test_language_model_settings(monkeypatch):
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    config = load_config(CONFIG, ("experiment.hinters=[llm,llm(provider=hf)]",), HintExperimentConfig)
    asked, own = llm_spec(hint_settings(config, "llm")).parameters, hint_settings(config, "llm(provider=hf)")
    assert asked["model"] == PRETRAINED and asked["provider"] == "hf" and asked["sorted_items"]
    assert own.mode == "expert" and hint_provider(own).partner.traits == seat_occupant("llm(provider=hf)").traits
    named = load_config(CONFIG, ("hints.models.hf=mine", "hints.options={prompt: short}"), HintExperimentConfig)
    changed = llm_spec(hint_settings(named, "llm")).parameters
    assert changed["model"] == "mine" and "dtype" not in changed
    assert _hinter_identity(config, "llm") != _hinter_identity(named, "llm")


def mark(decisions: int, hinted: float, alone: float = 0.0, arm: HintArm = TELLS, seed: int = 0) -> Measurement:
    return Measurement(arm, seed, decisions, 2 * decisions, hinted, alone, 1.0, 0.5)


def test_hint_arms():
    config = load_config(CONFIG, (), HintExperimentConfig)
    text = [arm.name for arm in hint_arms(config.experiment)]
    assert text[:3] == ["none", "random", "random, 50% withheld"] and len(text) == 9
    assert [name.split("(")[0] for name in text[3::2]] == ["trembling", "expert", "best_response"]
    assert all(name.endswith(", 50% withheld") for name in text[4::2])


def test_arm_without_hints_has_the_same_network():
    config = small()
    learners = {player: _begin_training(config, HintArm(player, 0.0), 0) for player in ("none", "heuristic")}
    shapes = [training.learner.network.shape for training in learners.values()]
    assert shapes[0] == shapes[1] and shapes[0].hints
    first, second = (training.learner.network.state_dict() for training in learners.values())
    assert all(torch.equal(first[name], second[name]) for name in first)
    learners["none"].step()
    tally = learners["none"].hints.tally
    assert tally["withheld"] > 0 and not tally["asked"]


def small(**changes: object) -> HintExperimentConfig:
    settings = {"env.max_turns": 3, "training.num_envs": 8, "training.rollout": 3, "training.minibatch": 16,
                "training.hidden": [8], "training.num_train_steps": 120, "experiment.every": 60,
                "experiment.seeds": 2, **changes}  # fmt: skip
    return load_config(CONFIG, [f"{key}={value}" for key, value in settings.items()], HintExperimentConfig)


def test_first_reached_interpolates():
    """Without hints 40 % at 0, 60 % at 100, 50 % at 200, 90 % at 300: 70 % is half way from 200 to 300."""
    marks = [mark(0, 1, 0.4), mark(100, 1, 0.6), mark(200, 1, 0.5), mark(300, 1, 0.9)]
    assert first_reached(marks, 0.5) == pytest.approx(50)
    assert first_reached(marks, 0.7) == pytest.approx(250)
    assert first_reached(marks, 0.4) == 0
    assert first_reached(marks, 0.95) is None


def two_seeds() -> HintExperiment:
    marks = [
        mark(0, 0.2, 0.5), mark(100, 0.8, 0.9), mark(0, 0.4, 0.1, seed=1), mark(120, 0.6, 0.5, seed=1),
        mark(100, 0.9, 0.6, MIXED), mark(0, 0.1, 0.1, NOBODY), mark(100, 0.8, 0.8, NOBODY),
        mark(0, 0.1, 0.1, NOBODY, 1), mark(100, 1.0, 1.0, NOBODY, 1),
    ]  # fmt: skip
    tallies = {TELLS.name: {"asked": 8, "available": 6}}
    return HintExperiment(marks, {"expert": 0.75}, tallies, 8.0, "lewis")


def test_learning_curve():
    decisions, shares = learning_curve(two_seeds(), TELLS, lambda measured: measured.hinted)
    assert decisions.tolist() == [0, 110]
    assert [share.mean for share in shares] == pytest.approx([0.3, 0.7])


def test_hint_rows_and_table():
    first, _, unhinted = hint_rows(two_seeds())
    assert unhinted["decisions to 70%"].n == 2
    reached = first["decisions to 80%"]  # without hints: 50 % at 0 and 90 % at 100
    assert reached.n == 1 and reached.mean == pytest.approx(75) and math.isnan(reached.low)
    assert first["share with hints"].mean == pytest.approx(0.7) and first["share without hints"].mean == pytest.approx(
        0.7
    )
    assert first["acts"] == 220 and unhinted["acts"] == 200
    gain = first["difference from none"]
    assert gain.mean == pytest.approx(0.7 - 0.9) and gain.low < -0.2 < gain.high
    assert math.isnan(unhinted["difference from none"].mean) and math.isnan(unhinted["p, Holm"])
    assert first["p, Holm"] >= 1 / 3 and first["hinter alone"] == 0.75
    (table,) = hint_section(two_seeds()).blocks
    cells, mixed = (dict(zip(table.heads, row.cells, strict=True)) for row in table.rows[:2])
    assert (cells["decisions to 80%"], mixed["decisions to 70%"]) == ("0.1k (1 seeds)", "not reached")
    assert cells["share without hints"].startswith("70.0%") and cells["difference from none"].startswith("-20.0%")
    lines = [json.loads(line) for line in hint_lines(two_seeds()).splitlines()]
    assert lines[0]["hinters"] == {"expert": 0.75} and len(lines) == 1 + 9
    assert lines[2] == {"hinter": "expert", "dropout": 0.0, "seed": 0, "decisions": 100, "acts": 200, "hinted": 0.8,
                        "alone": 0.9, "hinted_deals": 1.0, "alone_deals": 0.5}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("experiment.dropouts=[2]", "dropouts must be a list of numbers in 0..1"),
        ("experiment.hinters=[nobody]", r"experiment.hinters\[0\]: no occupant is called 'nobody'"),
        ("experiment.hinters=[expert,expert]", "each once"),
    ],
)
def test_invalid_settings_are_refused(given, why):
    with pytest.raises(ConfigError, match=why):
        load_config(CONFIG, [given], HintExperimentConfig)


@pytest.mark.slow
def test_command_writes_measurements_and_table(tmp_path, capsys):
    small = (
        "env.max_turns=3", "training.num_envs=8", "training.rollout=3", "training.minibatch=16",
        "training.hidden=[8]", "training.num_train_steps=120", "experiment.every=120", "experiment.seeds=2",
        "experiment.hinters=[none, random, heuristic]", "experiment.dropouts=[0.5]", f"output_dir={tmp_path}/runs",
    )  # fmt: skip
    assert command(overrides=small) == 0
    run_folder = tmp_path / "runs" / "0001"
    shown = capsys.readouterr().out
    assert "heuristic, 50% withheld, seed 1" in shown and "partner heuristic" in shown
    _, *marks = map(json.loads, (run_folder / "results.jsonl").read_text().splitlines())
    assert {row["hinter"] for row in marks} == {"none", "random", "heuristic"}
    assert all(row["hinted"] == row["alone"] for row in marks if row["hinter"] == "none")
    assert any(row["hinted"] != row["alone"] for row in marks if row["hinter"] == "heuristic")
    last = [row["decisions"] for row in marks if row["hinter"] == "none" and row["seed"] == 0]
    assert last[0] == 0 and last[-1] >= 120 and last == sorted(last)
    for row in marks:  # seats alternate: own decisions are half of the acts, but for the odd one of a game
        assert row["acts"] == pytest.approx(2 * row["decisions"], rel=0.35)
    assert "| random, 50% withheld |" in (run_folder / "table.md").read_text()
    assert command(overrides=(*small[1:], "env.partner=random", "env.max_turns=10")) == 1
    assert "random" in capsys.readouterr().err


def test_test_roster_hinters_are_refused(tmp_path):
    hinter = roster("dev2")[-1]
    config = small(**{"experiment.hinters": f'["{hinter}"]'})
    with pytest.raises(ProvenanceError, match="in the roster dev2"):
        run_experiment(config, tmp_path, print)


@pytest.mark.slow
def test_learners_are_cached(tmp_path):
    arms = {"experiment.hinters": "[none,heuristic]", "experiment.dropouts": "[0.5]", "experiment.seeds": 1}
    config = small(**{**arms, "env.max_turns": 2})
    messages: list[str] = []
    first = run_experiment(config, tmp_path, messages.append)
    files = sorted(tmp_path.glob("*.json"))
    assert len(files) == 2
    files[0].write_text("{")
    times = [path.stat().st_mtime_ns for path in files]
    assert run_experiment(config, tmp_path, messages.append) == first
    assert [path.stat().st_mtime_ns == time for path, time in zip(files, times, strict=True)] == [False, True]
    other = config.model_copy(update={"training": config.training.model_copy(update={"lr": 0.5})})
    assert run_experiment(other, tmp_path, messages.append) != first and len(list(tmp_path.glob("*.json"))) == 4


@pytest.mark.slow
def test_workers_do_not_change_figures(tmp_path):
    config = small(**{"experiment.hinters": "[none,heuristic]"})
    one, two = (run_experiment(config, tmp_path / str(workers), print, workers) for workers in (1, 2))
    assert one == two
