"""Write the notebooks of docs/notebooks from their sources, or run one and store it with its outputs elsewhere.

A source is Python; a cell begins with `# %%`, one of text with `# %% [markdown]`. Notebooks are stored without outputs.

examples:
  python -m scripts.docs_site.notebooks
  python -m scripts.docs_site.notebooks --check               # change nothing; exit code 1 if one is out of date
  python -m scripts.docs_site.notebooks --run train --out FOLDER
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import click

from league.cli.shell import FILE, Command, print_line, run
from scripts.docs_site.pages import update

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "notebooks"
SOURCES = {path.stem: path for path in sorted((FOLDER / "sources").glob("*.py"))}
CELL = re.compile(r"^# %%( \[markdown\])?$", re.MULTILINE)
LONGEST = 15 * 60  # seconds of one cell


def notebook(source: str) -> str:
    """The notebook of a source, as the text of an `.ipynb` file without outputs."""
    parts = CELL.split(source)[1:]  # kind and text, in turn
    batched = zip(parts[::2], parts[1::2], strict=True)
    cells = [_notebook_cell(number, bool(kind), text.strip("\n")) for number, (kind, text) in enumerate(batched)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _notebook_cell(number: int, words: bool, text: str) -> dict[str, Any]:
    lines = [re.sub(r"^# ?", "", line) for line in text.split("\n")] if words else text.split("\n")
    shared = {"id": f"cell-{number}", "metadata": {}, "source": [f"{line}\n" for line in lines[:-1]] + lines[-1:]}
    if words:
        return {"cell_type": "markdown", **shared}
    return {"cell_type": "code", "execution_count": None, **shared, "outputs": []}


def run_notebook(name: str, cwd: Path) -> Any:
    """The notebook after running every cell in ``cwd``; a failing cell raises nbclient's error."""
    import nbformat
    from nbclient import NotebookClient

    made = nbformat.reads(notebook(SOURCES[name].read_text(encoding="utf-8")), as_version=4)
    NotebookClient(made, timeout=LONGEST, kernel_name="python3", resources={"metadata": {"path": str(cwd)}}).execute()
    return made


@click.command(cls=Command, help=__doc__)
@click.option("--check", is_flag=True, help="change nothing, only say whether they are up to date")
@click.option("--run", "name", type=click.Choice([*SOURCES]), help="run one of them")
@click.option(
    "--out", type=FILE, default=Path(), metavar="FOLDER", help="folder to run and store it in (current folder)"
)
def command(check: bool, name: str | None, out: Path) -> None:
    """Write the notebooks, compare them with their sources, or run one."""
    if name is not None:
        import nbformat

        out.mkdir(parents=True, exist_ok=True)
        (out / f"{name}.ipynb").write_text(nbformat.writes(run_notebook(name, out)), encoding="utf-8")
        print_line(f"written: {out / name}.ipynb")
        return
    for stem, path in SOURCES.items():
        file, text = FOLDER / f"{stem}.ipynb", notebook(path.read_text(encoding="utf-8"))
        update(file, text, check, "scripts.docs_site.notebooks")


if __name__ == "__main__":
    sys.exit(run(command))
