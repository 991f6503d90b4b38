"""Ledger of a league: one SQLite file of raw results, written in one transaction per round.

All standings are computed from these rows. A kill at any moment loses at most the round in progress. The tables
``clock``, ``notes`` and ``causes`` depend on time, machine and error messages; :meth:`Ledger.fingerprint` covers all
other rows, and is the same for the same settings and seed, however often the run was interrupted.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from dond_marl.errors import Notice, RunFailure
from dond_marl.occupants import ANYTHING, NOTHING, Permission, read_spec
from dond_marl.scenarios.sources import Scenarios
from league.ledger.run_directory import SETTINGS, RunDirectory, RunNotFound, find_run
from league.ledger.schema import FINGERPRINTED, SCHEMA, SCHEMA_VERSION, SEALED
from league.play.values import (
    CAUSES,
    FACTS,
    Decision,
    LearnerState,
    MatchResult,
    Member,
    Result,
    Round,
    SeatOrderResult,
)
from league.settings.read import Config, parse

DAMAGE_SIGNS = ("malformed", "not a database", "no such table", "no such column", "decode")  # in SQLite's messages


class LedgerError(RunFailure):
    """The ledger cannot be opened, read or written; the message gives the next step. Committed rounds are safe."""


class Ledger:
    """An open ledger. One process writes it at a time (see :mod:`league.ledger.run_directory`).

    ``allow``: what the names in it may use, which another person may have written; always the weights in its folder.
    Reading it uses none of them, and who seats a member asks :func:`dond_marl.occupants.check_needs` first.
    """

    def __init__(self, path: Path, allow: Permission = NOTHING) -> None:
        self.path, self.allow = path, allow._replace(folders=(*allow.folders, path.parent))
        with self._ledger_errors("opened"):
            self._db = sqlite3.connect(path, isolation_level=None)
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = FULL")
                self._db.execute("PRAGMA foreign_keys = ON")
                self._check()
            except BaseException:
                self._db.close()
                raise

    def begin(
        self,
        meta: Mapping[str, str],
        notes: Mapping[str, str],
        members: Sequence[Member],
        states: Mapping[str, LearnerState],
    ) -> None:
        """Write the start of a run: settings, members and states of learners.

        ``meta`` are the inputs of the run, ``notes`` its time, machine and versions; the blobs that ``states`` name are
        on disk already.
        """
        with self._transaction():
            for statement in SCHEMA.split(";\n"):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            self._insert("meta", sorted(meta.items()))
            self._insert("notes", sorted(notes.items()))
            self._join(members)
            self._insert("states", [(-1, name, *state, None, None) for name, state in states.items()])
            self._insert("seals", [(-1, self._seal(-1))])

    def commit_round(self, played: Round, seconds: float, overhead: float = 0.0) -> None:
        """Write a round in one transaction. The blobs that it names are on disk already.

        ``seconds``: duration of the round so far; ``overhead``: its part that was neither practice nor matches.
        """
        began = time.perf_counter()
        number, scenarios = played.number, played.scenarios
        packed = np.concatenate([scenarios.counts, scenarios.utilities.reshape(-1, 6)], axis=1).tobytes()
        meetings, legs, figures = [], [], {}
        for result in played.matches:
            task = result.task
            first, second = (seat.name for seat in task.members)
            meetings.append((number, task.number, first, second, 1.0, task.reason))
            legs += [(number, task.number, order, *leg.seats, _pack(leg)) for order, leg in enumerate(result.legs)]
        for practiced in played.trained:
            learning, name = practiced.task, practiced.task.learner.name
            meetings += [
                (number, learning.number, name, m.opponent.name, m.probability, m.reason) for m in learning.meetings
            ]
            figures[name] = (practiced.points, practiced.deals)
        states = [(number, name, *state, *figures.get(name, (None, None))) for name, state in played.states.items()]
        results: list[Result] = [*played.matches, *played.trained]
        tasks = [(number, r.task.number, "match" if isinstance(r, MatchResult) else "train", r.failed) for r in results]
        causes = [(number, r.task.number, r.cause) for r in results if r.cause is not None]
        decisions = [(number, i, *decision) for i, decision in enumerate(played.decisions)]
        with self._transaction():
            self._insert("rounds", [(number, played.stage, played.block.start, played.block.size, packed)])
            self._insert("tasks", tasks)
            self._insert("meetings", meetings)
            self._insert("causes", causes)
            self._insert("matches", legs)
            self._insert("states", states)
            self._insert("decisions", decisions)
            self._join(played.born)
            writing = time.perf_counter() - began
            self._insert("clock", [(number, seconds + writing, overhead + writing)])
            self._insert("seals", [(number, self._seal(number))])

    @property
    def has_begun(self) -> bool:
        """Whether the start of the run is written."""
        return bool(self._value("SELECT count(*) FROM sqlite_schema WHERE name = 'meta'"))

    @property
    def next_round(self) -> int:
        """Number of the first round that is not committed."""
        return int(self._value("SELECT coalesce(max(round) + 1, 0) FROM rounds"))

    def meta(self) -> dict[str, str]:
        """Inputs of the run: settings, and the digest of the scenario source."""
        return dict(self._rows("SELECT key, value FROM meta"))

    def notes(self) -> dict[str, str]:
        """Start of the run: settings with their paths, versions, command line, time, machine."""
        return dict(self._rows("SELECT key, value FROM notes"))

    def settings(self) -> str:
        """The settings at the start of the run, as YAML."""
        return self.notes()["config"]

    def config(self) -> Config:
        """The settings at the start of the run; names in them that need anything are not looked up.

        Raises :class:`league.settings.read.ConfigError`.
        """
        return _parsed(self.settings(), f"settings in {self.path}")

    def members(self) -> tuple[Member, ...]:
        """All members in the order of the config, snapshots in the order of joining."""
        query = "SELECT member, spec, role, split, parent, born, blob FROM members ORDER BY position"
        return tuple(
            Member(name, None if spec is None else read_spec(spec), *row) for name, spec, *row in self._rows(query)
        )

    def states(self, after: int | None = None) -> dict[str, LearnerState]:
        """States of the learners by name after a round (-1: before the first); the latest by default."""
        query = "SELECT member, blob, updates, decisions, games, life FROM states WHERE round = ?"
        number = self.next_round - 1 if after is None else after
        return {name: LearnerState(*state) for name, *state in self._rows(query, number)}

    def scenarios(self, number: int) -> Scenarios:
        """The scenarios of a committed round."""
        packed = self._value("SELECT scenarios FROM rounds WHERE round = ?", number)
        table = np.frombuffer(packed, dtype=np.int8).reshape(-1, 9)
        return Scenarios(table[:, :3], table[:, 3:].reshape(-1, 2, 3))

    def legs(self, number: int, *, failed: bool = False) -> Iterator[SeatOrderResult]:
        """The legs (seat orders of matches) of a committed round in order; or those of its ``failed`` matches.

        A failed match has legs if a member could not be reached in it.
        """
        rows = self._rows(
            "SELECT seat_0, seat_1, facts, size FROM matches JOIN tasks USING (round, task) JOIN rounds USING (round)"
            " WHERE round = ? AND (failed IS NOT NULL) = ? ORDER BY task, leg",
            number,
            failed,
        )
        for first, second, packed, size in rows:
            yield _unpack((first, second), packed, size)

    def at_fault(self, number: int) -> list[str]:
        """The member at fault in each failed match of a committed round."""
        rows = self._rows(
            "SELECT failed FROM tasks WHERE round = ? AND kind = 'match' AND failed IS NOT NULL ORDER BY task", number
        )
        return [member for (member,) in rows]

    def rounds_without_practice(self) -> dict[str, int]:
        """The number of rounds in which each learner learned nothing, as its practice could not be finished."""
        return dict(
            self._rows(
                "SELECT failed, count(DISTINCT round) FROM tasks JOIN meetings USING (round, task)"
                " WHERE kind = 'train' AND failed = member GROUP BY failed ORDER BY failed"
            )
        )

    def stage(self, number: int) -> int:
        """Index of the stage of a committed round."""
        return int(self._value("SELECT stage FROM rounds WHERE round = ?", number))

    def decisions(self, number: int) -> list[Decision]:
        """Decisions at the end of a committed round."""
        rows = self._rows("SELECT kind, subject, taken, reason FROM decisions WHERE round = ? ORDER BY place", number)
        return [Decision(kind, subject, bool(passed), reason) for kind, subject, passed, reason in rows]

    def meetings(self, number: int) -> Iterator[tuple[int, str, str, str, float, str]]:
        """Pairings of a committed round: task, its kind, member, opponent, probability and reason."""
        yield from self._rows(
            "SELECT task, kind, member, opponent, probability, reason FROM meetings JOIN tasks USING (round, task)"
            " WHERE round = ? ORDER BY task, meetings.rowid",
            number,
        )

    def last_seal(self) -> str:
        """SHA-256 over the rows of the last committed round and the seal before it."""
        return str(self._value("SELECT sha256 FROM seals ORDER BY round DESC LIMIT 1"))

    def failures(self) -> list[tuple[int, str, str]]:
        """Every failed match or practice: its round, the member at fault, and the error message."""
        return list(
            self._rows(
                "SELECT round, failed, coalesce(cause, '') FROM tasks LEFT JOIN causes USING (round, task)"
                " WHERE failed IS NOT NULL ORDER BY round, task"
            )
        )

    def first_damaged_round(self) -> int | None:
        """The first round whose rows do not match their seal (-1: the start of the run); ``None`` if all match."""
        return next((number for number in range(-1, self.next_round) if not self.is_sound(number)), None)

    def damage(self) -> str | None:
        """The first round whose rows do not match their seal, as a sentence; ``None`` if all match."""
        damaged = self.first_damaged_round()
        if damaged is None:
            return None
        where = "the start of the run" if damaged < 0 else f"round {damaged + 1}"
        return f"BROKEN at {where}: from there on the rows are not those that were written; --resume repairs the run"

    def is_sound(self, number: int) -> bool:
        """Whether the rows of round ``number`` match their seal; -1: the start of the run."""
        return list(self._rows("SELECT sha256 FROM seals WHERE round = ?", number)) == [(self._seal(number),)]

    def roll_back(self, number: int) -> None:
        """Delete round ``number`` and all later ones."""
        with self._transaction():
            for table in ("seals", "causes", "matches", "meetings", "decisions", "tasks", "states", "clock", "rounds"):
                self._db.execute(f"DELETE FROM {table} WHERE round >= ?", (number,))  # noqa: S608  # constants
            self._db.execute("DELETE FROM members WHERE born > ?", (number,))

    def clock(self) -> tuple[float, float]:
        """Seconds of all rounds, and the part of them for planning, statistics and writing."""
        seconds, overhead = next(self._rows("SELECT coalesce(sum(seconds), 0), coalesce(sum(overhead), 0) FROM clock"))
        return seconds, overhead

    def fingerprint(self) -> str:
        """SHA-256 over all rows except those of ``clock``, ``notes`` and ``causes``, in a fixed order."""
        digest = hashlib.sha256()
        for table, order in FINGERPRINTED.items():
            self._add(digest, table, f"SELECT * FROM {table} ORDER BY {order}")  # noqa: S608  # constants of this file
        return digest.hexdigest()

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _seal(self, number: int) -> str:
        """SHA-256 over the rows of a round and the seal before it; of round -1 over the start of the run."""
        digest = hashlib.sha256()
        if number < 0:
            # Notes are left out: rows do not depend on them.
            self._add(digest, "meta", "SELECT * FROM meta ORDER BY key")
        else:
            self._add(digest, "seals", "SELECT sha256 FROM seals WHERE round = ?", number - 1)
        for table, (of_round, order) in SEALED.items():
            query = f"SELECT * FROM {table} WHERE {of_round} = ? ORDER BY {order}"  # noqa: S608  # constants
            self._add(digest, table, query, number)
        return digest.hexdigest()

    def _add(self, digest: hashlib._Hash, table: str, query: str, *values: object) -> None:
        for row in self._rows(query, *values):
            cells = [hashlib.sha256(cell).hexdigest() if isinstance(cell, bytes) else cell for cell in row]
            digest.update(json.dumps([table, *cells]).encode())

    def _join(self, members: Sequence[Member]) -> None:
        joined = self._value("SELECT count(*) FROM members")
        rows = [(m.name, joined + i, m.spec, m.role, m.split, m.parent, m.born, m.blob) for i, m in enumerate(members)]
        self._insert("members", rows)

    def _insert(self, table: str, rows: Sequence[tuple[object, ...]]) -> None:
        if rows:
            places = ", ".join("?" * len(rows[0]))
            self._db.executemany(f"INSERT INTO {table} VALUES ({places})", rows)  # noqa: S608  # constants

    def _check_schema(self) -> None:
        """Refuse another version of the schema, and no tables where the run had begun."""
        settings_written = (self.path.parent / SETTINGS).exists()  # after the rows, so look here first
        version, begun = self._value("PRAGMA user_version"), self.has_begun
        if settings_written and not begun:
            raise LedgerError(
                f"{self.path}: the ledger has lost its rows, as when it was copied without {self.path.name}-wal; "
                f"restore both files, or start a new run with the same settings, which produces the same rows"
            )
        if begun and version != SCHEMA_VERSION:
            raise LedgerError(
                f"{self.path}: written with ledger schema {version}, this is {SCHEMA_VERSION}; start a new run"
            )

    def _check(self) -> None:
        self._check_schema()
        if (verdict := self._value("PRAGMA quick_check(1)")) != "ok":
            raise LedgerError(f"{self.path}: the ledger is damaged ({verdict}); restore a copy or start a new run")

    def _rows(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        with self._ledger_errors("read"):
            yield from self._db.execute(query, values)

    def _value(self, query: str, *values: object) -> Any:
        return next(self._rows(query, *values))[0]

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._ledger_errors("written"):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # SQLite may have rolled back by itself
                    self._db.execute("ROLLBACK")
                raise
        # The rows move from the log into the file, so that a copy of it is complete. Where the disk is full or a reader
        # holds an earlier state they stay in the log, which is as safe.
        with contextlib.suppress(sqlite3.Error):
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")

    @contextlib.contextmanager
    def _ledger_errors(self, verb: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite's own message can quote damaged bytes
            if isinstance(error, UnicodeDecodeError) or any(sign in str(error) for sign in DAMAGE_SIGNS):
                advice = "The file is damaged: restore a copy of it, or start a new run, which produces the same rows"
            else:
                advice = (
                    "Committed rounds are safe; check that the disk has room and the folder is writable, then continue "
                    "with --resume"
                )
            raise LedgerError(f"{self.path}: the ledger could not be {verb}: {error}. {advice}") from error


@lru_cache(maxsize=4)  # settings do not change, and those of 300 members take a quarter of a second to parse
def _parsed(settings: str, source: str) -> Config:
    return parse(settings, source, Config, NOTHING)


def _pack(leg: SeatOrderResult) -> bytes:
    """The facts of a leg, followed by the causes of fallbacks if there are any."""
    return leg.facts.tobytes() + (b"" if leg.causes is None else leg.causes.tobytes())


def _unpack(seats: tuple[str, str], packed: bytes, size: int) -> SeatOrderResult:
    facts = np.frombuffer(packed, dtype=FACTS, count=size)
    causes = np.frombuffer(packed, dtype=np.int8, offset=facts.nbytes)
    return SeatOrderResult(seats, facts, causes.reshape(size, 2, len(CAUSES)) if len(causes) else None)


class ReadLedger(Ledger):
    """A ledger opened for reading, while a league may be writing it. Raises :class:`LedgerError`."""

    _verdict: tuple[int, str | None] | None = None  # on the rows of so many rounds

    def __init__(self, path: Path, allow: Permission = NOTHING) -> None:
        self.path, self.allow = path, allow._replace(folders=(*allow.folders, path.parent))
        if not path.is_file():
            raise LedgerError(f"{path.parent} is not the folder of a league: it has no {path.name}")
        with self._ledger_errors("opened"):
            self._connect("mode=ro")
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        with self._ledger_errors("opened"):
            try:
                self._db.execute("SELECT count(*) FROM sqlite_schema")
            except sqlite3.OperationalError:  # no room for SQLite's index file: the disk is full or read-only
                log = self.path.with_name(f"{self.path.name}-wal")
                if log.exists() and log.stat().st_size:
                    raise
                self._db.close()
                self._connect("immutable=1")  # there is no log, so no process is writing
        self._check_schema()

    def _connect(self, how: str) -> None:
        uri = f"{self.path.resolve().as_uri()}?{how}"
        self._db = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)

    def settings(self) -> str:
        """Settings, see :meth:`Ledger.settings`; the first call gives a :class:`~dond_marl.errors.Notice` on damage."""
        text = super().settings()
        if self._verdict is None and (damage := self.damage()) is not None:
            warnings.warn(Notice(f"{self.path.parent}: seals {damage}"), stacklevel=2)
        return text

    def damage(self) -> str | None:
        """See :meth:`Ledger.damage`; looked for again when there are more rounds."""
        if self._verdict is None or self._verdict[0] != self.next_round:
            self._verdict = self.next_round, super().damage()
        return self._verdict[1]

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """A read transaction: the context sees the ledger as it is now. Raises :class:`LedgerError` on damage."""
        self._check()
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            if self._db.in_transaction:  # SQLite may have ended it by itself
                self._db.execute("ROLLBACK")


@contextlib.contextmanager
def open_run(run: str | Path, *, trust: bool = False) -> Iterator[tuple[ReadLedger, RunDirectory]]:
    """Open the league in ``run``, or the newest in it, for reading: a snapshot of its ledger, and its folder.

    ``trust``: its names may need code, files, services and keys. Raises :class:`LedgerError`, and
    :class:`league.ledger.run_directory.RunNotFound`, also for a run that was stopped before it began.
    """
    directory = find_run(run)
    if directory.ledger.is_file():
        with ReadLedger(directory.ledger, ANYTHING if trust else NOTHING) as ledger, ledger.snapshot():
            if ledger.has_begun:
                yield ledger, directory
                return
    raise RunNotFound(f"{directory.path}: the run was stopped before it began: there is nothing in its ledger")
