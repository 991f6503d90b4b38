"""What follows from a round: which snapshots join the league, and which learners start over.

A snapshot is taken before a reset, so that a learner that starts over leaves behind what it was (the pseudocode of
Vinyals et al. 2019 has the other order).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.randomness import generator
from dond_marl.scenarios.sources import Scenarios
from dond_marl.statistics import scenario_groups
from league.rounds.diversity import added
from league.rounds.gates import NOTHING, Verdict, judge
from league.rounds.matches import gate_pool
from league.settings.learners import LearnerConfig
from league.settings.read import Config
from league.standings.history import History, points_by_seats
from league.tasks.values import Decision, LearnerState, Leg, Member


class Births(NamedTuple):
    """Who joins, where every learner stands now, and what was decided."""

    born: tuple[Member, ...]
    states: dict[str, LearnerState]
    decisions: tuple[Decision, ...]


def births(
    config: Config,
    history: History,
    before: Mapping[str, LearnerState],
    after: Mapping[str, LearnerState],
    first: Mapping[str, LearnerState],
    scenarios: Scenarios,
    legs: Sequence[Leg],
) -> Births:
    """What follows from the last round of ``history``, one of practice, whose matches are ``scenarios`` and ``legs``.

    ``before`` and ``after`` are the learners' states when the round began and after its practice, ``first`` before any
    round. A gate judges the matches of a round, which a learner plays as it was ``before``, and so does whoever asks
    what is new in it; so that is what joins.
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
            continue  # it has not changed since
        age = number + 1 - (last.born if last is not None else 0)
        if not learner.snapshot_every or age < learner.snapshot_every:
            continue
        blob = after[learner.name].blob
        if learner.novelty and last is not None:
            new = _new(history, learner)
            if not new.taken:
                decisions.append(new)
                continue
            blob = before[learner.name].blob
        if learner.gate is not None and last is not None:
            verdict = _judged(config, learner, last, history, scenarios, legs, age)
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
    return Births(tuple(born), states, tuple(decisions))


def _new(history: History, learner: LearnerConfig) -> Decision:
    """Whether a learner can do what no mixture of the snapshots can, as it was when the round began."""
    members = history.members
    place = next(i for i, member in enumerate(members) if member.name == learner.name)
    snapshots = [i for i, member in enumerate(members) if member.role == "snapshot"]
    adds = added(history.cross.payoffs(), members, place, snapshots)
    text = f"{adds.distance:.2f} points of ten a cell from the mixtures of {adds.before} snapshots"
    # Where nothing can be compared nothing is refused.
    enough = not adds.distance < learner.novelty
    return Decision(
        "snapshot", learner.name, enough, text if enough else f"nothing new: {text}, {learner.novelty:g} needed"
    )


def _judged(
    config: Config,
    learner: LearnerConfig,
    last: Member,
    history: History,
    scenarios: Scenarios,
    legs: Sequence[Leg],
    age: int,
) -> Verdict:
    assert learner.gate is not None
    points = points_by_seats(scenarios, legs)

    def scored(name: str, opponent: str) -> NDArray[np.float64] | None:
        """Points of ``name`` and of its opponent in each seat, ``[2, 2, K]``; ``None``: they did not meet."""
        opens, answers = points.get((name, opponent)), points.get((opponent, name))
        return None if opens is None or answers is None else np.stack([opens.T, answers.T[::-1]], axis=1)

    own, before = [], []
    for place in gate_pool(config, history.members):
        opponent = history.members[place].name
        pair = scored(learner.name, opponent), scored(last.name, opponent)
        if pair[0] is not None and pair[1] is not None:  # a match that failed says nothing of either
            own.append(pair[0])
            before.append(pair[1][0])
    if not own:
        passed = age >= learner.gate.timeout
        reason = "its gate's matches failed"
        return Verdict(passed, f"time-out after {age} rounds; {reason}" if passed else reason, NOTHING)
    both = np.stack(own)
    look = age - learner.snapshot_every + 1
    return judge(learner.gate, both[:, 0], both[:, 1], np.stack(before), scenario_groups(scenarios), age, look)
