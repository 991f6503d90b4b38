"""Arms of equal acts: what each may play, what is counted, and that nothing that is done is done again."""

from __future__ import annotations

import json
import os
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

import experiments.baselines
from dond_marl.errors import InputError
from dond_marl.files import append_lines
from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import ScenarioSource, open_source
from experiments.baselines import (
    CHOICE,
    DONE,
    PRACTICED,
    ArmRun,
    BaselinesConfig,
    Job,
    find_row,
    plan_jobs,
    planned_acts,
    run_job,
    run_jobs,
)
from league.bench.results import read
from league.bench.run import opponents_of, submission_of_run
from league.evaluation.matches import Terms, score
from league.ledger.run_directory import RunError
from league.settings.read import ConfigError, load_config
from league.settings.training import TrainConfig
from partners.rosters import DEV, TRAIN, roster
from tests.command import experiment

torch.set_num_threads(1)
ROOT = Path(__file__).resolve().parents[2]
command = partial(experiment, "baselines")
LEAGUE = {
    "env": {"scenarios": "lewis", "split": "train", "max_turns": 4},
    "league": {"rounds": 3, "block_size": 2, "pairs": 2},
    "members": ["heuristic", "conceder"],
    "training": {"hidden": [8], "num_envs": 128, "rollout": 2, "minibatch": 256, "epochs": 1},
    "learners": [
        {"name": "main", "decisions": 200, "snapshot_every": 1},
        {"name": "hunter", "role": "main_exploiter", "decisions": 100, "snapshot_every": 1, "reset": 1.0},
    ],
}
TRAINING = {
    "env": {"scenarios": "lewis", "split": "train", "max_turns": 4},
    "training": {"hidden": [8], "num_envs": 128, "rollout": 2, "minibatch": 256, "epochs": 1},
}


def written(folder: Path, name: str, content: object) -> str:
    (folder / name).write_text(yaml.safe_dump(content))
    return str(folder / name)


def settings(folder: Path, **changes: object) -> Path:
    arms = [
        {"name": "pool", "config": written(folder, "training.yaml", TRAINING)},
        {"name": "league", "config": written(folder, "league.yaml", LEAGUE), "pick": "wins"},
        {"name": "nobody", "occupant": "random"},
    ]
    comparison = {"acts": 30_000, "seeds": 2, "reference": "pool"}
    document = {"comparison": comparison, "arms": arms, "output_dir": str(folder / "runs"), **changes}
    return Path(written(folder, "baselines.yaml", document))


def small_jobs(folder: Path, **changes: object) -> list[Job]:
    return plan_jobs(load_config(settings(folder, **changes), (), BaselinesConfig))


@pytest.mark.parametrize(
    "name",
    [
        "baselines.yaml",
        *(pytest.param(f"{name}.yaml", marks=pytest.mark.slow) for name in ("ablation", "selection")),
    ],
)
def test_shipped_arms_have_equal_acts(name):
    """Own decisions are half of the acts of a practice; what a league plays to choose is planned for."""
    config = load_config(ROOT / "experiments" / "configs" / name, ("comparison.seeds=1",), BaselinesConfig)
    learning = tuple(arm for arm in config.arms if arm.occupant is None)
    jobs = plan_jobs(config.model_copy(update={"arms": learning}))
    assert {job.arm.name for job in jobs} == {arm.name for arm in learning}
    for job in jobs:
        if isinstance(job.config, TrainConfig):
            whole = load_config(ROOT / "configs" / job.arm.config, (), TrainConfig)
            stored = [each.training.num_train_steps / each.logging.save_every for each in (whole, job.config)]
            assert stored[0] == pytest.approx(stored[1], rel=1e-3)  # as many past selves
        assert planned_acts(job) == pytest.approx(config.comparison.acts, rel=1e-3), job.label
    assert all(job.config.members[0].spec in roster(TRAIN) for job in jobs if not isinstance(job.config, TrainConfig))


