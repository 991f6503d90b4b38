"""The gate of a snapshot: a paired test in points on common scenarios."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dond_marl.scenarios.sources import Scenarios, lewis_part
from dond_marl.statistics import GROUPS, scenario_groups
from league.rounds.snapshots import judge, level_of_test
from league.settings.learners import Gate

J, K = 3, 200
GROUPS_OF_BLOCK = np.random.default_rng(0).permutation(GROUPS)[:K]


def block(rng: np.random.Generator, more: list[float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A learner, its opponents and its snapshot on common scenarios whose luck (2) dwarfs the noise (.5)."""
    luck = rng.normal(0, 2, (1, 2, K))
    before = 5 + luck + rng.normal(0, 0.5, (J, 2, K))
    own = 5 + luck + np.array(more)[:, None, None] + rng.normal(0, 0.5, (J, 2, K))
    return own, np.full(own.shape, 4.0), before


def test_better_learner_passes():
    verdict = judge(Gate(), *block(np.random.default_rng(1), [0.6, 0.6, 0.6]), GROUPS_OF_BLOCK, rounds=1)
    assert (
        verdict.passed and verdict.gain.mean == pytest.approx(0.6, abs=0.1) and verdict.reason.startswith("better: +0.")
    )


def test_paired_scenarios_narrow_the_interval():
    own, theirs, before = block(np.random.default_rng(1), [0.6] * 3)
    paired = judge(Gate(), own, theirs, before, GROUPS_OF_BLOCK, rounds=1).gain.margin
    shuffled = np.random.default_rng(2).permutation(before, axis=2)
    unpaired = judge(Gate(), own, theirs, shuffled, GROUPS_OF_BLOCK, rounds=1).gain.margin
    assert unpaired**2 > 2 * paired**2  # twice the games would be needed, at least


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ([0.0, 0.0, 0.0], "not surely better"),
        ([3.0, 3.0, -1.5], "against one of 1 opponents"),
    ],
)
def test_gate_refusals(more, reason):
    verdict = judge(Gate(), *block(np.random.default_rng(1), more), GROUPS_OF_BLOCK, rounds=1)
    assert not verdict.passed and reason in verdict.reason


def test_time_out_passes():
    block_ = block(np.random.default_rng(1), [0.0] * 3)
    verdict = judge(Gate(timeout=5), *block_, GROUPS_OF_BLOCK, rounds=5)
    assert verdict.passed and verdict.reason.startswith("time-out")
    assert not judge(Gate(timeout=5), *block_, GROUPS_OF_BLOCK, rounds=4).passed


def test_too_few_scenarios_do_not_pass():
    own, theirs, before = (part[:, :, :1] for part in block(np.random.default_rng(1), [3.0] * 3))
    assert not judge(Gate(), own, theirs, before, GROUPS_OF_BLOCK[:1], rounds=1).passed


def test_opponents_have_equal_weights():
    gain = judge(Gate(), *block(np.random.default_rng(1), [1.5, 0.0, 0.0]), GROUPS_OF_BLOCK, rounds=1).gain
    assert gain.mean == pytest.approx(0.5, abs=0.1)


def test_points_gate_refuses_wins_by_broken_deals():
    own, theirs, before = block(np.random.default_rng(1), [-2.0] * 3)  # loses two points, and leaves nothing
    theirs = own - 1
    assert judge(Gate(kind="win_rate"), own, theirs, before, GROUPS_OF_BLOCK, rounds=1).passed
    assert not judge(Gate(), own, theirs, before, GROUPS_OF_BLOCK, rounds=1).passed
    theirs[2] = own[2]  # one opponent it only draws with: half a win each
    verdict = judge(Gate(kind="win_rate"), own, theirs, before, GROUPS_OF_BLOCK, rounds=1)
    assert not verdict.passed and verdict.gain.mean == 0.5 and "wins 50% against" in verdict.reason


