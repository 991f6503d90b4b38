"""Killing a run again and again, for the tests of resume."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.command import in_process

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "league.py"


def command(*arguments: object) -> list[str]:
    return [sys.executable, str(SCRIPT), *map(str, arguments)]


def run(*arguments: object, cwd: Path | None = None, env: Any = None) -> subprocess.CompletedProcess[str]:
    """``dond league`` to its end: in this process, which has PyTorch loaded; in one of its own with ``env``."""
    if env is not None:
        return subprocess.run(command(*arguments), capture_output=True, text=True, check=False, cwd=cwd, env=env)
    return in_process("league", *arguments, cwd=cwd)


def killed_and_resumed(whole: Path, killed: Path, folder: Path, kills: int, rounds: int) -> None:
    """Play the league of config ``whole`` at one go and that of ``killed``, whose run is ``folder``, through ``kills``.

    The kills are spread at random over the run's rounds, and over the time that a round takes.
    """
    began = time.monotonic()
    assert run("--config", whole).returncode == 0
    a_round = (time.monotonic() - began) / rounds
    draw, struck = random.Random(kills), 0
    for moment in sorted(draw.randrange(rounds - 1) for _ in range(kills)):
        resume = ["--resume", folder] if folder.is_dir() else []
        process = subprocess.Popen(
            command("--config", killed, *resume), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        while process.poll() is None and committed(folder) < moment:
            time.sleep(0.02)
        time.sleep(draw.uniform(0, a_round))
        struck += process.poll() is None
        process.kill()
        _, errors = process.communicate()
        assert b"Traceback" not in errors, errors.decode()
    done = run("--config", killed, *(["--resume", folder] if folder.is_dir() else []))
    assert done.returncode == 0, done.stderr
    assert struck > kills / 2, f"only {struck} of {kills} kills struck a run that was not over"


KILLER = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from league.ledger.run_directory import new_run
from league.rounds.runner import run_league
from league.settings.read import load_config

where = sys.argv[3]
MATCHES = {"first match": (0, 1), "mid round": (1, 9), "after the last match": (2, 21)}

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

class Killer:
    def on_open(self, *_): pass
    def tick(self): pass
    def on_analysis(self, *_): pass
    def on_step(self, *_): pass
    def warn(self, *_): pass
    def on_match(self, progress, result):
        if (progress.rounds, progress.matches) == MATCHES.get(where):
            die()
    def on_practice(self, *_): pass
    def on_commit(self, progress, standings):
        if where == "after a commit" and progress.rounds == 2:
            die()

config = load_config(sys.argv[2])
run_league(config, new_run(Path(config.logging.output_dir)), Killer())
"""


def kill_at(moment: str, config: Path) -> None:
    """Play the league of ``config`` in a process that kills itself at a moment of :data:`KILLER`."""
    arguments = [sys.executable, "-c", KILLER, str(SCRIPT.parents[1]), str(config), moment]
    assert subprocess.run(arguments, check=False).returncode == -signal.SIGKILL


def committed(folder: Path) -> int:
    """How many rounds the ledger of a run holds."""
    try:
        with closing(sqlite3.connect(f"file:{folder / 'ledger.sqlite'}?mode=ro", uri=True)) as ledger:
            return int(ledger.execute("SELECT count(*) FROM rounds").fetchone()[0])
    except sqlite3.OperationalError:  # not there yet, or not a table yet
        return 0
