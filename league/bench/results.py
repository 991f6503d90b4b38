"""Results file of the benchmark: one sealed JSON line per submission, appended under a lock and checked when read.

The rows of several files can be stored in one Parquet table of their folder (:func:`store`), a tenth of the size. The
table has a row for each line: the name of its file, its cells, and everything else as JSON. Reading a file gives its
stored rows, then those of its lines, so that new measurements are appended as before. The files under ``docs/results``
are stored so.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dond_marl.errors import InputError, missing_library
from dond_marl.files import append_lines, finished_lines, read_row
from partners.rosters import DEV2, FORMER, load_rosters

FORMAT = 1  # of a line
DEFAULT = Path("runs/bench.jsonl")
SEALED_APART = ("sha256", "clock")  # keys that the checksum does not cover
STORED = "benchmark.parquet"  # in the folder of results files: their stored rows
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
    """The rows of the files, in order; a last line that was never finished is passed over.

    Rows that were measured when the roster dev2 was called test name it dev2, by the hash of its members.

    Raises :class:`ResultsError` for a file that is not there, and :class:`~dond_marl.errors.InputError` for a damaged
    line.
    """
    rows = []
    for path in paths:
        stored = read_stored(path)
        if not stored and not path.is_file():
            raise ResultsError(
                f"{path}: no such results file; `dond bench OCCUPANT --against dev --results {path}` writes it"
            )
        rows += [_rename_roster(row) for row in [*stored, *_read_lines(path)]]
    return rows


def _read_lines(path: Path) -> list[Row]:
    return [_check_line(text, path, number) for number, text in enumerate(finished_lines(path), start=1)]


def has_results(path: Path) -> bool:
    """Whether there is such a results file, or stored rows of it."""
    return path.is_file() or path.name in stored_names(path.parent)


def stored_names(folder: Path) -> list[str]:
    """The names of the files whose rows are stored in ``folder``. Raises :class:`MissingLibrary` without pyarrow."""
    path = folder / STORED
    if not path.is_file():
        return []
    return sorted(set(_arrow().parquet.read_table(path, columns=["file"])["file"].to_pylist()))


def read_stored(path: Path) -> list[Row]:
    """The stored rows of a results file; empty where its folder stores none of it.

    Raises :class:`ResultsError` for a damaged table, and :class:`MissingLibrary` without pyarrow.
    """
    table = path.parent / STORED
    rows = _rebuild(table, path.name) if table.is_file() else []
    return [_check_row(row, f"{table}, row {number} of {path.name}") for number, row in enumerate(rows, start=1)]


def _rebuild(table: Path, name: str) -> list[Row]:
    """The rows of a file in a table. Raises :class:`ResultsError` for a damaged table."""
    parquet = _arrow().parquet
    try:
        lines = parquet.read_table(table, filters=[("file", "==", name)]).to_pylist()
    except (ValueError, OSError) as error:  # the errors of pyarrow are of these kinds
        raise ResultsError(f"{table}: damaged ({error}); restore the file") from None
    return [{**json.loads(line["rest"]), "cells": [_cell(cell) for cell in line["cells"]]} for line in lines]


def _cell(stored: Row) -> Row:
    """A cell as its line had it: the table has nulls where a line lacks a margin, or the reference."""
    margin = {part: margin for part, margin in stored["margin"].items() if margin is not None}
    absent = ("reference", "reference_exact") if stored["reference_exact"] is None else ()
    return {**{key: value for key, value in stored.items() if key not in absent}, "margin": margin}


def store(paths: Iterable[Path]) -> None:
    """Move the lines of results files, all of one folder, to the table of that folder, and delete the files.

    The table keeps its other rows. Raises what :func:`read` raises, and :class:`ResultsError` where a row would not
    come back equal; then nothing is changed.
    """
    files = list(paths)
    (folder,) = {path.parent for path in files}
    by_file = {name: read_stored(folder / name) for name in stored_names(folder)}
    for path in files:
        by_file[path.name] = [*by_file.get(path.name, []), *_read_lines(path)]
    arrow = _arrow()
    lines = [
        {
            "file": file,
            "rest": json.dumps({key: value for key, value in row.items() if key != "cells"}, ensure_ascii=False),
            "cells": row["cells"],
        }
        for file, rows in sorted(by_file.items())
        for row in rows
    ]
    with TemporaryDirectory(dir=folder) as made:
        new = Path(made) / STORED
        table = arrow.Table.from_pylist(lines, _schema(cell for line in lines for cell in line["cells"]))
        arrow.parquet.write_table(table, new, compression="zstd", compression_level=12)
        for file, rows in by_file.items():
            if [digest(row) for row in _rebuild(new, file)] != [digest(row) for row in rows]:
                raise ResultsError(f"{folder / file}: a row cannot be stored without loss; leave the file as it is")
        new.replace(folder / STORED)
    for path in files:
        path.unlink()


def _schema(cells: Iterable[Row]) -> Any:
    """The columns of the table for these cells."""
    arrow = _arrow()
    text, integer, number = arrow.string(), arrow.int64(), arrow.float64()
    parts = dict.fromkeys(part for cell in cells for part in cell["points"])
    by_part = arrow.struct([(part, number) for part in parts])
    columns = {
        "partner": text,
        "seat": integer,
        "replicates": integer,
        "points": by_part,
        "margin": by_part,
        **dict.fromkeys(("left", "deal", "welfare"), number),
        "reference": by_part,
        "reference_exact": arrow.bool_(),
    }
    cell = arrow.struct(list(columns.items()))
    return arrow.schema([("file", text), ("rest", text), ("cells", arrow.list_(cell))])


def _arrow() -> Any:
    """The library pyarrow with its module for Parquet files; optional, and slow to import."""
    try:
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise missing_library(error, "a Parquet table of results") or error from error
    return pyarrow


def _rename_roster(row: Row) -> Row:
    benchmark, own = row["benchmark"], row["submission"]
    if (benchmark.get("roster"), benchmark.get("roster_sha256")) != (FORMER, load_rosters().hashes[DEV2]):
        return row
    met = str(own.get("met")).replace(f"none of the roster {FORMER}", f"none of the roster {DEV2}")
    return {**row, "benchmark": {**benchmark, "roster": DEV2}, "submission": {**own, "met": met}}


def check_writable(path: Path) -> None:
    """Raise :class:`ResultsError` where no line can be added to ``path``: before the games, not after them."""
    nearest = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    usable = nearest.is_file() if nearest == path else nearest.is_dir()
    if not usable or not os.access(nearest, os.W_OK):
        raise ResultsError(f"{path}: no results can be written there; name another file with --results")


def _check_line(text: bytes, path: Path, number: int) -> Row:
    """A line as plain values. Raises :class:`ResultsError`."""
    return _check_row(read_row(text, path, number), f"{path}, line {number}")


def _check_row(row: Row, where: str) -> Row:
    """The row, checked. Raises :class:`ResultsError`, which says where it stands."""
    if row.get("format") != FORMAT:
        raise ResultsError(f"{where}: no line of this build's benchmark (format {FORMAT}); measure it anew")
    if any(not isinstance(row.get(key), kind) for key, kind in KEYS.items()):
        raise ResultsError(f"{where}: damaged, it lacks one of {', '.join(KEYS)}; restore the file or delete that line")
    if seal_row(row)["sha256"] != row.get("sha256"):
        raise ResultsError(f"{where}: changed since it was written, its SHA-256 is another; measure it anew")
    return row
