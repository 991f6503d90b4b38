"""The journal of a study: an append-only SQLite file with one row for each event, in order.

An event is on disk before its effect is shown, so that a crash at any moment loses nothing that a participant has seen.
The state of the study is a fold over the events (:mod:`.progress`). The file holds no name, no address and no key: of
secrets that a browser or a person keeps it holds SHA-256 digests alone.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from dond_marl.errors import InputError, RunFailure, error_line
from league.ledger.schema import has_schema

JOURNAL = "journal.sqlite"
STUDY = -1  # participant number of events of the study itself
_SCHEMA = """
CREATE TABLE events (number INTEGER PRIMARY KEY, at TEXT NOT NULL, participant INTEGER NOT NULL, kind TEXT NOT NULL,
                     data TEXT NOT NULL) STRICT;
CREATE TRIGGER events_unchanged BEFORE UPDATE ON events BEGIN SELECT raise(ABORT, 'events do not change'); END;
CREATE TRIGGER events_kept BEFORE DELETE ON events BEGIN SELECT raise(ABORT, 'events are not deleted'); END;
"""


class JournalError(RunFailure):
    """The journal cannot be opened, read or written; the message says what to do."""


class StudyEvent(NamedTuple):
    """An event at time ``at``, UTC."""

    at: datetime
    participant: int  # numbered from 0 by arrival; STUDY for the study itself
    kind: str  # a key of progress.HANDLERS
    data: Mapping[str, Any]


class Journal:
    """An open journal. One process writes it (:class:`league.ledger.run_directory.RunDirectory`).

    ``path`` ``None``: a journal in memory, for tests.
    """

    def __init__(self, path: Path | None) -> None:
        self._name = str(path or "the journal in memory")
        try:
            self._db = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")  # every commit is on disk when it returns
            if not self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                self._db.executescript(f"BEGIN;{_SCHEMA}COMMIT;")
        except sqlite3.Error as error:
            raise JournalError(
                f"{self._name}: cannot be opened ({error}); is the disk full, the folder yours?"
            ) from None

    def write(self, *events: StudyEvent) -> None:
        """Append events, all of them or none. Raises :class:`JournalError`."""
        rows = [
            (
                event.at.astimezone(UTC).isoformat(timespec="milliseconds"),
                event.participant,
                event.kind,
                json.dumps(event.data, separators=(",", ":")),
            )
            for event in events
        ]
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.executemany("INSERT INTO events (at, participant, kind, data) VALUES (?, ?, ?, ?)", rows)
                self._db.execute("COMMIT")
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise JournalError(f"{self._name}: cannot be written ({error}); earlier events are safe") from None
        with suppress(sqlite3.Error):  # a copy of the file alone is complete; on a full disk they stay in the log
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def read(self) -> list[StudyEvent]:
        """All events in order. Raises :class:`JournalError`."""
        return _events(self._db, self._name)

    def close(self) -> None:
        self._db.close()


def is_study(folder: Path) -> bool:
    """Whether a folder holds a study's journal."""
    return (folder / JOURNAL).is_file()


def read_journal(folder: Path) -> list[StudyEvent]:
    """The events of the study in ``folder``, which may be running.

    Raises :class:`InputError` for a folder without a journal, and :class:`JournalError`.
    """
    path = folder / JOURNAL
    if not path.is_file():
        raise InputError(f"{folder} is no study's folder: it holds no {JOURNAL}")
    source = f"{path.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(source, uri=True)) as db:
        return _events(db, str(path))


def _events(db: sqlite3.Connection, name: str) -> list[StudyEvent]:
    """All events in order. Raises :class:`JournalError` for a file that is damaged, or no study's."""
    try:
        if not has_schema(db, _SCHEMA):
            raise ValueError("its tables are not those of a study's journal")
        rows = db.execute("SELECT at, participant, kind, data FROM events ORDER BY number")
        return [
            StudyEvent(datetime.fromisoformat(moment), participant, kind, json.loads(data))
            for moment, participant, kind, data in rows
        ]
    except (ValueError, sqlite3.Error) as error:
        raise JournalError(f"{name}: cannot be read ({error_line(error)}); restore a copy") from None
