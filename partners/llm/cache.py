"""Cache of a model's replies in one SQLite file, to record a run once and replay it exactly.

``record`` takes stored replies from the file and queries the model for the rest; ``replay`` contacts no model, and a
missing reply is an error. Failures are stored too, as numbered *tries* of their query: each time the query comes again,
its next try is used, so that a run with failures replays exactly if one cache object served all of it. The file never
holds a key.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from dond_marl.files import user_path
from hints.providers import HinterError
from partners.llm.client import Client, Failure, ModelReply, Query, Usage

Mode = Literal["record", "replay", "off"]

_BUSY_S = 30  # seconds to wait for another process that writes
_TABLE = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT NOT NULL,                -- SHA-256 of the query: see question_key
    try INTEGER NOT NULL,             -- from 0; a later one follows a failure
    model TEXT NOT NULL,
    prompt TEXT NOT NULL,
    sample INTEGER NOT NULL,
    text TEXT NOT NULL,
    finished INTEGER NOT NULL,
    failure TEXT,                     -- NULL for a reply
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    PRIMARY KEY (key, try)
) WITHOUT ROWID
"""
_SELECT = """
SELECT text, finished, failure, prompt_tokens, completion_tokens FROM replies WHERE key = ? AND try = ?
"""


class CacheError(HinterError):
    """A cache file that cannot be used, with the remedy."""


class CacheMiss(CacheError):
    """A replay with a query that was never recorded."""


class CachedClient:
    """A client with the cache file at ``path`` in front of another. Raises :class:`CacheError`.

    ``tally`` adds ``cache_hits`` and ``cache_misses`` to the other's. The file of a replay must exist, and is not
    written. Close it after use.
    """

    def __init__(self, client: Client, path: str | Path, mode: Literal["record", "replay"] = "record") -> None:
        self.client, self.path, self.mode = client, user_path(path), mode
        self._counted: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()  # tries used up, by query
        self._lock = threading.Lock()
        if mode == "replay" and not self.path.is_file():
            raise CacheError(f"there is no cache {self.path} to replay; record one first")
        try:
            self._file = self._open()
        except (sqlite3.Error, OSError) as error:
            raise self._unusable(error) from None

    @property
    def remote(self) -> bool:
        return self.client.remote

    @property
    def identity(self) -> Mapping[str, object]:
        return self.client.identity

    @property
    def tally(self) -> Counter[str]:
        return self.client.tally + self._counted

    def close(self) -> None:
        self._file.close()

    def complete(self, queries: Sequence[Query]) -> list[ModelReply]:
        """One reply per query, in order. Raises :class:`CacheMiss` in a replay, and what the client raises."""
        identity = json.dumps(self.identity, sort_keys=True)
        keys = [question_key(identity, query) for query in queries]
        with self._lock:
            stored = {key: self._stored_reply(key) for key in keys}
            replies = {key: reply for key, reply in stored.items() if reply is not None}
            if self.mode == "record":  # the failure of an earlier run is repeated
                replies = {key: reply for key, reply in replies.items() if reply.failure is None}
            missing = {key: query for key, query in zip(keys, queries, strict=True) if key not in replies}
            self._counted.update(cache_hits=len(queries) - len(missing), cache_misses=len(missing))
            if missing and self.mode == "replay":
                raise CacheMiss(self._miss_message(next(iter(missing.values())), len(missing)))
            if missing:
                sent = dict(zip(missing, self.client.complete(list(missing.values())), strict=True))
                self._store([self._row(key, missing[key], reply) for key, reply in sent.items()])
                replies |= sent
            self._failed.update({key for key, reply in replies.items() if reply.failure})
        return [replies[key] for key in keys]

    def _stored_reply(self, key: str) -> ModelReply | None:
        """The stored reply to the next try of a query."""
        try:
            row = self._file.execute(_SELECT, (key, self._failed[key])).fetchone()
        except sqlite3.Error as error:
            raise self._unusable(error) from None
        if row is None:
            return None
        text, finished, failure, *usage = row
        return ModelReply(text, bool(finished), None if failure is None else Failure(failure), Usage(*usage))

    def _store(self, rows: Sequence[tuple[object, ...]]) -> None:
        try:
            with self._file:  # all or none
                self._file.executemany("INSERT OR REPLACE INTO replies VALUES (?,?,?,?,?,?,?,?,?,?)", rows)
        except sqlite3.Error as error:
            raise self._unusable(error) from None

    def _row(self, key: str, query: Query, reply: ModelReply) -> tuple[object, ...]:
        failure = None if reply.failure is None else str(reply.failure)
        return (
            key, self._failed[key], str(self.identity.get("model", "")), query.prompt, query.sample,
            reply.text, reply.finished, failure, *reply.usage,
        )  # fmt: skip

    def _open(self) -> sqlite3.Connection:
        writes = self.mode == "record"
        if writes:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        where = f"{self.path.absolute().as_uri()}?mode={'rwc' if writes else 'ro'}"
        file = sqlite3.connect(where, uri=True, timeout=_BUSY_S, check_same_thread=False)
        try:
            file.execute(_TABLE if writes else "SELECT key FROM replies LIMIT 1")
        except sqlite3.Error:
            file.close()
            raise
        return file

    def _unusable(self, error: Exception) -> CacheError:
        return CacheError(f"the cache {self.path} cannot be used ({error}); name another file")

    def _miss_message(self, query: Query, number: int) -> str:
        return (
            f"{number} of the queries are not in the cache {self.path}: it was recorded with another prompt, model, "
            f"parameters, seed or league; record again, or go back to those. The first begins {query.prompt[:80]!a}, "
            f"sample {query.sample}"
        )


def uncached_client(client: Client) -> Client:
    """The client behind the cache ``client``, or ``client`` itself if it is no cache."""
    return client.client if isinstance(client, CachedClient) else client


def question_key(identity: str, query: Query) -> str:
    """The SHA-256 of everything that shapes a reply: model, parameters, prompt, legal acts, sample."""
    parts = [identity, query.prompt, [list(query.legal.counts), list(query.legal.acts)], query.sample]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
