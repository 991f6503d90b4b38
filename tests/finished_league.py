"""Fixtures of leagues, which the conftest files of both packages import: quick figures, and a finished league."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from league.standings import findings
from tests.killing import run

# Names that a page might obey: markup, a script, a template, an attribute's end.
SETTINGS = """
env: {scenarios: lewis, split: train, max_turns: 3}
league: {seed: 3, rounds: 4, block_size: 8}
members:
  - heuristic
  - pushover
  - {kind: tough, name: "<img src=x onerror=window.pwned=1>"}
  - {kind: linear, name: "<script>window.pwned=1</script>"}
  - {kind: conceder, name: "{{pwned}}"}
  - {kind: random, name: "\\" onfocus='pwned()'"}
heldout: [boulware]
learners:
  - {name: main, hidden: [8], rollout: 2, num_envs: 32, minibatch: 64, epochs: 1, decisions: 100, snapshot_every: 1,
     gate: {timeout: 2}}
stages: [{name: short games, rounds: 2, env: {max_turns: 2}}, {name: league}]
logging: {output_dir: runs}
"""


@pytest.fixture(scope="session", autouse=True)
def few_replicates() -> Iterator[None]:
    """Findings in this process are resampled ten times: the bootstrap takes longer than the games of a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(findings, "REPLICATES", 10)
        yield


@pytest.fixture(scope="session")
def finished_league(tmp_path_factory) -> Path:
    """The run of a league that is over, with its findings and its evaluation; a test that changes it copies it.

    It has a learner with snapshots, two stages, a held-out member, and members by the names of ``browser.HOSTILE``.
    pytest-xdist's workers share it.
    """
    common = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        common = common.parent
    folder = common / "finished_league"
    with FileLock(common / "finished_league.lock"):
        if not (folder / "over").exists():
            folder.mkdir()
            (folder / "league.yaml").write_text(SETTINGS)
            done = run("--config", "league.yaml", cwd=folder)
            assert done.returncode == 0, done.stderr
            (folder / "over").touch()
    return folder / "runs" / "0001"
