"""How a run was started: when, by which command line, from which source, on how many cores.

A ledger keeps it as a note, which no seal and no fingerprint covers: the same settings and seed come to the same rows
whenever and wherever they are played.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dond_marl import __version__

SOURCES = ("dond_marl", "hints", "partners", "league")  # the folders whose changes may change figures


def origin(cores: int) -> str:
    """The note of a run that begins now, as JSON; ``cores``: how many this process may use."""
    started = datetime.now(UTC).isoformat(" ", "seconds").replace("+00:00", " UTC")
    known = {"started": started, "command": command_line(sys.argv), "version": __version__, "cores": cores}
    return json.dumps({**known, **commit()}, sort_keys=True)


def command_line(words: Sequence[str]) -> str:
    """The words that a process was started with, as a shell takes them; where the program lies is left out."""
    program, *words = words
    path = Path(program)
    if path.name == "__main__.py":
        start = ["python", "-m", path.parent.name]
    else:
        script = path.name if path.is_absolute() else str(path)
        start = ["python", script] if path.suffix == ".py" else [path.name]
    return shlex.join([*start, *words])


def commit() -> dict[str, Any]:
    """The commit of the checkout that this is, and whether its sources were changed since; nothing without one."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return {"commit": None}
    try:
        head = subprocess.run(  # constants
            ["git", "rev-parse", "HEAD"],  # noqa: S607  # the user's own git
            cwd=root, capture_output=True, text=True, check=True,
        ).stdout.strip()  # fmt: skip
        changed = subprocess.run(  # noqa: S603  # constants
            ["git", "status", "--porcelain", "--untracked-files=no", "--", *SOURCES],  # noqa: S607  # the same
            cwd=root, capture_output=True, text=True, check=True,
        ).stdout.strip()  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return {"commit": None}
    return {"commit": head, "changed_since": bool(changed)}
