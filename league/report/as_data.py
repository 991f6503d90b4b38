"""A report for programs: one long table with a row per figure, and one document with the same facts."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from typing import Any

from dond_marl.records.record import to_json
from league.display.svg.markup import counted
from league.standings.as_csv import bounded, inert
from league.tables.blocks import UNITS, Block, Cell, Curves, Dialogue, Figure, Report, Section, Table

HEADER = ("section", "item", "figure", "value", "low", "high", "n")


def as_csv(report: Report) -> str:
    """The long table; texts stand in the column ``value``, and what is not known is empty."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(HEADER)
    for number, sentence in enumerate(report.abstract, start=1):
        writer.writerow(map(inert, ("abstract", "sentence", str(number), *_written(sentence))))
    for section in report.sections:
        for item, name, cell in rows_of(section):
            writer.writerow(map(inert, (section.key, item, name, *_written(cell))))
    return file.getvalue()


def as_json(report: Report) -> str:
    """The document, by section; a figure is its value, low, high, n and unit, ``null`` where unknown."""
    document = {
        "title": report.title,
        "told": report.summary,
        "abstract": report.abstract,
        "confidence": report.confidence,
        "sections": {
            section.key: {"title": section.title, "notes": section.notes, "blocks": list(map(_block, section.blocks))}
            for section in report.sections
        },
    }
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def rows_of(section: Section) -> Iterator[tuple[str, str, Cell]]:
    """Every cell of a section, after its item and the name of its figure, with the caption where tables are several."""
    tables = [block for block in section.blocks if isinstance(block, Table)]
    for place, note in enumerate(section.notes, start=1):
        yield "note", str(place), note
    for block in section.blocks:
        if isinstance(block, Table):
            for row in block.rows:
                for head, cell in zip(block.heads, row.cells, strict=True):
                    named = head if len(tables) == 1 else f"{block.caption}: {head}"
                    yield row.label, named, cell
        elif isinstance(block, Curves):
            for point in block.points:
                name = f"after {point.decisions} own decisions, after {counted(point.round, 'round')} of practice"
                yield point.member, name, Figure(point.points)
        elif isinstance(block, Dialogue):
            yield from _game(block)
        else:
            yield block.caption, "text", block.text


def _game(block: Dialogue) -> Iterator[tuple[str, str, Cell]]:
    for seat, name in enumerate(block.record.occupants):
        yield block.heading, f"seat_{seat}", name
    for name, measured in block.measures:
        yield block.heading, name, measured
    for number, (seat, _, act) in enumerate(block.acts, start=1):
        yield block.heading, f"act {number}, seat_{seat}", act
    yield block.heading, "ending", block.ending


def _written(cell: Cell) -> list[str]:
    if cell is None or isinstance(cell, str):
        return [cell or "", "", "", ""]
    mean, _, low, high = cell.estimate
    return [*map(_digits, (mean, low, high)), "" if cell.n is None else str(cell.n)]


def _digits(value: float) -> str:
    if math.isnan(value):
        return ""
    return str(int(value)) if value == int(value) and abs(value) >= 100 else f"{value:.6f}"


def _block(block: Block) -> dict[str, Any]:
    if isinstance(block, Table):
        rows = [
            {block.label: row.label, **{h: _cell(c) for h, c in zip(block.heads, row.cells, strict=True)}}
            for row in block.rows
        ]
        return {"table": block.caption, "rows": rows}
    if isinstance(block, Curves):
        points = [
            {"member": p.member, "after_rounds": p.round, "decisions": p.decisions, "points": _cell(Figure(p.points))}
            for p in block.points
        ]
        return {"curves": f"points of ten against {block.yardstick}", "confidence": block.confidence, "points": points}
    if isinstance(block, Dialogue):
        return {
            "game": block.heading,
            "record": to_json(block.record),
            "measures": {name: _cell(measured) for name, measured in block.measures},
            "said": [{"seat": seat, "words": words, "act": act} for seat, words, act in block.acts],
            "ending": block.ending,
            "verdict": block.verdict,
        }
    return {"text": block.caption, "content": block.text}


def _cell(cell: Cell) -> Any:
    if not isinstance(cell, Figure):
        return cell
    mean, _, low, high = cell.estimate
    return {**bounded(mean, low, high), "n": cell.n, "unit": UNITS[cell.unit]}
