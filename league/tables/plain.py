"""Sections as lines of plain text, whatever the width: no figure is cut and no column is lost.

The terminal prints these lines in their styles, and results of the Python API show them as they are.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from dond_marl.errors import printable_text
from league.figures.rows import Figure
from league.tables.blocks import Cell, Curves, Section, Table, TableRow, common_n, printable
from league.tables.figures import UNKNOWN, format_number, with_interval, with_margin

if TYPE_CHECKING:
    from league.standings.history import CurvePoint

PROSE = 100  # most columns of a line of text; tables take the whole width
GAP = 2  # characters between two columns
LABEL = 28  # characters of a row's label on one line of a narrow screen
LONGEST_WORD = 16  # characters of a word of a heading, or of a text, on one line
IN_SHORT, WARNING, FOLDER = "in short", "warning", "folder"  # keys of sections that have notes and no title
Style = Literal["", "bold", "yellow"]


class Line(NamedTuple):
    """One or more lines of output, and their style on a terminal."""

    text: str
    style: Style = ""


def in_short(sentences: Iterable[str]) -> tuple[Section, ...]:
    """The section that an output opens with, its outcome; none without sentences."""
    notes = tuple(sentences)
    return (Section(IN_SHORT, "", notes),) if notes else ()


def plain_text(sections: Iterable[Section], width: int) -> str:
    """Sections as text of ``width`` columns, without styles."""
    return "\n".join(line.text for section in sections for line in section_lines(section, width)).strip("\n")


def section_lines(section: Section, width: int) -> Iterator[Line]:
    """The title, the tables, and the notes on what their figures mean; of an opening section its sentences alone."""
    section = printable(section)
    if section.key == IN_SHORT:
        yield Line(fill(f"\nIn short: {' '.join(section.notes)}", width))
        return
    if section.title:
        yield Line(fill(f"\n{section.title}", width), "bold")
    for block in section.blocks:
        if isinstance(block, Table):
            n = common_n(block)
            yield Line(fill(f"\n{block.caption}" + ("" if n is None else f" (n = {n:,})"), width))
            yield from table_lines(block, width) if block.rows else (Line("None."),)
            yield from [Line(fill(block.note, width))] if block.note else ()
        elif isinstance(block, Curves):
            yield from map(Line, curve_lines(block.points))
    for index, note in enumerate(section.notes):
        spaced = f"\n{note}" if section.title and index == 0 else note
        # A path stands on one line, which the terminal alone breaks, so that it can be copied.
        text = spaced if section.key == FOLDER else fill(spaced, width)
        yield Line(text, "yellow" if section.key == WARNING else "")


def fill(text: str, width: int = PROSE) -> str:
    """The text broken between words; a longer word, such as a path, stays whole, so that it can be copied."""
    width = min(width, PROSE)
    lines = printable_text(text).split("\n")
    return "\n".join(textwrap.fill(line, width=width, break_long_words=False, break_on_hyphens=False) for line in lines)


def join_parts(texts: Sequence[str], width: int = PROSE) -> str:
    """The texts with dots between them, broken between them where a line would be too long."""
    lines = [texts[0]]
    for text in texts[1:]:
        longer = f"{lines[-1]} · {text}"
        if len(longer) <= min(width, PROSE):
            lines[-1] = longer
        else:
            lines.append(f"  {text}")
    return "\n".join(lines)


def table_lines(table: Table, width: int) -> Iterator[Line]:
    """The table in ``width`` characters.

    On too narrow a screen columns lose their intervals, from the last on, all but the first; columns that do not fit
    even then stand in further tables below. A label that is longer than a third of the width, and than :data:`LABEL`,
    goes on in the next line.
    """
    for label, columns, ranked in table_parts(table, width):
        yield from _grid_lines(ranked, label, columns, width)


def table_parts(table: Table, width: int) -> Iterator[tuple[int, Sequence[Column], Table]]:
    """The tables to print below each other: characters of the row labels, columns, and the table with ranks."""
    table = _with_ranks(table) if table.kind in ("ladder", "heat") else table
    longest = max(map(len, (table.label, *(row.label for row in table.rows))))
    label = min(longest, max(width // 3, min(LABEL, width // 2)))
    columns = [_column(head, [row.cells[index] for row in table.rows]) for index, head in enumerate(table.heads)]
    for index in range(len(columns) - 1, 0, -1):
        if _needed_width(label, columns) > width:
            columns[index] = columns[index]._replace(cells=columns[index].bare)
    while columns:
        fitting = sum(_needed_width(label, columns[: index + 1]) <= width for index in range(len(columns)))
        yield label, columns[: max(fitting, 1)], table
        columns = columns[max(fitting, 1) :]


def curve_lines(points: Sequence[CurvePoint]) -> Iterator[str]:
    """Each learner's points after so many rounds and a best response's gain, at most a dozen rounds, evenly spread."""
    for name in dict.fromkeys(point.member for point in points):
        curve = [point for point in points if point.member == name]
        shown = sorted({round(k * (len(curve) - 1) / 11) for k in range(12)})
        yield f"{name}, points after rounds: " + " · ".join(
            f"{curve[k].round} {with_margin(curve[k].points)}"
            + (f" (gain {format_number(curve[k].gain.mean)})" if curve[k].gain.n else "")
            for k in shown
        )


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


class Column(NamedTuple):
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


def _grid_lines(table: Table, label: int, columns: Sequence[Column], width: int) -> Iterator[Line]:
    """One table with its headings; texts take the width that the figures leave, and are broken between words."""
    spare = width - _needed_width(label, columns)
    widths = []
    for column in columns:
        natural = max(map(len, (column.head, *column.cells))) if column.text else column.width
        extra = min(natural - column.width, max(spare, 0))
        widths.append(column.width + extra)
        spare -= extra
    sized = list(zip(columns, widths, strict=True))
    lines: list[tuple[Style, list[list[str]]]] = [
        ("bold", [_broken(table.label, label), *(_broken(column.head, size) for column, size in sized)])
    ]
    for index, row in enumerate(table.rows):
        cells = [_broken(column.cells[index], size) for column, size in sized]
        lines.append(("", [_broken(row.label, label), *cells]))
    aligned = [str.ljust, *(str.ljust if column.text else str.rjust for column in columns)]
    for style, cells in lines:
        height = max(map(len, cells))
        for index in range(height):
            parts = []
            for align, cell, size in zip(aligned, cells, (label, *widths), strict=True):
                # Headings end above the first row, other cells begin in the first line of theirs.
                position = index - (height - len(cell) if style == "bold" else 0)
                parts.append(align(cell[position] if 0 <= position < len(cell) else "", size))
            yield Line((" " * GAP).join(parts).rstrip(), style)


def _broken(text: str, width: int) -> list[str]:
    """The text in lines of ``width`` characters, broken between words where they are short enough; at least one."""
    return [part for line in text.split("\n") for part in textwrap.wrap(line, max(width, 1))] or [""]


def _needed_width(label: int, columns: Sequence[Column]) -> int:
    return label + sum(GAP + column.width for column in columns)


def _column(head: str, cells: Sequence[Cell]) -> Column:
    """Intervals are spelled as ± half their width if that says the same as their ends everywhere in the column."""
    symmetric = all(_symmetric(cell) for cell in cells if isinstance(cell, Figure))
    spell = with_margin if symmetric else with_interval
    full = [
        cell.sign + spell(cell.estimate, cell.unit) if isinstance(cell, Figure) else cell or UNKNOWN for cell in cells
    ]
    bare = list(full)
    for index, cell in enumerate(cells):
        if isinstance(cell, Figure) and not math.isnan(cell.estimate.mean):
            bare[index] = cell.sign + format_number(cell.estimate.mean, cell.unit)
    return Column(head, full, bare, any(isinstance(cell, str) for cell in cells))


def _symmetric(figure: Figure) -> bool:
    mean, _, low, high = figure.estimate
    return math.isnan(low) or abs(low + high - 2 * mean) <= 0.01 * (high - low)
