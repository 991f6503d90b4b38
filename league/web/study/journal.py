"""What happened in a study, in the order in which it happened: one SQLite file that only grows.

Every event is on disk before anybody is told of what came of it, so that a kill at any moment loses nothing that a
participant has seen. All the rest, who is where and what was said, is a fold over the events (:mod:`.progress`). No
name, no address and no key is in it: of what a browser or a person keeps secret, SHA-256 alone.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from dond_marl.errors import InputError, RunFailure

JOURNAL = "journal.sqlite"
NOBODY = -1  # of events that are about the study
_SCHEMA = """
CREATE TABLE events (number INTEGER PRIMARY KEY, at TEXT NOT NULL, who INTEGER NOT NULL, kind TEXT NOT NULL,
                     told TEXT NOT NULL) STRICT;
CREATE TRIGGER events_stay BEFORE UPDATE ON events BEGIN SELECT raise(ABORT, 'events do not change'); END;
CREATE TRIGGER events_last BEFORE DELETE ON events BEGIN SELECT raise(ABORT, 'events do not go'); END;
"""


class JournalError(RunFailure):
    """The journal cannot be opened, read or written; the message says what to do."""


class Event(NamedTuple):
    """Something that happened at ``at``, UTC, to participant ``who``."""

    at: datetime
    who: int  # participant, numbered from 0 as they came; NOBODY: the study's own
    kind: str
    told: Mapping[str, Any]


class Journal:
    """An open journal, which one process writes (:class:`league.ledger.run_directory.RunDirectory`).

    ``path`` ``None``: one in memory, for a rehearsal.
    """

    def __init__(self, path: Path | None) -> None:
        self._name = str(path or "the journal in memory")
        try:
            self._db = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")  # every commit is on disk when it returns
            if not self._db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'events'").fetchone()[0]:
                self._db.executescript(f"BEGIN;{_SCHEMA}COMMIT;")
        except sqlite3.Error as error:
            raise JournalError(
                f"{self._name}: cannot be opened ({error}); is the disk full, the folder yours?"
            ) from None

    def write(self, *events: Event) -> None:
        """Add events, all of them or none. Raises :class:`JournalError`."""
        rows = [(_text(at), who, kind, json.dumps(told, separators=(",", ":"))) for at, who, kind, told in events]
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.executemany("INSERT INTO events (at, who, kind, told) VALUES (?, ?, ?, ?)", rows)
                self._db.execute("COMMIT")
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise JournalError(f"{self._name}: cannot be written ({error}); what was written before is safe") from None

    def read(self) -> list[Event]:
        """Every event, in order. Raises :class:`JournalError`."""
        try:
            return list(_events(self._db))
        except (sqlite3.Error, ValueError) as error:
            raise JournalError(f"{self._name}: cannot be read ({error}); restore a copy") from None

    def close(self) -> None:
        self._db.close()


def read_journal(folder: Path) -> list[Event]:
    """The events of the study in ``folder``, which may go on meanwhile.

    Raises :class:`InputError` where there is none, and :class:`JournalError`.
    """
    path = folder / JOURNAL
    if not path.is_file():
        raise InputError(f"{folder} is no study's folder: it holds no {JOURNAL}")
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
            return list(_events(db))
    except (sqlite3.Error, ValueError) as error:
        raise JournalError(f"{path}: cannot be read ({error}); restore a copy") from None


def _events(db: sqlite3.Connection) -> Iterator[Event]:
    for at, who, kind, told in db.execute("SELECT at, who, kind, told FROM events ORDER BY number"):
        yield Event(datetime.fromisoformat(at), who, kind, json.loads(told))


def _text(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds")
