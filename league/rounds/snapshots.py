"""Snapshots after a round: gates, and fresh starts of learners; best responses to learners (oracles).

A snapshot is taken before a reset, so that a learner that starts over leaves its last version behind (the pseudocode of
Vinyals et al. 2019 has the other order).

A gate decides whether a learner has improved enough to leave a snapshot: a paired test, in points, on common scenarios.
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

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.randomness import generator
from dond_marl.scenarios.sources import Scenarios
from dond_marl.statistics import UNKNOWN, Estimate, scenario_groups
from league.figures.tally import Tally
from league.play.values import ORACLE_ROLES, Decision, LearnerState, Member, SeatOrderResult
from league.rounds.planner import gate_pool
from league.settings.learners import Gate, LearnerConfig
from league.settings.read import Config
from league.standings.history import History, points_by_seats

Points = NDArray[np.float64]
FORGETTING = 0.5  # points of ten that a learner may lose against any one opponent


class RoundEnd(NamedTuple):
    """The changes at the end of a round: snapshots and oracles that join, new states of learners, and the decisions."""

    born: tuple[Member, ...]
    states: dict[str, LearnerState]
    decisions: tuple[Decision, ...]


def end_of_round(
    config: Config,
    history: History,
    before: Mapping[str, LearnerState],
    after: Mapping[str, LearnerState],
    first: Mapping[str, LearnerState],
    scenarios: Scenarios,
    legs: Sequence[SeatOrderResult],
) -> RoundEnd:
    """The end of the last round of ``history``, one of practice, with matches ``legs`` on ``scenarios``.

    ``before`` and ``after`` are the learners' states at the start of the round and after its practice, ``first`` before
    any round. Gates are computed from the matches of the round, which a learner plays as it was ``before``;
    so the snapshot that joins is that of ``before``.
    """
    number, states = history.round - 1, dict(after)
    born: list[Member] = []
    decisions: list[Decision] = []
    for i, learner in enumerate(config.learners):
        if learner.keeps_first and number == 0:
            name, blob = f"{learner.name}@0", first[learner.name].blob
            born.append(Member(name, learner.train, "snapshot", parent=learner.name, born=1, blob=blob))
            decisions.append(Decision("snapshot", learner.name, True, "what it began with"))
        last = history.last_snapshot(learner.name)
        if last is not None and last.blob == after[learner.name].blob:
            continue  # unchanged since
        age = number + 1 - (last.born if last is not None else 0)
        if not learner.snapshot_every or age < learner.snapshot_every:
            continue
        blob = after[learner.name].blob
        if learner.gate is not None and last is not None:
            verdict = _gate_verdict(config, learner, last, history, scenarios, legs, age)
            decisions.append(Decision("snapshot", learner.name, verdict.passed, verdict.reason))
            if not verdict.passed:
                continue
            blob = before[learner.name].blob
        else:
            reason = "its first" if last is None else f"{age} rounds after its last"
            decisions.append(Decision("snapshot", learner.name, True, reason))
        name = f"{learner.name}@{number + 1}"
        born.append(Member(name, learner.train, "snapshot", parent=learner.name, born=number + 1, blob=blob))
        if learner.reset > 0:
            starts_over = bool(generator(config.league.seed, "reset", number, i).random() < learner.reset)
            decisions.append(Decision("reset", learner.name, starts_over, f"probability {learner.reset:g}"))
            if starts_over:
                states[learner.name] = first[learner.name]._replace(life=after[learner.name].life + 1)
    return RoundEnd((*born, *_oracles_born(config, history, after)), states, tuple(decisions))


def _oracles_born(config: Config, history: History, after: Mapping[str, LearnerState]) -> Iterator[Member]:
    """The best responses to learners as they are ``after`` the round: those that are due, if the weights are new."""
    for oracle in config.oracles:
        blob, role = after[oracle.of].blob, ORACLE_ROLES[oracle.play]
        if history.round % oracle.every == 0 and blob not in {m.blob for m in history.members if m.role == role}:
            name = oracle.member_name(history.round)
            yield Member(name, None, role, parent=oracle.of, born=history.round, blob=blob)


def _gate_verdict(
    config: Config,
    learner: LearnerConfig,
    last: Member,
    history: History,
    scenarios: Scenarios,
    legs: Sequence[SeatOrderResult],
    age: int,
) -> GateVerdict:
    assert learner.gate is not None
    points = points_by_seats(scenarios, legs)

    def pair_points(name: str, opponent: str) -> NDArray[np.float64] | None:
        """Points of ``name`` and of its opponent in each seat, ``[2, 2, K]``; ``None``: no such match."""
        opens, answers = points.get((name, opponent)), points.get((opponent, name))
        return None if opens is None or answers is None else np.stack([opens.T, answers.T[::-1]], axis=1)

    current, before = [], []
    for i in gate_pool(config, history.members):
        opponent = history.members[i].name
        pair = pair_points(learner.name, opponent), pair_points(last.name, opponent)
        if pair[0] is not None and pair[1] is not None:  # a failed match is no evidence
            current.append(pair[0])
            before.append(pair[1][0])
    if not current:
        passed = age >= learner.gate.timeout
        reason = "its gate's matches failed"
        return GateVerdict(passed, f"time-out after {age} rounds; {reason}" if passed else reason, UNKNOWN)
    points_of_pairs = np.stack(current)
    look = age - learner.snapshot_every + 1
    return judge(
        learner.gate,
        points_of_pairs[:, 0],
        points_of_pairs[:, 1],
        np.stack(before),
        scenario_groups(scenarios),
        age,
        look,
    )


# Gates


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
    regressed = [change.mean for change in changes if change.high < -FORGETTING]
    sure = f"{1 - risk:.1%} sure: at least {gain.low:+.2f}; test {look}"
    text = f"{gain.mean:+.2f} points of ten compared with its last snapshot ({sure})"
    if not gain.low > 0:  # also with too few scenarios for an interval
        return GateVerdict(False, f"not surely better: {text}", gain)
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
