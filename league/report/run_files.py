"""The files that the end of a league writes into its folder: ratings, the meta-game and the final evaluation.

They take seconds to minutes to compute, so a report reads them; where one is missing it names the command that
makes it.
"""

from __future__ import annotations

import csv
import hashlib
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from league.evaluation.as_json import FINAL_FILE
from league.ledger.run_directory import SETTINGS
from league.standings.as_csv import META_GAME_FILE, RATINGS_FILE, as_named

LARGEST = 64 * 2**20  # bytes of one file that are read


class RunFiles(NamedTuple):
    """The documents; where one is ``None``, ``why`` says what is the matter."""

    ratings: list[dict[str, str]] | None
    meta_game: dict[str, Any] | None
    evaluation: dict[str, Any] | None
    why: dict[str, str]  # by file
    sha256: dict[str, str]  # by file


def run_files(folder: Path, *, over: bool, evaluates: bool, mains: bool) -> RunFiles:
    """Read the files in ``folder``.

    ``over``: all rounds are played; ``evaluates``: the league writes the files at its end; ``mains``: it has a
    member to evaluate.
    """
    why: dict[str, str] = {}
    sha256: dict[str, str] = {}

    def read(name: str, parse: Callable[[str], Any]) -> Any:
        path = folder / name
        command = _command(folder, name, evaluates)
        if not over:
            again = f"dond league --resume {shlex.quote(str(folder))}"
            why[name] = f"The league is not over: the file is written at its end. Go on with: {again}"
            return None
        if not path.is_file():
            why[name] = f"Not made for this run. Make it with: {command}"
            return None
        content = path.read_bytes() if path.stat().st_size <= LARGEST else b""
        try:
            parsed = parse(content.decode("utf-8"))
        except ValueError:  # UnicodeDecodeError and JSONDecodeError are ones
            why[name] = f"{name} is damaged. Make it again with: {command}"
            return None
        sha256[name] = hashlib.sha256(content).hexdigest()
        return parsed

    ratings, meta_game = read(RATINGS_FILE, _ratings), read(META_GAME_FILE, _document)
    evaluation = read(FINAL_FILE, _document)
    if not mains and evaluation is None:
        why[FINAL_FILE] = "Nobody to evaluate: no member of this league learns for itself."
    return RunFiles(ratings, meta_game, evaluation, why, sha256)


def _ratings(text: str) -> list[dict[str, str]]:
    rows = list(csv.DictReader(text.splitlines()))
    if not rows or not {"member", "take"} <= rows[0].keys() or any(None in row or None in row.values() for row in rows):
        raise ValueError
    return [{**row, "member": as_named(row["member"])} for row in rows]


def _document(text: str) -> dict[str, Any]:
    document = json.loads(text)
    if not isinstance(document, dict):
        raise ValueError
    return document


def _command(folder: Path, name: str, evaluates: bool) -> str:
    run = shlex.quote(str(folder))
    if name == FINAL_FILE:
        return f"dond evaluate --run {run} --json {shlex.quote(str(folder / name))}"
    again = f"dond league --resume {run}"
    return again if evaluates else f"{again} --config {shlex.quote(str(folder / SETTINGS))} --set league.evaluate=true"
