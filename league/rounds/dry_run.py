"""Dry run of a league: its plan and estimated cost, from the plan of the first round and a few timed tasks."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from league.rounds.curriculum import describe, rounds_of_practice
from league.rounds.planner import RoundPlan, first_states, members_of, plan_round
from league.settings.learners import LearnerConfig
from league.settings.read import Config
from league.settings.training import HintsConfig
from league.standings.history import History
from league.tables.figures import count_noun
from league.tasks.hinters import JUDGE, QueryEstimate, cost_lines, hint_queries, hinter_spec
from league.tasks.match_task import play_match
from league.tasks.values import LearnerState, Place, TrainTask
from partners.learning.rewards import OWN

TIMED_MATCHES = 3  # matches played for timing, spread over the first round


class LeagueCost(NamedTuple):
    """Estimated size of a run; seconds are for one core of this machine, without expensive queries."""

    matches: int
    games: int  # of matches
    decisions: int  # own, of all learners
    snapshots: int  # at most
    seconds: float  # of processor time
    queries: tuple[QueryEstimate, ...] = ()  # for expensive members, hint providers and judges
    oracles: int = 0  # best responses to learners


def plan_lines(config: Config) -> list[str]:
    """The plan of a league and its cost, a line each; nothing is stored."""
    source = config.env.open_source()
    cost, first = estimate(config)
    of = {split: [m.name for m in members_of(config) if m.split == split] for split in ("train", "gate", "heldout")}
    return [
        f"{count_noun(len(of['train']), 'member')} for practice: {', '.join(of['train'])}",
        *([f"{len(of['gate'])} only for gates: {', '.join(of['gate'])}"] if of["gate"] else []),
        *([f"{len(of['heldout'])} held out to the end: {', '.join(of['heldout'])}"] if of["heldout"] else []),
        f"{config.league.block_size} scenarios a match in both seat orders, from {source.label}",
        str(config.schedule),
        *(f"stage {number}: {describe(config, stage)}" for number, stage in enumerate(config.curriculum, start=1)),
        *(line for task in first.training for line in _learner_lines(task)),
        f"first round: {len(first.matches)} matches; in all up to {cost.matches:,} matches, {cost.games:,} games, "
        f"{cost.decisions:,} decisions, {count_noun(cost.snapshots, 'snapshot')}"
        + (f", {cost.oracles} best responses to learners" if cost.oracles else ""),
        *cost_lines(cost.seconds, cost.queries),
    ]


def estimate(config: Config) -> tuple[LeagueCost, RoundPlan]:
    """The cost of a league, and the plan of its first round."""
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        states = first_states(config, place.blobs)
        first = plan_round(config, History(members_of(config), config.league.decay), states)
        per_game, acts = _time_matches(first, place, config.env.max_turns)
        practices = {task.learner.name: _time_practice(task, place) for task in first.training}
        each_oracle = _time_oracle(config, states, place) if config.oracles else 0.0
    snapshots, matches = snapshots_at_most(config), matches_in_all(config, first)
    decisions = sum(learner.decisions * rounds_of_practice(config, learner) for learner in config.learners)
    games = matches * 2 * config.league.block_size
    oracles = sum(config.schedule.occasions(oracle.every) for oracle in config.oracles)
    seconds = games * per_game + seconds_of_practice(config, {name: timed for name, (timed, _) in practices.items()})
    seconds += oracles * each_oracle
    queries = [*_match_queries(config, first, acts)]
    for learner in config.learners:
        queries += _practice_queries(config, learner, practices.get(learner.name, (0.0, acts / 2))[1])
    return LeagueCost(matches, games, decisions, snapshots, seconds, tuple(queries), oracles), first


def seconds_of_practice(config: Config, timed: Mapping[str, float]) -> float:
    """Seconds of all practice, from a round of each ``timed`` learner; other learners in proportion to decisions."""
    rounds = {learner.name: rounds_of_practice(config, learner) for learner in config.learners}
    decisions = sum(learner.decisions for learner in config.learners if learner.name in timed)
    others = sum(each.decisions * rounds[each.name] for each in config.learners if each.name not in timed)
    of_timed = sum(seconds * rounds[name] for name, seconds in timed.items())
    return of_timed + others * sum(timed.values()) / max(decisions, 1)


def snapshots_at_most(config: Config) -> int:
    """Number of snapshots of all learners, if every gate passes."""
    firsts = sum(learner.keeps_first for learner in config.learners)
    return firsts + sum(config.schedule.occasions(learner.snapshot_every) for learner in config.learners)


def matches_in_all(config: Config, first: RoundPlan) -> int:
    """Largest number of matches of a league whose first round is ``first``."""
    # A snapshot plays every learner, and the other members once; the newest best response to a learner plays it.
    later = min(len(config.learners), config.league.opponents) * snapshots_at_most(config) // 2
    return (len(first.matches) + len(config.oracles) + later) * config.schedule.total


def _match_queries(config: Config, first: RoundPlan, acts: float) -> Iterator[QueryEstimate]:
    """Queries of expensive members if every round is like the first; ``acts``: acts of both seats per game."""
    decisions, most = acts / 2, -(-config.env.max_turns // 2)
    for member in members_of(config):
        if not member.costly:
            continue
        seats = sum(entrant.member == member for task in first.matches for leg in task.legs for entrant in leg)
        games = seats * config.league.block_size * config.schedule.total
        if games:
            yield QueryEstimate(member.name, "which plays", games, round(games * decisions), games * most, member.spec)


def _practice_queries(config: Config, learner: LearnerConfig, per_game: float) -> Iterator[QueryEstimate]:
    """Queries in a learner's practice if every round is of a stage with queries; ``per_game``: own decisions."""
    decisions = learner.decisions * config.league.rounds
    games = round(decisions / max(per_game, 1.0))
    stages = [stage for stage in config.curriculum if stage.hints_of(learner.name).mode == "llm"]
    named = f" in stage{'s' * (len(stages) != 1)} {', '.join(stage.name for stage in stages)}"
    for stage in stages[:1]:
        hints = stage.hints_of(learner.name)
        yield hint_queries(hints, games, decisions, f"which gives hints to {learner.name}{named}", hinter_spec(hints))
    changed = [stage.learner(learner) for stage in config.curriculum]
    if any(each is not None and JUDGE in each.reward for each in changed):
        yield QueryEstimate("a language model", f"which judges {learner.name}", games, games, games * 2)


