"""Stopping: whatever a command is doing, Ctrl-C and SIGTERM end it with a word, the right code and no half file."""

from __future__ import annotations

import os
import random
import re
import shlex
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from dond.cli.shell import dond
from dond.cli.stops import NOT_BEGUN
from league.ledger.ledger import Ledger
from tests.command import HERE, PROGRAM, run_dond
from tests.loopback import Page, Service, completion

SIGNALS = (signal.SIGINT, signal.SIGTERM)
NEVER = Page(delay=600.0)  # long after every test has given up: who waits for it has not heeded the stop
PATIENCE = 600.0  # seconds that a process may take to end here, however busy the machine is
TRAINING = """
env: {scenarios: lewis, split: train, max_turns: 4}
training: {rollout: 10, num_envs: 4, minibatch: 16, epochs: 1, hidden: [8], num_train_steps: 40, seed: 3}
logging: {output_dir: FOLDER, tensorboard: false}
"""
FEW = ("--set", "hints.closing_scenarios=3")
LEAGUE = """
env: {max_turns: 2}
members: [tough, nice]
learners: [{name: main, hidden: [8], rollout: 2, num_envs: 16, minibatch: 64, epochs: 1, decisions: 60}]
heldout: [conceder]
league: {rounds: 3, block_size: 8}
logging: {output_dir: FOLDER, tensorboard: false}
"""


@pytest.fixture
def model(monkeypatch) -> Iterator[Callable[[Callable[[int], Page]], Service]]:
    """Makes a language model's service out of what it answers to each request, counted from 0."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    services: list[Service] = []

    def make(answer: Callable[[int], Page]) -> Service:
        services.append(Service(lambda _heard, number: answer(number)))
        return services[-1]

    yield make
    for service in services:
        service.close()


def settings(folder: Path, text: str) -> Path:
    path = folder / "settings.yaml"
    path.write_text(text.replace("FOLDER", str(folder / "runs")))
    return path


def start(*words: object, program: Sequence[object] = PROGRAM) -> subprocess.Popen[str]:
    environment = {**HERE, **{key: os.environ[key] for key in ("NO_PROXY",) if key in os.environ}}
    command = [*map(str, (*program, *words))]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def wait_for(happened: Callable[[], object], process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + PATIENCE
    while not happened():
        assert process.poll() is None and time.monotonic() < until, process.communicate()
        time.sleep(0.01)


def stopped(process: subprocess.Popen[str], number: signal.Signals, folder: Path, times: int = 1) -> tuple[str, str]:
    """Send the signal, ``times`` times; what the process said in ending as it should."""
    for _ in range(times):
        process.send_signal(number)
    out, errors = process.communicate(timeout=PATIENCE)
    said_all(process, number, folder, out, errors)
    return out, errors


def said_all(process: subprocess.Popen[str], number: signal.Signals, folder: Path, out: str, errors: str) -> None:
    assert process.returncode == 128 + number, (out, errors)
    assert "Traceback" not in out + errors and "Exception ignored" not in errors
    assert len(errors.strip().splitlines()) == 1 and "stopped" in errors
    assert not [path for path in folder.rglob("*") if path.name.endswith((".tmp", ".new"))]


def stopped_at_random(process: subprocess.Popen[str], number: signal.Signals, folder: Path, wait: float) -> bool:
    """Whether a stop after ``wait`` seconds found the process at work; otherwise its work was over, and well."""
    wait_for(lambda: catches(process), process)
    time.sleep(wait)
    process.send_signal(number)
    out, errors = process.communicate(timeout=PATIENCE)
    if process.returncode in (0, -number):  # Python is past its end: it has let go of the handlers
        assert not errors
        return False
    said_all(process, number, folder, out, errors)
    return True


def catches(process: subprocess.Popen[str]) -> bool:
    """Whether the process has handlers of its own for both signals."""
    found = re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{process.pid}/status").read_text())
    return found is not None and all(int(found[1], 16) >> (number - 1) & 1 for number in SIGNALS)


def test_commands_are_named_as_the_shell_finds_them(monkeypatch, tmp_path):
    folder = tmp_path / "a b"
    folder.mkdir()
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shlex.split(dond("train", 1)) == [str(folder / "python"), "-m", "dond_marl", "train", "1"]
    (folder / "dond").touch(0o755)
    assert shlex.split(dond("report", "--run", "x y")) == [str(folder / "dond"), "report", "--run", "x y"]
    monkeypatch.chdir(folder)
    assert dond("train") == "dond train" or shlex.split(dond("train"))[0] == "./dond"
    monkeypatch.setenv("PATH", str(folder))
    assert dond("train") == "dond train"


# -- moments ---------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("number", SIGNALS)
def test_a_stop_in_start_up_is_heeded_before_anything_is_begun(tmp_path, number):
    process = start("league", "--config", settings(tmp_path, LEAGUE))
    wait_for(lambda: catches(process), process)
    _, errors = stopped(process, number, tmp_path)
    assert NOT_BEGUN in errors and not (tmp_path / "runs").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_stop_is_heeded_while_a_model_is_waited_for(tmp_path, model, number):
    service = model(lambda _: NEVER)
    spec = f"llm(provider=openai, base_url='{service.url}', model=m)"
    process = start(
        "evaluate", "--member", spec, "--against", "heuristic", "--sample", 5, "--json", tmp_path / "e.json"
    )
    wait_for(lambda: service.heard, process)
    stopped(process, number, tmp_path, times=3)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM])
def test_signals_without_end_change_nothing_about_the_end(tmp_path, model, number):
    service = model(lambda _: NEVER)
    spec = f"llm(provider=openai, base_url='{service.url}', model=m)"
    process = start("evaluate", "--member", spec, "--against", "heuristic", "--sample", 5)
    wait_for(lambda: service.heard, process)
    while process.poll() is None:
        process.send_signal(number)
        time.sleep(0.001)
    out, errors = process.communicate(timeout=PATIENCE)
    said_all(process, number, tmp_path, out, errors)


def test_a_stop_is_heeded_while_hints_are_waited_for_and_the_last_whole_update_is_kept(tmp_path, model):
    asked = 40  # in the first update or the second, and then no more is answered
    service = model(lambda number: completion() if number < asked else NEVER)
    hints = f"hints={{mode: llm, provider: openai, models: {{openai: m}}, options: {{base_url: '{service.url}'}}}}"
    more = ["--set", hints, "--set", "training.num_train_steps=100000"]
    process = start("train", "--config", settings(tmp_path, TRAINING), *more)
    wait_for(lambda: len(service.heard) > asked, process)
    out, errors = stopped(process, signal.SIGTERM, tmp_path, times=3)  # they lose no more than one does
    assert "100,000 hints" in out
    assert "--resume" in errors
    saved = re.search(r"saved after ([\d,]+) decisions", errors)
    kept = list((tmp_path / "runs" / "0001" / "checkpoints").glob("*.json"))
    assert [int(path.stem.split("_")[1]) for path in kept] == ([int(saved[1].replace(",", ""))] if saved else [])


def test_the_closing_evaluation_under_a_models_hints_is_announced_bounded_and_stopped(tmp_path, model):
    closing: list[int] = []
    service = model(lambda number: NEVER if closing and number > closing[0] else completion())
    hints = f"hints={{mode: llm, provider: openai, models: {{openai: m}}, options: {{base_url: '{service.url}'}}}}"
    process = start("train", "--config", settings(tmp_path, TRAINING), "--set", hints, *FEW)
    assert process.stdout is not None
    announced = ""
    while "hints.closing_scenarios=3" not in announced:
        announced += process.stdout.readline()
    assert "12 games" in announced
    closing.append(len(service.heard))
    wait_for(lambda: len(service.heard) > closing[0], process)
    assert "--resume" in stopped(process, signal.SIGTERM, tmp_path)[1]


# -- what Python cannot do by itself ---------------------------------------------------------------------------------

NOTHING = "nothing is written"
HARD = {
    "while a library computes": "import hashlib; hashlib.pbkdf2_hmac('sha256', b'', b'', 2**31 - 1)",
    "in a finalizer, again and again": """
        class Slow:
            def __del__(self):
                time.sleep(0.1)
        while True:
            Slow()
    """,
    "where every exception is swallowed": """
        while True:
            try:
                time.sleep(0.1)
            except BaseException:
                pass
    """,
}


@pytest.mark.parametrize("moment", HARD)
def test_a_stop_is_heeded_where_an_exception_comes_late_or_is_lost(tmp_path, moment):
    script = tmp_path / "hard.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys, time
            from dond.cli.stops import STOPS
            STOPS.handle_from_the_start()
            import click
            from dond.cli.shell import Command, run

            @click.command(cls=Command, interrupted="{NOTHING}")
            def command():
                print("begun", flush=True)
            """.replace("{NOTHING}", NOTHING)
        )
        + textwrap.indent(textwrap.dedent(HARD[moment]).strip(), "    ")
        + "\n\nsys.exit(run(command))\n"
    )
    process = start(program=[sys.executable, script])
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    assert NOTHING in stopped(process, signal.SIGTERM, tmp_path)[1]


