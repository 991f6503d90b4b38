"""The one table of figures, of which files, tables and pages are views, and the form of numbers in CSV and JSON files.

A row is one number with its interval, the number of games behind it, and its unit:

    member | against | figure | seat     | value | low  | high | n   | unit   | note
    main   | linear  | share  | seat_0   | 0.87  | 0.85 | 0.89 | 512 | share  |
    main   | linear  | points | (both)   | 6.31  | 6.20 | 6.42 | 1024| points |

An unknown number is ``nan`` here, ``null`` in JSON and empty in CSV; a value known only within bounds has these alone.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from dond_marl.records.files import atomic_replace, write_atomically
from dond_marl.statistics import UNKNOWN, Estimate

Unit = Literal[
    "points", "share", "difference", "difference of shares", "count", "acts", "ratio", "nats", "p-value",
    "seconds", "Elo",
]  # fmt: skip
UNITS: dict[Unit, tuple[str, str]] = {  # in words, and how a number is written; z: no minus sign before a rounded 0
    "points": ("points of ten", "z.2f"),
    "share": ("share", "z.1%"),
    "difference": ("points of ten, difference", "+z.2f"),
    "difference of shares": ("share, difference", "+z.1%"),
    "count": ("count", "z,.0f"),
    "acts": ("acts", "z.2f"),
    "ratio": ("ratio", "z.3f"),
    "nats": ("nats", "z.3f"),
    "p-value": ("p-value", "z.2g"),
    "seconds": ("seconds", "z.1f"),
    "Elo": ("Elo", "z.0f"),
}
FORMULA = frozenset("=+-@\t\r\n＝＋－＠")  # noqa: RUF001  # first letters of formulas; some spreadsheets fold widths
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?(e[+-]?\d+)?|inf|nan)", re.ASCII)


class Figure(NamedTuple):
    """A number with its interval, number of games and unit; ``nan`` and an ``n`` of 0 stand for unknown."""

    estimate: Estimate
    unit: Unit = "points"
    sign: str = ""  # before the number, such as that of a lower bound

    @property
    def is_known(self) -> bool:
        """Whether there is anything to show: a mean, or an interval without one."""
        return not math.isnan(self.estimate.mean) or not math.isnan(self.estimate.low)

    @property
    def n(self) -> int | None:
        """The number of games (or seeds) of a mean; ``None`` for a number that is not a mean."""
        return None if self.is_known and not self.estimate.n else self.estimate.n


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
    member: str, against: str, figure: str, seat: str, estimate: Estimate, unit: Unit = "points"
) -> FigureRow:
    """A row from an estimate."""
    return FigureRow(member, against, figure, seat, estimate.mean, estimate.low, estimate.high, estimate.n, unit)


def bounded_row(
    member: str, against: str, figure: str, seat: str, low: float, high: float, *, exact: bool
) -> FigureRow:
    """A row of a value that is known within bounds; it has a middle only where the bounds are one number."""
    value = low if math.isclose(low, high, abs_tol=5e-7) else math.nan
    return FigureRow(member, against, figure, seat, value, low, high, note="exact" if exact else "bounds")


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

    def estimate(self, member: str, against: str, figure: str, seat: str = "") -> Estimate:
        """The figure of a key as an estimate; unknown if there is none."""
        row = self.row(member, against, figure, seat)
        return UNKNOWN if row is None else Estimate(row.value, row.n, row.low, row.high)

    def select(self, **fields: str) -> Iterator[FigureRow]:
        """The rows whose fields are these, such as ``figure="share"``, in order."""
        return (row for row in self.rows if all(getattr(row, name) == text for name, text in fields.items()))

    def opponents(self, member: str, figure: str) -> list[str]:
        """The names in ``against`` of a member's rows of one figure, in order."""
        return list(dict.fromkeys(row.against for row in self.select(member=member, figure=figure)))


def wide_row(row: Mapping[str, object]) -> dict[str, object]:
    """A row by column in which each estimate takes three: its mean and, named ``_low`` and ``_high``, its bounds."""
    columns: dict[str, object] = {}
    for name, value in row.items():
        if isinstance(value, Estimate):
            columns |= {name: value.mean, f"{name}_low": value.low, f"{name}_high": value.high}
        else:
            columns[name] = value
    return columns


def write_figures(figures: Figures, json_file: Path | None, csv_file: Path | None) -> None:
    """Write the terms and rows as JSON, and the rows as CSV."""
    if json_file is not None:
        document = json.dumps(figures_document(figures), indent=1, allow_nan=False, ensure_ascii=False)
        write_atomically(json_file, document + "\n")
    if csv_file is not None:
        write_csv(csv_file, FigureRow._fields, figures.rows)


def figures_document(figures: Figures) -> dict[str, Any]:
    """The terms and rows as plain JSON values."""
    return {**figures.terms, "figures": [plain_values(row) for row in figures.rows]}


def plain_values(value: Any, digits: int | None = None) -> Any:
    """A value as plain JSON values: named tuples by field, floats with so many ``digits``, unknown ones ``None``."""
    value = value._asdict() if hasattr(value, "_asdict") else value
    if isinstance(value, Mapping):
        return {str(name): plain_values(part, digits) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain_values(part, digits) for part in value]
    if isinstance(value, float):
        return None if not math.isfinite(value) else float(value) if digits is None else round(value, digits)
    return value


def write_csv(path: Path, headings: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Write a table, its file replaced atomically: numbers with six decimals, unknown ones empty, formulas escaped."""
    with atomic_replace(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(map(_csv_text, row) for row in (headings, *rows))


def _csv_text(cell: object) -> str:
    if isinstance(cell, float):
        return "" if math.isnan(cell) else f"{cell:.6f}"
    return escape_formula(str(cell))


def escape_formula(text: str) -> str:
    """A cell that no spreadsheet reads as a formula: such a text gets an apostrophe before it; numbers stay."""
    return f"'{text}" if text.lstrip("'")[:1] in FORMULA and not NUMBER.fullmatch(text) else text


def read_figures(document: Mapping[str, Any]) -> Figures:
    """The figures of :func:`figures_document`.

    Raises ``AttributeError``, ``KeyError``, ``TypeError`` or ``ValueError`` if a field is missing or malformed.
    """
    terms = {name: value for name, value in document.items() if name != "figures"}
    return Figures(terms, tuple(map(_row, document["figures"])))


def parse_figures(text: str, view: Callable[[Figures], object]) -> Figures:
    """The figures in the text of a JSON file, if ``view`` finds all terms that it needs. Raises ``ValueError``."""
    try:
        figures = read_figures(json.loads(text))
        view(figures)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"no table of figures: {error}") from error
    return figures


def _row(stored: Mapping[str, Any]) -> FigureRow:
    texts = (stored[name] for name in ("member", "against", "figure", "seat", "unit", "note"))
    member, against, figure, seat, unit, note = texts
    value, low, high = (math.nan if stored[name] is None else float(stored[name]) for name in ("value", "low", "high"))
    if unit not in UNITS or not all(isinstance(text, str) for text in (member, against, figure, seat, note)):
        raise ValueError(f"no figure: {json.dumps(stored)}")
    if math.isinf(value) or math.isinf(low) or math.isinf(high):
        raise ValueError(f"infinite figure: {json.dumps(stored)}")
    return FigureRow(member, against, figure, seat, value, low, high, int(stored["n"]), cast("Unit", unit), note)