def test_pool_ppo_config():
    config = load_config(ROOT / "configs" / "pool_ppo.yaml")
    assert [member.spec for member in config.members] == list(roster(TRAIN))
    (main,) = config.learners
    assert main.matchmaking == {"uniform among fixed": 1.0} and not main.snapshot_every and main.gate is None
    assert not config.stages and config.league.floor < 1e-6
    league = load_config(ROOT / "configs" / "league.yaml")
    first = league.learners[0]
    same = set(type(first).model_fields) - {"decisions", "snapshot_every", "gate", "matchmaking"}
    assert {key: getattr(main, key) for key in same} == {key: getattr(first, key) for key in same}
    assert main.decisions == sum(learner.decisions for learner in league.learners)


@pytest.mark.slow
def test_counted_acts(tmp_path):
    """A game of four turns at most: seats alternate, so own decisions are half of the acts, within the odd ones."""
    training, league, nobody, *second = small_jobs(tmp_path)
    assert [job.label for job in second] == ["pool, seed 2", "league, seed 2"]  # whoever stops has all of seed 1
    runs = [run_job(job) for job in (training, league, nobody)]
    for run in runs[:2]:
        assert run.practice == pytest.approx(2 * run.decisions, rel=0.1)
        assert run.acts == run.practice + run.matches + run.choice
    assert runs[0].acts == pytest.approx(30_000, rel=0.1) and runs[0].matches == runs[0].choice == 0
    # Of so few acts, the games that are planned for at most and not played are a large part.
    assert runs[1].acts == pytest.approx(30_000, rel=0.4) and runs[1].matches > 0 and runs[1].choice > 0
    rows = [json.loads(line) for line in (league.folder / PRACTICED).read_text().splitlines()]
    assert {row["learner"] for row in rows} == {"main", "hunter"} and len(rows) == 6
    assert sum(row["acts"] for row in rows) == runs[1].practice  # also those of an exploiter that started over
    assert runs[1].submitted in {"main", "main@1", "main@2"}
    assert runs[2].acts == 0 and runs[2].submitted == "random"


@pytest.mark.slow
def test_early_stopping_takes_the_member_with_the_most_points_on_dev(tmp_path):
    arm = {"name": "stopped", "config": written(tmp_path, "league.yaml", LEAGUE), "pick": "dev"}
    comparison = {"acts": 140_000, "seeds": 1, "reference": "stopped"}
    (job,) = small_jobs(tmp_path, arms=[arm], comparison=comparison)
    run = run_job(job)
    source = open_source("lewis", split="train")
    some = source.block(1, 0, CHOICE)
    terms = Terms(ScenarioSource(source.name, source.split, some, source.max_count), some, Rules(4))
    partners = [seat_occupant(spec) for spec in roster(DEV)]
    points = {}
    for name in ("main", "main@1", "main@2"):
        player = submission_of_run(job.folder, name).partner()
        points[name] = np.mean([score(player, partner, terms).points.mean for partner in partners])
    assert run.submitted == max(points, key=points.get) and len(set(points.values())) > 1
    assert run.choice > 3 * len(partners) * 2 * CHOICE


def test_arm_changes_learners(tmp_path):
    league = {"name": "pool", "config": written(tmp_path, "league.yaml", LEAGUE)}
    (whole,) = small_jobs(tmp_path, arms=[league], comparison={"seeds": 1, "acts": None, "reference": "pool"})
    changes = {"main": {"snapshot_every": 0, "reward": "spite(weight=1)"}, "hunter": None}
    (job,) = small_jobs(
        tmp_path, arms=[{**league, "learners": changes}], comparison={"seeds": 1, "acts": None, "reference": "pool"}
    )
    (main,) = job.config.learners
    first = whole.config.learners[0]
    assert main == first.model_copy(update={"snapshot_every": 0, "reward": main.reward}) and "spite" in main.reward
    assert [learner.name for learner in whole.config.learners] == ["main", "hunter"]
    assert job.config.model_copy(update={"learners": whole.config.learners}) == whole.config
    for name, arm, why in (
        ("nobody", league, "no learner called nobody; it has main, hunter"),
        ("main", {**league, "config": written(tmp_path, "training.yaml", TRAINING)}, "is a training; use set"),
    ):
        with pytest.raises(InputError, match=why):
            small_jobs(tmp_path, arms=[{**arm, "learners": {name: None}}])


