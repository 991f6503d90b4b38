"""Whether a learner has improved enough to leave a snapshot: a paired test, in points, on common scenarios.

AlphaStar's gate asks for a win rate of 70 % (Vinyals et al. 2019, supplement). In bargaining a learner that wins more
deals by breaking more of them is no better, so the gate asks for own points: more of them against the gate's pool,
and clearly fewer against nobody. The learner and its last snapshot play the same scenarios against the same opponents
in both seats, so that the scenarios' luck cancels. J = opponents, K = scenarios of the block.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from dond_marl.yardsticks.metrics import GROUPS, Estimate, mean_of_cells
from league.settings.sections import Section

Points = NDArray[np.float64]
GateKind = Literal["points", "win_rate"]


class Gate(Section):
    """What a learner must do for a snapshot."""

    kind: GateKind = "points"
    # Points of ten more than the last snapshot, at least; and how sure, one-sided, that it is more at all.
    delta: float = Field(default=0.25, ge=0, le=10, description="a number in 0..10, points of ten")
    confidence: float = Field(default=0.95, gt=0.5, lt=0.9999, description="a number between 0.5 and 0.9999")
    # Points of ten fewer against one opponent that are one too many, at the same confidence.
    forgetting: float = Field(default=0.5, ge=0, le=10, description="a number in 0..10, points of ten")
    # Of the games against each opponent; used by "win_rate" alone.
    win_rate: float = Field(default=0.7, gt=0, le=1, description="a number above 0, up to 1")
    # Rounds since the last snapshot after which there is one anyway.
    timeout: int = Field(default=20, ge=1, le=100_000, description="an integer in 1..100000, rounds")


class Verdict(NamedTuple):
    """What a gate decided, and why."""

    passed: bool
    reason: str
    gain: Estimate  # points of ten, or the least share of games won; its interval is two-sided at 2 * confidence - 1
    regressed: tuple[int, ...] = ()  # opponents against whom it lost too much


def judge(
    gate: Gate,
    own: Points,
    theirs: Points,
    before: Points,
    groups: NDArray[np.int64],
    rounds: int,
    shares: Points | None = None,
) -> Verdict:
    """Judge a learner ``rounds`` after its last snapshot.

    ``own[J, 2, K]`` is what it scores against each opponent in each seat on each scenario, points of ten,
    ``theirs[J, 2, K]`` what the opponent got, ``before[J, 2, K]`` what its last snapshot scored in its place, and
    ``groups[K]`` the groups of the scenarios. ``shares[J]`` says how much each opponent counts (evenly unless given).
    """
    assert own.shape == theirs.shape == before.shape and own.shape[1:] == (2, len(groups)), "blocks are not paired"
    shares = np.full(len(own), 1 / len(own)) if shares is None else shares / shares.sum()
    if gate.kind == "points":
        verdict = _by_points(gate, own - before, groups, shares)
    else:
        verdict = _by_wins(gate, own, theirs, groups)
    if not verdict.passed and rounds >= gate.timeout:
        return verdict._replace(passed=True, reason=f"time-out after {rounds} rounds; {verdict.reason}")
    return verdict


def _by_points(gate: Gate, more: Points, groups: NDArray[np.int64], shares: Points) -> Verdict:
    """``more[J, 2, K]``: what the learner scores more than its snapshot, scenario by scenario."""
    two_sided = 2 * gate.confidence - 1
    gain = _mean(np.einsum("j,jsk->k", shares, more) / 2, groups, two_sided)
    against = [_mean(of_one.mean(axis=0), groups, two_sided) for of_one in more]
    regressed = tuple(j for j, change in enumerate(against) if change.high < -gate.forgetting)
    told = f"{gain.mean:+.2f} points of ten, at least {gain.low:+.2f} at {gate.confidence:.0%}"
    if not gain.low > 0:  # also where there are too few scenarios to tell
        return Verdict(False, f"not surely better: {told}", gain, regressed)
    if gain.mean < gate.delta:
        return Verdict(False, f"too little: {told}, {gate.delta:+.2f} needed", gain, regressed)
    if regressed:
        worst = min(against[j].mean for j in regressed)
        return Verdict(False, f"{told}, but {worst:+.2f} against one of {len(regressed)} opponents", gain, regressed)
    return Verdict(True, f"better: {told}", gain)


def _by_wins(gate: Gate, own: Points, theirs: Points, groups: NDArray[np.int64]) -> Verdict:
    """AlphaStar's gate: every opponent is beaten often enough; a draw is half a win."""
    won = (np.sign(own - theirs) + 1) / 2
    shares = [_mean(of_one.mean(axis=0), groups, 2 * gate.confidence - 1) for of_one in won]
    least = min(shares, key=lambda share: share.mean)
    told = f"wins {least.mean:.0%} against the opponent that it beats least, {gate.win_rate:.0%} needed"
    return Verdict(least.mean >= gate.win_rate, told, least)


def _mean(values: Points, groups: NDArray[np.int64], confidence: float) -> Estimate:
    """The mean of one figure per scenario, ``values[K]``, with its interval over groups of scenarios."""
    sums = np.asarray([np.bincount(groups, weights=values, minlength=GROUPS)], dtype=np.float64)
    games = np.asarray([np.bincount(groups, minlength=GROUPS)], dtype=np.float64)
    return mean_of_cells(sums, games, confidence)