# -- twenty moments each ---------------------------------------------------------------------------------------------


def league_of(folder: Path) -> str:
    with Ledger(folder / "ledger.sqlite") as ledger:
        return ledger.fingerprint()


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("number", SIGNALS)
def test_a_league_stopped_at_twenty_moments_from_its_start_to_its_end_is_the_same_league(tmp_path, number):
    whole, draw = tmp_path / "whole", random.Random(number)
    whole.mkdir()
    began = time.monotonic()
    assert run_dond("league", "--config", settings(whole, LEAGUE)).returncode == 0
    took, ends = time.monotonic() - began, 0
    for _ in range(20):
        folder = tmp_path / "stopped" / "runs" / "0001"
        folder.parents[1].mkdir(exist_ok=True)
        words = ["--resume", folder] if folder.exists() else ["--config", settings(folder.parents[1], LEAGUE)]
        ends += not stopped_at_random(start("league", *words), number, tmp_path, draw.random() * took)
        if ends == 5:
            break
    assert run_dond("league", "--resume", folder).returncode == 0
    assert league_of(folder) == league_of(whole / "runs" / "0001")
    assert (folder / "evaluation.json").is_file()


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "words",
    [
        ["report", "--run", "RUN", "--out", "OUT/report.html"],
        ["evaluate", "--run", "RUN", "--json", "OUT/e.json"],
        ["evaluate", "--member", "tough", "--against", "nice", "--probe", "--json", "OUT/e.json"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_command_stopped_at_twenty_moments_leaves_no_half_file(tmp_path, words):
    assert run_dond("league", "--config", settings(tmp_path, LEAGUE)).returncode == 0
    places = {"RUN": tmp_path / "runs" / "0001", "OUT": tmp_path / "out"}
    (tmp_path / "out").mkdir()
    for place, path in places.items():
        words = [word.replace(place, str(path)) for word in words]
    began, draw, heeded = time.monotonic(), random.Random(1), 0
    assert run_dond(*words).returncode == 0
    took = time.monotonic() - began
    for moment in range(20):
        heeded += stopped_at_random(start(*words), SIGNALS[moment % 2], tmp_path, draw.random() * took)
    assert heeded
