"""Markdown of reports, sections and tables, for pages of results; and plain HTML of sections, for notebooks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from league.tables.blocks import Report, Section, Table, common_n
from league.tables.figures import format_cell

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")  # characters with a meaning in Markdown or in the HTML inside it


def report_markdown(report: Report) -> str:
    """A whole report: title, abstract, list of contents, and its sections."""
    facts = (f"**{escape_markdown(label)}.** {escape_markdown(text)}" for label, text in report.abstract)
    head = [f"# {escape_markdown(report.title)}", *facts, escape_markdown(report.summary)]
    contents = [f"- [{section.title}](#{_anchor(section.title)})" for section in report.sections]
    text = "\n\n".join([*filter(None, head), "\n".join(contents)])
    return "\n\n".join([text, *map(section_markdown, report.sections)]) + "\n"


def section_markdown(section: Section) -> str:
    """One section of tables: its heading, its notes, then its tables, separated by empty lines.

    The heading has level 2, captions of tables level 3. All texts are escaped.
    """
    tables = []
    for table in section.blocks:
        assert isinstance(table, Table), "only the HTML and JSON of a report draw curves, games and texts"
        tables += [f"### {escape_markdown(table.caption)}"] if table.caption else []
        tables += filter(None, (table_markdown(table), escape_markdown(table.note)))
    return "\n\n".join([f"## {section.title}", *map(escape_markdown, section.notes), *tables])


def table_markdown(table: Table) -> str:
    """One table without its caption; ``None.`` if it has no rows. An ``n`` that all figures share stands above it."""
    if not table.rows:
        return "None."
    common = common_n(table)
    rows = [[row.label, *(format_cell(cell, n=common is None) for cell in row.cells)] for row in table.rows]
    text = grid_markdown([table.label, *table.heads], rows)
    return text if common is None else f"n = {common:,} throughout.\n\n{text}"


def grid_markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lines of a pipe table: the first column is aligned left, the others right; all texts are escaped."""
    return "\n".join([_pipe_row(heads), f"| --- |{' ---: |' * (len(heads) - 1)}", *map(_pipe_row, rows)])


def section_html(section: Section) -> str:
    """The notes and tables of a section as plain HTML, without a style sheet; all texts are escaped."""
    parts = [f"<h4>{escape(section.title)}</h4>"] if section.title else []
    for table in section.blocks:
        if not isinstance(table, Table):
            continue
        n = common_n(table)
        rows = [[row.label, *(format_cell(cell, n=n is None) for cell in row.cells)] for row in table.rows]
        caption = table.caption if n is None else f"{table.caption} (n = {n:,})"
        lines = "".join(_html_row("td", row) for row in rows)
        parts.append(
            f"<table><caption>{escape(caption)}</caption><thead>{_html_row('th', [table.label, *table.heads])}</thead>"
            f"<tbody>{lines}</tbody></table>"
        )
    return "".join([*parts, *(f"<p>{escape(note)}</p>" for note in section.notes)])


def _html_row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def escape_markdown(text: str) -> str:
    """Text that Markdown shows literally, on one line."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split("\n"))).replace("\\<", "&lt;").replace("\\&", "&amp;")


def _anchor(title: str) -> str:
    """GitHub's anchor of a heading: no punctuation, hyphens for spaces."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _pipe_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escape_markdown, cells))} |"
