"""Whether a learner has improved enough to leave a snapshot: a paired test, in points, on common scenarios.

AlphaStar's gate asks for a win rate of 70 % (Vinyals et al. 2019, supplement). In bargaining a learner that wins more
deals by breaking more of them is no better, so the gate asks for own points: more of them against the gate's pool,
and clearly fewer against nobody. The learner and its last snapshot play the same scenarios against the same opponents
in both seats, so that the scenarios' luck cancels. J = opponents, K = scenarios of the block.

A learner that is refused is looked at again in every round until it passes, on new scenarios. So that all its looks
together let one that is no better pass with probability 1 - ``confidence`` at most, the n-th of them may use up
(1 - ``confidence``) / (n (n + 1)) of that: alpha spending (Lan & DeMets 1983, *Discrete sequential boundaries for
clinical trials*), whose shares add up to the whole however many looks there are. Nothing is carried from look to look:
the learner has gone on learning in between, and what it was says nothing of what it is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.statistics import Estimate, mean_over_scenarios
from league.settings.learners import Gate

Points = NDArray[np.float64]
NOTHING = Estimate(math.nan, 0, math.nan, math.nan)  # where nobody can be judged


class Verdict(NamedTuple):
    """What a gate decided, and why."""

    passed: bool
    reason: str
    gain: Estimate  # points of ten, with the look's two-sided interval, or the least share of games won


def judge(
    gate: Gate, own: Points, theirs: Points, before: Points, groups: NDArray[np.int64], rounds: int, look: int = 1
) -> Verdict:
    """Judge a learner ``rounds`` after its last snapshot, for the ``look``-th time, 1 for the first.

    ``own[J, 2, K]`` is what it scores against each opponent in each seat on each scenario, points of ten,
    ``theirs[J, 2, K]`` what the opponent got, ``before[J, 2, K]`` what its last snapshot scored in its place, and
    ``groups[K]`` the groups of the scenarios. ``nan`` where a game counts for nobody.
    """
    assert own.shape == theirs.shape == before.shape and own.shape[1:] == (2, len(groups)), "blocks are not paired"
    verdict = (
        _by_points(gate, own - before, groups, look) if gate.kind == "points" else _by_wins(gate, own, theirs, groups)
    )
    if not verdict.passed and rounds >= gate.timeout:
        return verdict._replace(passed=True, reason=f"time-out after {rounds} rounds; {verdict.reason}")
    return verdict


def spent(confidence: float, look: int) -> float:
    """The probability of a false pass that the ``look``-th look, 1 for the first, may use up."""
    return (1 - confidence) / (look * (look + 1))


def _by_points(gate: Gate, more: Points, groups: NDArray[np.int64], look: int) -> Verdict:
    """``more[J, 2, K]``: what the learner scores more than its snapshot, scenario by scenario."""
    risk = spent(gate.confidence, look)
    even = np.full(len(more), 1 / len(more))  # opponents count alike
    gain = _mean(np.einsum("j,jsk->k", even, more) / 2, groups, 1 - 2 * risk)
    # So many opponents are asked at once that one of them would often be lost by chance.
    each = 1 - 2 * (1 - gate.confidence) / len(more)
    against = [_mean(cells.mean(axis=0), groups, each) for cells in more]
    regressed = [change.mean for change in against if change.high < -gate.forgetting]  # where it lost too much
    text = f"{gain.mean:+.2f} points of ten, at least {gain.low:+.2f} at {1 - risk:.1%}, look {look}"
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
