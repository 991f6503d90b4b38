"""A disk that is full, or a file that may not be written: words, nothing lost, and the next start goes on."""

from __future__ import annotations

import contextlib
import hashlib
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from league.ledger.ledger import Ledger
from tests.command import dond, train_command
from tests.dond.cli.test_stops import LEAGUE as WHOLE
from tests.dond.cli.test_stops import TRAINING, settings

LEAGUE = WHOLE.replace("block_size: 8}", "block_size: 256, evaluate: false}")
STEPS = "training.num_train_steps=200", "logging.save_every=50"


@contextlib.contextmanager
def room(size: int) -> Iterator[None]:
    """No file can grow beyond ``size`` bytes, as on a disk that is full.

    Meanwhile no bytecode is cached: Python would leave a truncated file, which later imports fail on.
    """
    cached = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = cached


def told(capsys, folder: Path) -> str:
    """The one sentence of a failure; no half file is left."""
    errors = capsys.readouterr().err
    assert len(errors.strip().splitlines()) == 1 and "Traceback" not in errors, errors
    assert not [path for path in folder.rglob("*") if path.name.endswith((".tmp", ".new"))]
    return errors


def newest(folder: Path) -> str:
    tensors = sorted((folder / "checkpoints").glob("*.safetensors"))[-1]
    return hashlib.sha256(tensors.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("whole")
    assert train_command(settings(folder, TRAINING), STEPS) == 0
    return newest(folder / "runs" / "0001")


@pytest.mark.slow
@pytest.mark.parametrize("size", [400, 4_000])
def test_a_training_on_a_full_disk_ends_in_words_and_goes_on_to_the_same_bits(tmp_path, capsys, trained, size):
    path, folder = settings(tmp_path, TRAINING), tmp_path / "runs" / "0001"
    with room(size):
        assert train_command(path, STEPS) == 1
    words = told(capsys, tmp_path)
    assert str(folder) in words and "make room" in words
    assert train_command(path, STEPS, folder if folder.exists() else None) == 0
    assert newest(folder) == trained


@pytest.fixture(scope="module")
def league(tmp_path_factory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("league")
    assert dond("league", "--config", settings(folder, LEAGUE)) == 0
    with Ledger(folder / "runs" / "0001" / "ledger.sqlite") as ledger:
        return folder / "runs" / "0001", ledger.fingerprint()


@pytest.mark.parametrize("size", [pytest.param(1_000, marks=pytest.mark.slow), 100_000])
def test_a_league_on_a_full_disk_ends_in_words_and_goes_on_to_the_same_rows(tmp_path, capsys, league, size):
    path, folder = settings(tmp_path, LEAGUE), tmp_path / "runs" / "0001"
    with room(size):
        assert dond("league", "--config", path) == 1
    assert str(folder) in told(capsys, tmp_path)
    begun = folder.exists() and (folder / "config.yaml").exists()
    assert dond("league", *(["--resume", folder] if begun else ["--config", path])) == 0
    with Ledger(sorted((tmp_path / "runs").iterdir())[-1] / "ledger.sqlite") as ledger:
        assert ledger.fingerprint() == league[1]


@pytest.mark.slow
@pytest.mark.parametrize("words", [("report", "--out"), ("evaluate", "--json")])
def test_unwritable_file_is_named_and_the_former_one_stays(tmp_path, capsys, league, words):
    out = tmp_path / "out"
    out.write_text("before")
    with room(2_000):
        assert dond(words[0], "--run", league[0], *words[1:], out) == 1
    assert str(out) in told(capsys, tmp_path) and out.read_text() == "before"
