"""Training as a user runs it: the same bits whatever interrupts it, clear errors, and true messages."""

from __future__ import annotations

import csv
import hashlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from dond_marl.errors import InputError
from dond_marl.occupants import seat_occupant
from league.ledger.run_directory import RunDirectory, RunError, new_run
from league.play.hinters import hint_queries
from league.settings.read import load_config
from league.settings.sections import HintsConfig
from league.settings.training import TrainConfig
from league.training.training import (
    COLUMNS,
    PAST_SELVES,
    Training,
    _exact_targets,
    begin,
    final_score,
    train,
)
from partners.learning.rewards import RewardFailure
from partners.network.checkpoint import load_checkpoint
from tests.command import dond, in_process, train_command
from tests.loopback import Service, completion

torch.set_num_threads(1)
ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts" / "train.py"
CLOCK = {"seconds", "decisions_per_second"}
SETTINGS = """
env: {scenarios: lewis, split: train, max_turns: 3}
training: {rollout: 10, num_envs: 4, minibatch: 16, epochs: 2, hidden: [8], num_train_steps: STEPS, seed: 3}
logging: {output_dir: "FOLDER", tensorboard: false, save_every: 100}
"""
STEPS = 500  # eleven updates or so, five checkpoints


class Watching:
    """Asks for a stop after ``stop`` updates, and stores the warnings."""

    def __init__(self, stop: int | None = None) -> None:
        self.left, self.warnings, self.opened_at = stop, list[str](), -1

    def warn(self, message: str) -> None:
        self.warnings.append(message)

    def on_open(self, training: Training, directory: Path) -> None:
        self.opened_at = training.learner.decisions

    def on_update(self, training: Training) -> bool:
        self.left = None if self.left is None else self.left - 1
        return self.left != 0


def write_settings(tmp_path: Path, steps: int = STEPS, name: str = "runs") -> Path:
    path = tmp_path / f"{name}.yaml"
    path.write_text(SETTINGS.replace("STEPS", str(steps)).replace("FOLDER", str(tmp_path / name)))
    return path


def settings(tmp_path: Path, *overrides: str) -> TrainConfig:
    return load_config(write_settings(tmp_path), overrides, TrainConfig)


def checkpoints(folder: Path) -> list[Path]:
    return sorted((folder / "checkpoints").glob("step_*.json"))


def fingerprint(folder: Path) -> str:
    """Of all tensors of the newest checkpoint: weights, the optimizer's, past selves."""
    return hashlib.sha256(checkpoints(folder)[-1].with_suffix(".safetensors").read_bytes()).hexdigest()


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "progress.csv").open(newline="") as file:
        return [{name: row[name] for name in COLUMNS if name not in CLOCK} for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """The folder of a finished training; a test that changes it copies it."""
    folder = tmp_path_factory.mktemp("whole")
    run_until(settings(folder), folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def with_past_selves(tmp_path_factory) -> Path:
    """The same with past selves."""
    folder = tmp_path_factory.mktemp("with_past_selves")
    run_until(settings(folder, "training.past_selves=0.5"), folder / "run")
    return folder / "run"


def run_until(config: TrainConfig, folder: Path, stop: int | None = None) -> Watching:
    folder.mkdir(exist_ok=True)
    watching = Watching(stop)
    train(config, RunDirectory(folder), watching, trust=True)
    return watching


# -- the same bits ---------------------------------------------------------------------------------------------------

KINDS = {
    "ppo": [],
    "ppo against past selves": ["training.past_selves=0.5"],
    "ppo with hints, annealed": ["hints.mode=random", "hints.cadence_k=2", "training.anneal=true", "training.ent=0.01"],
    "reinforce": ["training.algo=reinforce"],
    "ppo taught by the best reply": [
        *("training.exact_reply=1", "training.history=flat", "training.past_selves=0.4", "training.critic=both"),
        "env.partner=mixture(of=['heuristic', 'tough', 'nice'])",
    ],
}


ALONE = set(KINDS) - {"ppo with hints, annealed", "ppo taught by the best reply"}  # what they keep, these keep too


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind in ALONE)) for kind in KINDS])
def test_a_run_stopped_after_any_update_and_resumed_ends_with_the_same_bits(tmp_path, kind):
    config = settings(tmp_path, *KINDS[kind])
    whole = tmp_path / "whole"
    run_until(config, whole)
    saves, updates = checkpoints(whole), len(rows(whole))
    assert updates >= 8 and len(saves) == 5
    about = load_checkpoint(saves[-1])[1]
    assert about["past"] == (min(len(saves), PAST_SELVES) if config.training.past_selves else 0)
    for stop in (updates - 3,):
        folder = tmp_path / f"stopped after {stop}"
        first = run_until(config, folder, stop)
        _exact_targets.cache_clear()  # as in a process of its own
        second = run_until(config, folder)
        assert len(rows(folder)) == updates and second.opened_at == int(rows(folder)[stop - 1]["decisions"])
        assert fingerprint(folder) == fingerprint(whole)
        assert rows(folder) == rows(whole)
        assert not first.warnings and not second.warnings


