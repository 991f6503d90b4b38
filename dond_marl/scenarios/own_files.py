"""Scenarios in a file of one's own: a CSV table, JSON lines, Parquet, or the lines of OpenSpiel's ``bargaining``.

==========================  ==========================================================================================
``.csv``                    a header with the nine :data:`COLUMNS`, in any order, and a scenario per row
``.jsonl``, ``.parquet``    rows ``{"counts": [1, 2, 2], "utilities": [[4, 1, 2], [0, 4, 1]]}``, or those of
                            deal_or_no_dialog on the Hugging Face Hub: ``input`` and ``partner_input`` with ``count``
                            and ``value``; without ``partner_input`` two rows are the two seats of one game
``.txt``                    ``1,2,2 4,1,2 0,4,1``: items, then both seats' values (OpenSpiel's
                            ``bargaining_instances1000.txt``)
==========================  ==========================================================================================
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dond_marl.errors import InputError, require_library
from dond_marl.files import read_bytes, user_path
from dond_marl.game import ITEMS, MAX_COUNT, MAX_VALUE, Scenario
from dond_marl.scenarios.data import Tables

SUFFIXES = (".csv", ".jsonl", ".parquet", ".txt")
COLUMNS = (*(f"{item}s" for item in ITEMS), *(f"{item}_value_{seat}" for seat in (0, 1) for item in ITEMS))
MAX_BYTES = 64 * 2**20


class ScenarioFileError(InputError):
    """A file of scenarios that is missing, too large, or has a row that is no scenario."""


def is_file_name(scenarios: object) -> bool:
    """Whether a scenario source is named by a file: by its suffix alone."""
    return isinstance(scenarios, str) and Path(scenarios).suffix in SUFFIXES


def read_scenarios(name: str) -> Tables:
    """The scenarios of a file, in its order, at least one: counts ``[N, 3]``, utilities ``[N, 2, 3]``, int8.

    The file is read again when it has changed.

    Raises :class:`ScenarioFileError`, and :class:`~dond_marl.errors.MissingLibrary` for Parquet without pyarrow.
    """
    path = user_path(name)
    try:
        stat = path.stat()
        return _read(path, stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise ScenarioFileError(f"{path}: the scenarios cannot be read ({error.strerror or error})") from None


@lru_cache(maxsize=8)
def _read(path: Path, _mtime: int, _size: int) -> Tables:
    content, games = read_bytes(path, MAX_BYTES), list[Scenario]()
    number = 1 if path.suffix == ".csv" else 0  # of the row that was read last, header included
    try:
        for number, game in _games(path.suffix, content):  # noqa: B007  # in the message
            games.append(game)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        mistake = f"there is no {error}" if isinstance(error, KeyError) else error
        raise ScenarioFileError(
            f"{path}, row {number + 1}: is no scenario: {mistake}. Counts are 0..{MAX_COUNT}, values 0..{MAX_VALUE}; "
            "docs/DATA.md has the layouts"
        ) from None
    if not games:
        raise ScenarioFileError(f"{path}: holds no scenario; docs/DATA.md has the layouts")
    read = np.array([g.counts for g in games], dtype=np.int8), np.array([g.utilities for g in games], dtype=np.int8)
    for table in read:
        table.flags.writeable = False
    return read


def _games(suffix: str, content: bytes) -> Iterator[tuple[int, Scenario]]:
    """Each scenario with the number from 1 of its last row, header included."""
    if suffix == ".parquet":
        yield from _named(_parquet_rows(content))
        return
    lines = content.decode().rstrip().splitlines()
    if suffix == ".jsonl":
        yield from _named(map(json.loads, lines))
    elif suffix == ".csv":
        for number, row in enumerate(csv.DictReader(lines), start=2):
            numbers = [int(row[column]) for column in COLUMNS]
            yield number, Scenario(numbers[:3], (numbers[3:6], numbers[6:]))  # type: ignore[arg-type]  # it checks
    else:
        for number, line in enumerate(lines, start=1):
            pool, *values = ([int(word) for word in part.split(",")] for part in line.split())
            yield number, Scenario(pool, values)  # type: ignore[arg-type]  # it checks


def _named(rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[int, Scenario]]:
    """The scenarios of rows of our own names, or of deal_or_no_dialog's."""
    numbered = enumerate(rows, start=1)
    for number, row in numbered:
        if "input" not in row:
            yield number, Scenario(row["counts"], row["utilities"])
            continue
        partner = row.get("partner_input")
        if partner is None:
            number, second = next(numbered, (number, {}))
            partner = second["input"]
        if row["input"]["count"] != partner["count"]:
            raise ValueError(f"both seats share one pool; got {row['input']['count']} and {partner['count']}")
        yield number, Scenario(row["input"]["count"], (row["input"]["value"], partner["value"]))


def _parquet_rows(content: bytes) -> list[dict[str, Any]]:
    require_library("pyarrow", "a Parquet file of scenarios")
    import pyarrow
    from pyarrow import parquet

    try:
        table = parquet.read_table(pyarrow.BufferReader(content))
    except pyarrow.ArrowException as error:
        raise ValueError(error) from None
    names = [name for name in table.column_names if name in ("counts", "utilities", "input", "partner_input")]
    rows: list[dict[str, Any]] = table.select(names).to_pylist()
    return rows
