"""Write the notebooks of docs/notebooks from their sources; run one and store it with its outputs.

A source is Python; a cell begins with `# %%`, one of text with `# %% [markdown]`. Without --run no code runs: a cell
keeps its stored outputs as long as its code is unchanged.

examples:
  python -m scripts.docs_site.notebooks
  python -m scripts.docs_site.notebooks --run train           # with new outputs, into docs/notebooks
  python -m scripts.docs_site.notebooks --run train --out FOLDER
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from dond.cli.shell import FILE, Command, print_line, run

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "notebooks"
SOURCES = {path.stem: path for path in sorted((FOLDER / "sources").glob("*.py"))}
CELL = re.compile(r"^# %%( \[markdown\])?$", re.MULTILINE)
LONGEST = 15 * 60  # seconds of one cell


def notebook(source: str, stored: str | None = None) -> str:
    """The notebook of a source, as the text of an `.ipynb` file.

    ``stored``: a notebook of an earlier text; code cells that are the same in it take their outputs from it.
    """
    parts = CELL.split(source)[1:]  # kind and text, in turn
    batched = zip(parts[::2], parts[1::2], strict=True)
    cells = [_notebook_cell(number, bool(kind), text.strip("\n")) for number, (kind, text) in enumerate(batched)]
    earlier = {cell["id"]: cell for cell in json.loads(stored)["cells"]} if stored is not None else {}
    for cell in cells:
        same = earlier.get(cell["id"], {})
        if cell["cell_type"] == "code" and same.get("source") == cell["source"]:
            cell |= {"execution_count": same["execution_count"], "outputs": same["outputs"]}
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


def run_notebook(name: str, cwd: Path) -> str:
    """The notebook with the outputs of a run of every cell in ``cwd``; a failing cell raises nbclient's error."""
    import nbformat
    from nbclient import NotebookClient

    source = SOURCES[name].read_text(encoding="utf-8")
    document = nbformat.reads(notebook(source), as_version=4)
    resources = {"metadata": {"path": str(cwd)}}
    client = NotebookClient(
        document, timeout=LONGEST, kernel_name="python3", resources=resources, coalesce_streams=True
    )
    client.execute()
    for cell in document.cells:
        cell.outputs = [
            cell_output for cell_output in cell.get("outputs", []) if cell_output.get("name") != "stderr"
        ]  # paths in warnings
        for output in cell.outputs:
            output.get("data", {}).pop("image/jpeg", None)  # next to the same as PNG
    return notebook(source, nbformat.writes(document).replace(f"{cwd}/", ""))


@click.command(cls=Command, help=__doc__)
@click.option("--run", "name", type=click.Choice([*SOURCES]), help="run one of them")
@click.option(
    "--out", type=FILE, default=None, metavar="FOLDER", help="folder to run and store it in, instead of docs/notebooks"
)
def command(name: str | None, out: Path | None) -> None:
    """Write the notebooks, or run one."""
    if name is not None:
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory() as elsewhere:
            text = run_notebook(name, out or Path(elsewhere))
        target = (out or FOLDER) / f"{name}.ipynb"
        target.write_text(text, encoding="utf-8")
        print_line(f"written: {target}")
        return
    for stem, path in SOURCES.items():
        file = FOLDER / f"{stem}.ipynb"
        stored = file.read_text(encoding="utf-8") if file.is_file() else None
        file.write_text(notebook(path.read_text(encoding="utf-8"), stored), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(run(command))
