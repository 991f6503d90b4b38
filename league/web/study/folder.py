"""A study's folder: its settings and its journal, read while it may go on."""

from __future__ import annotations

from pathlib import Path

from dond_marl.errors import InputError
from league.ledger.run_directory import SETTINGS
from league.settings.read import parse
from league.web.study.journal import JOURNAL, read_journal
from league.web.study.progress import Progress
from league.web.study.settings import StudyConfig


def is_study(folder: Path) -> bool:
    """Whether a folder holds a study."""
    return (folder / JOURNAL).is_file()


def open_study(folder: Path) -> Progress:
    """What happened so far. Raises :class:`InputError`, and :class:`~.journal.JournalError` where it is damaged."""
    folder = folder.expanduser()
    events = read_journal(folder)
    path = folder / SETTINGS
    if not path.is_file():
        raise InputError(f"{folder} holds a study's journal without its {SETTINGS}: restore it from a copy")
    return Progress(parse(path.read_text(encoding="utf-8"), str(path), StudyConfig)).all(events)
