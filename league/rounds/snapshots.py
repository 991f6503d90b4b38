"""Snapshots after a round: gates, and fresh starts of learners; best responses to learners (oracles).

A snapshot is taken before a reset, so that a learner that starts over leaves its last version behind (the pseudocode of
Vinyals et al. 2019 has the other order).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.randomness import generator
from dond_marl.scenarios.sources import Scenarios
from dond_marl.statistics import UNKNOWN, scenario_groups
from league.rounds.gates import GateVerdict, judge
from league.rounds.planner import gate_pool
from league.settings.learners import LearnerConfig
from league.settings.read import Config
from league.standings.history import History, points_by_seats
from league.tasks.values import ORACLE_ROLES, Decision, LearnerState, Member, SeatOrderResult


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
    for place, learner in enumerate(config.learners):
        if learner.keeps_first and number == 0:
            born.append(
                Member(
                    f"{learner.name}@0", None, "snapshot", parent=learner.name, born=1, blob=first[learner.name].blob
                )
            )
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
        born.append(Member(name, None, "snapshot", parent=learner.name, born=number + 1, blob=blob))
        if learner.reset > 0:
            starts_over = bool(generator(config.league.seed, "reset", number, place).random() < learner.reset)
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
