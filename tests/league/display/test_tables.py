"""Tables on narrow terminals: columns go whole, from the last on, and no figure is cut."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from league.display.tables import spared


def a_table() -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("member", overflow="ellipsis", no_wrap=True, max_width=10)
    for head in ("take", "as\nseat_0", "as\nseat_1"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("the reference is", overflow="fold")
    table.add_row(Text("[red]tough"), "1.25 ±0.10", "2.50", "3.75", "the exact best response")
    table.add_row(Text("a_member_of_a_long_name"), "-1.25 ±0.10", "-2.50", "-3.75", "linear")
    return table


def shown(width: int) -> str:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(spared(a_table(), width))
    return console.file.getvalue()


@pytest.mark.parametrize(("width", "columns"), [(200, 5), (54, 5), (49, 4), (39, 4), (31, 3), (23, 2), (5, 2)])
def test_as_many_columns_are_shown_as_fit_whole(width, columns):
    table = spared(a_table(), width)
    assert len(table.columns) == columns and table.row_count == 2
    assert [column.header for column in table.columns] == [column.header for column in a_table().columns][:columns]


@pytest.mark.parametrize("width", [200, 60, 49, 45, 39, 31, 23])
def test_no_figure_is_cut_whatever_the_width(width):
    told = shown(width)
    assert max(map(len, told.splitlines())) <= width
    assert "-1.25 ±0.10" in told and "[red]tough" in told
    assert told.count("…") == 1, "of the long name alone"
    assert ("-2.50" in told) == (width >= 31) and ("-3.75" in told) == (width >= 39)


def test_a_table_that_fits_is_left_as_it_is():
    table = a_table()
    assert spared(table, 200) is table
