"""The ledger: rows, transactions, damage, and runs that are repaired or refused."""

from __future__ import annotations

import contextlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from league.ledger.ledger import Ledger, LedgerError, ReadLedger
from league.ledger.run_directory import LEDGER, SETTINGS, RunError, has_begun
from league.ledger.verify import mend, refuse_damaged_start
from league.play.blobs import SUFFIX
from league.play.match import SEATING, play_match
from league.play.values import Decision, Round
from league.rounds.planner import block_of, members_of, plan_round
from league.settings.read import Config
from league.settings.sections import EnvConfig, LeagueConfig
from league.standings.history import History
from tests.killing import run
from tests.league.rounds.test_learning import final, write_settings

ROOT = Path(__file__).resolve().parents[3]
CONFIG = Config(
    env=EnvConfig(scenarios="lewis"),
    league=LeagueConfig(rounds=3, block_size=16, seed=5),
    members=["heuristic", "tough", "random"],
)


def played(number: int) -> list:
    """The results of a round."""
    history = History(members_of(CONFIG), CONFIG.league.decay)
    history.stages = [0] * number
    return [play_match(task, Path("none")) for task in plan_round(CONFIG, history, {}).matches]


def whole_round(number: int, results: list | None = None) -> Round:
    block, results = block_of(CONFIG, number), results or played(number)
    scenarios = SEATING.scenarios(CONFIG.env, CONFIG.league.seed, block)
    return Round(number, 0, block, scenarios, results, decisions=[Decision("stage", "first", number == 1, "why")])


def commit(ledger: Ledger, number: int, seconds: float = 1.0) -> None:
    ledger.commit_round(whole_round(number), seconds)


@pytest.fixture
def path(tmp_path) -> Path:
    """A ledger of two rounds."""
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.begin({"settings": "anything"}, {"config": __file__}, members_of(CONFIG), {})
        commit(ledger, 0)
        commit(ledger, 1)
    return tmp_path / "ledger.sqlite"


def test_committed_rows_are_read_back(path):
    with Ledger(path) as ledger:
        assert ledger.has_begun and ledger.next_round == 2
        assert ledger.meta() == {"settings": "anything"} and ledger.notes() == {"config": __file__}
        assert [member.name for member in ledger.members()] == ["heuristic", "tough", "random"]
        expected = SEATING.scenarios(CONFIG.env, 5, block_of(CONFIG, 1))
        found = ledger.scenarios(1)
        assert (found.counts == expected.counts).all() and (found.utilities == expected.utilities).all()
        legs = list(ledger.legs(1))
        expected_legs = [leg for result in played(1) for leg in result.legs]
        assert [leg.seats for leg in legs] == [leg.seats for leg in expected_legs] and len(legs) == 3 + 2 * 3
        assert all((a.facts == b.facts).all() for a, b in zip(legs, expected_legs, strict=True))


def test_fingerprint_covers_all_but_clock_and_notes(path, tmp_path):
    with Ledger(tmp_path / "slower.sqlite") as slower:
        slower.begin({"settings": "anything"}, {"config": "elsewhere"}, members_of(CONFIG), {})
        commit(slower, 0, seconds=9.0)
        first = slower.fingerprint()
        commit(slower, 1, seconds=9.0)
        whole = slower.fingerprint()
    with Ledger(path) as ledger:
        assert ledger.fingerprint() == whole != first
    for statement in (
        "UPDATE meta SET value = 'other'",
        "UPDATE members SET spec = 'tough(x=1)' WHERE position = 2",
        "UPDATE rounds SET start = 17 WHERE round = 1",
        "UPDATE decisions SET taken = 1 WHERE round = 0",
        "UPDATE tasks SET failed = 'tough' WHERE round = 1 AND task = 3",
        "UPDATE meetings SET reason = 'other' WHERE round = 1 AND task = 3",
        "UPDATE matches SET facts = zeroblob(length(facts)) WHERE round = 0 AND task = 1 AND leg = 1",
    ):
        with sqlite3.connect(path) as db:
            db.execute(statement)
        db.close()
        with Ledger(path) as ledger:
            changed = ledger.fingerprint()
        assert changed != whole, statement
        whole = changed


