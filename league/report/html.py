"""A report as one HTML file: it holds its style and its drawings, runs no script, and nothing in it asks anybody.

A content security policy in its head says so to the browser. Text is escaped by the template engine. What a reader
takes out of it needs no script either: a drawing is saved by a link that holds it, a table's LaTeX or CSV is selected
by one click.
"""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from dond_marl.game import ITEMS
from dond_marl.statistics import TEN, Estimate
from league.display.svg.curves import curve_chart
from league.display.svg.frontier import drawing, legend, plane_of
from league.display.svg.whisker import reach, whisker
from league.report.copies import as_csv, latex, svg_link
from league.tables.blocks import Block, Cell, Curves, Dialogue, Figure, Report, Table, TableRow, common_n, shared_n
from league.tables.figures import format_cell, format_number

HERE = Path(__file__).parent
MOST_CELLS = 60  # members across the heat map; the other formats hold all
MOST_ROWS = 400  # of any table


class Drawn(NamedTuple):
    """A cell as it is drawn: the number, its interval, what it is a mean over; each may be empty."""

    value: str
    doubt: str
    n: str
    figure: bool


def page(report: Report) -> str:
    """The report as the text of an HTML file."""
    return _engine().get_template("page.html.j2").render(report=report, style=style())


@lru_cache(maxsize=1)
def style() -> str:
    """The style sheet of the page."""
    return (HERE / "page.css").read_text("utf-8")


@lru_cache(maxsize=1)
def _engine() -> Environment:
    engine = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    engine.filters |= {"drawn": drawn, "shown": format_cell, "spelled": format_number, "latex": latex, "csv": as_csv}
    engine.globals |= {
        "kind_of": kind_of, "where_n": where_n, "shared_n": shared_n, "common_n": common_n, "span": span,
        "saved": saved, "range_of_n": range_of_n,
        "first": first, "whisker": whisker, "heat": heat, "chart": chart, "plane": plane, "pool": pool,
        "MOST_CELLS": MOST_CELLS, "MOST_ROWS": MOST_ROWS,
    }  # fmt: skip
    return engine


def kind_of(block: Block) -> str:
    """Which macro of ``pieces.html.j2`` draws a block."""
    return block.kind if isinstance(block, Table) else type(block).__name__.lower()


def saved(drawn: Markup) -> str:
    """The address of a drawing as a file of its own."""
    return svg_link(drawn, style())


def range_of_n(table: Table) -> str:
    """What the figures of a table are means over, least to most: ``n = 640 to 6,272``."""
    numbers = [cell.n for row in table.rows for cell in row.cells if isinstance(cell, Figure) and cell.known and cell.n]
    return f"n = {min(numbers):,} to {max(numbers):,}" if numbers else ""


def where_n(table: Table) -> str:
    """Where to say what figures are means over: in the caption, in a column, or as a range in the caption."""
    if common_n(table) is not None:
        return "caption"
    figures = [[cell for cell in row.cells if isinstance(cell, Figure) and cell.known] for row in table.rows]
    if all(len({cell.n for cell in cells}) <= 1 for cells in figures):
        return "column" if any(cell.n is not None for cells in figures for cell in cells) else "nowhere"
    return "cell"


def drawn(cell: Cell) -> Drawn:
    """A cell in the parts that are styled differently."""
    if not isinstance(cell, Figure):
        return Drawn("\N{EN DASH}" if cell is None else cell, "", "", False)
    mean, _, low, high = cell.estimate
    ends = "" if math.isnan(low) else f"{format_number(low, cell.unit)} to {format_number(high, cell.unit)}"
    n = "" if cell.n is None or not cell.known else f"n {cell.n:,}"
    return Drawn("" if math.isnan(mean) and ends else format_number(mean, cell.unit), ends, n, True)


def first(row: TableRow) -> Estimate:
    """The first points of a row, which are drawn as a whisker; ``nan`` where it has none, as before the first round."""
    points = (cell.estimate for cell in row.cells if isinstance(cell, Figure) and cell.unit == "points")
    return next(points, Estimate(math.nan, 0, math.nan, math.nan))


def span(table: Table) -> tuple[int, int]:
    """Where the line of a table's whiskers begins and ends."""
    return reach(map(first, table.rows))


def heat(cell: Cell) -> str:
    """The share of ten points in a cell, 0..1, which sets its colour."""
    return f"{min(max(cell.estimate.mean / TEN, 0.0), 1.0):.2f}" if isinstance(cell, Figure) else "0"


def chart(curves: Curves) -> Markup:
    """Learning curves as SVG."""
    return curve_chart(curves.points, curves.yardstick, curves.confidence)


def plane(game: Dialogue) -> Markup:
    """Where a game landed among all that was possible, as SVG with a legend, seen from seat_0."""
    at = plane_of(game.record, 0, ("seat_0", "seat_1"))
    return drawing(at) + legend(at)


def pool(game: Dialogue) -> list[tuple[str, int, int, int]]:
    """Of each type of item: its name, how many there are, and what one is worth to seat_0 and seat_1."""
    scenario = game.record.scenario
    return list(zip((f"{item}s" for item in ITEMS), scenario.counts, *scenario.utilities, strict=True))
