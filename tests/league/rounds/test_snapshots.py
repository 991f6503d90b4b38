"""Novelty of snapshots: distance from mixtures of earlier ones, and the threshold of a learner."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from experiments.baselines.runs import SilentWatcher
from league.ledger.ledger import Ledger
from league.ledger.run_directory import RunDirectory
from league.rounds.runner import run_league
from league.rounds.snapshots import distance_from_mixtures, novelty_of, novelty_over_time
from league.settings.read import dump, parse
from league.standings.ratings import Payoffs
from league.tasks.values import Member

FIXED = [Member("heuristic", "heuristic"), Member("conceder", "conceder"), Member("held", "held", split="heldout")]


def payoffs_of(rows: dict[int, tuple[float, float, float, float]], members: int) -> Payoffs:
    """Payoffs of members against the first two, as seat_0 and seat_1; no other games."""
    mean = np.full((members, 2, members), np.nan)
    for place, row in rows.items():
        mean[place][:, :2] = np.reshape(row, (2, 2))
    games = np.where(np.isnan(mean), 0.0, 100.0)
    return Payoffs(mean, games, mean * 0 + 4, mean * 0 + 0.04, mean * 0)


def test_distance_from_mixtures():
    """Of (0, 0) and (2, 0) the nearest mixture to (1, 3) is their half, 3 away in one of two cells."""
    population = np.array([[0.0, 0.0], [2.0, 0.0]])
    assert distance_from_mixtures(np.array([0.5, 0.0]), population) == pytest.approx(0, abs=1e-6)
    assert distance_from_mixtures(np.array([1.0, 3.0]), population) == pytest.approx(3 / math.sqrt(2), abs=1e-6)
    assert distance_from_mixtures(np.array([5.0, 0.0]), population) == pytest.approx(3 / math.sqrt(2), abs=1e-6)
    assert math.isnan(distance_from_mixtures(np.array([1.0, 3.0]), population[:0]))


def test_novelty_uses_earlier_snapshots_and_fixed_members():
    members = [
        *FIXED,
        Member("main@2", None, "snapshot", parent="main", born=2),
        Member("scout@1", None, "snapshot", parent="scout", born=1),
        Member("main@4", None, "snapshot", parent="main", born=4),
        Member("main@6", None, "snapshot", parent="main", born=6),
    ]
    rows = {3: (4, 4, 4, 4), 4: (6, 4, 4, 4), 5: (5, 4, 4, 4), 6: (5, 4, 4, 8)}
    first, second, third, fourth = novelty_over_time(payoffs_of(rows, len(members)), members)
    assert [each.member.name for each in (first, second, third, fourth)] == ["scout@1", "main@2", "main@4", "main@6"]
    assert math.isnan(first.distance) and first.before == 0
    assert second.distance == pytest.approx(1, abs=1e-6) and second.cells == 4  # two points in one of four cells
    assert third.distance == pytest.approx(0, abs=1e-6) and third.before == 2  # the mean of the two before it
    assert fourth.distance == pytest.approx(2, abs=1e-6) and fourth.error == pytest.approx(0.2)


def test_novelty_leaves_out_missing_cells():
    members = [*FIXED, *(Member(f"main@{n}", None, "snapshot", parent="main", born=n) for n in (1, 2, 3))]
    rows = {3: (4, 4, 4, 4), 4: (9, np.nan, 9, 9), 5: (4, 7, 4, np.nan)}
    adds = novelty_of(payoffs_of(rows, len(members)), members, 5, [3, 4])
    assert adds.cells == 3 and adds.before == 1 and adds.distance == pytest.approx(3 / math.sqrt(3), abs=1e-6)
    empty = novelty_of(payoffs_of({}, len(members)), members, 5, [3, 4])
    assert empty.cells == 0 and math.isnan(empty.distance)


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
    """The first is compared with none; ten points of ten exceed every possible distance."""
    config = parse(SETTINGS.format(novelty=novelty))
    run_league(config, RunDirectory(tmp_path), SilentWatcher(tmp_path / "practice.jsonl"))
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        assert [member.name for member in ledger.members() if member.role == "snapshot"] == joined
        second = [decision for decision in ledger.decisions(1) if decision.kind == "snapshot"]
    assert [decision.taken for decision in second] == [novelty < 1]
    assert novelty < 1 or (second[0].reason.startswith("nothing new: ") and "10 needed" in second[0].reason)


def test_default_novelty_is_not_dumped():
    assert "novelty" not in dump(parse(SETTINGS.format(novelty=0.0))) and "novelty: 0.5" in dump(
        parse(SETTINGS.format(novelty=0.5))
    )