def _time_matches(first: RoundPlan, place: Place, max_turns: int) -> tuple[float, float]:
    """Seconds and acts per game, from a few matches between members that are cheap to query.

    Each is played twice, because the first time loads its members. Without such matches: 0 s and ``max_turns``.
    """
    free = [task for task in first.matches if not any(seat.member.costly for seat in task.members)]
    spent, games, acts = 0.0, 0, 0
    for task in free[:: max(len(free) // TIMED_MATCHES, 1)][:TIMED_MATCHES]:
        play_match(task, place)
        began = time.process_time()
        played = play_match(task, place)
        spent += time.process_time() - began
        games += played.games
        acts += sum(int(leg.facts["turns"].sum(dtype=np.int64)) for leg in played.legs)
    return (spent / games, acts / games) if games else (0.0, float(max_turns))


def _time_practice(task: TrainTask, place: Place) -> tuple[float, float]:
    """Seconds of a learner's practice of a round, and its own decisions per game, from the first update.

    Language models that give hints or rewards are left out.
    """
    from league.tasks.train_task import practice_round

    hints = HintsConfig() if task.hints.mode == "llm" else task.hints
    reward = OWN if JUDGE in task.learner.reward else task.learner.reward
    task = dataclasses.replace(task, hints=hints, learner=task.learner.model_copy(update={"reward": reward}))
    short = dataclasses.replace(task, learner=task.learner.model_copy(update={"decisions": 1}))
    practice_round(short, place)  # loads the members
    began = time.process_time()
    result = practice_round(short, place)
    seconds = time.process_time() - began
    decisions = max(result.state.decisions - task.state.decisions, 1)
    games = result.state.games - task.state.games
    return seconds * task.learner.decisions / decisions, decisions / max(games, 1)


def _time_oracle(config: Config, states: Mapping[str, LearnerState], place: Place) -> float:
    """Seconds to solve one best response to a learner, to its first weights: all of it, which play may not need."""
    from dond_marl.solvers.values import response_value
    from league.tasks.blobs import read_blob  # loads PyTorch
    from partners.network.partner import NetworkPartner

    oracle, source = config.oracles[0], config.env.open_source()
    network = read_blob(place.blobs, states[oracle.of].blob).network()
    partner = NetworkPartner(network, greedy=oracle.play == "likeliest")
    began = time.process_time()
    for seat in (0, 1):
        response_value(partner, source, config.env.rules(), seat)
    return time.process_time() - began


def _learner_lines(task: TrainTask) -> list[str]:
    learner = task.learner
    opponents = ", ".join(f"{branch} {share:g}" for branch, share in learner.matchmaking.items())
    reward = "" if learner.reward == "own" else f", reward {learner.reward}"
    return [
        f"{learner.name} ({learner.role}, {learner.algo}{reward}): {learner.decisions:,} decisions a round, "
        f"opponents: {opponents}",
    ]
