"""``--help`` that fits the terminal: sentences are wrapped, examples are folded where a shell lets them be.

Standard library only: the scripts that need nothing else load nothing else.
"""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterator

MARGIN, FURTHER = "  ", "      "  # before an example, and before what of it does not fit its line
WORDS = re.compile(r"""(?:[^\s"']|"[^"]*"|'[^']*')+""")  # quoted words stay whole


def parser_of(documentation: str | None) -> argparse.ArgumentParser:
    """A parser whose help is a script's own docstring: what it does, a blank line, and examples, which go last."""
    summary, examples, rest = (documentation or "").partition("\n\nexamples")
    return argparse.ArgumentParser(description=summary, epilog=examples.lstrip("\n") + rest, formatter_class=HelpText)


class HelpText(argparse.HelpFormatter):
    """Paragraphs that fit the terminal, and indented lines, which are examples: ``command  # what it does``."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return _wrapped(" ".join(text.split()), width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:  # argparse gives none at the top
        lines = text.strip("\n").replace("\\\n", " ").split("\n")
        return "\n".join(folded for part in _parts(lines) for folded in _fold(part, width))


def _parts(lines: list[str]) -> Iterator[str]:
    """Whole paragraphs, and examples one by one."""
    paragraph: list[str] = []
    for line in lines:
        if line.strip() and not line.startswith(" "):
            paragraph.append(line)
            continue
        if paragraph:
            yield " ".join(paragraph)
            paragraph = []
        yield line
    if paragraph:
        yield " ".join(paragraph)


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of whole words: what somebody may want to copy is not cut."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _fold(part: str, width: int) -> Iterator[str]:
    """One paragraph or example in lines of at most ``width`` columns, but for words that are longer."""
    if not part.startswith(" "):
        yield from _wrapped(part, width) or [""]
        return
    command, hash_, comment = part.strip().partition("  #")
    if len(part.rstrip()) <= width and "  " not in command:
        yield part.rstrip()
        return
    if hash_:
        yield from textwrap.wrap(comment.strip(), width, initial_indent=f"{MARGIN}# ", subsequent_indent=f"{MARGIN}# ")
    if words := WORDS.findall(command):
        yield from _folded(words, width)


def _folded(words: list[str], width: int) -> Iterator[str]:
    """A command in lines that a shell reads as one, an option beside its value where that fits."""
    line = MARGIN + words[0]
    for place, word in enumerate(words[1:], start=1):
        value = words[place + 1 : place + 2] if word.startswith("--") else []
        together = " ".join([word, *(each for each in value if not each.startswith("--"))])
        bound = words[place - 1].startswith("--") and not word.startswith("--")  # to the option before it
        if len(f"{line} {together} \\") > width and not bound:
            yield f"{line} \\"
            line = FURTHER + word
        else:
            line = f"{line} {word}"
    yield line
