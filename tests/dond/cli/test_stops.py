"""Ctrl-C and SIGTERM: a sentence, the exit code of the signal, and no half-written file."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from dond.cli.shell import dond
from dond.cli.stops import NOT_BEGUN
from tests.command import HERE, PROGRAM, in_process
from tests.loopback import Page, Service, completion

SIGNALS = (signal.SIGINT, signal.SIGTERM)
NEVER = Page(delay=600.0)  # longer than any test
PATIENCE = 600.0  # seconds that a process may take to end here, however busy the machine is
TRAINING = """
env: {scenarios: lewis, split: train, max_turns: 4}
training: {rollout: 10, num_envs: 4, minibatch: 16, epochs: 1, hidden: [8], num_train_steps: 40, seed: 3}
logging: {output_dir: FOLDER, tensorboard: false}
"""
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
    """A function that starts a language model's service with an answer for each request, counted from 0."""
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


def stop(process: subprocess.Popen[str], number: signal.Signals, folder: Path) -> tuple[str, str]:
    """Send the signal; the output and errors of a process that ends as it should."""
    process.send_signal(number)
    out, errors = process.communicate(timeout=PATIENCE)
    check_end(process, number, folder, out, errors)
    return out, errors


def check_end(process: subprocess.Popen[str], number: signal.Signals, folder: Path, out: str, errors: str) -> None:
    assert process.returncode == 128 + number, (out, errors)
    assert "Traceback" not in out + errors and "Exception ignored" not in errors
    assert len(errors.strip().splitlines()) == 1 and "stopped" in errors
    assert not [path for path in folder.rglob("*") if path.name.endswith((".tmp", ".new"))]


def catches(process: subprocess.Popen[str]) -> bool:
    """Whether the process has handlers of its own for both signals."""
    mask = re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{process.pid}/status").read_text())
    return mask is not None and all(int(mask[1], 16) >> (number - 1) & 1 for number in SIGNALS)


def test_suggested_commands_name_the_program_as_the_shell_finds_it(monkeypatch, tmp_path):
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
def test_a_stop_during_start_up(tmp_path, number):
    process = start("league", "--config", settings(tmp_path, LEAGUE))
    wait_for(lambda: catches(process), process)
    _, errors = stop(process, number, tmp_path)
    assert NOT_BEGUN in errors and not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_a_stop_during_a_query_for_hints_saves_the_last_whole_update(tmp_path, model):
    asked = 40  # in the first update or the second, and then no more is answered
    service = model(lambda number: completion() if number < asked else NEVER)
    hints = f"hints={{mode: llm, provider: openai, models: {{openai: m}}, options: {{base_url: '{service.url}'}}}}"
    more = ["--set", hints, "--set", "training.num_train_steps=100000"]
    process = start("train", "--config", settings(tmp_path, TRAINING), *more)
    wait_for(lambda: len(service.heard) > asked, process)
    out, errors = stop(process, signal.SIGTERM, tmp_path)
    assert "100,000 hints" in out
    assert "--resume" in errors
    saved = re.search(r"saved after ([\d,]+) decisions", errors)
    kept = list((tmp_path / "runs" / "0001" / "checkpoints").glob("*.json"))
    assert [int(path.stem.split("_")[1]) for path in kept] == ([int(saved[1].replace(",", ""))] if saved else [])


# -- a second signal -------------------------------------------------------------------------------------------------

LOST = """
import sys, time
from dond.cli.stops import STOPS
STOPS.listen()
import click
from dond.cli.shell import Command, run

@click.command(cls=Command, interrupted="nothing is written")
def command():
    while True:
        try:
            print("begun", flush=True)
            time.sleep(1000)
        except BaseException:
            print("lost", flush=True)

sys.exit(run(command))
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_second_signal_ends_the_process_at_once(tmp_path, number):
    script = tmp_path / "lost.py"
    script.write_text(LOST)
    process = start(program=[sys.executable, script])
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    process.send_signal(number)
    assert [process.stdout.readline() for _ in range(2)] == ["lost\n", "begun\n"]
    assert "nothing is written" in stop(process, number, tmp_path)[1]


# -- ``dond serve``: occupants served in a process of its own, until it is stopped-------------------------------


def started(*names: str) -> tuple[subprocess.Popen[str], int]:
    """The process, and the port that it says."""
    command = [*PROGRAM, "serve", *names, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=HERE)
    assert process.stdout is not None
    address = re.search(r"at http://127\.0\.0\.1:(\d+)/v1; Ctrl-C stops it", process.stdout.readline())
    assert address, process.communicate()
    return process, int(address[1])


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_it_serves_until_it_is_stopped_also_while_a_client_is_connected():
    process, port = started("heuristic", "boulware(exponent=4)")
    with closing(HTTPConnection("127.0.0.1", port)) as client:
        client.request("GET", "/v1/models")
        told = json.loads(client.getresponse().read())
        assert [model["id"] for model in told["data"]] == ["heuristic", "boulware(exponent=4)"]
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=600)
    assert process.returncode == 128 + signal.SIGINT
    assert errors.strip().startswith("stopped: ") and len(errors.strip().splitlines()) == 1
    with pytest.raises(OSError, match=r"refused|Connection"):
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{port}/v1/models")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Missing argument 'OCCUPANT...'"),
        (["human(interface='dond.table.game:Terminal')"], "cannot be served: it needs a person"),
    ],
)
def test_a_mistake_is_one_sentence(words, said):
    result = in_process("serve", *words)
    assert result.returncode == 2 and said in result.stderr and len(result.stderr.splitlines()) == 1
