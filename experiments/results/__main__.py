"""Write the figure of README.md and the generated blocks of README.md and pages of docs, from docs/results.

A block of a page is the text between its two marks; nothing else is changed.

examples:
  python -m experiments.results
  python -m experiments.results --check    # change nothing; exit code 1 if a page differs from the files
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from dond_marl.errors import RunFailure
from experiments.results.files import FOLDER, ROOT
from experiments.results.headline import DRAWING, headline_figure
from experiments.results.tables import SHORT, TABLES, block
from league.cli.shell import Command, print_line, run

PAGES = (ROOT / "README.md", ROOT / "docs" / "RESULTS.md")
WITH_BLOCKS = (*PAGES, ROOT / "docs" / "EQUILIBRIA.md")
DESCRIPTION = re.compile(r"<dc:description>(.*?)</dc:description>", re.DOTALL)
BLOCK = re.compile(r"<!-- made by python -m experiments\.results: (\w+) -->\n(.*?)\n?<!-- end of \1 -->", re.DOTALL)


def rewrite_blocks(text: str, folder: Path = FOLDER) -> str:
    """A page with its blocks made from the files in ``folder``. Raises :class:`RunFailure` for an unknown block."""

    def write_block(found: re.Match[str]) -> str:
        name = found[1]
        if name not in {**SHORT, **TABLES}:
            raise RunFailure(f"unknown block {name}; the blocks are {', '.join({**SHORT, **TABLES})}")
        return (
            f"<!-- made by python -m experiments.results: {name} -->\n\n{block(name, folder)}\n\n<!-- end of {name} -->"
        )

    return BLOCK.sub(write_block, text)


def is_current(path: Path, text: str) -> bool:
    """Whether a page equals ``text``, or the drawing has the same description, whatever the version of Matplotlib."""
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    return DESCRIPTION.findall(before) == DESCRIPTION.findall(text) if path == DRAWING else before == text


@click.command(cls=Command, help=__doc__)
@click.option("--check", is_flag=True, help="change nothing, only compare the pages with the files")
def command(check: bool) -> None:
    """Write the pages and the drawing, or compare them with the files."""
    texts = {path: rewrite_blocks(path.read_text(encoding="utf-8")) for path in WITH_BLOCKS}
    for path, text in {**texts, DRAWING: headline_figure()}.items():
        if is_current(path, text):
            continue
        if check:
            raise RunFailure(f"{path.name} differs from docs/results: run python -m experiments.results")
        path.write_text(text, encoding="utf-8")
        print_line(f"written: {path}")


if __name__ == "__main__":
    sys.exit(run(command))
