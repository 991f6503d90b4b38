"""The command `dond export`: a member of a league as a checkpoint."""

from __future__ import annotations

import pytest

from partners.network.checkpoint import load_checkpoint
from tests.command import in_process

LEAGUE = """
env: {scenarios: lewis, split: train, max_turns: 3}
league: {seed: 3, rounds: 2, block_size: 4, evaluate: false}
members: [heuristic, tough]
learners: [{name: main, reward: own, hidden: [8], rollout: 2, num_envs: 8, decisions: 16, snapshot_every: 1}]
stages: [{name: first, rounds: 1, learners: {main: {reward: spite(weight=1)}}}, {name: second}]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    (folder / "league.yaml").write_text(LEAGUE)
    assert in_process("league", "--config", "league.yaml", "--quiet", cwd=folder).returncode == 0
    return folder / "runs" / "league"


def test_exported_checkpoints_name_the_rewards_of_their_stages(run, tmp_path):
    rewards = {"main": "spite(weight=1), then own", "main@1": "spite(weight=1)"}
    for member, reward in rewards.items():
        file = tmp_path / f"{member}.json"
        done = in_process("export", run, "--to", "checkpoint", "--member", member, "--out", file)
        assert done.returncode == 0, done.stderr
        assert load_checkpoint(file).about["reward"] == reward


@pytest.mark.parametrize(
    "words", [("--to", "checkpoint"), ("--to", "csv", "--member", "main"), ("--to", "checkpoint", "--table", "games")]
)
def test_options_of_the_other_format_are_refused(run, words):
    assert in_process("export", run, *words).returncode == 2
