"""A report as Markdown that reads well as it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dond_marl.game import ITEMS
from league.display.figures import UNKNOWN, shown, with_half
from league.tables.blocks import Block, Curves, Dialogue, Figure, Report, Row, Section, Table, common_n

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")  # what Markdown, or the HTML in it, gives a meaning to


def markdown(report: Report) -> str:
    """The report as the text of a Markdown file."""
    head = [f"# {escaped(report.title)}", escaped(" ".join(report.abstract)), escaped(report.summary)]
    contents = [f"- [{section.title}](#{_anchor(section.title)})" for section in report.sections]
    text = "\n\n".join([*filter(None, head), "\n".join(contents)])
    return "\n\n".join([text, *map(section_text, report.sections)]) + "\n"


def _anchor(title: str) -> str:
    """What GitHub makes of a heading: no punctuation, hyphens for spaces."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def escaped(text: str) -> str:
    """Text that Markdown shows as it stands, on one line."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split("\n"))).replace("\\<", "&lt;").replace("\\&", "&amp;")


def section_text(section: Section, level: int = 2) -> str:
    """One section of a report, for a page that holds more than the report; ``level``: that of its heading, 1 to 5."""
    below = "#" * (level + 1)
    blocks = (part for block in section.blocks for part in _block(block, below))
    return "\n\n".join([f"{'#' * level} {section.title}", *map(escaped, section.notes), *blocks])


def _block(block: Block, below: str) -> Iterator[str]:
    """A block's parts; ``below``: the marks of its heading."""
    if isinstance(block, Table):
        yield f"{below} {escaped(block.caption)}"
        yield _table(block)
    elif isinstance(block, Curves):
        rows = tuple(Row(p.member, (str(p.round), f"{p.decisions:,}", Figure(p.points))) for p in block.points)
        heads = ("after rounds", "own decisions before", f"points of ten against {block.yardstick}")
        yield _table(Table("", heads, rows))
    elif isinstance(block, Dialogue):
        yield from _game(block, below)
    else:
        yield f"{below} {escaped(block.caption)}"
        fence = "`" * (3 + max((len(run) for run in re.findall(r"`+", block.text)), default=0))
        yield f"{fence}yaml\n{block.text.rstrip()}\n{fence}"


def _table(table: Table) -> str:
    if not table.rows:
        return "None."
    if table.kind == "heat":
        return _matrix(table)
    common = common_n(table)
    rows = [[row.label, *(shown(cell, n=common is None) for cell in row.cells)] for row in table.rows]
    text = "\n".join(_lines([table.label, *table.heads], rows))
    return text if common is None else f"n = {common:,} throughout.\n\n{text}"


def _matrix(table: Table) -> str:
    """A wide table: columns named by rank, half of each interval, and the range of n."""
    numbers = [cell.n for row in table.rows for cell in row.cells if isinstance(cell, Figure) and cell.n]
    rows = [
        [f"{rank} {row.label}", *(with_half(*cell) if isinstance(cell, Figure) else UNKNOWN for cell in row.cells)]
        for rank, row in enumerate(table.rows, start=1)
    ]
    heads = [table.label, *(str(rank) for rank in range(1, 1 + len(table.heads)))]
    span = f"n = {min(numbers, default=0):,} to {max(numbers, default=0):,} games a cell; columns by rank."
    return "\n".join([span, "", *_lines(heads, rows)])


def _lines(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [_line(heads), f"| --- |{' ---: |' * (len(heads) - 1)}", *map(_line, rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"


def _game(block: Dialogue, below: str) -> Iterator[str]:
    yield f"{below} {escaped(block.heading)}"
    first, second = block.record.occupants
    yield f"seat\\_0 is {escaped(first)}, seat\\_1 is {escaped(second)}."
    scenario = block.record.scenario
    pool = (
        Row(item, tuple(map(str, row))) for item, *row in zip(ITEMS, scenario.counts, *scenario.utilities, strict=True)
    )
    yield _table(Table("", ("on the table", "worth to seat_0", "worth to seat_1"), tuple(pool), label="item"))
    names = ("seat\\_0", "seat\\_1")
    yield "\n".join(
        f"{number}. {names[seat]}: {escaped(words)} ({escaped(act)})"
        for number, (seat, words, act) in enumerate(block.acts, start=1)
    )
    yield escaped(block.ending)
    yield "; ".join(f"{escaped(name)} {shown(measured, n=False)}" for name, measured in block.measures) + "."
    yield escaped(block.verdict)
