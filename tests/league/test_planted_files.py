"""Names and links that another person puts into a run damage no file of the user's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dond.table.session import write_down
from dond_marl.files import atomic_replace
from dond_marl.game import Act, Action, Rules, Scenario, State, apply
from dond_marl.records.record import record_of
from league.bench.results import append
from league.ledger.ledger import Ledger, ReadLedger
from league.play.blobs import RESERVOIR_KEY, SUFFIX, BlobError, forget_reservoir, read_content, write_blob
from partners.network.checkpoint import pack
from tests.command import in_process, played_league

SETTINGS = """
env: {scenarios: lewis, split: train, max_turns: 4}
league: {rounds: 2, block_size: 8, seed: 3, evaluate: false}
members: [pushover, tough]
heldout: [boulware]
learners:
  - {name: main, num_envs: 4, rollout: 2, epochs: 1, minibatch: 32, hidden: [8], decisions: 8}
logging: {output_dir: FOLDER}
"""


@pytest.fixture(scope="module")
def honest(tmp_path_factory) -> Path:
    """The folder of a finished run."""
    return played_league(tmp_path_factory.mktemp("honest"), SETTINGS)


@pytest.fixture
def run(honest, tmp_path) -> Path:
    """A copy of the run, as another person would send it."""
    return Path(shutil.copytree(honest, tmp_path / "theirs" / "0001"))


@pytest.fixture
def mine(tmp_path) -> Path:
    """A file of the user's, outside the run."""
    path = tmp_path / f"model{SUFFIX}"
    path.write_text("mine")
    return path


def test_a_path_in_place_of_a_blobs_name_deletes_nothing(run, mine):
    with Ledger(run / "ledger.sqlite") as ledger:
        last = ledger.next_round - 1
        expected = ledger.fingerprint()
        ledger._db.execute("UPDATE states SET blob = ? WHERE round = ?", (str(mine.with_suffix("")), last))
        ledger._db.execute("UPDATE seals SET sha256 = ? WHERE round = ?", (ledger._seal(last), last))
    assert in_process("league", "--resume", run).returncode == 0
    with ReadLedger(run / "ledger.sqlite") as ledger:
        assert ledger.fingerprint() == expected  # the round was played again
    assert mine.read_text() == "mine"


@pytest.mark.parametrize("name", ["PATH", "../model", "A" * 64, "a" * 63, "a" * 64 + "\n", "a" * 64 + "/.."])
def test_blobs_have_digests_as_names(name, mine, tmp_path):
    name = str(mine.with_suffix("")) if name == "PATH" else name
    folder = tmp_path / "blobs"
    before, now = write_blob(folder, pack({}, {RESERVOIR_KEY: name})), write_blob(folder, pack({}))
    forget_reservoir(folder, before, now)
    assert mine.exists()
    with pytest.raises(BlobError, match="no name of weights"):
        read_content(folder, name)


def test_each_temporary_file_is_new_and_a_link_is_replaced(mine, tmp_path):
    path = tmp_path / "page.html"
    path.symlink_to(mine)
    names = set()
    for text in ("one", "two"):
        with atomic_replace(path) as temporary:
            temporary.write_text(text)
            names.add(temporary.name)
    assert len(names) == 2 and not path.is_symlink() and path.read_text() == "two" and mine.read_text() == "mine"


def test_nothing_is_added_to_a_link(mine, tmp_path):
    (tmp_path / "games.jsonl").symlink_to(mine)
    state = apply(State(Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1))), Rules()), Action(Act.DISAGREE))
    with pytest.raises(OSError, match="is a link"):
        write_down(record_of(state, ("human", "tough")), tmp_path / "games.jsonl")
    with pytest.raises(OSError, match="is a link"):
        append(tmp_path / "games.jsonl", {})
    assert mine.read_text() == "mine"
