"""Markdown of reports, sections and tables: for the pages of results, for GitHub, and for reading as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dond_marl.game import ITEMS
from league.tables.blocks import Block, Curves, Dialogue, Figure, Report, Section, Table, TableRow, common_n
from league.tables.figures import UNKNOWN, format_cell, with_margin

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")  # characters with a meaning in Markdown or in the HTML inside it


def report_markdown(report: Report) -> str:
    """A whole report: title, abstract, list of contents, and its sections."""
    head = [f"# {escape_markdown(report.title)}", *map(escape_markdown, (" ".join(report.abstract), report.summary))]
    contents = [f"- [{section.title}](#{_anchor(section.title)})" for section in report.sections]
    text = "\n\n".join([*filter(None, head), "\n".join(contents)])
    return "\n\n".join([text, *map(section_markdown, report.sections)]) + "\n"


def section_markdown(section: Section, level: int = 2, *, title: bool = True) -> str:
    """One section: its heading, its notes, then its blocks, separated by empty lines.

    ``level`` (1 to 5) is the level of the heading; captions of tables are one level below. Without ``title`` the
    heading is left out, for a page that has a heading of its own. All texts are escaped.
    """
    heading = [f"{'#' * level} {section.title}"] if title else []
    blocks = (part for block in section.blocks for part in _block_parts(block, "#" * (level + 1)))
    return "\n\n".join([*heading, *map(escape_markdown, section.notes), *blocks])


def table_markdown(table: Table) -> str:
    """One table without its caption; ``None.`` if it has no rows.

    An ``n`` that all figures share stands above the table. A heat map has its columns named by rank.
    """
    if not table.rows:
        return "None."
    if table.kind == "heat":
        return _heat_map(table)
    common = common_n(table)
    rows = [[row.label, *(format_cell(cell, n=common is None) for cell in row.cells)] for row in table.rows]
    text = grid_markdown([table.label, *table.heads], rows)
    return text if common is None else f"n = {common:,} throughout.\n\n{text}"


def grid_markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lines of a pipe table: the first column is aligned left, the others right; all texts are escaped."""
    return "\n".join([_pipe_row(heads), f"| --- |{' ---: |' * (len(heads) - 1)}", *map(_pipe_row, rows)])


def escape_markdown(text: str) -> str:
    """Text that Markdown shows literally, on one line."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split("\n"))).replace("\\<", "&lt;").replace("\\&", "&amp;")


def _anchor(title: str) -> str:
    """GitHub's anchor of a heading: no punctuation, hyphens for spaces."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _block_parts(block: Block, heading: str) -> Iterator[str]:
    """The paragraphs of a block; ``heading``: the number signs before its caption."""
    if isinstance(block, Table):
        if block.caption:
            yield f"{heading} {escape_markdown(block.caption)}"
        yield table_markdown(block)
    elif isinstance(block, Curves):
        rows = tuple(TableRow(p.member, (str(p.round), f"{p.decisions:,}", Figure(p.points))) for p in block.points)
        heads = ("after rounds", "own decisions before", f"points of ten against {block.yardstick}")
        yield table_markdown(Table("", heads, rows))
    elif isinstance(block, Dialogue):
        yield from _dialogue_parts(block, heading)
    else:
        yield f"{heading} {escape_markdown(block.caption)}"
        fence = "`" * (3 + max((len(run) for run in re.findall(r"`+", block.text)), default=0))
        yield f"{fence}yaml\n{block.text.rstrip()}\n{fence}"


def _heat_map(table: Table) -> str:
    """A wide table: columns named by rank, half the width of each interval, and the range of n."""
    numbers = [cell.n for row in table.rows for cell in row.cells if isinstance(cell, Figure) and cell.n]
    rows = [
        [
            f"{rank} {row.label}",
            *(with_margin(*cell) if isinstance(cell, Figure) else UNKNOWN for cell in row.cells),
        ]
        for rank, row in enumerate(table.rows, start=1)
    ]
    heads = [table.label, *(str(rank) for rank in range(1, 1 + len(table.heads)))]
    span = f"n = {min(numbers, default=0):,} to {max(numbers, default=0):,} games a cell; columns by rank."
    return f"{span}\n\n{grid_markdown(heads, rows)}"


def _pipe_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escape_markdown, cells))} |"


def _dialogue_parts(block: Dialogue, heading: str) -> Iterator[str]:
    yield f"{heading} {escape_markdown(block.heading)}"
    first, second = block.record.occupants
    yield f"seat\\_0 is {escape_markdown(first)}, seat\\_1 is {escape_markdown(second)}."
    scenario = block.record.scenario
    pool = (
        TableRow(item, tuple(map(str, row)))
        for item, *row in zip(ITEMS, scenario.counts, *scenario.utilities, strict=True)
    )
    heads = ("on the table", "worth to seat_0", "worth to seat_1")
    yield table_markdown(Table("", heads, tuple(pool), label="item"))
    names = ("seat\\_0", "seat\\_1")
    yield "\n".join(
        f"{number}. {names[seat]}: {escape_markdown(words)} ({escape_markdown(act)})"
        for number, (seat, words, act) in enumerate(block.acts, start=1)
    )
    yield escape_markdown(block.ending)
    yield "; ".join(f"{escape_markdown(name)} {format_cell(value, n=False)}" for name, value in block.measures) + "."
    yield escape_markdown(block.verdict)
