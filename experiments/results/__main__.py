"""Write the figures of README.md and of the pages of docs that have generated blocks, from docs/results.

A block of a page is what stands between its two marks; nothing else is changed. A file that is not there has no row.
docs/headline.svg, the README's figure, docs/frontier.svg, docs/anac.svg and docs/post_training.svg are drawn from the
same files.

examples:
  python -m experiments.results
  python -m experiments.results --check    # change nothing; exit code 1 if a page is not what the files give
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import click

from dond_marl.errors import RunFailure
from experiments.results.field import DRAWN, DRAWN_ANAC, anac_figure, frontier_figure
from experiments.results.files import FOLDER, ROOT
from experiments.results.language_models import DRAWN_TRAINING, post_training_figure
from experiments.results.picture import PICTURE, picture
from experiments.results.tables import SHORT, TABLES, block
from league.cli.shell import Command, print_line, run

PAGES = (
    ROOT / "README.md",
    *(ROOT / "docs" / name for name in ("RESULTS.md", "CROWD.md", "EQUILIBRIA.md", "FIELD.md", "POST_TRAINING.md")),
)
DRAWINGS: dict[Path, Callable[[], str]] = {
    PICTURE: picture,
    DRAWN: frontier_figure,
    DRAWN_ANAC: anac_figure,
    DRAWN_TRAINING: post_training_figure,
}
BLOCK = re.compile(r"<!-- made by python -m experiments\.results: (\w+) -->\n(.*?)\n?<!-- end of \1 -->", re.DOTALL)


def renewed(text: str, folder: Path = FOLDER) -> str:
    """A page with its blocks as the files under ``folder`` say. Raises :class:`RunFailure` for an unknown block."""

    def written(found: re.Match[str]) -> str:
        name = found[1]
        if name not in {**SHORT, **TABLES}:
            raise RunFailure(f"a block is called {name}; there are {', '.join({**SHORT, **TABLES})}")
        return (
            f"<!-- made by python -m experiments.results: {name} -->\n\n{block(name, folder)}\n\n<!-- end of {name} -->"
        )

    return BLOCK.sub(written, text)


@click.command(cls=Command, help=__doc__)
@click.option("--check", is_flag=True, help="change nothing, only say whether the pages are right")
def command(check: bool) -> None:
    """Write the pages, or compare them with the files."""
    for path in (*PAGES, *DRAWINGS):
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        right = DRAWINGS[path]() if path in DRAWINGS else renewed(text)
        if check and right != text:
            raise RunFailure(f"{path.name} is not what docs/results says: run python -m experiments.results")
        if right != text:
            path.write_text(right, encoding="utf-8")
            print_line(f"written: {path}")


if __name__ == "__main__":
    sys.exit(run(command))
