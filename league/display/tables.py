"""Tables on a narrow terminal: whole columns are left out, from the last on, so that no figure is cut in two."""

from __future__ import annotations

from itertools import accumulate

from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

GAP = 2  # columns between two columns of a table without a box


def spared(table: Table, width: int) -> Table:
    """The table, or as many of its first columns as ``width`` holds whole; the first two always."""
    room = list(accumulate(_width(column) + GAP for column in table.columns))
    kept = sum(needed - GAP <= width for needed in room)
    if kept == len(table.columns):
        return table
    narrow = Table(box=None, pad_edge=False)
    columns = table.columns[: max(kept, 2)]
    for column in columns:
        narrow.add_column(
            column.header,
            justify=column.justify,
            overflow=column.overflow,
            no_wrap=column.no_wrap,
            width=column.width,
            min_width=column.min_width,
            max_width=column.max_width,
        )
    for cells in zip(*(column.cells for column in columns), strict=True):
        narrow.add_row(*cells)
    return narrow


def _width(column: Column) -> int:
    """Of its longest line, or of its longest word where it may be wrapped; no more than it may take."""
    cells = [_plain(cell) for cell in (column.header, *column.cells)]
    pieces = [piece for cell in cells for piece in (cell.split("\n") if column.no_wrap else cell.split())]
    longest = max(map(len, pieces), default=0)
    return min(longest, column.width or column.max_width or longest)


def _plain(cell: RenderableType) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)
