"""Snapshots after a round: gates, novelty, and fresh starts of learners; best responses to learners (oracles).

A snapshot is taken before a reset, so that a learner that starts over leaves its last version behind (the pseudocode of
Vinyals et al. 2019 has the other order).

The novelty of a snapshot is response diversity (Liu et al. 2021, NeurIPS, *Towards Unifying Behavioral and Response
Diversity for Open-ended Learning in Zero-sum Games*): the distance of a policy's payoffs from the convex hull of the
payoffs of a population. Payoffs are those in both seats against the league's fixed members, which never change; the
distance is per cell, so it is in points of ten and does not grow with the league. P = population, C = cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.randomness import generator
from dond_marl.scenarios.sources import Scenarios
from dond_marl.statistics import scenario_groups
from league.rounds.gates import NOTHING, GateVerdict, judge
from league.rounds.planner import gate_pool
from league.settings.learners import LearnerConfig
from league.settings.read import Config
from league.standings.history import History, points_by_seats
from league.standings.ratings import Payoffs
from league.tasks.values import ORACLE_ROLES, Decision, LearnerState, Member, SeatOrderResult

SUM_TO_ONE = 1e4  # weight of the constraint that a mixture's shares add up to one, relative to a point


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
    any round. Gates and novelty are computed from the matches of the round, which a learner plays as it was ``before``;
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
        if learner.novelty and last is not None:
            novelty = _novelty_decision(history, learner)
            if not novelty.taken:
                decisions.append(novelty)
                continue
            blob = before[learner.name].blob
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


def _novelty_decision(history: History, learner: LearnerConfig) -> Decision:
    """The decision on novelty: the distance of the learner, as the round began, from mixtures of the snapshots."""
    members = history.members
    place = next(i for i, member in enumerate(members) if member.name == learner.name)
    snapshots = [i for i, member in enumerate(members) if member.role == "snapshot"]
    novelty = novelty_of(history.cross.payoffs(), members, place, snapshots)
    text = f"{novelty.distance:.2f} points of ten a cell from the mixtures of {novelty.before} snapshots"
    # An unknown distance (nan) refuses nothing.
    enough = not novelty.distance < learner.novelty
    return Decision(
        "snapshot", learner.name, enough, text if enough else f"nothing new: {text}, {learner.novelty:g} needed"
    )


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
    for place in gate_pool(config, history.members):
        opponent = history.members[place].name
        pair = pair_points(learner.name, opponent), pair_points(last.name, opponent)
        if pair[0] is not None and pair[1] is not None:  # a failed match is no evidence
            current.append(pair[0])
            before.append(pair[1][0])
    if not current:
        passed = age >= learner.gate.timeout
        reason = "its gate's matches failed"
        return GateVerdict(passed, f"time-out after {age} rounds; {reason}" if passed else reason, NOTHING)
    both = np.stack(current)
    look = age - learner.snapshot_every + 1
    return judge(learner.gate, both[:, 0], both[:, 1], np.stack(before), scenario_groups(scenarios), age, look)


class Novelty(NamedTuple):
    """The distance of a member from the mixtures of the snapshots before it."""

    member: Member
    distance: float  # root mean square over cells, points of ten; nan: no snapshots before it, or too few games
    error: float  # standard error of its own payoffs in the same unit: a smaller distance may be chance
    before: int  # number of snapshots compared with
    cells: int  # number of cells: fixed members in both seats


def distance_from_mixtures(row: NDArray[np.float64], population: NDArray[np.float64]) -> float:
    """The distance of ``row[C]`` from the nearest mixture of ``population[P, C]``, root mean square over cells.

    ``nan`` without cells or population.
    """
    if not row.size or not len(population):
        return math.nan
    from scipy.optimize import nnls  # slow to import, and only needed here

    shares, _ = nnls(np.vstack([population.T, np.full((1, len(population)), SUM_TO_ONE)]), np.append(row, SUM_TO_ONE))
    return float(np.sqrt(np.mean((row - (shares / shares.sum()) @ population) ** 2)))


def novelty_of(payoffs: Payoffs, members: Sequence[Member], place: int, before: Sequence[int]) -> Novelty:
    """The novelty of the member at ``place`` over those at ``before``, numbered as in ``members`` and ``payoffs``.

    Cells that it has not played are left out, and so are members without games in one of the others.
    """
    fixed = [i for i, member in enumerate(members) if member.role == "fixed" and member.split == "train"]
    row = payoffs.mean[place][:, fixed].ravel()
    played = ~np.isnan(row) & (payoffs.games[place][:, fixed].ravel() > 0)
    rows = payoffs.mean[list(before)][:, :, fixed].reshape(len(before), played.size)[:, played]
    population = rows[~np.isnan(rows).any(axis=1)]
    error = payoffs.error[place][:, fixed].ravel()[played]
    return Novelty(
        members[place],
        distance_from_mixtures(row[played], population),
        float(np.sqrt(np.mean(error))) if error.size else math.nan,
        len(population),
        int(played.sum()),
    )


def novelty_over_time(payoffs: Payoffs, members: Sequence[Member]) -> list[Novelty]:
    """The novelty of every snapshot of a league over those before it, in the order of joining."""
    snapshots = [place for place, member in enumerate(members) if member.role == "snapshot"]
    snapshots.sort(key=lambda place: members[place].born)
    return [novelty_of(payoffs, members, place, snapshots[:number]) for number, place in enumerate(snapshots)]
