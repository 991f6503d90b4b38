"""The command line as the tests use it: in this process, or in one of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from dond.cli.main import main
from experiments.__main__ import main as main_of_experiments

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = [sys.executable, "-m", "dond"]
HERE = {**os.environ, "PYTHONPATH": str(ROOT)}  # whatever is installed: these sources


def dond(*words: object, overrides: Iterable[str] = ()) -> int:
    """Its exit code."""
    return main([*map(str, words), *(word for override in overrides for word in ("--set", override))])


def experiment(*words: object, overrides: Iterable[str] = ()) -> int:
    """The exit code of ``python -m experiments``."""
    return main_of_experiments([*map(str, words), *(word for override in overrides for word in ("--set", override))])


def in_process(*words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run it here, where the heavy libraries are loaded already, and keep what it prints."""
    out, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(errors), chdir(cwd or Path.cwd()):
        code = dond(*words)
    return subprocess.CompletedProcess(["dond", *map(str, words)], code, out.getvalue(), errors.getvalue())


def played_league(folder: Path, settings: str) -> Path:
    """The run of a league that is played here, by ``settings`` whose FOLDER is that of its runs."""
    config = folder / "league.yaml"
    config.write_text(settings.replace("FOLDER", str(folder / "runs")))
    done = in_process("league", "--config", config, "--quiet")
    assert done.returncode == 0, done.stderr
    return folder / "runs" / "0001"


def run_dond(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run it in a process of its own."""
    options = {"env": HERE, **options}
    return subprocess.run([*PROGRAM, *map(str, words)], capture_output=True, text=True, check=False, **options)


def train_command(config: Path | None, overrides: Iterable[str] = (), resume: Path | None = None) -> int:
    """``dond train``; ``resume``: an empty path for the newest run."""
    words: list[object] = [] if config is None else ["--config", config]
    if resume is not None:
        words += ["--resume", *([resume] if resume != Path() else [])]
    return dond("train", *words, overrides=overrides)
