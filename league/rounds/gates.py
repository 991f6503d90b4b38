"""Whether a learner has improved enough to leave a snapshot: a paired test, in points, on common scenarios.

AlphaStar's gate asks for a win rate of 70 % (Vinyals et al. 2019, supplement). In bargaining a learner that wins more
deals by breaking more of them is no better, so the gate asks for own points: more of them against the gate's pool,
and clearly fewer against nobody. The learner and its last snapshot play the same scenarios against the same opponents
in both seats, so that the scenarios' luck cancels. J = opponents, K = scenarios of the block.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.yardsticks.metrics import Estimate, mean_over_scenarios
from league.settings.learner import Gate

Points = NDArray[np.float64]
NOTHING = Estimate(math.nan, 0, math.nan, math.nan)  # where nobody can be judged


class Verdict(NamedTuple):
    """What a gate decided, and why."""

    passed: bool
    reason: str
    gain: Estimate  # points of ten, or the least share of games won; its interval is two-sided at 2 * confidence - 1


def judge(gate: Gate, own: Points, theirs: Points, before: Points, groups: NDArray[np.int64], rounds: int) -> Verdict:
    """Judge a learner ``rounds`` after its last snapshot.

    ``own[J, 2, K]`` is what it scores against each opponent in each seat on each scenario, points of ten,
    ``theirs[J, 2, K]`` what the opponent got, ``before[J, 2, K]`` what its last snapshot scored in its place, and
    ``groups[K]`` the groups of the scenarios. ``nan`` where a game counts for nobody.
    """
    assert own.shape == theirs.shape == before.shape and own.shape[1:] == (2, len(groups)), "blocks are not paired"
    verdict = _by_points(gate, own - before, groups) if gate.kind == "points" else _by_wins(gate, own, theirs, groups)
    if not verdict.passed and rounds >= gate.timeout:
        return verdict._replace(passed=True, reason=f"time-out after {rounds} rounds; {verdict.reason}")
    return verdict


def _by_points(gate: Gate, more: Points, groups: NDArray[np.int64]) -> Verdict:
    """``more[J, 2, K]``: what the learner scores more than its snapshot, scenario by scenario."""
    two_sided = 2 * gate.confidence - 1
    even = np.full(len(more), 1 / len(more))  # opponents count alike
    gain = _mean(np.einsum("j,jsk->k", even, more) / 2, groups, two_sided)
    against = [_mean(cells.mean(axis=0), groups, two_sided) for cells in more]
    regressed = [change.mean for change in against if change.high < -gate.forgetting]  # where it lost too much
    text = f"{gain.mean:+.2f} points of ten, at least {gain.low:+.2f} at {gate.confidence:.0%}"
    if not gain.low > 0:  # also where there are too few scenarios to tell
        return Verdict(False, f"not surely better: {text}", gain)
    if gain.mean < gate.delta:
        return Verdict(False, f"too little: {text}, {gate.delta:+.2f} needed", gain)
    if regressed:
        return Verdict(False, f"{text}, but {min(regressed):+.2f} against one of {len(regressed)} opponents", gain)
    return Verdict(True, f"better: {text}", gain)


def _by_wins(gate: Gate, own: Points, theirs: Points, groups: NDArray[np.int64]) -> Verdict:
    """AlphaStar's gate: every opponent is beaten often enough; a draw is half a win.

    An opponent that was not reached in any game of a seat is left out.
    """
    won = (np.sign(own - theirs) + 1) / 2
    shares = [_mean(cells.mean(axis=0), groups, 2 * gate.confidence - 1) for cells in won]
    reached = [share for share in shares if not math.isnan(share.mean)]
    if not reached:
        return Verdict(False, "no opponent of its gate was reached in any game", NOTHING)
    least = min(reached, key=lambda share: share.mean)
    text = f"wins {least.mean:.0%} against the opponent that it beats least, {gate.win_rate:.0%} needed"
    return Verdict(least.mean >= gate.win_rate, text, least)


def _mean(values: Points, groups: NDArray[np.int64], confidence: float) -> Estimate:
    return mean_over_scenarios(values, groups, confidence, ~np.isnan(values))
