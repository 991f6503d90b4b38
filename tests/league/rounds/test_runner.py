"""League runs from the command line: kills, stops, resumes, errors, determinism."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
from pathlib import Path

import numpy as np
import pytest

from league.ledger.ledger import Ledger
from league.ledger.run_directory import RunDirectory
from league.results.progress import PlainWatcher
from partners.network.checkpoint import network_note, save_checkpoint
from partners.network.network import PolicyNetwork
from partners.network.shape import NetworkShape
from tests.killing import command, kill_at, run

SETTINGS = """
env: {scenarios: lewis, split: train, max_turns: 6}
league: {seed: 3, rounds: ROUNDS, block_size: 64, evaluate: false}
members: [heuristic, random, "boulware(exponent=2)", {kind: tough, name: my rival}, stubborn, nice_tit_for_tat]
logging: {output_dir: "FOLDER"}
"""


def write_settings(tmp_path: Path, rounds: int, name: str = "runs") -> Path:
    path = tmp_path / f"{name}.yaml"
    path.write_text(SETTINGS.replace("ROUNDS", str(rounds)).replace("FOLDER", str(tmp_path / name)))
    return path


def fingerprint(run_folder: Path) -> str:
    with Ledger(run_folder / "ledger.sqlite") as ledger:
        return ledger.fingerprint()


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> str:
    """The fingerprint of three rounds played at one go."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    assert run("--config", write_settings(folder, 3)).returncode == 0
    return fingerprint(folder / "runs" / "0001")


