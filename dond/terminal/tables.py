"""Sections of :mod:`league.tables` on a terminal: the lines of :mod:`league.tables.plain`, in their styles."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from dond_marl.errors import printable_text
from league.tables.blocks import Section
from league.tables.plain import IN_SHORT, PROSE, in_short, section_lines


def line(console: Console, text: str, style: str = "") -> None:
    """Print ``text`` as it stands: no markup, and broken by the terminal alone, so that it can be copied."""
    console.print(Text(printable_text(text), style=style), soft_wrap=True)


def print_in_short(console: Console, sentences: Iterable[str]) -> None:
    """Print what an output opens with: its outcome, broken between words."""
    print_sections(console, in_short(sentences))


def print_sections(console: Console, sections: Iterable[Section]) -> None:
    """Print sections below each other."""
    for section in sections:
        print_section(console, section)


def print_section(console: Console, section: Section) -> None:
    """Print the title, the tables, and the notes on what their figures mean."""
    for text, style in section_lines(section, console.width):
        if section.key == IN_SHORT:
            opening, _, sentence = text.partition(": ")
            console.print(Text.assemble((f"{opening}: ", "bold"), sentence), soft_wrap=True)
        else:
            line(console, text, style)


class ConsoleOutput:
    """Output of progress (:class:`league.results.progress.Output`) on a console."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @property
    def width(self) -> int:
        """Columns of a line of text."""
        return min(self._console.width, PROSE)

    def line(self, text: str, style: str = "") -> None:
        """Print one or more lines."""
        line(self._console, text, style)
