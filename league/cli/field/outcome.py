"""What the commands of this room end with: the results file, its table on the screen, and where the file is."""

from __future__ import annotations

from pathlib import Path

from rich.markdown import Markdown

from dond_marl.records.files import write_whole
from league.cli.shell import console_for_people, say


def keep(path: Path, text: str, table: str, *notes: str) -> None:
    """Write ``text`` to ``path``, whose folder is made; print the ``table``, which is Markdown, and the ``notes``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)
    console_for_people().print(Markdown(table))
    for note in notes:
        say(note)
    say(f"written: {path}")
