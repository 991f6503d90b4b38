"""Snapshots that are kept for what they add: one that some mixture of the snapshots can replace does not join."""

from __future__ import annotations

import pytest
import torch

from experiments.baselines.runs import SilentWatcher
from league.ledger.ledger import Ledger
from league.ledger.run_directory import RunDirectory
from league.rounds.runner import run_league
from league.settings.read import dump, parse

torch.set_num_threads(1)
SETTINGS = """
env: {{scenarios: lewis, split: train, max_turns: 4}}
league: {{seed: 1, rounds: 4, block_size: 8, evaluate: false}}
members: [heuristic, conceder]
learners:
  - {{name: main, hidden: [8], rollout: 2, num_envs: 32, minibatch: 64, epochs: 1, decisions: 100, snapshot_every: 1,
     novelty: {novelty}}}
logging: {{tensorboard: false}}
"""


@pytest.mark.parametrize(("novelty", "joined"), [(10.0, ["main@1"]), (1e-9, ["main@1", "main@2", "main@3"])])
def test_novelty_threshold_of_snapshots(tmp_path, novelty, joined):
    """The first has nobody to be compared with; ten points of ten are more than any can differ by."""
    config = parse(SETTINGS.format(novelty=novelty))
    run_league(config, RunDirectory(tmp_path), SilentWatcher(tmp_path / "practice.jsonl", lambda _: None))
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        assert [member.name for member in ledger.members() if member.role == "snapshot"] == joined
        second = [decision for decision in ledger.decisions(1) if decision.kind == "snapshot"]
    assert [decision.taken for decision in second] == [novelty < 1]
    assert novelty < 1 or (second[0].reason.startswith("nothing new: ") and "10 needed" in second[0].reason)


def test_default_novelty_is_not_dumped():
    assert "novelty" not in dump(parse(SETTINGS.format(novelty=0.0))) and "novelty: 0.5" in dump(
        parse(SETTINGS.format(novelty=0.5))
    )
