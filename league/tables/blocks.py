"""What a report is made of: sections of tables, curves and games, whose figures carry their interval and their number.

The terminal and the four formats of a report render the same blocks, so that they cannot disagree. Names and causes
are somebody else's text: :func:`inert` makes them harmless for every renderer, which escapes only what its own format
gives a meaning to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeVar

from dond_marl.records.record import GameRecord
from dond_marl.yardsticks.metrics import Estimate
from league.standings.curves import CurvePoint

Unit = Literal["points", "share", "count", "acts", "log-odds", "ratio", "seconds"]
UNITS: dict[Unit, str] = {
    "points": "points of ten",
    "share": "share",
    "count": "count",
    "acts": "acts",
    "log-odds": "log-odds",
    "ratio": "ratio",
    "seconds": "seconds",
}
UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"  # stands for any control or direction character


class Figure(NamedTuple):
    """A number with its doubt, in its unit. A mean or bounds of ``nan``, and an ``n`` of 0, are not known."""

    estimate: Estimate
    unit: Unit = "points"

    @property
    def known(self) -> bool:
        return not math.isnan(self.estimate.mean) or not math.isnan(self.estimate.low)

    @property
    def n(self) -> int | None:
        """What a mean is taken over; ``None`` for a number that is no mean."""
        return None if self.known and not self.estimate.n else self.estimate.n


Cell = Figure | str | None


class Row(NamedTuple):
    """One item of a table, and a cell per heading."""

    label: str
    cells: tuple[Cell, ...]


class Table(NamedTuple):
    """A table; ``kind`` says how a page draws it, the figures are the same."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    label: str = "member"
    kind: Literal["plain", "ladder", "heat", "facts"] = "plain"


class Curves(NamedTuple):
    """The scores of learners against a yardstick, round by round."""

    points: tuple[CurvePoint, ...]
    yardstick: str
    confidence: float


class Dialogue(NamedTuple):
    """One recorded game: why it is shown, how efficient it was, and what was said."""

    heading: str
    record: GameRecord
    measures: tuple[tuple[str, Figure], ...]
    acts: tuple[tuple[int, str, str], ...]  # the seat (0, 1), its words, and what the act comes to
    ending: str
    verdict: str


class Text(NamedTuple):
    """A text that is shown as it stands."""

    caption: str
    text: str


Block = Table | Curves | Dialogue | Text


class Section(NamedTuple):
    """A part of the report; ``notes`` say what its figures mean, or why there are none."""

    key: str
    title: str
    notes: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()


class Report(NamedTuple):
    """The report on one run."""

    title: str
    summary: str  # one line below the title
    confidence: float
    sections: tuple[Section, ...]
    abstract: tuple[str, ...] = ()  # its outcome, in at most three sentences


Printed = TypeVar("Printed", Report, Section)


def plain(value: float, unit: Unit = "points", n: int = 0) -> Figure:
    """A number without an interval; ``n``: what it is a mean over, if it is one."""
    return Figure(Estimate(float(value), n, math.nan, math.nan), unit)


def stored(document: Mapping[str, Any], unit: Unit = "points", n: int = 0) -> Figure:
    """The figure of ``value``, ``low`` and ``high`` in a run's own file, ``None`` being unknown.

    Raises ``AttributeError``, ``TypeError`` or ``ValueError`` where the file holds something else.
    """
    numbers = (document.get(key) for key in ("value", "low", "high"))
    value, low, high = (math.nan if each is None else float(each) for each in numbers)
    if math.isinf(value) or math.isinf(low) or math.isinf(high):
        raise ValueError
    return Figure(Estimate(value, n, low, high), unit)


def number_of(cells: Iterable[Cell]) -> int | None:
    """What all figures among the cells are a mean over, if that is one and the same number."""
    numbers = {cell.n for cell in cells if isinstance(cell, Figure) and cell.known}
    return numbers.pop() if len(numbers) == 1 else None


def common_n(table: Table) -> int | None:
    """What all figures of a table are a mean over, if that is one and the same number."""
    return number_of(cell for row in table.rows for cell in row.cells)


def in_columns(rows: Sequence[Mapping[str, Cell]], labels: Sequence[str]) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    """Headings and rows out of one mapping per row, without the columns in which nothing is known."""
    heads = list(dict.fromkeys(head for row in rows for head in row))
    columns = {head: [row.get(head) for row in rows] for head in heads}
    kept = [head for head in heads if any(c.known if isinstance(c, Figure) else c for c in columns[head])]
    aligned = [Row(label, tuple(row.get(head) for head in kept)) for label, row in zip(labels, rows, strict=True)]
    return tuple(kept), tuple(aligned)


def inert(printed: Printed) -> Printed:
    """The same, every text printable: control and direction characters are replaced, line ends stay."""
    return reworded(printed, _printable)


def reworded(printed: Printed, change: Callable[[str], str]) -> Printed:
    """The same, every text changed."""
    changed: Printed = _reworded(printed, change)
    return changed


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() or letter == "\n" else UNPRINTABLE for letter in text)


def _reworded(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, GameRecord):
        first, second = value.occupants
        return replace(value, occupants=(change(first), change(second)))
    if isinstance(value, tuple):
        parts = [_reworded(part, change) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value