def test_wins_gate_leaves_out_unreached_opponents():
    own, theirs, before = block(np.random.default_rng(1), [0.0] * 3)
    theirs = own - 1
    theirs[1] = own[1]
    silent = np.full((1, 2, K), np.nan)
    gate = Gate(kind="win_rate")
    for place in (0, 3):
        three = (np.insert(points, place, silent[0], axis=0) for points in (own, theirs, before))
        verdict = judge(gate, *three, GROUPS_OF_BLOCK, rounds=1)
        assert not verdict.passed and verdict.gain.mean == 0.5 and "wins 50% against" in verdict.reason
    unreached = judge(gate, silent, silent, silent, GROUPS_OF_BLOCK, rounds=1)
    assert not unreached.passed and math.isnan(unreached.gain.mean)
    late = judge(gate, silent, silent, silent, GROUPS_OF_BLOCK, rounds=gate.timeout)
    assert late.passed and late.reason.startswith("time-out after ")


def looks(rng: np.random.Generator, number: int, gate: Gate, scenarios: Scenarios) -> list[bool]:
    """Whether each of ``number`` looks, on the blocks that a league plays, lets a learner pass that is no better.

    It has learned something else by each look: better in some scenarios, and alike in all their renamings, worse in
    others, a few by far, so that over all ``scenarios`` nothing is gained; and games are noisy.
    """
    every, passed = scenario_groups(scenarios), []
    for look in range(1, number + 1):
        effect = rng.standard_t(3, GROUPS) * (rng.random(GROUPS) < 0.4)
        effect -= effect[every].mean()
        block = rng.choice(len(every), 128, replace=False)
        more = effect[every[block]] + rng.normal(0, 1.5, (3, 2, 128))
        verdict = judge(gate, 5 + more, np.full(more.shape, 4.0), np.full(more.shape, 5.0), every[block], look, look)
        passed.append(verdict.passed)
    return passed


def test_false_pass_rate_of_the_first_test():
    rng, gate, scenarios = np.random.default_rng(3), Gate(timeout=100), lewis_part("train")
    wrongly = np.mean([any(looks(rng, 1, gate, scenarios)) for _ in range(200)])
    assert 0.005 < wrongly <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 200)  # half of the 5 % are spent on the first look


@pytest.mark.slow
def test_false_pass_rate_of_twenty_tests():
    """2,000 learners that are no better, twenty looks each: 5 % are allowed."""
    rng, gate, scenarios = np.random.default_rng(5), Gate(timeout=100), lewis_part("train")
    wrongly = np.mean([any(looks(rng, 20, gate, scenarios)) for _ in range(2000)])
    assert wrongly <= 0.05


def test_levels_of_tests_add_up():
    assert sum(level_of_test(0.95, look) for look in range(1, 100_000)) == pytest.approx(0.05, abs=1e-6)
    assert [level_of_test(0.95, look) for look in (1, 2, 3)] == pytest.approx([0.025, 0.05 / 6, 0.05 / 12])


def test_later_tests_need_more():
    own, theirs, before = block(np.random.default_rng(1), [0.05] * 3)
    verdicts = [judge(Gate(), own, theirs, before, GROUPS_OF_BLOCK, rounds=1, look=look) for look in (1, 2, 30)]
    lows = [verdict.gain.low for verdict in verdicts]
    assert lows == sorted(lows, reverse=True) and [v.passed for v in verdicts] == [True, True, False]


def test_regression_test_is_corrected_for_many_opponents():
    """With .45 points less against each of forty opponents, within the allowance, one looks worse by chance."""
    rng = np.random.default_rng(8)
    more = np.full((41, 2, K), -0.45) + rng.normal(0, 2, (41, 2, K))
    more[0] += 60  # so that it is better on the whole
    before, theirs = np.full(more.shape, 5.0), np.full(more.shape, 4.0)
    assert judge(Gate(), before + more, theirs, before, GROUPS_OF_BLOCK, rounds=1).passed
    more[7] -= 1.0
    refused = judge(Gate(), before + more, theirs, before, GROUPS_OF_BLOCK, rounds=1)
    assert not refused.passed and "opponents" in refused.reason
