"""Results file of the benchmark: one sealed JSON line per submission, appended under a lock and checked when read.

The lines of a file can be compressed to one of its name with ``.xz`` (:func:`store`), a tenth of the size. Reading a
file gives its compressed rows, then those of its lines, so that new measurements are appended as before. The files
under ``docs/results`` are compressed.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from dond_marl.errors import InputError, quote
from dond_marl.files import append_lines, finished_lines, read_row
from dond_marl.records.files import write_durably
from partners.rosters import DEV2, FORMER, load_rosters

FORMAT = 1  # of a line
DEFAULT = Path("runs/bench.jsonl")
SEALED_APART = ("sha256", "clock")  # keys that the checksum does not cover
KEYS = {"submission": dict, "benchmark": dict, "code": dict, "figures": dict, "cells": list, "answers": dict}
Row = dict[str, Any]


class ResultsError(InputError):
    """A results file that is missing or damaged; the message names the line."""


def digest(document: Mapping[str, Any]) -> str:
    """The SHA-256 of plain values."""
    return hashlib.sha256(json.dumps(document, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def seal_row(row: Mapping[str, Any]) -> Row:
    """The line with the checksum of everything in it but the clock: equal for equal measurements."""
    content = {key: value for key, value in row.items() if key not in SEALED_APART}
    clock = {"clock": row["clock"]} if "clock" in row else {}
    return {**content, "sha256": digest(content), **clock}


def append(path: Path, row: Mapping[str, Any], check: Callable[[bytes, Path, int], object] | None = None) -> int:
    """Add a line, and return the number of earlier ones, see :func:`~dond_marl.files.append_lines`.

    ``check`` is called with each earlier line, the file and the line's number; by default it raises
    :class:`~dond_marl.errors.InputError` where one is damaged: nothing is added to a file that cannot be read.
    """
    line = json.dumps(row, ensure_ascii=False, allow_nan=False)
    return len(append_lines(path, [line], check or _check_line))


def read(paths: Iterable[Path]) -> list[Row]:
    """The rows of the files, and of those ending in ``.jsonl`` in a folder, in order.

    A last line that was never finished is passed over.
    Rows that were measured when the roster dev2 was called test name it dev2, by the hash of its members.

    Raises :class:`ResultsError` for a file that is not there, and :class:`~dond_marl.errors.InputError` for a damaged
    line.
    """
    rows = []
    for path in chain.from_iterable(sorted(path.glob("*.jsonl")) if path.is_dir() else [path] for path in paths):
        if not has_results(path):
            raise ResultsError(
                f"{path}: no such results file; `dond bench OCCUPANT --against dev --results {path}` writes it"
            )
        for file, lines in ((compressed(path), _compressed_lines(path)), (path, finished_lines(path))):
            rows += [_rename_roster(_check_line(line, file, number)) for number, line in enumerate(lines, start=1)]
    return rows


def has_results(path: Path) -> bool:
    """Whether there is such a results file, or one that was compressed."""
    return path.is_file() or compressed(path).is_file()


def compressed(path: Path) -> Path:
    """The file that :func:`store` compresses a results file to."""
    return path.with_name(f"{path.name}.xz")


def _compressed_lines(path: Path) -> list[bytes]:
    """The compressed lines of a results file; none where there are none. Raises :class:`ResultsError` for damage."""
    source = compressed(path)
    try:
        return lzma.decompress(source.read_bytes()).splitlines(keepends=True) if source.is_file() else []
    except lzma.LZMAError as error:
        raise ResultsError(f"{source}: damaged ({error}); restore the file") from None


def submit(rows: Iterable[Row], name: str, by: str, command: str, folder: Path) -> Path:
    """Write the rows of the arm ``name`` to a file of ``folder``, signed off; a results file that :func:`read` reads.

    ``by``: who signs them off. ``command``: how they were measured. Raises :class:`ResultsError` where there are none
    or they are of sources that no commit holds.
    """
    rows = list(rows)
    chosen = [row for row in rows if row["submission"]["name"] == name]
    if not chosen:
        names = ", ".join(sorted({row["submission"]["name"] for row in rows})) or "none"
        raise ResultsError(f"no row is called {quote(name)}; there are {names}")
    if any(row["code"].get("changed_since") for row in chosen):
        raise ResultsError(f"{name} was measured by sources that no commit holds; commit them and measure it anew")
    if not (by.strip() and command.strip()):
        raise ResultsError("--by and --command are texts: who signs the rows off, and how they were measured")
    signed = [seal_row({**row, "signed_off": {"by": by, "command": command}}) for row in chosen]
    stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "arm"
    path = folder / f"{stem}-{digest({'rows': [row['sha256'] for row in signed]})[:8]}.jsonl"
    path.unlink(missing_ok=True)
    for row in signed:
        append(path, row)
    return path


def store(paths: Iterable[Path]) -> None:
    """Compress the lines of results files, after those that were compressed before, and delete the files.

    Raises what :func:`read` raises; then nothing of that file is changed.
    """
    for path in paths:
        read([path])
        lines = [*_compressed_lines(path), *(line.strip() + b"\n" for line in finished_lines(path))]
        write_durably(compressed(path), lzma.compress(b"".join(lines)))
        path.unlink()


def _rename_roster(row: Row) -> Row:
    benchmark, submission = row["benchmark"], row["submission"]
    if (benchmark.get("roster"), benchmark.get("roster_sha256")) != (FORMER, load_rosters().hashes[DEV2]):
        return row
    met = str(submission.get("met")).replace(f"none of the roster {FORMER}", f"none of the roster {DEV2}")
    return {**row, "benchmark": {**benchmark, "roster": DEV2}, "submission": {**submission, "met": met}}


def check_writable(path: Path) -> None:
    """Raise :class:`ResultsError` where no line can be added to ``path``: before the games, not after them."""
    nearest = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    usable = nearest.is_file() if nearest == path else nearest.is_dir()
    if not usable or not os.access(nearest, os.W_OK):
        raise ResultsError(f"{path}: no results can be written there; name another file with --results")


def _check_line(text: bytes, path: Path, number: int) -> Row:
    """A line as plain values. Raises :class:`ResultsError`."""
    row, where = read_row(text, path, number), f"{path}, line {number}"
    if row.get("format") != FORMAT:
        raise ResultsError(f"{where}: no line of this build's benchmark (format {FORMAT}); measure it anew")
    if any(not isinstance(row.get(key), kind) for key, kind in KEYS.items()):
        raise ResultsError(f"{where}: damaged, it lacks one of {', '.join(KEYS)}; restore the file or delete that line")
    if seal_row(row)["sha256"] != row.get("sha256"):
        raise ResultsError(f"{where}: changed since it was written, its SHA-256 is another; measure it anew")
    return row
