"""What is done is kept in a folder, named by all that it is a function of: who was stopped goes on with the rest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dond_marl.records.files import write_whole


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
    write_whole(path, json.dumps(document) + "\n")
