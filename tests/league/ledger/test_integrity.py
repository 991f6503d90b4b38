"""Damage to a run is detected, and the run is repaired from its last intact round or refused."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from league.ledger.ledger import Ledger, LedgerError
from league.ledger.run_directory import RunError
from league.ledger.verify import mend
from league.play.blobs import SUFFIX
from tests.killing import run
from tests.league.rounds.test_learning import final, write_settings

ROUNDS = 4  # of practice; one more measures


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """The folder of a finished run."""
    folder = tmp_path_factory.mktemp("whole")
    assert run("--config", write_settings(folder, ROUNDS)).returncode == 0
    return folder / "runs" / "0001"


@pytest.fixture(scope="module")
def prefixes(whole, tmp_path_factory) -> list[str]:
    """The fingerprint of the run after each of its rounds."""
    found = []
    for rounds in range(ROUNDS + 2):
        path = tmp_path_factory.mktemp("prefix") / "ledger.sqlite"
        shutil.copy(whole / "ledger.sqlite", path)
        with Ledger(path) as ledger:
            ledger.roll_back(rounds)
            found.append(ledger.fingerprint())
    return found


def flipped(content: bytes, bit: int) -> bytes:
    broken = bytearray(content)
    broken[bit // 8] ^= 1 << (bit % 8)
    return bytes(broken)


def after_mending(path: Path, blobs: Path) -> str | None:
    """The fingerprint of a damaged ledger once it is mended, ``None`` where it is refused."""
    try:
        with Ledger(path) as ledger:
            mend(ledger, blobs, {})
            return ledger.fingerprint()
    except (LedgerError, RunError):
        return None


@pytest.mark.parametrize("places", [40, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("damage", ["flipped", "truncated"])
def test_every_damage_to_rows_is_detected(damage, places, whole, prefixes, tmp_path):
    content, rng = (whole / "ledger.sqlite").read_bytes(), np.random.default_rng(7)
    path, refused = tmp_path / "ledger.sqlite", 0
    for place in rng.integers(0, len(content) * (8 if damage == "flipped" else 1), size=places).tolist():
        path.write_bytes(flipped(content, place) if damage == "flipped" else content[:place])
        found = after_mending(path, whole / "blobs")
        for companion in ("ledger.sqlite-wal", "ledger.sqlite-shm"):
            (tmp_path / companion).unlink(missing_ok=True)
        refused += found is None
        assert found is None or found in prefixes, place
    assert refused > 0


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


def test_damaged_start_is_refused(whole, tmp_path):
    copy = tmp_path / "runs" / "0001"
    shutil.copytree(whole, copy)
    with Ledger(copy / "ledger.sqlite") as ledger:
        ledger._db.execute("UPDATE members SET split = 'gate' WHERE member = 'random'")
    done = run("--resume", copy)
    assert done.returncode == 1 and "seal" in done.stderr
    assert "Traceback" not in done.stderr


# -- a whole run, damaged and resumed -----------------------------------------------------------------------------


def killed_in_round(whole: Path, rounds: int, folder: Path) -> Path:
    """A copy of the run as a kill would leave it: what follows round ``rounds`` is still in SQLite's log."""
    shutil.copytree(whole, folder / "open")
    shutil.copytree(whole, folder / "runs" / "0001", ignore=shutil.ignore_patterns("ledger*"))
    with Ledger(folder / "open" / "ledger.sqlite") as ledger:
        ledger._db.execute("PRAGMA wal_autocheckpoint = 0")
        ledger.roll_back(rounds)
        for name in ("ledger.sqlite", "ledger.sqlite-wal"):
            shutil.copy(folder / "open" / name, folder / "runs" / "0001" / name)
    return folder / "runs" / "0001"


def test_replayed_round_repairs_its_weights(whole, tmp_path):
    copy = killed_in_round(whole, 1, tmp_path)
    with Ledger(whole / "ledger.sqlite") as ledger:
        path = copy / "blobs" / f"{ledger.states()['main'].blob}{SUFFIX}"  # of a later round
    path.write_bytes(flipped(path.read_bytes(), 1001))
    assert run("--resume", copy).returncode == 0
    assert final(copy) == final(whole)


@pytest.mark.parametrize("table", ["meta", "notes"])
def test_changed_settings_are_damage(table, whole, tmp_path):
    shutil.copytree(whole, tmp_path / "0001")
    with contextlib.closing(sqlite3.connect(tmp_path / "0001" / "ledger.sqlite")) as db, db:
        changed = db.execute(f"UPDATE {table} SET value = replace(value, 'league:', 'leegue:')").rowcount
    done = run("--resume", tmp_path / "0001")
    assert changed and done.returncode == 1 and "start a new run" in done.stderr.lower(), done.stderr


@pytest.mark.parametrize("name", ["ledger.sqlite-wal", "ladder.csv"])
def test_damaged_log_or_table_is_repaired(name, whole, tmp_path):
    copy = killed_in_round(whole, 3, tmp_path)
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(flipped(content, 4 * len(content)))
    done = run("--resume", copy)
    assert done.returncode == 0, done.stderr
    assert final(copy) == final(whole)
    for table in ("ladder.csv", "crossplay.csv", "learning.csv"):
        assert (copy / table).read_bytes() == (whole / table).read_bytes(), table
