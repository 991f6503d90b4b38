"""What is done is kept in a folder, named by all that it is a function of: who was stopped goes on with the rest."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dond_marl import __version__
from dond_marl.records.files import write_atomically
from league.ledger.run_directory import source_commit


def place(folder: Path, what: Mapping[str, Any]) -> Path:
    """The file of whatever is a function of these plain values."""
    return folder / f"{hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]}.json"


def read(path: Path) -> dict[str, Any] | None:
    """What was kept; ``None`` where nothing is, or what is there is damaged, so that it is done anew."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def write(path: Path, document: Mapping[str, Any]) -> None:
    """Keep plain values, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(document) + "\n")


def made_now(*packages: str) -> dict[str, Any]:
    """The ``date`` and ``versions`` of figures that are made now: ours with its commit, Python's and the packages'.

    They are kept beside the figures: who goes on another day, or with other versions, says so of the new ones alone.
    """
    own = {"dond-marl": __version__, "commit": source_commit()["commit"], "python": platform.python_version()}
    today = datetime.now(UTC).date().isoformat()
    return {"date": today, "versions": own | {name: version(name) for name in packages}}
