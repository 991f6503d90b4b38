"""SQL schema of a ledger, the tables whose rows are a function of settings and seed, and a check of it."""

from __future__ import annotations

import sqlite3
from contextlib import closing

SCHEMA_VERSION = 3
SCHEMA = """
-- Inputs of the run: the settings, and the digest of the scenario source.
CREATE TABLE meta    (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
-- Learners, fixed members, snapshots and oracles. A snapshot is its parent at the start of round born; an oracle is the
-- best response to that; blob names the weights.
CREATE TABLE members (member TEXT PRIMARY KEY, position INTEGER NOT NULL UNIQUE, spec TEXT, role TEXT NOT NULL,
                      split TEXT NOT NULL, parent TEXT REFERENCES members, born INTEGER NOT NULL, blob TEXT) STRICT;
-- One row per committed round; stage: index in the curriculum. scenarios: int8 [size, 9], counts, then the values of
-- seat_0 and of seat_1.
CREATE TABLE rounds  (round INTEGER PRIMARY KEY, stage INTEGER NOT NULL, start INTEGER NOT NULL, size INTEGER NOT NULL,
                      scenarios BLOB NOT NULL) STRICT;
-- Planned tasks, matches and practice of learners; failed: the member at fault in a failed match, or the first one
-- that a practice has left out; the learner itself if its practice could not be finished.
CREATE TABLE tasks   (round INTEGER NOT NULL REFERENCES rounds, task INTEGER NOT NULL,
                      kind TEXT NOT NULL, failed TEXT REFERENCES members, PRIMARY KEY (round, task)) STRICT;
-- Pairings of a task, with probability and reason.
CREATE TABLE meetings (round INTEGER NOT NULL, task INTEGER NOT NULL, member TEXT NOT NULL REFERENCES members,
                      opponent TEXT NOT NULL REFERENCES members, probability REAL NOT NULL, reason TEXT NOT NULL,
                      PRIMARY KEY (round, task, opponent), FOREIGN KEY (round, task) REFERENCES tasks) STRICT;
-- State of each learner at the end of a round (round -1: before the first); blob names weights and optimizer.
CREATE TABLE states  (round INTEGER NOT NULL, member TEXT NOT NULL REFERENCES members, blob TEXT NOT NULL,
                      updates INTEGER NOT NULL, decisions INTEGER NOT NULL, games INTEGER NOT NULL,
                      life INTEGER NOT NULL, points REAL, deals REAL, PRIMARY KEY (round, member)) STRICT;
-- Decisions at the end of a round, with reasons: snapshots, fresh starts, ends of stages.
CREATE TABLE decisions (round INTEGER NOT NULL REFERENCES rounds, place INTEGER NOT NULL, kind TEXT NOT NULL,
                        subject TEXT NOT NULL, taken INTEGER NOT NULL, reason TEXT NOT NULL,
                        PRIMARY KEY (round, place)) STRICT;
-- One row per seat order of a match. facts: a league.play.values.FACTS record per game, in the order of the scenarios,
-- then, if there were fallbacks, the causes of all games, see league.play.values.SeatOrderResult. A failed match has
-- rows if a member could not be reached in it.
CREATE TABLE matches (round INTEGER NOT NULL, task INTEGER NOT NULL, leg INTEGER NOT NULL,
                      seat_0 TEXT NOT NULL REFERENCES members, seat_1 TEXT NOT NULL REFERENCES members,
                      facts BLOB NOT NULL, PRIMARY KEY (round, task, leg),
                      FOREIGN KEY (round, task) REFERENCES tasks) STRICT;
-- SHA-256 over all rows of a round and the seal before it (round -1: over the start of the run), to detect changes.
CREATE TABLE seals   (round INTEGER PRIMARY KEY, sha256 TEXT NOT NULL) STRICT;
-- Error message of a failed match: foreign text, which may differ between runs.
CREATE TABLE causes  (round INTEGER NOT NULL, task INTEGER NOT NULL, cause TEXT NOT NULL,
                      PRIMARY KEY (round, task)) STRICT;
-- Seconds of a round, and the part of them for planning, statistics and writing.
CREATE TABLE clock   (round INTEGER PRIMARY KEY, seconds REAL NOT NULL, overhead REAL NOT NULL) STRICT;
-- Start of the run: time, machine, versions, command line; settings with their paths; identities of occupants.
CREATE TABLE notes   (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
"""
FINGERPRINTED = {
    "meta": "key",
    "members": "position",
    "rounds": "round",
    "tasks": "round, task",
    "meetings": "round, task, opponent",
    "states": "round, member",
    "matches": "round, task, leg",
    "decisions": "round, place",
}
# Per table: the expression that gives the round of a row, and the order of the rows in a seal.
SEALED = {
    **{table: ("round", order) for table, order in FINGERPRINTED.items() if table not in ("meta", "members")},
    "members": ("born - 1", "position"),
    "causes": ("round", "task"),
    "clock": ("round", "round"),
}


def has_schema(db: sqlite3.Connection, schema: str) -> bool:
    """Whether a database is empty or of this schema."""
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(schema)
        query = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY sql"
        stored, expected = (database.execute(query).fetchall() for database in (db, empty))
    return not stored or stored == expected
