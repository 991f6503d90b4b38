"""A report without anything that a terminal or a reader's eye would obey: control and direction characters are shown.

Names and causes are somebody else's text. What a format itself gives a meaning to is escaped where that is written.
"""

from __future__ import annotations

from typing import Any, TypeVar

from dond_marl.records.record import GameRecord
from league.report.blocks import Report

Told = TypeVar("Told")
SHOWN = "\N{REPLACEMENT CHARACTER}"


def inert(report: Report) -> Report:
    """The same report, its texts printable; line ends stay where a text has them."""
    found: Report = _inert(report)
    return found


def plain(text: str) -> str:
    """A text whose every character is printable, or the end of a line."""
    return "".join(letter if letter.isprintable() or letter == "\n" else SHOWN for letter in text)


def _inert(value: Any) -> Any:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, GameRecord):
        from dataclasses import replace

        first, second = value.occupants
        return replace(value, occupants=(plain(first), plain(second)))
    if isinstance(value, tuple):
        parts = [_inert(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value
