"""Tables and lines of progress on a terminal of any width."""

from __future__ import annotations

import io
import math

import pytest
from rich.console import Console

from dond.terminal.tables import print_section
from dond_marl.statistics import Estimate
from league.figures.rows import Figure
from league.results.progress import status_parts
from league.rounds.watching import LeagueProgress
from league.tables.blocks import Section, Table, TableRow, number_cell
from league.tables.plain import table_parts

NAMES = ("[red]tough", "a_member_of_a_name_longer_than_any_line")
TABLE = Table(
    "Ratings",
    ("take", "as seat_0", "as seat_1", "the reference is"),
    (
        TableRow(
            NAMES[0],
            (Figure(Estimate(1.25, 9, 1.15, 1.35)), number_cell(2.5), number_cell(3.75), "the exact best response"),
        ),
        TableRow(NAMES[1], (Figure(Estimate(-1.25, 9, -1.35, -1.15)), number_cell(-2.5), number_cell(-3.75), "linear")),
    ),
)


def shown(table: Table, width: int) -> str:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    print_section(console, Section("key", "Title", ("A note.",), (table,)))
    return console.file.getvalue()


@pytest.mark.parametrize(("width", "columns"), [(68, [4]), (67, [3, 1]), (5, [1, 1, 1, 1])])
def test_as_many_columns_are_shown_side_by_side_as_fit_whole(width, columns):
    assert [len(shown) for _, shown, _ in table_parts(TABLE, width)] == columns


@pytest.mark.parametrize("width", [200, 30])
def test_no_figure_is_cut_or_lost_whatever_the_width(width):
    text = shown(TABLE, width)
    assert max(map(len, text.splitlines())) <= width
    for figure in ("1.25 ±0.10", "-1.25 ±0.10", "-2.50", "-3.75", "3.75", NAMES[0], "linear", "A note."):
        assert figure in text
    assert "…" not in text
    label = next(table_parts(TABLE, width))[0]
    pieces = [NAMES[1][start : start + label] for start in range(0, len(NAMES[1]), label)]
    assert all(piece in text for piece in pieces), "a label goes on in the next line"


def test_skewed_intervals_are_shown_by_their_ends():
    skewed, even = Figure(Estimate(0.0, 9, 0.0, 0.5), "share"), Figure(Estimate(0.5, 9, 0.4, 0.6), "share")
    bounds, unknown = Figure(Estimate(math.nan, 0, 0.2, 0.4)), Figure(Estimate(math.nan, 0, math.nan, math.nan))
    rows = (
        TableRow("a", (skewed, even, bounds)),
        TableRow("b", (even, even, unknown)),
        TableRow("c", (None, None, None)),
    )
    text = shown(Table("", ("skewed", "even", "bounds"), rows), 100)
    assert "0.0% (0.0%..50.0%)" in text and "50.0% (40.0%..60.0%)" in text and "50.0% ±10.0%" in text
    assert "0.20..0.40" in text and "0.20..0.40" in shown(Table("", ("skewed", "even", "bounds"), rows), 20)
    assert text.splitlines()[-3].split() == ["c", "-", "-", "-"]


def test_what_a_terminal_might_obey_is_shown():
    text = shown(Table("\x1b[31mred", ("a",), (TableRow("\u202ename", ("\x07",)),)), 80)
    assert not [letter for letter in text if not letter.isprintable() and letter != "\n"]


# -- What is shown while somebody waits


def at(rounds: int, matches: int = 0) -> LeagueProgress:
    return LeagueProgress(0, 6, 7, 0.0, rounds, matches, 20, 136_512, 21.2, "short games", 1_234_567, 93_504)


@pytest.mark.parametrize(
    ("progress", "where"),
    [(at(0, 3), "round 1/6"), (at(1), "round 1/6"), (at(6), "round 6/6"), (at(6, 2), "closing measurement")],
)
def test_six_rounds_are_counted_from_one_to_six_and_the_closing_measurement_is_named_apart(progress, where):
    assert " · ".join(status_parts(progress)).startswith(f"{where} (short games) · ")


def test_time_is_estimated_after_the_first_round():
    assert status_parts(at(0, 1))[1] == "? left" and status_parts(at(1))[1] == "2 min left"