@pytest.mark.parametrize(
    ("statement", "unsound"),
    [
        ("UPDATE meta SET value = 'other'", -1),
        ("UPDATE members SET split = 'gate' WHERE position = 1", -1),
        ("DELETE FROM seals", -1),
        ("DELETE FROM meetings WHERE round = 0 AND task = 2", 0),
        ("UPDATE decisions SET reason = 'another' WHERE round = 1", 1),
        ("UPDATE matches SET facts = zeroblob(length(facts)) WHERE round = 1 AND leg = 1", 1),
        ("UPDATE seals SET sha256 = 'another' WHERE round = 0", 0),
        ("UPDATE clock SET seconds = 17 WHERE round = 1", 1),
    ],
)
def test_changed_round_is_found_and_rolled_back(path, statement, unsound):
    with Ledger(path) as ledger:
        whole = ledger.fingerprint()
        assert ledger.first_damaged_round() is None
    with sqlite3.connect(path) as db:
        db.execute(statement)
    db.close()
    with Ledger(path) as ledger:
        assert ledger.first_damaged_round() == unsound
        if unsound >= 0:  # what was begun with is good, so its rounds can be had again
            ledger.roll_back(unsound)
            for number in range(unsound, 2):
                commit(ledger, number)
            assert ledger.fingerprint() == whole and ledger.first_damaged_round() is None


def test_failed_commit_writes_nothing(path):
    with Ledger(path) as ledger:
        before = ledger.fingerprint()
        results = played(2)
        with pytest.raises(LedgerError, match="could not be written"):
            ledger.commit_round(whole_round(2, [*results, results[0]]), 1.0)  # one task twice
        assert ledger.fingerprint() == before and ledger.next_round == 2
        ledger.commit_round(whole_round(2, results), 1.0)
        assert ledger.next_round == 3


@pytest.mark.parametrize(("damage", "words"), [("text", "not a database"), ("schema", "schema 99")])
def test_other_file_is_refused_and_closed(path, damage, words):
    if damage == "text":
        path.write_text("not a database, whatever its name says, and long enough to be read" * 50)
    else:
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA user_version = 99")
    for kind in (Ledger, ReadLedger):
        with pytest.raises(LedgerError, match=words):
            kind(path)