@pytest.mark.parametrize(
    "moment",
    [
        "mid round",
        *(pytest.param(at, marks=pytest.mark.slow) for at in ("first match", "after the last match", "after a commit")),
    ],
)
def test_kill_at_each_step_loses_one_round(tmp_path, moment, uninterrupted):
    kill_at(moment, write_settings(tmp_path, 3, "killed"))
    folder = tmp_path / "killed" / "0001"
    with Ledger(folder / "ledger.sqlite") as ledger:
        assert ledger.next_round == {"first match": 0, "mid round": 1}.get(moment, 2)
    assert run("--resume", folder).returncode == 0
    assert fingerprint(folder) == uninterrupted


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Path, Path, str]:
    """The settings of a league of one round, the folder of its run, and its output."""
    folder = tmp_path_factory.mktemp("finished")
    done = run("--config", write_settings(folder, 1), cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "runs.yaml", folder / "runs" / "0001", done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_interrupt_and_resume(tmp_path, number):
    config = write_settings(tmp_path, 5000)
    process = subprocess.Popen(command("--config", config), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("starting: 6 members and 0 learners, 5000 rounds")
    assert any(line.startswith("round 1/5000") for line in process.stdout)
    process.send_signal(number)
    _, errors = process.communicate()
    assert process.returncode == 128 + number
    assert f"--resume {tmp_path / 'runs' / '0001'}" in errors and "Traceback" not in errors
    with Ledger(tmp_path / "runs" / "0001" / "ledger.sqlite") as ledger:
        assert ledger.next_round >= 1
    assert (tmp_path / "runs" / "0001" / "ladder.csv").is_file()  # of the rounds committed so far


def test_interrupt_during_the_evaluation_after_all_rounds(tmp_path, monkeypatch):
    learner = "[{name: main, hidden: [8], rollout: 2, num_envs: 32, minibatch: 64, epochs: 1, decisions: 100}]"
    settings = write_settings(tmp_path, 1)
    changes = (f"learners={learner}", "heldout=[conceder]", "members=[tough, nice]", "env.max_turns=2")
    words = ["--config", settings, *(word for change in changes for word in ("--set", change))]
    words += ["--set", "league.evaluate=true"]

    shown = PlainWatcher.on_step

    def interrupt(watcher: PlainWatcher, step: str) -> None:
        if "conceder" in step:  # the evaluation has begun
            signal.raise_signal(signal.SIGINT)
        shown(watcher, step)

    with monkeypatch.context() as patch:
        patch.setattr(PlainWatcher, "on_step", interrupt)
        stopped = run(*words)
    folder = tmp_path / "runs" / "0001"
    assert stopped.returncode == 130 and f"--resume {folder}" in stopped.stderr and "Traceback" not in stopped.stderr
    assert not (folder / "evaluation.json").exists()
    assert "held-out" in run("--resume", folder).stdout
    assert (folder / "evaluation.json").is_file()


def test_ledger_is_a_function_of_settings_and_seed(tmp_path):
    config = write_settings(tmp_path, 1)
    for extra in ([], [], ["--set", "league.seed=4"]):
        assert run("--config", config, *extra).returncode == 0
    first, again, other = (fingerprint(tmp_path / "runs" / f"000{number}") for number in (1, 2, 3))
    assert first == again != other


def test_resume_of_a_finished_run(finished):
    config, folder, output = finished
    again = run("--config", config, "--resume", cwd=folder.parents[1])
    assert again.returncode == 0
    assert again.stdout.split("Ladder", 1)[1] == output.split("Ladder", 1)[1]


def test_rounds_have_independent_noise(tmp_path):
    config = write_settings(tmp_path, 2)
    block = "league.block_size=3084"  # the whole split, so that both rounds hold the same scenarios
    assert run("--config", config, "--set", block, "--set", "members=[random, tough]").returncode == 0
    with Ledger(tmp_path / "runs" / "0001" / "ledger.sqlite") as ledger:
        outcomes = []
        for number in (0, 1):
            leg = next(leg for leg in ledger.legs(number) if leg.seats == ("random", "random"))
            scenarios = ledger.scenarios(number)
            order = np.lexsort(np.concatenate([scenarios.counts, scenarios.utilities.reshape(-1, 6)], axis=1).T)
            outcomes.append(leg.facts["turns"][order])
    assert (outcomes[0] != outcomes[1]).any()


def test_run_killed_before_its_start(tmp_path):
    config = write_settings(tmp_path, 1)
    assert run("--config", config).returncode == 0
    (tmp_path / "runs" / "0002").mkdir()  # killed between making the folder and beginning the ledger
    newest = run("--config", config, "--resume")
    passed_over = f"{tmp_path / 'runs' / '0002'} is skipped: it never began"
    assert newest.returncode == 0 and passed_over in newest.stdout
    assert f"run folder {tmp_path / 'runs' / '0001'}" in newest.stdout
    Ledger(tmp_path / "runs" / "0002" / "ledger.sqlite").close()  # ... or between opening and beginning it
    assert passed_over in run("--config", config, "--resume").stdout
    assert run("--config", config, "--resume", tmp_path / "runs" / "0002").returncode == 0
    assert fingerprint(tmp_path / "runs" / "0001") == fingerprint(tmp_path / "runs" / "0002")


def test_changed_scenarios_are_refused(tmp_path):
    assert run("--config", write_settings(tmp_path, 1)).returncode == 0
    with Ledger(tmp_path / "runs" / "0001" / "ledger.sqlite") as ledger, ledger._transaction():
        ledger._db.execute("UPDATE meta SET value = value || '0' WHERE key = 'source'")
        ledger._db.execute("UPDATE seals SET sha256 = ? WHERE round = -1", (ledger._seal(-1),))
    done = run("--resume", tmp_path / "runs" / "0001")
    assert done.returncode == 1 and "other scenarios" in done.stderr


def test_replaced_checkpoint_of_a_member_is_refused(tmp_path):
    def checkpoint(seed: int) -> Path:
        network = PolicyNetwork(NetworkShape(hidden=(8,)), seed=seed)
        tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
        save_checkpoint(tmp_path / "member.json", tensors, network_note(network))
        return tmp_path / "member.json"

    member = f"{{kind: trembling, of: {{kind: checkpoint, path: {checkpoint(0)}}}, name: shaken}}"
    assert run("--config", write_settings(tmp_path, 1), "--set", f"members=[heuristic, {member}]").returncode == 0
    folder = tmp_path / "runs" / "0001"
    checkpoint(1)
    done = run("--resume", folder, "--trust")
    assert done.returncode == 1 and "member shaken" in done.stderr and "Traceback" not in done.stderr, done.stderr
    checkpoint(0)
    assert run("--resume", folder, "--trust").returncode == 0


def test_locked_run_is_refused(finished):
    config, folder, _ = finished
    with RunDirectory(folder):
        done = run("--config", config, "--resume")
    assert done.returncode == 1 and "another process" in done.stderr and "Traceback" not in done.stderr


def test_other_settings_are_refused(finished):
    config, folder, _ = finished
    before = fingerprint(folder)
    done = run("--config", config, "--resume", "--set", "env.max_turns=5", "--set", "league.rounds=9")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "env.max_turns: 6 -> 5" in done.stderr and "league.rounds: 1 -> 9" in done.stderr
    assert fingerprint(folder) == before


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--set", "league.round=1"], 2, "did you mean 'rounds'"),  # over the default league
        (
            ["--config", "CONFIG", "--set", "env.scenarios=self_play", "--set", "env.data_dir=nowhere"],
            2,
            "dond data fetch",
        ),
        (["--resume"], 2, "runs"),
        (["--config", "CONFIG", "--set", "logging.output_dir=CONFIG"], 1, "no run folder can be made"),
    ],
)
def test_errors_and_exit_codes(tmp_path, arguments, code, words):
    config = str(write_settings(tmp_path, 1))
    done = run(*[argument.replace("CONFIG", config) for argument in arguments], cwd=tmp_path)
    assert done.returncode == code and words in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").iterdir())


def test_other_machine_warns(finished):
    folder = finished[1]
    with sqlite3.connect(folder / "ledger.sqlite") as db:
        db.execute("""UPDATE notes SET value = replace(value, '"numpy": "', '"numpy": "0.') WHERE key = 'machine'""")
    db.close()
    done = run("--resume", folder)
    assert done.returncode == 0 and "started elsewhere: numpy 0." in done.stdout
