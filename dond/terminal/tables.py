"""Tables of :mod:`league.tables` on a terminal: whatever its width, no figure is cut and no column is lost."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from dond_marl.errors import printable_text
from league.standings.history import CurvePoint
from league.tables.blocks import Cell, Curves, Figure, Section, Table, TableRow, common_n, printable
from league.tables.figures import UNKNOWN, format_number, with_interval, with_margin

LINE = 100  # most columns of a line of text; tables take the whole width
GAP = 2  # characters between two columns
LABEL = 28  # characters of a row's label on one line of a narrow screen
LONGEST_WORD = 16  # characters of a word of a heading, or of a text, on one line


def line(console: Console, text: str, style: str = "") -> None:
    """Print ``text`` as it stands: no markup, and broken by the terminal alone, so that it can be copied."""
    console.print(Text(printable_text(text), style=style), soft_wrap=True)


def prose(console: Console, text: str, style: str = "") -> None:
    """Print ``text`` broken between words after :data:`LINE` columns."""
    line(console, _break_between_words(console, printable_text(text)), style)


def _break_between_words(console: Console, text: str) -> str:
    """``text`` broken between words; a longer word, such as a path, stays whole, so that it can be copied."""
    wrap = partial(textwrap.fill, width=min(console.width, LINE), break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(wrap, text.split("\n")))


def parts(console: Console, *texts: str) -> None:
    """Print ``texts`` with dots between them, broken between them after :data:`LINE` columns."""
    lines = [texts[0]]
    for text in texts[1:]:
        longer = f"{lines[-1]} · {text}"
        fits = len(longer) <= min(console.width, LINE)
        lines = [*lines[:-1], longer] if fits else [*lines, f"  {text}"]
    line(console, "\n".join(lines))


class RecordingConsole(Console):
    """A console that also keeps what :func:`print_in_short` and :func:`print_section` print, as sections."""

    sections: tuple[Section, ...] = ()


def print_in_short(console: Console, sentences: Iterable[str]) -> None:
    """Print what an output opens with: its outcome, broken between words."""
    section = printable(Section("in short", "", tuple(sentences)))
    text = " ".join(section.notes)
    if text:
        _record(console, section)
        opening, _, rest = _break_between_words(console, f"\nIn short: {text}").partition(": ")
        console.print(Text.assemble((f"{opening}: ", "bold"), rest), soft_wrap=True)


def print_section(console: Console, section: Section) -> None:
    """Print the title, the tables, and the notes on what their figures mean."""
    section = printable(section)
    _record(console, section)
    prose(console, f"\n{section.title}", "bold")
    for block in section.blocks:
        if isinstance(block, Table):
            n = common_n(block)
            console.print(Text(f"\n{block.caption}" + ("" if n is None else f" (n = {n:,})")))
            for part in on_screen(block, console.width) if block.rows else ("None.",):
                console.print(part)
        elif isinstance(block, Curves):
            for curve in curve_lines(block.points):
                console.print(Text(curve))
    for place, note in enumerate(section.notes):
        prose(console, note if place else f"\n{note}")


def _record(console: Console, section: Section) -> None:
    if isinstance(console, RecordingConsole):
        console.sections += (section,)


def on_screen(table: Table, width: int) -> Iterator[Grid]:
    """The table in ``width`` characters.

    On too narrow a screen columns lose their intervals, from the last on, all but the first; columns that do not fit
    even then stand in further tables below. A label that is longer than a third of the width, and than :data:`LABEL`,
    goes on in the next line.
    """
    table = _with_ranks(table) if table.kind in ("ladder", "heat") else table
    label = min(
        max(map(len, (table.label, *(row.label for row in table.rows)))), max(width // 3, min(LABEL, width // 2))
    )
    columns = [_column(head, [row.cells[place] for row in table.rows]) for place, head in enumerate(table.heads)]
    for place in range(len(columns) - 1, 0, -1):
        if _needed_width(label, columns) > width:
            columns[place] = columns[place]._replace(cells=columns[place].bare)
    while columns:
        fit = sum(_needed_width(label, columns[: place + 1]) <= width for place in range(len(columns)))
        yield _grid(table, label, columns[: max(fit, 1)])
        columns = columns[max(fit, 1) :]


def curve_lines(points: Sequence[CurvePoint]) -> Iterator[str]:
    """The score of each learner after so many own decisions, at most a dozen rounds of it, evenly spread."""
    for name in dict.fromkeys(point.member for point in points):
        own = [point for point in points if point.member == name]
        spread = sorted({round(k * (len(own) - 1) / 11) for k in range(12)})
        yield f"{name}: " + " · ".join(f"{own[k].decisions:,} {with_margin(own[k].points)}" for k in spread)


def _with_ranks(table: Table) -> Table:
    """The table with its rows numbered, and the columns of members named by those numbers."""
    digits = len(str(len(table.rows)))
    ranks = [
        str(rank) if table.kind == "heat" or _has_rank(row) else "" for rank, row in enumerate(table.rows, start=1)
    ]
    rows = [row._replace(label=f"{rank:>{digits}} {row.label}") for rank, row in zip(ranks, table.rows, strict=True)]
    heads = table.heads if table.kind == "ladder" else tuple(map(str, range(1, 1 + len(table.heads))))
    return table._replace(heads=heads, rows=tuple(rows), label=f"{'#':>{digits}} {table.label}")


def _has_rank(row: TableRow) -> bool:
    """Whether a row of a ladder has a rank: it has none, and stands last, where its points are not known."""
    points = next((cell for cell in row.cells if isinstance(cell, Figure) and cell.unit == "points"), None)
    return points is not None and points.is_known


class _Column(NamedTuple):
    """The cells below a heading, as they are printed."""

    head: str
    cells: Sequence[str]
    bare: Sequence[str]  # the same without intervals
    text: bool  # whether cells may be wrapped at words

    @property
    def width(self) -> int:
        """The fewest characters that cut no figure, and no word up to ``LONGEST_WORD``."""
        words = " ".join((self.head, *self.cells) if self.text else (self.head,)).split()
        return max(min(max(map(len, words), default=0), LONGEST_WORD), 0 if self.text else max(map(len, self.cells)))


def _grid(table: Table, label: int, columns: Sequence[_Column]) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    grid.add_column(Text(table.label), width=label, overflow="fold")
    for column in columns:
        lines = [part for head in column.head.split("\n") for part in textwrap.wrap(head, column.width)]
        if column.text:
            grid.add_column(Text(column.head), overflow="fold")
        else:
            grid.add_column(Text("\n".join(lines)), justify="right", no_wrap=True)
    for place, row in enumerate(table.rows):
        grid.add_row(Text(row.label), *(Text(column.cells[place]) for column in columns))
    return grid


def _needed_width(label: int, columns: Sequence[_Column]) -> int:
    return label + sum(GAP + column.width for column in columns)


def _column(head: str, cells: Sequence[Cell]) -> _Column:
    """Intervals are spelled as ± half their width if that says the same as their ends everywhere in the column."""
    symmetric = all(_symmetric(cell) for cell in cells if isinstance(cell, Figure))
    spell = with_margin if symmetric else with_interval
    full = [spell(*cell) if isinstance(cell, Figure) else cell or UNKNOWN for cell in cells]
    bare = list(full)
    for place, cell in enumerate(cells):
        if isinstance(cell, Figure) and not math.isnan(cell.estimate.mean):
            bare[place] = format_number(cell.estimate.mean, cell.unit)
    return _Column(head, full, bare, any(isinstance(cell, str) for cell in cells))


def _symmetric(figure: Figure) -> bool:
    mean, _, low, high = figure.estimate
    return math.isnan(low) or abs(low + high - 2 * mean) <= 0.01 * (high - low)