def test_dry_run(tmp_path, capsys):
    config = settings(tmp_path, arms=[{"name": "pool", "config": written(tmp_path, "league.yaml", LEAGUE)}])
    assert command("--config", config, "--dry-run") == 0
    shown = capsys.readouterr().out
    assert re.search(r"pool +2 +2 +2 +[23]\d,\d{3}", shown)
    assert not (tmp_path / "runs").exists()


def short_league(folder: Path) -> Job:
    """A league of the few decisions in its config."""
    return small_jobs(folder, comparison={"acts": None, "seeds": 1, "reference": "pool"})[1]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> ArmRun:
    return run_job(short_league(tmp_path_factory.mktemp("whole")))


def run_until(job: Job, moment: str, number: int) -> None:
    """Run ``job`` in a forked process that ends at a moment of its practice, or of its round, ``number``."""

    def append(path: Path, lines: list[str]) -> None:
        rows = len(append_lines(path, [])) + 1
        if rows == number and moment == "torn":
            with path.open("ab") as file:
                file.write(lines[0].encode()[:20])
            os._exit(9)
        append_lines(path, lines)
        if rows == number and moment == "practised":
            os._exit(9)

    if (child := os.fork()) == 0:
        try:
            experiments.baselines.append_lines = append
            if moment == "committed":
                experiments.baselines.SilentWatcher.on_commit = lambda _, progress, __: (
                    os._exit(9) if progress.rounds == number else None
                )
            run_job(job)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.slow
# Each round has two practices, then its commit: the third row is torn right after the first commit.
@pytest.mark.parametrize(
    ("moment", "number"),
    [
        ("torn", 2),
        ("committed", 1),
        ("practised", 1),
    ],
)
def test_killed_run_resumes_to_the_same_result(tmp_path, uninterrupted, moment, number):
    job = short_league(tmp_path)
    run_until(job, moment, number)
    assert run_job(job) == uninterrupted
    before = (job.folder / DONE).stat().st_mtime_ns
    assert run_job(job) == uninterrupted
    assert (job.folder / DONE).stat().st_mtime_ns == before


@pytest.mark.slow
def test_results_are_appended_once(tmp_path):
    pool = {"name": "pool", "config": written(tmp_path, "training.yaml", TRAINING)}
    few = {"acts": 6_000, "seeds": 2, "reference": "pool"}
    jobs = small_jobs(tmp_path, arms=[pool, {"name": "nobody", "occupant": "random"}], comparison=few)
    path = tmp_path / "results.jsonl"
    messages: list[str] = []
    some = run_jobs(jobs, [opponents_of(["heuristic"])], path, 1, messages.append)
    next(some)
    some.close()  # stopped
    assert len(read([path])) == 1
    done = list(run_jobs(jobs, [opponents_of(["heuristic"])], path, 1, messages.append))
    assert [(row["submission"]["name"], row["submission"]["seed"]) for row in read([path])] == [
        ("pool", 1), ("nobody", None), ("pool", 2),
    ]  # fmt: skip
    assert sum(message.startswith("1 of 3 ") for message in messages) == 1
    again = list(run_jobs(jobs, [opponents_of(["heuristic"])], path, 1, messages.append))
    assert again == done and len(read([path])) == 3
    older = [{**row, "benchmark": {**row["benchmark"], "version": 0}} for row in read([path])]
    assert find_row(older, jobs[0], opponents_of(["heuristic"])) is None  # of an older protocol: to be measured anew
    trained = [(job.folder / DONE).stat().st_mtime_ns for job in jobs]
    list(run_jobs(jobs, [opponents_of(["conceder"])], path, 1, messages.append))
    assert len(read([path])) == 6 and trained == [(job.folder / DONE).stat().st_mtime_ns for job in jobs]
    assert read([path])[0]["submission"]["acts"] == done[0].run.acts


