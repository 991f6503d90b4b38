"""A league on each backend, as a user runs it: the same ledger and weights, after failures and stops too."""

from __future__ import annotations

from pathlib import Path

import pytest

from league.ledger.ledger import Ledger
from tests.killing import run

ROOT = Path(__file__).resolve().parents[3]
SCRIPTED = """
env: {scenarios: lewis, split: train}
league: {seed: 3, rounds: ROUNDS, block_size: 16, evaluate: false}
members: [heuristic, random, "boulware(exponent=2)", tough]
logging: {output_dir: "FOLDER"}
"""
LEARNERS = """
learners:
  - {name: main, hidden: [16], rollout: 2, num_envs: 32, minibatch: 64, epochs: 2, decisions: 300}
  - {name: other, algo: reinforce, hidden: [16], rollout: 2, num_envs: 32, decisions: 200, snapshot_every: 0}
"""


def write_settings(tmp_path: Path, rounds: int, more: str = "") -> Path:
    path = tmp_path / "league.yaml"
    path.write_text((SCRIPTED + more).replace("ROUNDS", str(rounds)).replace("FOLDER", str(tmp_path / "runs")))
    return path


def contents(folder: Path) -> tuple[str, dict[str, bytes]]:
    """The ledger's fingerprint, and every weight of a run."""
    with Ledger(folder / "ledger.sqlite") as ledger:
        return ledger.fingerprint(), {path.name: path.read_bytes() for path in sorted((folder / "blobs").glob("*"))}


def same_on(tmp_path, config, *backends):
    """Play a league in one process and then on each of ``backends``, which write the same; returns that."""
    for flags in ((), *backends):
        done = run("--config", config, *flags)
        assert done.returncode == 0, done.stderr
    alone, *others = (contents(folder) for folder in sorted((tmp_path / "runs").iterdir()))
    assert len(others) == len(backends) and all(other == alone for other in others)
    return alone


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_all_backends_write_the_same_ledger_and_weights(tmp_path):
    backends = [["--backend", "process", "--workers", 1], ["--workers", 2], ["--workers", 4]]
    try:
        import ray  # noqa: F401  # whether it is there
    except ModuleNotFoundError:
        pass
    else:
        backends.append(["--backend", "ray", "--workers", 2])
    _, weights = same_on(tmp_path, write_settings(tmp_path, 4, LEARNERS), *backends)
    assert weights
