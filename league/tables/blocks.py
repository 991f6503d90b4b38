"""The one table model: sections of tables, learning curves, games and texts; figures carry interval, n and unit.

Renderers: :mod:`dond.terminal.tables` (terminal), :mod:`league.tables.markdown` (results pages, `dond bench`) and
:mod:`dond.report.render` (HTML and JSON), so that no two of them can disagree. Names of members and reasons of
failures are foreign text: :func:`printable` replaces control characters once, and each renderer escapes the characters
that have a meaning in its own format.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, cast

from dond_marl.occupants import short_names
from dond_marl.records.record import GameRecord
from dond_marl.statistics import Estimate
from league.figures.rows import Figure, Unit

if TYPE_CHECKING:
    from league.standings.history import CurvePoint  # which needs the settings' libraries

UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"  # in place of a control or direction character


Cell = Figure | str | None


class TableRow(NamedTuple):
    """A row: its label, and one cell per heading."""

    label: str
    cells: tuple[Cell, ...]


class Table(NamedTuple):
    """A table; ``label`` heads the column of row labels, ``kind`` selects the drawing in HTML and on the terminal."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[TableRow, ...]
    label: str = "member"
    kind: Literal["plain", "ladder", "heat", "facts"] = "plain"
    note: str = ""  # below the table


class Curves(NamedTuple):
    """Learning curves: each learner's points from the fixed members, and a best response's gain, by round."""

    points: tuple[CurvePoint, ...]
    confidence: float
    opponents: str = "all fixed members"  # of the points
    seeds: tuple[tuple[CurvePoint, ...], ...] = ()  # the curves of single seeds, where a learner's is their mean


class Dialogue(NamedTuple):
    """One recorded game: heading, efficiency measures, acts in words, ending, and the comment on it."""

    heading: str
    record: GameRecord
    measures: tuple[tuple[str, Figure], ...]
    acts: tuple[tuple[int, str, str], ...]  # seat (0, 1), its words, the act in the game's terms
    ending: str
    verdict: str


class TextBlock(NamedTuple):
    """A text with its line breaks, such as a settings file."""

    caption: str
    text: str


Block = Table | Curves | Dialogue | TextBlock


class Section(NamedTuple):
    """A titled part of a report: notes (the meaning of its figures, or the reason for their absence) and blocks."""

    key: str
    title: str
    notes: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()


class Report(NamedTuple):
    """A report, such as that on one run of a league."""

    title: str
    summary: str  # one line below the title
    confidence: float
    sections: tuple[Section, ...]
    abstract: tuple[tuple[str, str], ...] = ()  # the outcome and the cost as facts: label, text


Printed = TypeVar("Printed")  # a report or section, or a part of one


def number_cell(value: float, unit: Unit = "points", n: int = 0) -> Figure:
    """A figure without an interval; ``n``: number of games of a mean, 0 for a number that is not a mean."""
    return Figure(Estimate(float(value), n, math.nan, math.nan), unit)


def count_cell(number: float) -> Figure:
    """A whole number, such as one of games."""
    return number_cell(number, "count")


def shared_n(cells: Iterable[Cell]) -> int | None:
    """The n that all figures among ``cells`` share; ``None`` if they differ."""
    numbers = {cell.n for cell in cells if isinstance(cell, Figure) and cell.is_known}
    return numbers.pop() if len(numbers) == 1 else None


def common_n(table: Table) -> int | None:
    """The n that all figures of a table share; ``None`` if they differ."""
    return shared_n(cell for row in table.rows for cell in row.cells)


def align_columns(
    rows: Sequence[Mapping[str, Cell]], labels: Sequence[str]
) -> tuple[tuple[str, ...], tuple[TableRow, ...]]:
    """The headings and rows of a table from one mapping (heading to cell) per row; empty columns are dropped."""
    every = list(dict.fromkeys(head for row in rows for head in row))
    columns = {head: [row.get(head) for row in rows] for head in every}
    heads = [head for head in every if any(c.is_known if isinstance(c, Figure) else c for c in columns[head])]
    aligned = [TableRow(label, tuple(row.get(head) for head in heads)) for label, row in zip(labels, rows, strict=True)]
    return tuple(heads), tuple(aligned)


def printable(printed: Printed) -> Printed:
    """Replace control and direction characters in every text of a report or section; line ends stay."""

    def clean(text: str) -> str:
        return "".join(letter if letter.isprintable() or letter == "\n" else UNPRINTABLE for letter in text)

    return map_texts(printed, clean)


def map_texts(value: Printed, change: Callable[[str], str]) -> Printed:
    """Apply ``change`` to every text of a report or section, names of occupants in recorded games included."""
    changed: Any = value
    if isinstance(value, str):
        changed = change(value)
    elif isinstance(value, GameRecord):
        first, second = value.occupants
        changed = replace(value, occupants=(change(first), change(second)))
    elif isinstance(value, tuple):
        parts = [map_texts(part, change) for part in value]
        changed = type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return cast("Printed", changed)


def with_short_names(section: Section, names: Iterable[str]) -> Section:
    """The section with short names for those of ``names`` that contain a path; its last notes give each full name.

    For people only: files for programs keep the full specifications.
    """
    short = short_names(names)
    shortened = {spec: name for spec, name in short.items() if _shorten(section, {spec: name}) != section}
    return _add_full_names(section, shortened)


def report_with_short_names(report: Report, names: Iterable[str]) -> Report:
    """The report with short names; the notes of its first section give each full name."""
    short = short_names(names)
    head = map_texts(report._replace(sections=()), lambda text: replace_names(text, short))
    first, *further = report.sections
    return head._replace(sections=(_add_full_names(first, short), *(_shorten(section, short) for section in further)))


def replace_names(text: str, short: Mapping[str, str]) -> str:
    """The text with every specification in ``short`` replaced by its short name, the longest first."""
    for spec in sorted(short, key=len, reverse=True):
        text = text.replace(spec, short[spec])
    return text


def _add_full_names(section: Section, short: Mapping[str, str]) -> Section:
    shortened = _shorten(section, short)
    return shortened._replace(notes=(*shortened.notes, *(f"{name} is {spec}." for spec, name in short.items())))


def _shorten(section: Section, short: Mapping[str, str]) -> Section:
    """The section with short names except in its text blocks: settings keep their specifications."""
    changed = map_texts(section, lambda text: replace_names(text, short))
    pairs = zip(section.blocks, changed.blocks, strict=True)
    blocks = tuple(before if isinstance(before, TextBlock) else after for before, after in pairs)
    return changed._replace(blocks=blocks)