REWARD = """
from pathlib import Path

class Broken:
    def __call__(self, games, earned, scenarios):
        return earned * (float("nan") if Path(__file__).with_name("broken").exists() else 1)
"""


def test_a_run_with_a_broken_reward_goes_back_to_its_last_update(tmp_path):
    (tmp_path / "rewards.py").write_text(REWARD)
    config = settings(tmp_path, f"training.reward={tmp_path / 'rewards.py'}:Broken")
    run_until(config, tmp_path / "whole")

    class Breaking(Watching):
        def on_update(self, training: Training) -> bool:
            (tmp_path / "broken").touch()
            return True

    (tmp_path / "broken_off").mkdir()
    breaking = Breaking()
    with pytest.raises(RewardFailure):
        train(config, RunDirectory(tmp_path / "broken_off"), breaking)
    (saved,) = checkpoints(tmp_path / "broken_off")
    assert load_checkpoint(saved).network() and str(saved) in breaking.warnings[0]
    (tmp_path / "broken").unlink()
    run_until(None, tmp_path / "broken_off")
    assert fingerprint(tmp_path / "broken_off") == fingerprint(tmp_path / "whole")


@pytest.mark.parametrize(
    "damage",
    [
        "no note",
        "both newest",
        pytest.param("no tensors", marks=pytest.mark.slow),
    ],
)
def test_a_damaged_checkpoint_falls_back_to_the_one_before_with_a_warning(tmp_path, with_past_selves, damage):
    config, folder = settings(tmp_path, "training.past_selves=0.5"), tmp_path / "run"
    shutil.copytree(with_past_selves, folder)
    whole, whole_rows, saved = fingerprint(folder), rows(folder), checkpoints(folder)
    broken = saved[-2:] if damage == "both newest" else saved[-1:]
    for note in broken:
        tensors = note.with_suffix(".safetensors")
        content = tensors.read_bytes()
        if damage == "no tensors":
            tensors.unlink()
        elif damage == "no note":
            note.unlink()
        else:
            tensors.write_bytes(content[:500] + bytes([content[500] ^ 1]) + content[501:])
    watching = run_until(config, folder)
    assert len(watching.warnings) == (0 if damage == "no note" else len(broken))
    assert all(str(folder) in warning for warning in watching.warnings)
    assert watching.opened_at == load_checkpoint(saved[-1 - len(broken)])[1]["counters"]["decisions"]
    assert fingerprint(folder) == whole and rows(folder) == whole_rows


def test_a_row_cut_short_by_a_crash_is_written_again(tmp_path, whole):
    config = settings(tmp_path)
    run_until(config, tmp_path / "cut", 5)
    with (tmp_path / "cut" / "progress.csv").open("a") as file:
        file.write("6,2")  # of "6,28.,..."
    run_until(config, tmp_path / "cut")
    assert rows(tmp_path / "cut") == rows(whole)


def test_what_is_logged_adds_up(tmp_path):
    run_until(settings(tmp_path, "hints.mode=random"), tmp_path / "run")
    logged = rows(tmp_path / "run")
    assert [int(row["update"]) for row in logged] == list(range(1, len(logged) + 1))
    decisions = [int(row["decisions"]) for row in logged]
    assert decisions == sorted(set(decisions)) and decisions[0] >= 40 and decisions[-1] >= STEPS > decisions[-2]
    assert all(0 <= float(row["points"]) <= 10 and 0 <= float(row["deals"]) <= 1 for row in logged)
    assert all(float(row["hints_available"]) == 1 for row in logged)
    counters = load_checkpoint(checkpoints(tmp_path / "run")[-1])[1]["counters"]
    last = logged[-1]
    assert counters == {
        name: int(last[key]) for name, key in zip(counters, ("decisions", "games", "update"), strict=True)
    }


