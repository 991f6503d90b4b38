"""What the commands of this room share: which results file, and its table on the screen when it is written."""

from __future__ import annotations

from pathlib import Path

from rich.markdown import Markdown

from dond_marl.records.files import write_atomically
from league.bench.results import check_writable
from league.cli.shell import output_console, print_line

RESULTS = "results.jsonl"


def results_file(results: Path | None, folder: Path) -> Path:
    """The file that was named, else ``RESULTS`` in the ``folder``. Raises ResultsError where nothing can be written."""
    path = results or folder / RESULTS
    check_writable(path)
    return path


def keep(path: Path, text: str, table: str, *notes: str) -> None:
    """Write ``text`` to ``path``, whose folder is made; print the ``table``, which is Markdown, and the ``notes``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text)
    output_console().print(Markdown(table))
    for note in notes:
        print_line(note)
    print_line(f"written: {path}")
