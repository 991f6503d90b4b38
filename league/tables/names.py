"""Names that fit a table: an occupant that is named by a path is called by its run, and its spec stands at the foot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dond_marl.occupants import short_names
from league.tables.blocks import Report, Section, TextBlock, map_texts


def with_short_names(section: Section, names: Iterable[str]) -> Section:
    """The section with short names for those of ``names`` that hold a path, which are said once in its last notes.

    What is written for a program keeps the specs: call this for people alone.
    """
    return _explained(section, short_names(names))


def report_with_short_names(report: Report, names: Iterable[str]) -> Report:
    """The report with short names, which are said in the notes of its first section."""
    short = short_names(names)
    head: Report = map_texts(report._replace(sections=()), lambda text: renamed(text, short))
    first, *others = report.sections
    return head._replace(sections=(_explained(first, short), *(_changed(section, short) for section in others)))


def _explained(section: Section, short: Mapping[str, str]) -> Section:
    changed = _changed(section, short)
    return changed._replace(notes=(*changed.notes, *(f"{name} is {spec}." for spec, name in short.items())))


def _changed(section: Section, short: Mapping[str, str]) -> Section:
    """The section with short names, but for texts that are shown as they stand: settings keep their specs."""
    changed: Section = map_texts(section, lambda text: renamed(text, short))
    pairs = zip(section.blocks, changed.blocks, strict=True)
    return changed._replace(blocks=tuple(before if isinstance(before, TextBlock) else after for before, after in pairs))


def renamed(text: str, short: Mapping[str, str]) -> str:
    """``text`` with every spec in it replaced by its short name, the longest first."""
    for spec in sorted(short, key=len, reverse=True):
        text = text.replace(spec, short[spec])
    return text
