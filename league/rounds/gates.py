"""Whether a learner has improved enough to leave a snapshot: a paired test, in points, on common scenarios.

AlphaStar's gate requires a win rate of 70 % (Vinyals et al. 2019, supplement). In bargaining a learner that wins more
deals by breaking more of them is no better, so this gate requires own points: more of them against the gate's pool, and
clearly fewer against no opponent. The learner and its last snapshot play the same scenarios against the same opponents
in both seats, so that the scenarios' luck cancels. J = opponents, K = scenarios of the block.

A refused learner is tested again in every round until it passes, on new scenarios. To bound the probability that one
that is no better ever passes by 1 - ``confidence``, the n-th test has the level (1 - ``confidence``) / (n (n + 1)):
alpha spending (Lan & DeMets 1983, *Discrete sequential boundaries for clinical trials*); the levels of any number of
tests add up to at most the total. Tests share no data: the learner changes in between.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.statistics import UNKNOWN, Estimate
from league.figures.tally import Tally
from league.settings.learners import Gate

Points = NDArray[np.float64]


class GateVerdict(NamedTuple):
    """The decision of a gate, with its reason."""

    passed: bool
    reason: str
    gain: Estimate  # points of ten, with the look's two-sided interval, or the least share of games won


def judge(
    gate: Gate,
    points: Points,
    opponents_points: Points,
    before: Points,
    groups: NDArray[np.int64],
    rounds: int,
    look: int = 1,
) -> GateVerdict:
    """Test a learner ``rounds`` after its last snapshot, for the ``look``-th time, 1 for the first.

    ``points[J, 2, K]`` are its points of ten against each opponent in each seat on each scenario, ``before[J, 2, K]``
    those of its last snapshot in its place, ``opponents_points[J, 2, K]`` the opponent's, and ``groups[K]`` the groups
    of the scenarios. ``nan`` for games that do not count.
    """
    assert points.shape == opponents_points.shape == before.shape and points.shape[1:] == (2, len(groups)), (
        "blocks are not paired"
    )
    if gate.kind == "points":
        verdict = _by_points(gate, points - before, groups, look)
    else:
        verdict = _by_wins(gate, points, opponents_points, groups)
    if not verdict.passed and rounds >= gate.timeout:
        return verdict._replace(passed=True, reason=f"time-out after {rounds} rounds; {verdict.reason}")
    return verdict


def level_of_test(confidence: float, look: int) -> float:
    """Level of the ``look``-th test, 1 for the first: its probability of a false pass."""
    return (1 - confidence) / (look * (look + 1))


def _by_points(gate: Gate, more: Points, groups: NDArray[np.int64], look: int) -> GateVerdict:
    """The test by points; ``more[J, 2, K]``: the learner's points minus its snapshot's, scenario by scenario."""
    risk = level_of_test(gate.confidence, look)
    even = np.full(len(more), 1 / len(more))  # equal weights
    gain = Tally.of(np.einsum("j,jsk->k", even, more) / 2, groups).mean(1 - 2 * risk)
    # Bonferroni: with many opponents a loss to one of them by chance is likely.
    confidence = 1 - 2 * (1 - gate.confidence) / len(more)
    changes = [opponent.mean(confidence) for opponent in _by_opponent(more, groups)]
    regressed = [change.mean for change in changes if change.high < -gate.forgetting]
    text = f"{gain.mean:+.2f} points of ten, at least {gain.low:+.2f} at {1 - risk:.1%}, look {look}"
    if not gain.low > 0:  # also with too few scenarios for an interval
        return GateVerdict(False, f"not surely better: {text}", gain)
    if gain.mean < gate.delta:
        return GateVerdict(False, f"too little: {text}, {gate.delta:+.2f} needed", gain)
    if regressed:
        return GateVerdict(False, f"{text}, but {min(regressed):+.2f} against one of {len(regressed)} opponents", gain)
    return GateVerdict(True, f"better: {text}", gain)


def _by_wins(gate: Gate, points: Points, opponents_points: Points, groups: NDArray[np.int64]) -> GateVerdict:
    """AlphaStar's test: every opponent is beaten often enough; a draw is half a win.

    An opponent that was not reached in any game of a seat is left out.
    """
    won = (np.sign(points - opponents_points) + 1) / 2
    shares = [opponent.mean(2 * gate.confidence - 1) for opponent in _by_opponent(won, groups)]
    reached = [share for share in shares if share.n]
    if not reached:
        return GateVerdict(False, "no opponent of its gate was reached in any game", UNKNOWN)
    least = min(reached, key=lambda share: share.mean)
    text = f"wins {least.mean:.0%} against the opponent that it beats least, {gate.win_rate:.0%} needed"
    return GateVerdict(least.mean >= gate.win_rate, text, least)


def _by_opponent(values: Points, groups: NDArray[np.int64]) -> list[Tally]:
    """The mean of both seats of ``values[J, 2, K]`` in each game, tallied by opponent; a ``nan`` leaves it out."""
    tally = Tally.of(values.mean(axis=1), groups)
    return [tally[j] for j in range(len(values))]