def child(tmp_path: Path, path: Path, body: str) -> subprocess.CompletedProcess[str]:
    """Run ``body`` in another process with the ledger open."""
    script = tmp_path / "child.py"
    script.write_text(
        "import os, signal, sys\n"
        "sys.path[:0] = [sys.argv[1]]\n"
        "from pathlib import Path\n"
        "from tests.league.ledger.test_ledger import CONFIG, commit\n"
        "from league.ledger.ledger import Ledger, LedgerError\n"
        "ledger = Ledger(Path(sys.argv[2]))\n" + textwrap.dedent(body)
    )
    return subprocess.run(
        [sys.executable, str(script), str(ROOT), str(path)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("statement", [1, 3, 9, 19])
def test_kill_inside_a_transaction(path, tmp_path, statement):
    with Ledger(path) as ledger:
        before = ledger.fingerprint()
    body = f"""
        seen = []
        def count(sql):
            seen.append(sql)
            if len(seen) == {statement}:
                os.kill(os.getpid(), signal.SIGKILL)
        ledger._db.set_trace_callback(count)  # called as each statement starts
        commit(ledger, 2)
    """
    done = child(tmp_path, path, body)
    assert done.returncode == -signal.SIGKILL, done
    with Ledger(path) as ledger:
        assert ledger.next_round == 2 and ledger.fingerprint() == before
        commit(ledger, 2)
        assert ledger.next_round == 3


@pytest.mark.slow
def test_file_alone_has_all_rounds_after_a_kill(path, tmp_path):
    done = child(tmp_path, path, "commit(ledger, 2)\nos.kill(os.getpid(), signal.SIGKILL)")
    assert done.returncode == -signal.SIGKILL, done
    (tmp_path / "copy").mkdir()
    copied = shutil.copy(path, tmp_path / "copy")
    with Ledger(Path(copied)) as copy, Ledger(path) as ledger:
        assert copy.next_round == 3 and copy.fingerprint() == ledger.fingerprint()


def test_reader_of_an_earlier_state_delays_no_commit(path):
    with ReadLedger(path) as reader, reader.snapshot(), Ledger(path) as ledger:
        assert reader.next_round == 2
        commit(ledger, 2)
        assert (reader.next_round, ledger.next_round) == (2, 3)


def test_ledger_that_lost_its_rows_is_refused(path):
    path.with_name(SETTINGS).touch()  # written after the first rows
    path.unlink()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
    for kind in (Ledger, ReadLedger):
        with pytest.raises(LedgerError, match="lost its rows"):
            kind(path)
    assert has_begun(path.parent, LEDGER)
    path.with_name(SETTINGS).unlink()
    with Ledger(path) as ledger:
        assert not ledger.has_begun


# -- Damage to a run is detected, and the run is repaired from its last intact round or refused


ROUNDS = 4  # of practice; one more measures


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """The folder of a finished run."""
    folder = tmp_path_factory.mktemp("whole")
    assert run("--config", write_settings(folder, ROUNDS)).returncode == 0
    return folder / "runs" / "0001"


def flipped(content: bytes, bit: int) -> bytes:
    broken = bytearray(content)
    broken[bit // 8] ^= 1 << (bit % 8)
    return bytes(broken)


def test_every_flipped_bit_is_repaired_or_refused(whole, tmp_path):
    """What is left after any damage is the run as it was after one of its rounds, from which it is played on."""
    path, content, found = tmp_path / "ledger.sqlite", (whole / "ledger.sqlite").read_bytes(), list[str | None]()
    prefixes = set[str]()
    for rounds in range(ROUNDS + 2):
        path.write_bytes(content)
        with Ledger(path) as ledger:
            ledger.roll_back(rounds)
            prefixes.add(ledger.fingerprint())
    for bit in np.random.default_rng(7).integers(0, len(content) * 8, size=60).tolist():
        path.write_bytes(flipped(content, bit))
        try:
            with Ledger(path) as ledger:
                refuse_damaged_start(ledger)
                mend(ledger, whole / "blobs", {})
                found.append(ledger.fingerprint())
        except (LedgerError, RunError):
            found.append(None)
        for companion in ("ledger.sqlite-wal", "ledger.sqlite-shm"):
            (tmp_path / companion).unlink(missing_ok=True)
    assert set(found) <= {*prefixes, None} and None in found and len(set(found)) > 2


def test_damaged_round_is_replayed(whole, tmp_path):
    copy = tmp_path / "runs" / "0001"
    shutil.copytree(whole, copy)
    with Ledger(copy / "ledger.sqlite") as ledger:
        ledger._db.execute("UPDATE matches SET facts = zeroblob(length(facts)) WHERE round = 2 AND leg = 1")
    done = run("--resume", copy)
    assert done.returncode == 0, done.stderr
    assert "round 3" in done.stdout
    assert final(copy) == final(whole)


@pytest.mark.parametrize(
    ("number", "damage"),
    [pytest.param(-1, "flipped", marks=pytest.mark.slow), (2, "truncated"), (ROUNDS, "missing")],
)
def test_damaged_weights_are_rebuilt(number, damage, whole, tmp_path):
    copy = tmp_path / "runs" / "0001"
    shutil.copytree(whole, copy)
    with Ledger(copy / "ledger.sqlite") as ledger:
        ledger.roll_back(max(number + 1, 1))  # as if it had been killed just then
        path = copy / "blobs" / f"{ledger.states(number)['main'].blob}{SUFFIX}"
    content = path.read_bytes()
    path.unlink()
    if damage != "missing":
        path.write_bytes(
            flipped(content, 8 * len(content) // 2) if damage == "flipped" else content[: len(content) // 2]
        )
    done = run("--resume", copy)
    assert done.returncode == 0, done.stderr
    assert number < 0 or "warning" in done.stdout
    assert final(copy) == final(whole)


# -- a whole run, damaged and resumed -----------------------------------------------------------------------------


def test_changed_settings_are_damage(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "0001")
    with contextlib.closing(sqlite3.connect(tmp_path / "0001" / "ledger.sqlite")) as db, db:
        changed = db.execute("UPDATE meta SET value = replace(value, 'league:', 'leegue:')").rowcount
    done = run("--resume", tmp_path / "0001")
    assert changed and done.returncode == 1 and "start a new run" in done.stderr.lower(), done.stderr
