"""The gate of a snapshot: a paired test in points on common scenarios."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.yardsticks.metrics import GROUPS
from league.rounds.gates import judge
from league.settings.learner import Gate

J, K = 3, 200
GROUPS_OF_BLOCK = np.random.default_rng(0).permutation(GROUPS)[:K]


def block(rng: np.random.Generator, more: list[float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A learner, its opponents and its snapshot on common scenarios whose luck (2) dwarfs the noise (.5)."""
    luck = rng.normal(0, 2, (1, 2, K))
    before = 5 + luck + rng.normal(0, 0.5, (J, 2, K))
    own = 5 + luck + np.array(more)[:, None, None] + rng.normal(0, 0.5, (J, 2, K))
    return own, np.full(own.shape, 4.0), before


def test_a_learner_that_is_better_against_everybody_passes():
    verdict = judge(Gate(), *block(np.random.default_rng(1), [0.6, 0.6, 0.6]), GROUPS_OF_BLOCK, rounds=1)
    assert (
        verdict.passed and verdict.gain.mean == pytest.approx(0.6, abs=0.1) and verdict.reason.startswith("better: +0.")
    )


def test_common_scenarios_cancel_their_luck():
    own, theirs, before = block(np.random.default_rng(1), [0.6] * 3)
    paired = judge(Gate(), own, theirs, before, GROUPS_OF_BLOCK, rounds=1).gain.margin
    shuffled = np.random.default_rng(2).permutation(before, axis=2)
    unpaired = judge(Gate(), own, theirs, shuffled, GROUPS_OF_BLOCK, rounds=1).gain.margin
    assert unpaired**2 > 2 * paired**2  # twice the games would be needed, at least


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ([0.0, 0.0, 0.0], "not surely better"),
        ([0.15, 0.15, 0.15], "too little"),
        ([3.0, 3.0, -1.5], "against one of 1 opponents"),
    ],
)
def test_a_learner_that_is_no_better_or_too_little_or_worse_against_somebody_does_not(more, reason):
    verdict = judge(Gate(), *block(np.random.default_rng(1), more), GROUPS_OF_BLOCK, rounds=1)
    assert not verdict.passed and reason in verdict.reason


def test_a_time_out_passes_and_says_so():
    block_ = block(np.random.default_rng(1), [0.0] * 3)
    verdict = judge(Gate(timeout=5), *block_, GROUPS_OF_BLOCK, rounds=5)
    assert verdict.passed and verdict.reason.startswith("time-out after 5 rounds; not surely better")
    assert not judge(Gate(timeout=5), *block_, GROUPS_OF_BLOCK, rounds=4).passed


def test_too_few_scenarios_to_tell_do_not_pass():
    own, theirs, before = (part[:, :, :1] for part in block(np.random.default_rng(1), [3.0] * 3))
    assert not judge(Gate(), own, theirs, before, GROUPS_OF_BLOCK[:1], rounds=1).passed


def test_opponents_count_alike():
    gain = judge(Gate(), *block(np.random.default_rng(1), [1.5, 0.0, 0.0]), GROUPS_OF_BLOCK, rounds=1).gain
    assert gain.mean == pytest.approx(0.5, abs=0.1)


def test_a_win_rate_gate_passes_who_wins_by_breaking_deals_and_the_points_gate_does_not():
    own, theirs, before = block(np.random.default_rng(1), [-2.0] * 3)  # loses two points, and leaves nothing
    theirs = own - 1
    assert judge(Gate(kind="win_rate"), own, theirs, before, GROUPS_OF_BLOCK, rounds=1).passed
    assert not judge(Gate(), own, theirs, before, GROUPS_OF_BLOCK, rounds=1).passed
    theirs[2] = own[2]  # one opponent it only draws with: half a win each
    verdict = judge(Gate(kind="win_rate"), own, theirs, before, GROUPS_OF_BLOCK, rounds=1)
    assert not verdict.passed and verdict.gain.mean == 0.5 and "wins 50% against" in verdict.reason


def test_an_opponent_that_was_never_reached_is_left_out_of_the_least_won_wherever_it_stands():
    own, theirs, before = block(np.random.default_rng(1), [0.0] * 3)
    theirs = own - 1
    theirs[1] = own[1]
    silent = np.full((1, 2, K), np.nan)
    gate = Gate(kind="win_rate")
    for place in (0, 3):
        three = (np.insert(points, place, silent[0], axis=0) for points in (own, theirs, before))
        verdict = judge(gate, *three, GROUPS_OF_BLOCK, rounds=1)
        assert not verdict.passed and verdict.gain.mean == 0.5 and "wins 50% against" in verdict.reason
    nobody = judge(gate, silent, silent, silent, GROUPS_OF_BLOCK, rounds=1)
    assert not nobody.passed and nobody.reason == "no opponent of its gate was reached in any game"
    late = judge(gate, silent, silent, silent, GROUPS_OF_BLOCK, rounds=gate.timeout)
    assert late.passed and late.reason.startswith("time-out after ")


def test_no_better_learner_passes_more_often_than_the_gate_says():
    rng, gate = np.random.default_rng(3), Gate(delta=0.0)
    passed = [judge(gate, *block(rng, [0.0] * 3), GROUPS_OF_BLOCK, rounds=1).passed for _ in range(400)]
    assert 0.02 <= np.mean(passed) <= 0.08  # 5 %
