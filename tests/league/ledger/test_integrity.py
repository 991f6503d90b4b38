"""Damage to a run is found, and the run goes back to its last good round or says what is lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from league.ledger.integrity import mend
from league.ledger.ledger import Ledger, LedgerError
from league.ledger.run_directory import RunError
from league.tasks.blobs import SUFFIX
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


@pytest.mark.parametrize("damage", ["flipped", "truncated"])
def test_no_damage_to_a_ledger_goes_unnoticed(damage, whole, prefixes, tmp_path):
    content, rng = (whole / "ledger.sqlite").read_bytes(), np.random.default_rng(7)
    path, refused = tmp_path / "ledger.sqlite", 0
    for place in rng.integers(0, len(content) * (8 if damage == "flipped" else 1), size=200).tolist():
        path.write_bytes(flipped(content, place) if damage == "flipped" else content[:place])
        found = after_mending(path, whole / "blobs")
        for beside in ("ledger.sqlite-wal", "ledger.sqlite-shm"):
            (tmp_path / beside).unlink(missing_ok=True)
        refused += found is None
        assert found is None or found in prefixes, place
    assert refused > 0


def test_a_damaged_round_is_played_again_to_the_same_rows(whole, tmp_path):
    copy = tmp_path / "runs" / "0001"
    shutil.copytree(whole, copy)
    with Ledger(copy / "ledger.sqlite") as ledger:
        ledger._db.execute("UPDATE matches SET facts = zeroblob(length(facts)) WHERE round = 2 AND leg = 1")
    done = run("--resume", copy)
    assert done.returncode == 0, done.stderr
    assert (
        "the rows of round 2 are not what was written" in done.stdout
        and "rounds 2 to 4 are played again" in done.stdout
    )
    assert final(copy) == final(whole)


@pytest.mark.parametrize(("number", "damage"), [(-1, "flipped"), (2, "truncated"), (ROUNDS, "missing")])
def test_damaged_weights_are_made_anew(number, damage, whole, tmp_path):
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


def test_a_run_whose_beginning_is_damaged_is_refused_with_what_to_do(whole, tmp_path):
    copy = tmp_path / "runs" / "0001"
    shutil.copytree(whole, copy)
    with Ledger(copy / "ledger.sqlite") as ledger:
        ledger._db.execute("UPDATE members SET split = 'gate' WHERE member = 'random'")
    done = run("--resume", copy)
    assert done.returncode == 1 and "Start a new run with the same settings" in done.stderr
    assert "Traceback" not in done.stderr
