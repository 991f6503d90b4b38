"""Renderers of a report: one HTML file that needs nothing else, and a JSON document for programs.

The HTML file holds its style sheet and its drawings, runs no script and loads nothing: a content security policy in its
head enforces that. Jinja escapes all text.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment
from markupsafe import Markup

from dond.charts import open_templates, whole_range
from dond.table.frontier import Plane, plane_of
from dond_marl.game import ITEMS
from dond_marl.records.record import to_json
from dond_marl.statistics import TEN, Estimate
from league.figures.rows import UNITS, Figure, plain_values
from league.tables.blocks import (
    Block,
    Cell,
    Curves,
    Dialogue,
    Report,
    Table,
    TableRow,
    common_n,
    shared_n,
)
from league.tables.figures import format_cell, format_number
from league.tables.standings import short_ladder

TEMPLATES = Path(__file__).parent
MOST_ROWS = 400  # of any table
LEAST, TOO_FEW = 0.005, "too few games to tell"  # of a share, whose interval says nothing
OPEN = ("learning", "ladder", "evaluation", "verdicts", "differences", "settings")  # sections that are not folded


def report_html(report: Report) -> str:
    """The report as the text of an HTML file."""
    return _templates().get_template("page").render(report=report, style=(TEMPLATES / "page.css").read_text("utf-8"))


def report_markup(report: Report) -> Markup:
    """The report as a part of a page that has a frame and a style sheet of its own."""
    pieces: Any = _templates().get_template("pieces").module
    markup: Markup = pieces.in_short(report) + pieces.sections(report)
    return markup


def report_json(report: Report) -> str:
    """The report as JSON, by section; a figure is an object of value, low, high, n and unit, ``null`` if unknown."""
    document = {
        "title": report.title,
        "summary": report.summary,
        "abstract": dict(report.abstract),
        "confidence": report.confidence,
        "sections": {
            section.key: {
                "title": section.title,
                "notes": section.notes,
                "blocks": list(map(_block_json, section.blocks)),
            }
            for section in report.sections
        },
    }
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


@lru_cache(maxsize=1)
def _templates() -> Environment:
    names = {"kind_of": _kind, "whisker_ends": _whisker_ends, "plane_of": _plane, "pool": _pool, "heat": _heat}
    counts = {"place_of_n": _place_of_n, "shared_n": shared_n, "common_n": common_n, "range_of_n": _range_of_n}
    limits = {"MOST_ROWS": MOST_ROWS}
    shape = {"Figure": Figure, "first_points": _first_points, "short_ladder": short_ladder, "OPEN": OPEN}
    engine = open_templates(TEMPLATES, **names, **counts, **limits, **shape)
    engine.filters |= {"parts": cell_parts, "format_cell": format_cell, "format_number": format_number}
    return engine


class CellParts(NamedTuple):
    """A cell in the parts that are styled differently: number, interval, number of games; each may be empty."""

    value: str
    interval: str
    n: str
    figure: bool


def cell_parts(cell: Cell) -> CellParts:
    """The parts of a cell; a text, and the dash of an empty cell, are the value alone."""
    if not isinstance(cell, Figure):
        return CellParts("\N{EN DASH}" if cell is None else cell, "", "", False)
    mean, _, low, high = cell.estimate
    ends = "" if math.isnan(low) else f"{format_number(low, cell.unit)} to {format_number(high, cell.unit)}"
    if cell.unit == "share" and low <= LEAST and high >= 1 - LEAST:
        ends = TOO_FEW
    n = "" if cell.n is None or not cell.is_known else f"n {cell.n:,}"
    if math.isnan(mean) and ends:  # known within bounds alone
        return CellParts(ends, "", n, True)
    return CellParts(cell.sign + format_number(mean, cell.unit), ends, n, True)


def _kind(block: Block) -> str:
    """The macro of ``pieces.html.j2`` that draws a block."""
    return block.kind if isinstance(block, Table) else type(block).__name__.lower()


def _range_of_n(table: Table) -> str:
    """The least and greatest n of a table's figures: ``n = 640 to 6,272``."""
    numbers = [
        cell.n for row in table.rows for cell in row.cells if isinstance(cell, Figure) and cell.is_known and cell.n
    ]
    return f"n = {min(numbers):,} to {max(numbers):,}" if numbers else ""


def _place_of_n(table: Table) -> str:
    """The place of the n of a table's figures: ``caption``, ``column``, ``cell`` (a tooltip), or ``nowhere``."""
    if common_n(table) is not None:
        return "caption"
    figures = [[cell for cell in row.cells if isinstance(cell, Figure) and cell.is_known] for row in table.rows]
    if all(len({cell.n for cell in cells}) <= 1 for cells in figures):
        return "column" if any(cell.n is not None for cells in figures for cell in cells) else "nowhere"
    return "cell"


def _first_points(row: TableRow) -> Estimate:
    """The first points of a row, drawn as a whisker; ``nan`` if it has none, as before the first round."""
    points = (cell.estimate for cell in row.cells if isinstance(cell, Figure) and cell.unit == "points")
    return next(points, Estimate(math.nan, 0, math.nan, math.nan))


def _whisker_ends(table: Table) -> tuple[int, int]:
    return whole_range(map(_first_points, table.rows))


def _heat(cell: Cell) -> str:
    """The colour of a cell of the heat map: its share of ten points, 0..1."""
    return f"{min(max(cell.estimate.mean / TEN, 0.0), 1.0):.2f}" if isinstance(cell, Figure) else "0"


def _plane(game: Dialogue) -> Plane:
    """The outcome of a game among all possible ones, from the view of seat_0."""
    return plane_of(game.record, 0, ("seat_0", "seat_1"))


def _pool(game: Dialogue) -> list[tuple[str, int, int, int]]:
    """Per type of item: its name, the count, and the value of one to seat_0 and seat_1."""
    scenario = game.record.scenario
    return list(zip((f"{item}s" for item in ITEMS), scenario.counts, *scenario.utilities, strict=True))


def _block_json(block: Block) -> dict[str, Any]:
    if isinstance(block, Table):
        rows = [
            {block.label: row.label.strip(), **{h: _cell_json(c) for h, c in zip(block.heads, row.cells, strict=True)}}
            for row in block.rows
        ]
        return {"table": block.caption, "rows": rows}
    if isinstance(block, Curves):
        points = [
            {
                "member": point.member,
                "after_rounds": point.round,
                "decisions": point.decisions,
                "points": _cell_json(Figure(point.points)),
                "gain": _cell_json(Figure(point.gain)),
            }
            for point in block.points
        ]
        return {"curves": f"points of ten from {block.opponents}", "confidence": block.confidence, "points": points}
    if isinstance(block, Dialogue):
        return {
            "game": block.heading,
            "record": to_json(block.record),
            "measures": {name: _cell_json(value) for name, value in block.measures},
            "acts": [{"seat": seat, "words": words, "act": act} for seat, words, act in block.acts],
            "ending": block.ending,
            "verdict": block.verdict,
        }
    return {"text": block.caption, "content": block.text}


def _cell_json(cell: Cell) -> Any:
    if not isinstance(cell, Figure):
        return cell
    mean, _, low, high = cell.estimate
    interval = {"value": float(mean), "low": float(low), "high": float(high)}
    return plain_values({**interval, "n": cell.n, "unit": UNITS[cell.unit][0]})