def test_foreign_and_damaged_folders_are_refused(tmp_path):
    job = small_jobs(tmp_path)[2]
    run_job(job)
    other = small_jobs(
        tmp_path, arms=[{"name": "nobody", "occupant": "conceder"}, {"name": "pool", "occupant": "nice"}]
    )
    with pytest.raises(RunError, match="holds a run of other settings"):
        run_job(other[0])
    (job.folder / DONE).write_text("{")
    with pytest.raises(RunError, match=r"damaged .* delete it"):
        run_job(job)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"arms": [{"name": "both", "config": "a.yaml", "occupant": "random"}]}, "and not both"),
        ({"arms": [{"name": "pool", "occupant": "random"}] * 2}, "two arms are called pool"),
        ({"arms": [{"name": "a", "occupant": "random"}]}, "reference is one of a; got pool"),
        ({"arms": [{"name": "a", "occupant": "nobody"}]}, r"arms\[0\]\.occupant: no occupant is called 'nobody'"),
    ],
)
def test_invalid_arms_are_refused(tmp_path, changes, why):
    with pytest.raises(ConfigError, match=why):
        small_jobs(tmp_path, **changes)


def test_invalid_options(tmp_path, capsys):
    config = settings(tmp_path)
    assert command("--config", config, "--only", "self_play") == 2
    assert "pool, league, nobody" in capsys.readouterr().err
    assert command("--config", config, "--set", "comparison.acts=500") == 2
    assert "league.block_size" in capsys.readouterr().err
    cloning = [{"name": "pool", "config": str(ROOT / "configs" / "bc_config.yaml")}]
    assert command("--config", settings(tmp_path, arms=cloning)) == 2
    assert "clones people" in capsys.readouterr().err
    scripted = [{"name": "pool", "config": written(tmp_path, "still.yaml", {"members": ["heuristic"]})}]
    assert command("--config", settings(tmp_path, arms=scripted)) == 2
    assert "learners" in capsys.readouterr().err


@pytest.mark.slow
def test_command(tmp_path, capsys):
    config = settings(tmp_path)
    assert command("--config", config, "--seeds", 1, "--allow-uncommitted") == 0
    shown = capsys.readouterr().out
    text = (tmp_path / "runs" / "table_dev.md").read_text()
    for name in ("pool", "league", "nobody"):
        assert re.search(rf"^{name} +\d", shown, re.MULTILINE) and f"| {name} |" in text
    assert command("--config", config, "--seeds", 1, "--only", "nobody", "--allow-uncommitted") == 0
    assert capsys.readouterr().out.count("1 of 1 ") == 1


@pytest.mark.slow
def test_best_fixed_arm_has_the_most_points_of_the_train_roster():
    """Mean points against the other members, both seats, on train scenarios."""
    config = load_config(ROOT / "experiments" / "configs" / "baselines.yaml", (), BaselinesConfig)
    source = open_source("lewis", split="train")
    some = source.block(0, 0, CHOICE)
    terms = Terms(ScenarioSource(source.name, source.split, some, source.max_count), some, Rules())
    members = {name: seat_occupant(name) for name in roster(TRAIN)}
    points = {
        name: np.mean([score(member, other, terms).points.mean for other in members.values() if other is not member])
        for name, member in members.items()
    }
    (arm,) = (arm for arm in config.arms if arm.name == "best_fixed")
    assert arm.occupant == max(points, key=points.get)
