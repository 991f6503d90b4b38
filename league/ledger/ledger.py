"""The league's memory: one SQLite file of raw facts, written one whole round at a time.

Everything the league shows is a fold over these rows. A round is one transaction, so a kill at any moment loses at most
the round in progress. The tables ``clock``, ``notes`` and ``causes`` hold what depends on when and where a run was made
and the words in which a match failed; :meth:`Ledger.fingerprint` covers every other row, and is the same for the same
settings and seed however often the run was interrupted.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from dond_marl.errors import RunFailure
from dond_marl.scenarios.sources import Scenarios
from league.ledger.schema import FINGERPRINTED, READ_VERSIONS, SCHEMA, SCHEMA_VERSION, SEALED
from league.settings.read import Config, parse
from league.tasks.values import FACTS, Decision, LearnerState, Leg, MatchResult, Member, Result, Round

DAMAGED = ("malformed", "not a database", "no such table", "no such column", "decode")  # in SQLite's words
NOTED = "config_sha256"  # the key of a note: the digest of the settings; ledgers of before have none


class LedgerError(RunFailure):
    """The ledger cannot be opened, read or written; the message says what to do. What was committed is safe."""


class Ledger:
    """An open ledger. One process writes it at a time (see :mod:`league.ledger.run_directory`)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._translated("opened"):
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
        """Write who takes part and under which settings: a run begins with this, or has not begun.

        ``meta`` is what the rows are a function of, ``notes`` where and with what the run was made; ``states`` is where
        the learners stand; their blobs are on disk already.
        """
        with self._transaction():
            for statement in SCHEMA.split(";\n"):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            self._insert("meta", sorted(meta.items()))
            self._insert("notes", sorted({**notes, NOTED: _digest(notes.get("config", ""))}.items()))
            self._join(members)
            self._insert("states", [(-1, name, *state, None, None) for name, state in states.items()])
            self._insert("seals", [(-1, self._seal(-1))])

    def commit_round(self, played: Round, seconds: float, overhead: float = 0.0) -> None:
        """Write a round whole, or nothing of it. The blobs that it names are on disk already.

        ``seconds`` is how long it took so far, ``overhead`` the part of that which was neither practice nor matches.
        """
        began = time.perf_counter()
        number, scenarios = played.number, played.scenarios
        packed = np.concatenate([scenarios.counts, scenarios.utilities.reshape(-1, 6)], axis=1).tobytes()
        meetings, legs, figures = [], [], {}
        for result in played.matches:
            task = result.task
            first, second = (seat.name for seat in task.members)
            meetings.append((number, task.number, first, second, 1.0, task.reason))
            legs += [(number, task.number, order, *leg.seats, _packed(leg)) for order, leg in enumerate(result.legs)]
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
        decisions = [(number, place, *decision) for place, decision in enumerate(played.decisions)]
        with self._transaction():
            self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")  # a ledger of before is now one of this version
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
    def begun(self) -> bool:
        return bool(self._one("SELECT count(*) FROM sqlite_schema WHERE name = 'meta'"))

    @property
    def next_round(self) -> int:
        """The first round that is not committed."""
        return int(self._one("SELECT coalesce(max(round) + 1, 0) FROM rounds"))

    def meta(self) -> dict[str, str]:
        """What the rows are a function of: settings and source."""
        return dict(self._rows("SELECT key, value FROM meta"))

    def notes(self) -> dict[str, str]:
        """When, where and with what the run was made: settings with their paths, versions, command line, machine."""
        return dict(self._rows("SELECT key, value FROM notes WHERE key != ?", NOTED))

    def settings(self) -> str:
        """The text of the settings that the run was started with. Raises :class:`LedgerError` where it is another."""
        text = self.notes().get("config", "")
        kept = [digest for (digest,) in self._rows("SELECT value FROM notes WHERE key = ?", NOTED)]
        if kept not in ([], [_digest(text)]):
            raise LedgerError(
                f"{self.path}: the ledger is damaged (the settings kept in it are not what was written); restore a "
                "copy or start a new run"
            )
        return text

    def config(self) -> Config:
        """The settings that the run was started with.

        Raises :class:`league.settings.read.ConfigError`, or :class:`LedgerError` as :meth:`settings` does.
        """
        return parse(self.settings(), f"settings in {self.path}")

    def members(self) -> tuple[Member, ...]:
        """Who takes part, in the order of the config; snapshots after their birth."""
        query = "SELECT member, spec, role, split, parent, born, blob FROM members ORDER BY position"
        return tuple(Member(*row) for row in self._rows(query))

    def states(self, after: int | None = None) -> dict[str, LearnerState]:
        """Where the learners stood after a round (-1: before the first), by name; by default where they stand now."""
        query = "SELECT member, blob, updates, decisions, games, life FROM states WHERE round = ?"
        number = self.next_round - 1 if after is None else after
        return {name: LearnerState(*state) for name, *state in self._rows(query, number)}

    def scenarios(self, number: int) -> Scenarios:
        """The scenarios of a committed round."""
        packed = self._one("SELECT scenarios FROM rounds WHERE round = ?", number)
        table = np.frombuffer(packed, dtype=np.int8).reshape(-1, 9)
        return Scenarios(table[:, :3], table[:, 3:].reshape(-1, 2, 3))

    def legs(self, number: int, *, failed: bool = False) -> Iterator[Leg]:
        """Every seat order of every match of a committed round, in the order played; or those of its ``failed`` ones.

        A failed match has legs where somebody could not be reached in it.
        """
        rows = self._rows(
            "SELECT seat_0, seat_1, facts, size FROM matches JOIN tasks USING (round, task) JOIN rounds USING (round)"
            " WHERE round = ? AND (failed IS NOT NULL) = ? ORDER BY task, leg",
            number,
            failed,
        )
        for first, second, packed, size in rows:
            yield _unpacked((first, second), packed, size)

    def at_fault(self, number: int) -> list[str]:
        """The member at fault in each failed match of a committed round."""
        rows = self._rows("SELECT failed FROM tasks WHERE round = ? AND failed IS NOT NULL ORDER BY task", number)
        return [member for (member,) in rows]

    def stage(self, number: int) -> int:
        """Which stage a committed round practiced."""
        return int(self._one("SELECT stage FROM rounds WHERE round = ?", number))

    def decisions(self, number: int) -> list[Decision]:
        """What was decided when a committed round was over."""
        rows = self._rows("SELECT kind, subject, taken, reason FROM decisions WHERE round = ? ORDER BY place", number)
        return [Decision(kind, subject, bool(taken), reason) for kind, subject, taken, reason in rows]

    def meetings(self, number: int) -> Iterator[tuple[int, str, str, str, float, str]]:
        """Who met whom in a committed round: task, its kind, member, opponent, probability and reason."""
        yield from self._rows(
            "SELECT task, kind, member, opponent, probability, reason FROM meetings JOIN tasks USING (round, task)"
            " WHERE round = ? ORDER BY task, meetings.rowid",
            number,
        )

    def last_seal(self) -> str:
        """SHA-256 over the rows of the last committed round and the seal before it."""
        return str(self._one("SELECT sha256 FROM seals ORDER BY round DESC LIMIT 1"))

    def failures(self) -> list[tuple[int, str, str]]:
        """Every match or practice that failed: its round, the member at fault, and in what words."""
        return list(
            self._rows(
                "SELECT round, failed, coalesce(cause, '') FROM tasks LEFT JOIN causes USING (round, task)"
                " WHERE failed IS NOT NULL ORDER BY round, task"
            )
        )

    def first_unsound(self) -> int | None:
        """The first round whose rows are not what was written (-1: what the run began with), ``None``: all are."""
        return next((number for number in range(-1, self.next_round) if not self.sound(number)), None)

    def sound(self, number: int) -> bool:
        """Whether the rows of round ``number`` are what was written; of -1: what the run began with."""
        return list(self._rows("SELECT sha256 FROM seals WHERE round = ?", number)) == [(self._seal(number),)]

    def roll_back(self, number: int) -> None:
        """Forget round ``number`` and all after it."""
        with self._transaction():
            for table in ("seals", "causes", "matches", "meetings", "decisions", "tasks", "states", "clock", "rounds"):
                self._db.execute(f"DELETE FROM {table} WHERE round >= ?", (number,))  # noqa: S608  # constants
            self._db.execute("DELETE FROM members WHERE born > ?", (number,))

    def clock(self) -> tuple[float, float]:
        """Seconds that all rounds took, and those that went into planning, folding and writing."""
        seconds, overhead = next(self._rows("SELECT coalesce(sum(seconds), 0), coalesce(sum(overhead), 0) FROM clock"))
        return seconds, overhead

    def fingerprint(self) -> str:
        """SHA-256 over every row but those of the clock, the notes and the causes, in a fixed order."""
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
        """SHA-256 over the rows of a round and the seal before it; of round -1 over what the run began with."""
        digest = hashlib.sha256()
        if number < 0:
            # Notes say where and with what a run was made, which its rows do not depend on.
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
        joined = self._one("SELECT count(*) FROM members")
        rows = [
            (m.name, joined + place, m.spec, m.role, m.split, m.parent, m.born, m.blob)
            for place, m in enumerate(members)
        ]
        self._insert("members", rows)

    def _insert(self, table: str, rows: Sequence[tuple[object, ...]]) -> None:
        if rows:
            places = ", ".join("?" * len(rows[0]))
            self._db.executemany(f"INSERT INTO {table} VALUES ({places})", rows)  # noqa: S608  # constants

    def _check(self) -> None:
        version = self._one("PRAGMA user_version")
        if self.begun and version not in READ_VERSIONS:
            raise LedgerError(
                f"{self.path}: written with ledger schema {version}, this is {SCHEMA_VERSION}; start a new run"
            )
        verdict = self._one("PRAGMA quick_check(1)")
        if verdict != "ok":
            raise LedgerError(f"{self.path}: the ledger is damaged ({verdict}); restore a copy or start a new run")

    def _rows(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        with self._translated("read"):
            yield from self._db.execute(query, values)

    def _one(self, query: str, *values: object) -> Any:
        return next(self._rows(query, *values))[0]

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._translated("written"):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # SQLite has rolled back by itself where it could not go on
                    self._db.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _translated(self, verb: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite's own message can quote damaged bytes
            if isinstance(error, UnicodeDecodeError) or any(sign in str(error) for sign in DAMAGED):
                advice = "The file is damaged: restore a copy of it, or start a new run, which comes to the same rows"
            else:
                advice = (
                    "Committed rounds are safe; see that the disk has room and the folder is writable, then go on with "
                    "--resume"
                )
            raise LedgerError(f"{self.path}: the ledger could not be {verb}: {error}. {advice}") from error


def _digest(settings: str) -> str:
    return hashlib.sha256(settings.encode()).hexdigest()


def _packed(leg: Leg) -> bytes:
    """The facts of a leg, and after them, where a fallback played, why."""
    return leg.facts.tobytes() + (b"" if leg.causes is None else leg.causes.tobytes())


def _unpacked(seats: tuple[str, str], packed: bytes, size: int) -> Leg:
    facts = np.frombuffer(packed, dtype=FACTS, count=size)
    causes = np.frombuffer(packed, dtype=np.int8, offset=facts.nbytes)
    return Leg(seats, facts, causes.reshape(size, 2, -1) if len(causes) else None)


class ReadLedger(Ledger):
    """A ledger that is only read, while a league may go on writing meanwhile. Raises :class:`LedgerError`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise LedgerError(f"{path.parent} is no league's folder: it holds no {path.name}")
        with self._translated("opened"):
            self._connect("mode=ro")
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        with self._translated("opened"):
            try:
                self._db.execute("SELECT count(*) FROM sqlite_schema")
            except sqlite3.OperationalError:  # no room for SQLite's index beside it: a full disk, or a read-only one
                log = self.path.with_name(f"{self.path.name}-wal")
                if log.exists() and log.stat().st_size:
                    raise
                self._db.close()
                self._connect("immutable=1")  # nobody is writing: its log is not there
            version = self._one("PRAGMA user_version")
        if self.begun and version not in READ_VERSIONS:
            raise LedgerError(f"{self.path}: written with ledger schema {version}; the pages read {SCHEMA_VERSION}")

    def _connect(self, how: str) -> None:
        uri = f"{self.path.resolve().as_uri()}?{how}"
        self._db = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)

    @contextlib.contextmanager
    def still(self) -> Iterator[None]:
        """Every read within sees the ledger as it is now, once it is found undamaged. Raises :class:`LedgerError`."""
        self._check()
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            if self._db.in_transaction:  # SQLite has ended it by itself where it could not go on
                self._db.execute("ROLLBACK")
