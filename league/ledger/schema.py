"""The tables of a ledger, and which of their rows say what a run came to."""

SCHEMA_VERSION = 3
READ_VERSIONS = (2, 3)  # 2: no causes of fallbacks
SCHEMA = """
-- What the rows are a function of: the settings, and the digest of the scenario source.
CREATE TABLE meta    (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
-- A snapshot is its parent as it was when round born began; blob names its weights for good.
CREATE TABLE members (member TEXT PRIMARY KEY, position INTEGER NOT NULL UNIQUE, spec TEXT, role TEXT NOT NULL,
                      split TEXT NOT NULL, parent TEXT REFERENCES members, born INTEGER NOT NULL, blob TEXT) STRICT;
-- One row per committed round; stage: which of the curriculum's was practiced. scenarios: int8 [size, 9], counts then
-- the values of seat_0 and of seat_1.
CREATE TABLE rounds  (round INTEGER PRIMARY KEY, stage INTEGER NOT NULL, start INTEGER NOT NULL, size INTEGER NOT NULL,
                      scenarios BLOB NOT NULL) STRICT;
-- What was planned, a match or a learner's practice, and whose fault it was where it failed.
CREATE TABLE tasks   (round INTEGER NOT NULL REFERENCES rounds, task INTEGER NOT NULL,
                      kind TEXT NOT NULL, failed TEXT REFERENCES members, PRIMARY KEY (round, task)) STRICT;
-- Who meets whom in a task, with which probability, and why.
CREATE TABLE meetings (round INTEGER NOT NULL, task INTEGER NOT NULL, member TEXT NOT NULL REFERENCES members,
                      opponent TEXT NOT NULL REFERENCES members, probability REAL NOT NULL, reason TEXT NOT NULL,
                      PRIMARY KEY (round, task, opponent), FOREIGN KEY (round, task) REFERENCES tasks) STRICT;
-- Where each learner stood when a round was over (round -1: before the first); blob names weights and optimizer.
CREATE TABLE states  (round INTEGER NOT NULL, member TEXT NOT NULL REFERENCES members, blob TEXT NOT NULL,
                      updates INTEGER NOT NULL, decisions INTEGER NOT NULL, games INTEGER NOT NULL,
                      life INTEGER NOT NULL, points REAL, deals REAL, PRIMARY KEY (round, member)) STRICT;
-- What was decided when a round was over: whether a learner left a snapshot, started over, or the stage ended; and why.
-- Of repair, when it was planned: against whom a main was repaired, and the points that it lost to them in each seat.
CREATE TABLE decisions (round INTEGER NOT NULL REFERENCES rounds, place INTEGER NOT NULL, kind TEXT NOT NULL,
                        subject TEXT NOT NULL, taken INTEGER NOT NULL, reason TEXT NOT NULL,
                        PRIMARY KEY (round, place)) STRICT;
-- One row per seat order of a match. facts: a league.tasks.values.FACTS record per game, in the order of the scenarios,
-- and where a fallback played the causes of all games, see league.tasks.values.Leg. A failed match has rows where
-- somebody could not be reached in it.
CREATE TABLE matches (round INTEGER NOT NULL, task INTEGER NOT NULL, leg INTEGER NOT NULL,
                      seat_0 TEXT NOT NULL REFERENCES members, seat_1 TEXT NOT NULL REFERENCES members,
                      facts BLOB NOT NULL, PRIMARY KEY (round, task, leg),
                      FOREIGN KEY (round, task) REFERENCES tasks) STRICT;
-- SHA-256 over all rows of a round and the seal before it (round -1: over what the run began with), so that whatever is
-- read is what was written.
CREATE TABLE seals   (round INTEGER PRIMARY KEY, sha256 TEXT NOT NULL) STRICT;
-- In what words a match failed: somebody else's text, which need not be the same twice.
CREATE TABLE causes  (round INTEGER NOT NULL, task INTEGER NOT NULL, cause TEXT NOT NULL,
                      PRIMARY KEY (round, task)) STRICT;
-- Seconds that a round took, and those of them that went into planning, folding and writing.
CREATE TABLE clock   (round INTEGER PRIMARY KEY, seconds REAL NOT NULL, overhead REAL NOT NULL) STRICT;
-- When, where and with what the run was made; settings with their paths.
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
# By which column each table's rows belong to a round, and their order.
SEALED = {
    **{table: ("round", order) for table, order in FINGERPRINTED.items() if table not in ("meta", "members")},
    "members": ("born - 1", "position"),
    "causes": ("round", "task"),
    "clock": ("round", "round"),
}
