"""A league's ledger for those who only look: the connection is read-only, while somebody else may write.

SQLite's write-ahead log lets the league go on meanwhile; :meth:`ReadLedger.still` holds one moment for several reads.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from league.ledger.ledger import Ledger, LedgerError
from league.ledger.schema import SCHEMA_VERSION


class ReadLedger(Ledger):
    """An open ledger that is never written. Raises :class:`LedgerError`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise LedgerError(f"{path.parent} is no league's folder: it holds no {path.name}")
        with self._translated("opened"):
            uri = f"{path.resolve().as_uri()}?mode=ro"
            self._db = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
            found = self._one("PRAGMA user_version")
        if self.begun and found != SCHEMA_VERSION:
            self.close()
            raise LedgerError(f"{path}: written with ledger schema {found}; the pages read {SCHEMA_VERSION}")

    def __enter__(self) -> ReadLedger:
        return self

    @contextmanager
    def still(self) -> Iterator[None]:
        """Every read within sees the ledger as it is now, looked through for damage; rounds that follow are not seen.

        Raises :class:`LedgerError`.
        """
        self._check()
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            if self._db.in_transaction:  # SQLite has ended it by itself where it could not go on
                self._db.execute("ROLLBACK")

    def seconds(self) -> float:
        """How long all committed rounds took together."""
        return float(self._one("SELECT coalesce(sum(seconds), 0) FROM clock"))

    def seal(self) -> str:
        """The last seal: SHA-256 over the rows of the last round and the seal before it."""
        return str(self._one("SELECT sha256 FROM seals ORDER BY round DESC LIMIT 1"))

    def failures(self) -> list[tuple[int, str, str]]:
        """Every match or practice that failed: its round, the member at fault, and in what words."""
        query = (
            "SELECT round, failed, coalesce(cause, '') FROM tasks LEFT JOIN causes USING (round, task)"
            " WHERE failed IS NOT NULL ORDER BY round, task"
        )
        return [(int(number), str(member), str(cause)) for number, member, cause in self._rows(query)]
