"""What a report is made of: sections of tables, curves and games, whose figures keep their doubt and their number.

The four formats are four ways to write the same blocks, so that they cannot disagree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from dond_marl.records.record import GameRecord
from dond_marl.yardsticks.metrics import Estimate
from league.standings.curves import CurvePoint

Unit = Literal["points", "share", "count", "acts", "skill", "ratio", "seconds"]
UNITS: dict[Unit, str] = {
    "points": "points of ten",
    "share": "share",
    "count": "count",
    "acts": "acts",
    "skill": "openskill's mu",
    "ratio": "ratio",
    "seconds": "seconds",
}


class Figure(NamedTuple):
    """A number with its interval and what it is a mean over; ``nan`` and ``None`` where there is none of it."""

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int | None = None
    unit: Unit = "points"

    @property
    def known(self) -> bool:
        """Whether there is anything to tell."""
        return not math.isnan(self.value) or not math.isnan(self.low)


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
    """How learners came on against a yardstick."""

    points: tuple[CurvePoint, ...]
    yardstick: str
    confidence: float


class Dialogue(NamedTuple):
    """One recorded game: why it is shown, how efficient it was, and what was said."""

    heading: str
    record: GameRecord
    measures: tuple[tuple[str, Figure], ...]
    told: tuple[tuple[int, str, str], ...]  # of each act: who (0, 1), in words, and what it comes to
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
    """Everything about one run."""

    title: str
    told: str  # one line below the title
    confidence: float
    sections: tuple[Section, ...]


def figure(estimate: Estimate, unit: Unit = "points") -> Figure:
    """An estimate as a figure."""
    return Figure(float(estimate.mean), float(estimate.low), float(estimate.high), estimate.n, unit)


def stored(given: Mapping[str, Any], unit: Unit = "points", n: int | None = None) -> Figure:
    """A figure out of a run's own files, where an unknown number is ``None``; ``ValueError`` for what is no number."""
    value, low, high = (math.nan if given.get(key) is None else float(given[key]) for key in ("value", "low", "high"))
    if math.isinf(value) or math.isinf(low) or math.isinf(high):
        raise ValueError
    return Figure(value, low, high, n, unit)


def shown(cell: Cell, *, interval: bool = True, n: bool = True) -> str:
    """A cell in words: ``7.31 (7.15..7.47; n 6,272)``, ``-`` where nothing is known."""
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return cell
    if not cell.known:
        return "-"
    bounds, number = not math.isnan(cell.low), f"n {cell.n:,}" if n and cell.n is not None else ""
    if math.isnan(cell.value):  # only its bounds are known
        return f"{spelled(cell.low, cell.unit)}..{spelled(cell.high, cell.unit)}" + (f" ({number})" if number else "")
    doubt = f"{spelled(cell.low, cell.unit)}..{spelled(cell.high, cell.unit)}" if bounds and interval else ""
    both = "; ".join(part for part in (doubt, number) if part)
    return spelled(cell.value, cell.unit) + (f" ({both})" if both else "")


def spelled(value: float, unit: Unit) -> str:
    """A number in its unit."""
    if math.isnan(value):
        return "-"
    form = {"share": ".1%", "count": ",.0f", "ratio": ".3f", "skill": ".1f", "seconds": ".1f"}.get(unit, ".2f")
    return f"{value:z{form}}"  # z: no minus before what is rounded to 0


def number_of(cells: Iterable[Cell]) -> int | None:
    """What all figures among the cells are a mean over, if that is one and the same number."""
    numbers = {cell.n for cell in cells if isinstance(cell, Figure) and cell.known}
    return numbers.pop() if len(numbers) == 1 else None


def in_columns(rows: Sequence[Mapping[str, Cell]], labels: Sequence[str]) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    """Headings and rows out of one mapping per row, without the columns in which nothing is known."""
    heads = list(dict.fromkeys(head for row in rows for head in row))
    kept = [head for head in heads if any(_says(row.get(head)) for row in rows)]
    found = [Row(label, tuple(row.get(head) for head in kept)) for label, row in zip(labels, rows, strict=True)]
    return tuple(kept), tuple(found)


def _says(cell: Cell) -> bool:
    return cell.known if isinstance(cell, Figure) else bool(cell)