def test_closing_score_reaches_the_trackers(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    calls: list[str] = []
    config, folder = settings(tmp_path, "logging.tensorboard=true", "training.num_train_steps=100"), tmp_path / "run"
    training, done = train(config, new_run(folder), Watching(), lambda _, play: calls.append(play))
    assert done and calls == ["sampled", "greedy"]
    events = EventAccumulator(str(folder / "0001")).Reload()
    closing = {tag: events.Scalars(tag) for tag in events.Tags()["scalars"] if tag.startswith("closing/")}
    assert {tag: event.value for tag, (event,) in closing.items()} == pytest.approx(training.closing.figures)
    assert {event.step for (event,) in closing.values()} == {training.learner.decisions}
    assert len(closing) == 5 and closing["closing/of_response"][0].value == pytest.approx(
        training.closing.shares["best response"].mean
    )


def test_every_checkpoint_can_sit_in_a_seat(with_past_selves):
    for path in checkpoints(with_past_selves):
        assert seat_occupant({"kind": "checkpoint", "path": str(path)}).traits.learned
        assert load_checkpoint(path).network().shape.hidden == (8,)


# -- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("partner", ["equilibrium", "mixture(of=[trembling(of=equilibrium)])"])
@pytest.mark.parametrize("override", ["env.scenarios=uniform", "env.max_turns=11"])
def test_equilibrium_without_table_is_refused(tmp_path, partner, override):
    with pytest.raises(InputError, match=r"got uniform|turns=11"):
        begin(settings(tmp_path, f"env.partner={partner}", "env.split=null", override))


def test_closing_evaluation_reveals_what_the_training_reveals(tmp_path):
    for revealed in ("true", "false"):
        config = settings(tmp_path, f"env.reveal_partner_utilities={revealed}")
        assert begin(config).heldout_terms().revealed == (revealed == "true")


def test_other_settings_on_resume_are_refused_with_the_difference(tmp_path):
    run_until(settings(tmp_path), tmp_path / "run", 2)
    before = fingerprint(tmp_path / "run")
    with pytest.raises(RunError, match=r"training\.algo: ppo -> reinforce\n  training\.lr: 0\.0003 -> 0\.001") as error:
        run_until(settings(tmp_path, "training.algo=reinforce", "training.lr=0.001"), tmp_path / "run")
    assert "without --config" in str(error.value)
    assert fingerprint(tmp_path / "run") == before and len(rows(tmp_path / "run")) == 2


def test_replaced_checkpoint_of_the_partner_is_refused(tmp_path):
    run_until(settings(tmp_path), tmp_path / "partners", 6)
    first, other = checkpoints(tmp_path / "partners")[:2]

    def put(name: str, source: Path) -> str:
        for suffix in (".json", ".safetensors"):
            shutil.copy(source.with_suffix(suffix), (tmp_path / name).with_suffix(suffix))
        return str(tmp_path / f"{name}.json")

    partner, start = put("partner", first), put("start", first)
    config = settings(tmp_path, f"env.partner=checkpoint(path={partner!r})", f"training.init_from={start}")
    run_until(config, tmp_path / "whole", 6)
    run_until(config, tmp_path / "run", 3)
    saved = fingerprint(tmp_path / "run")
    put("partner", other)
    with pytest.raises(RunError, match=r"env\.partner"):
        run_until(None, tmp_path / "run")
    assert fingerprint(tmp_path / "run") == saved
    put("partner", first)
    Path(start).unlink()  # every checkpoint holds what was read from it
    run_until(None, tmp_path / "run", 3)
    assert fingerprint(tmp_path / "run") == fingerprint(tmp_path / "whole")


def test_where_it_lies_and_what_is_logged_may_change_on_resume(tmp_path, whole):
    run_until(settings(tmp_path), tmp_path / "run", 2)
    (tmp_path / "run").rename(tmp_path / "moved")
    run_until(settings(tmp_path, "logging.output_dir=elsewhere", "logging.tensorboard=true"), tmp_path / "moved")
    assert fingerprint(tmp_path / "moved") == fingerprint(whole)
    assert any(path.name.startswith("events.out.tfevents") for path in (tmp_path / "moved").iterdir())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_training_on_cuda_learns_and_resumes(tmp_path):
    config = settings(tmp_path, "training.device=cuda", "training.past_selves=0.5")
    run_until(config, tmp_path / "run", 5)
    run_until(config, tmp_path / "run")
    assert load_checkpoint(checkpoints(tmp_path / "run")[-1]).network().device.type == "cpu"


# -- the command -----------------------------------------------------------------------------------------------------


def command(*arguments: object) -> list[str]:
    return [sys.executable, str(SCRIPT), *map(str, arguments)]


def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """``dond train`` to its end, in this process, which has PyTorch loaded."""
    return in_process("train", *arguments, cwd=cwd)


def start_and_wait(folder: Path, updates: int, *arguments: object) -> subprocess.Popen[str]:
    """A training in a process of its own that has logged ``updates`` rows."""
    process = subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 600
    while time.monotonic() < until and process.poll() is None:
        if (folder / "progress.csv").is_file() and (folder / "progress.csv").read_text().count("\n") > updates:
            return process
        time.sleep(0.02)
    process.kill()
    raise AssertionError(process.communicate())


@pytest.mark.slow
@pytest.mark.parametrize("kills", [(15,), (1, 15)], ids=["once", "twice"])
def test_killed_run_resumes_exactly(tmp_path, kills):
    whole, folder = tmp_path / "whole", tmp_path / "runs" / "0001"
    path = write_settings(tmp_path, 1200)
    run_until(load_config(path, (), TrainConfig), whole)
    resume: list[object] = []
    for updates in kills:
        process = start_and_wait(folder, updates, "--config", path, *resume)
        process.kill()
        assert "Traceback" not in process.communicate()[1] and process.returncode == -signal.SIGKILL
        resume = ["--resume"]
    done = run("--resume", folder)
    assert done.returncode == 0, done.stderr
    assert str(folder) in done.stdout
    assert fingerprint(folder) == fingerprint(whole) and rows(folder) == rows(whole)
    assert [path.name for path in checkpoints(folder)] == [path.name for path in checkpoints(whole)]


@pytest.mark.parametrize("signals", [(signal.SIGINT,), pytest.param((2, 15), marks=pytest.mark.slow)], ids=str)
def test_signals_save_and_name_resume_command(tmp_path, signals):
    folder, arguments = tmp_path / "runs" / "0001", ["--config", str(write_settings(tmp_path, 10**9))]
    for number, updates in zip(signals, (3, 8), strict=False):
        process = start_and_wait(folder, updates, *arguments)
        process.send_signal(number)
        said, errors = process.communicate()
        assert process.returncode == 128 + number and "Traceback" not in errors
        assert errors.endswith(f"dond train --resume {folder}\n") and "saved" in errors
        saved = load_checkpoint(checkpoints(folder)[-1])[1]["counters"]["decisions"]
        assert f"after {saved:,} decisions" in errors
        assert saved in [int(row["decisions"]) for row in rows(folder)[-2:]]  # the update in flight is lost
        assert said.startswith("starting:") == (number == signal.SIGINT)
        arguments = ["--resume", str(folder)]


def test_the_options_choose_algorithm_and_hints(tmp_path):
    done = run("--algo", "reinforce", "--hint", "expert", "--config", write_settings(tmp_path, 100), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "starting: reinforce" in done.stdout and "n = 3,954" in done.stdout  # 1,977 scenarios in each seat
    assert re.search(r"\d+ requested, \d+ available \(100.0%\)", done.stdout)
    stored = load_config(tmp_path / "runs" / "0001" / "config.yaml", (), TrainConfig)
    assert (stored.training.algo, stored.hints.mode) == ("reinforce", "expert")


@pytest.mark.parametrize(
    "overrides",
    [
        [
            *("env.scenarios=uniform", "env.max_count=7", "env.reveal_partner_utilities=true", "hints.mode=random"),
            "env.partner=\"mixture(of=['tough', 'nice'])\"",
        ],
        ["env.max_turns=1", "env.disagree=rejects", "env.partner={kind: mixture, of: zoo}"],
    ],
    ids=["revealed values and hints", "one turn against the zoo"],
)
def test_any_game_and_partner_can_be_learned(tmp_path, capsys, overrides):
    assert train_command(write_settings(tmp_path, 80), overrides, None) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^sampled +\d", shown, flags=re.M)
    assert ("requested" in shown) == ("hints.mode=random" in overrides)


def test_runs_are_numbered_and_the_newest_is_resumed(tmp_path, capsys):
    path = write_settings(tmp_path, 80)
    short = ["env.max_turns=2"]
    assert train_command(path, short, None) == train_command(path, short, None) == 0
    assert train_command(path, short, Path()) == 0
    *_, run, command = capsys.readouterr().out.splitlines()
    assert f"run folder {tmp_path / 'runs' / '0002'}" in run and "evaluate --member" in command
    with new_run(tmp_path / "runs"):
        assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["0001", "0002", "0003"]


def test_the_next_command_measures_the_figure_that_the_training_ends_with(tmp_path, capsys):
    path = write_settings(tmp_path, 80)
    assert train_command(path, ["env.max_turns=2"], None) == 0
    trained = " ".join(capsys.readouterr().out.split())
    words = shlex.split(trained.partition(" next: ")[2])
    words = words[words.index("evaluate") :]  # behind how this process was started
    assert words[1] == "--member" and "--max-turns" in words
    assert dond(*words) == 0
    measured = " ".join(capsys.readouterr().out.split())
    says = re.search(r" sampled (\S+ ±\S+) .*? (\S+ ±\S+%)", trained)
    again = re.search(r"In short: runs/0001 \(sampled\) gets (\S+ ±\S+) .*?, (\S+ ±\S+%) of", measured)
    assert says is not None and again is not None and says.groups() == again.groups()


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", ["ppo_config.yaml", "reinforce_config.yaml"])
def test_the_default_settings_learn_a_point_as_they_stand(tmp_path, name):
    config = load_config(ROOT / "configs" / name, [f"logging.output_dir={tmp_path}"], TrainConfig)
    training, finished = train(config, new_run(tmp_path), Watching())
    assert finished
    for greedy in (True, False):
        untrained, trained = (final_score(one, greedy=greedy).points for one in (begin(config), training))
        assert trained.mean >= untrained.mean + 1, (untrained, trained)


# -- Dry run of a training


SMALL = ("training.num_train_steps=400", "training.num_envs=8", "training.rollout=4", "training.hidden=[8]")


@pytest.mark.parametrize(
    ("settings", "lines"),
    [
        (
            ("hints.mode=llm", "hints.provider=openai", "hints.models.openai=any", "hints.options={base_url: 'URL'}"),
            ("for hints in practice: about 400 queries", "for hints of the closing evaluation: about"),
        ),
        (
            ("env.partner=llm(provider=openai, base_url='URL', model=any, max_requests=7)",),
            ("which plays: about 400 queries", "the games of the closing evaluation"),
        ),
        (("training.reward=llm_judge(style='competitive', provider='openai', model='any', base_url='URL')",),
         ("which judges: about",)),
    ],
    ids=["hints", "partner", "judge"],
)  # fmt: skip
def test_dry_run_lists_queries(settings, lines, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    service = Service(lambda heard, number: completion())
    try:
        overrides = (*SMALL, *(each.replace("URL", service.url) for each in settings))
        assert dond("train", "--algo", "ppo", "--dry-run", overrides=overrides) == 0
        out = capsys.readouterr().out
        assert not service.heard and not list(tmp_path.iterdir())
    finally:
        service.close()
    for line in (*lines, "at 1 second a query"):
        assert line in out, out


def test_dry_run_without_queries(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert dond("train", "--algo", "reinforce", "--dry-run", overrides=SMALL) == 0
    out = capsys.readouterr().out
    assert "quer" not in out and "400 decisions" in out and not list(tmp_path.iterdir())


def test_hint_queries_follow_cadence():
    every = hint_queries(HintsConfig(mode="llm"), 100, 300, "for hints")
    assert (every.expected, every.bound) == (300, 300)
    seldom = hint_queries(HintsConfig(mode="llm", cadence_k=10), 100, 300, "for hints")
    assert 100 <= seldom.expected < 110 and seldom.bound == 130
    withheld = hint_queries(HintsConfig(mode="llm", dropout=0.5), 100, 300, "for hints")
    assert withheld.expected == 150
