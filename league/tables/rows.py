"""The one table of figures: every file, table and page of an evaluation is a view of its rows.

A row is one number with its interval, the number of games behind it, and its unit:

    member | against | figure | seat     | value | low  | high | n   | unit   | note
    main   | linear  | share  | seat_0   | 0.87  | 0.85 | 0.89 | 512 | share  |
    main   | linear  | points | (both)   | 6.31  | 6.20 | 6.42 | 1024| points |

An unknown number is ``nan`` here, ``null`` in JSON and empty in CSV; a value known only within bounds has these alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast

from dond_marl.statistics import Estimate
from league.standings.as_csv import finite_or_none, format_digits, write_csv, write_json
from league.tables.blocks import UNITS, Figure, Unit

NUMBERS = ("value", "low", "high")


class FigureRow(NamedTuple):
    """One figure of one member; ``against`` is empty for a figure over all opponents, ``seat`` for one over both."""

    member: str
    against: str
    figure: str
    seat: str
    value: float
    low: float
    high: float
    n: int = 0  # games, or deals, that the value is a mean over; 0 for a number that is not a mean
    unit: Unit = "points"
    note: str = ""

    @property
    def cell(self) -> Figure:
        """The figure as a cell of a table; a value that is known exactly has no interval."""
        low, high = (math.nan, math.nan) if not self.n and self.low == self.high else (self.low, self.high)
        return Figure(Estimate(self.value, self.n, low, high), self.unit)


def figure_row(
    member: str, against: str, figure: str, seat: str, estimate: Estimate, unit: Unit = "points", note: str = ""
) -> FigureRow:
    """A row from an estimate."""
    return FigureRow(member, against, figure, seat, estimate.mean, estimate.low, estimate.high, estimate.n, unit, note)


def bounded_row(
    member: str, against: str, figure: str, seat: str, low: float, high: float, *, exact: bool, unit: Unit = "points"
) -> FigureRow:
    """A row of a value that is known within bounds; it has a middle only where the bounds are one number."""
    value = low if math.isclose(low, high, abs_tol=5e-7) else math.nan
    return FigureRow(member, against, figure, seat, value, low, high, 0, unit, "exact" if exact else "bounds")


@dataclass(frozen=True)
class Figures:
    """Rows, and the terms under which they were measured (plain JSON values)."""

    terms: Mapping[str, Any]
    rows: tuple[FigureRow, ...]
    _by_key: dict[tuple[str, str, str, str], FigureRow] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_key", {row[:4]: row for row in self.rows})

    def row(self, member: str, against: str, figure: str, seat: str = "") -> FigureRow | None:
        """The row of a key; ``None`` if there is none."""
        return self._by_key.get((member, against, figure, seat))

    def cell(self, member: str, against: str, figure: str, seat: str = "") -> Figure | None:
        """The figure of a key as a cell; ``None`` if there is none."""
        row = self.row(member, against, figure, seat)
        return None if row is None else row.cell

    def select(self, **fields: str) -> Iterator[FigureRow]:
        """The rows whose fields are these, such as ``figure="share"``, in order."""
        return (row for row in self.rows if all(getattr(row, name) == text for name, text in fields.items()))

    def opponents(self, member: str, figure: str) -> list[str]:
        """The names in ``against`` of a member's rows of one figure, in order."""
        return list(dict.fromkeys(row.against for row in self.select(member=member, figure=figure)))


def write_figures(figures: Figures, json_file: Path | None, csv_file: Path | None) -> None:
    """Write the terms and rows as JSON, and the rows as CSV."""
    if json_file is not None:
        write_json(json_file, figures_document(figures))
    if csv_file is not None:
        write_csv(csv_file, csv_rows(figures.rows))


def figures_document(figures: Figures) -> dict[str, Any]:
    """The terms and rows as plain JSON values."""
    return {**figures.terms, "figures": [_plain(row) for row in figures.rows]}


def _plain(row: FigureRow) -> dict[str, Any]:
    fields = row._asdict()
    return {**fields, **{name: finite_or_none(fields[name]) for name in NUMBERS}}


def csv_rows(rows: Iterable[FigureRow]) -> Iterator[Sequence[str]]:
    """The rows as text with six decimals, the header first."""
    yield FigureRow._fields
    for row in rows:
        yield [*row[:4], *format_digits(row.value, row.low, row.high), str(row.n), row.unit, row.note]


def read_figures(document: Mapping[str, Any]) -> Figures:
    """The figures of :func:`figures_document`.

    Raises ``AttributeError``, ``KeyError``, ``TypeError`` or ``ValueError`` if a field is missing or malformed.
    """
    terms = {name: value for name, value in document.items() if name != "figures"}
    return Figures(terms, tuple(map(_row, document["figures"])))


def _row(stored: Mapping[str, Any]) -> FigureRow:
    texts = (stored[name] for name in ("member", "against", "figure", "seat", "unit", "note"))
    member, against, figure, seat, unit, note = texts
    value, low, high = (math.nan if stored[name] is None else float(stored[name]) for name in NUMBERS)
    if unit not in UNITS or not all(isinstance(text, str) for text in (member, against, figure, seat, note)):
        raise ValueError(f"no figure: {json.dumps(stored)}")
    if math.isinf(value) or math.isinf(low) or math.isinf(high):
        raise ValueError(f"infinite figure: {json.dumps(stored)}")
    return FigureRow(member, against, figure, seat, value, low, high, int(stored["n"]), cast("Unit", unit), note)
