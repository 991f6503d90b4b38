"""The tables of :mod:`league.tables.exported` as files: Parquet, CSV or JSON lines; and as pandas frames."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dond_marl.errors import lacks
from dond_marl.records.files import replacing
from league.standings.as_csv import inert
from league.tables.exported import TABLES, Batch, Column, opened, table

if TYPE_CHECKING:
    import pandas as pd

Write = Callable[[Path, tuple[Column, ...], Iterable[Batch]], None]
PANDAS = {"text": "str", "integer": "Int64", "number": "float64", "boolean": "bool"}


def export_tables(
    run: Path, kind: str, folder: Path, names: Iterable[str] = TABLES, tell: Callable[[str], None] = lambda _: None
) -> list[Path]:
    """Write tables of the league's ledger in ``run`` to ``folder`` as files ``NAME.KIND``; their paths.

    ``kind`` is a key of :data:`FORMATS`; ``tell`` hears of games that cannot be given. Raises
    :class:`dond_marl.errors.InputError` for another table or a library that is missing, and
    :class:`league.ledger.ledger.LedgerError`.
    """
    paths = []
    chosen = {name: table(name) for name in names}
    if kind == "parquet":
        _pyarrow()  # before anything is made
    with opened(run) as (ledger, directory):
        folder.mkdir(parents=True, exist_ok=True)
        for name, exported in chosen.items():
            paths.append(folder / f"{name}.{kind}")
            with replacing(paths[-1]) as temporary:
                FORMATS[kind](temporary, exported.columns, exported.batches(ledger, directory, tell))
    return paths


def frame(run: Path, name: str, tell: Callable[[str], None] = lambda _: None) -> pd.DataFrame:
    """One table of the league's ledger in ``run`` as a pandas frame. Raises as :func:`export_tables` does."""
    exported = table(name)
    with opened(run) as (ledger, directory):
        batches = list(exported.batches(ledger, directory, tell))
    return frame_of({c.name: list(chain.from_iterable(b[c.name] for b in batches)) for c in exported.columns}, name)


def frame_of(columns: dict[str, list[Any]], name: str | None = None) -> pd.DataFrame:
    """A pandas frame of columns; with ``name``, of the types of that table."""
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise lacks(error, "a frame") or error from error
    kinds = {} if name is None else {column.name: PANDAS[column.kind] for column in table(name).columns}
    return pd.DataFrame({key: pd.Series(values, dtype=kinds.get(key)) for key, values in columns.items()})


def _parquet(path: Path, columns: tuple[Column, ...], batches: Iterable[Batch]) -> None:
    pa = _pyarrow()
    kinds = {"text": pa.string(), "integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_()}
    fields = [pa.field(c.name, kinds[c.kind], metadata={"meaning": c.meaning}) for c in columns]
    schema = pa.schema(fields)
    with pa.parquet.ParquetWriter(path, schema) as writer:
        for batch in batches:
            writer.write_table(pa.table({c.name: batch[c.name] for c in columns}, schema=schema))


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise lacks(error, "Parquet") or error from error
    return pyarrow


def _csv(path: Path, columns: tuple[Column, ...], batches: Iterable[Batch]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow([column.name for column in columns])
        for batch in batches:
            for cells in zip(*(batch[column.name] for column in columns), strict=True):
                rows.writerow([_text(cell) for cell in cells])


def _text(cell: object) -> str:
    """A cell of CSV: what is not known is empty, and no spreadsheet takes a text for a formula."""
    if isinstance(cell, bool):
        return str(cell).lower()
    return "" if cell is None else inert(cell) if isinstance(cell, str) else repr(cell)


def _jsonl(path: Path, columns: tuple[Column, ...], batches: Iterable[Batch]) -> None:
    names = [column.name for column in columns]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for batch in batches:
            for cells in zip(*(batch[name] for name in names), strict=True):
                file.write(json.dumps(dict(zip(names, cells, strict=True)), ensure_ascii=False, allow_nan=False) + "\n")


FORMATS: dict[str, Write] = {"parquet": _parquet, "csv": _csv, "jsonl": _jsonl}
