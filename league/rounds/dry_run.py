"""What a league would play and what that would cost, from a first round and two tasks that are played for the clock."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.text import Text

from dond_marl.occupants import seat_occupant
from league.rounds.curriculum import describe, rounds_of_practice
from league.rounds.planner import Plan, first_states, members_of, plan_round
from league.settings.learners import LearnerConfig
from league.settings.read import Config
from league.settings.training import HintsConfig
from league.standings.history import History
from league.tasks.devices import describe_practice_device
from league.tasks.hinters import JUDGE, QueryEstimate, hint_queries, hinter_spec
from league.tasks.match_task import play_match
from league.tasks.values import MatchTask, Member, Place, TrainTask

WHOLE_MATCHES = 3  # played for the clock, spread over the first round


class Cost(NamedTuple):
    """What a run comes to; seconds are an estimate on one core of this machine, without those who cost something."""

    matches: int
    games: int  # of matches
    decisions: int  # own, of all learners
    snapshots: int  # at most
    seconds: float  # of processor time, which a busy machine does not change
    questions: tuple[QueryEstimate, ...] = ()  # to those who cost something to ask


def dry_run(console: Console, config: Config) -> Cost:
    """Print the plan of a league and what it costs; nothing is kept."""
    source = config.env.open_source()
    cost, first = estimate(config)
    time_needed = f"{cost.seconds:.0f} seconds" if cost.seconds < 120 else f"{cost.seconds / 60:.0f} minutes"
    of = {split: [m.name for m in members_of(config) if m.split == split] for split in ("train", "gate", "heldout")}
    lines = [
        f"{len(of['train'])} members that practice may meet: {', '.join(of['train'])}",
        *([f"{len(of['gate'])} that only judge: {', '.join(of['gate'])}"] if of["gate"] else []),
        *([f"{len(of['heldout'])} held out to the end: {', '.join(of['heldout'])}"] if of["heldout"] else []),
        f"{config.league.block_size} scenarios a match in both seat orders, from {source.label}",
        str(config.schedule),
        *(f"stage {number}: {describe(config, stage)}" for number, stage in enumerate(config.curriculum, start=1)),
        *(line for task in first.training for line in _of_learner(task)),
        f"first round: {len(first.matches)} matches; in all up to {cost.matches:,} matches, {cost.games:,} games, "
        f"{cost.decisions:,} own decisions, {cost.snapshots} snapshots",
        f"about {time_needed} on one core of this machine, where nothing else runs"
        + (", and on top of that, for those who cost something to ask:" if cost.questions else ""),
        *map(str, cost.questions),
        *(
            ["measure a question first: dond llm-check SPEC; the closing evaluation asks nobody"]
            if cost.questions
            else []
        ),
    ]
    for line in lines:
        console.print(Text(line), soft_wrap=True)
    return cost


def estimate(config: Config) -> tuple[Cost, Plan]:
    """What a league costs, and its first round."""
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        states = first_states(config, place.blobs)
        first = plan_round(config, History(members_of(config), config.league.decay), states)
        per_game, acts = _clocked(first, place, config.env.max_turns)
        clocked = {task.learner.name: _seconds(task, place) for task in first.training}
    snapshots, matches = snapshots_at_most(config), matches_in_all(config, first)
    decisions = sum(learner.decisions * rounds_of_practice(config, learner) for learner in config.learners)
    games = matches * 2 * config.league.block_size
    seconds = games * per_game + seconds_of_practice(config, clocked)
    return Cost(matches, games, decisions, snapshots, seconds, tuple(_questions(config, first, acts))), first


def seconds_of_practice(config: Config, clocked: Mapping[str, float]) -> float:
    """Of all practice, by the seconds of a round of each learner that was ``clocked``, of the others by decisions."""
    rounds = {learner.name: rounds_of_practice(config, learner) for learner in config.learners}
    known = sum(learner.decisions for learner in config.learners if learner.name in clocked)
    others = sum(each.decisions * rounds[each.name] for each in config.learners if each.name not in clocked)
    of_clocked = sum(seconds * rounds[name] for name, seconds in clocked.items())
    return of_clocked + others * sum(clocked.values()) / max(known, 1)


def snapshots_at_most(config: Config) -> int:
    """How many snapshots all learners leave, if every gate lets them pass."""
    every = (learner.snapshot_every for learner in config.learners)
    firsts = sum(learner.keeps_first for learner in config.learners)
    return firsts + sum((config.league.rounds - 1) // rounds for rounds in every if rounds)


def matches_in_all(config: Config, first: Plan) -> int:
    """How many matches a league plays at most whose first round is ``first``."""
    # A snapshot is met by every learner, and by everybody else until they are no longer news.
    later = min(len(config.learners), config.league.opponents) * snapshots_at_most(config) // 2
    return (len(first.matches) + later) * config.schedule.total


def _questions(config: Config, first: Plan, acts: float) -> Iterator[QueryEstimate]:
    """What the first round asks, in every round; ``acts`` of both seats is what a game takes."""
    own, most = acts / 2, -(-config.env.max_turns // 2)
    for member in members_of(config):
        seats = [leg.count(member) for task in first.matches for leg in _sitting(task)] if member.costly else []
        games = sum(seats) * config.league.block_size * config.schedule.total
        if games:
            yield QueryEstimate(member.name, "which plays", games, round(games * own), games * most, member.spec)
    for learner in config.learners:
        yield from _of_practice(config, learner, own)


def _sitting(task: MatchTask) -> list[list[Member]]:
    return [[seat.member for seat in leg] for leg in task.legs]


def _of_practice(config: Config, learner: LearnerConfig, own: float) -> Iterator[QueryEstimate]:
    """What a learner's practice asks if every round is of a stage that asks; a game takes ``own`` decisions."""
    decisions = learner.decisions * config.league.rounds
    games = round(decisions / max(own, 1.0))
    asking = [stage for stage in config.curriculum if stage.hints_of(learner.name).mode == "llm"]
    named = f" in stage{'s' * (len(asking) != 1)} {', '.join(stage.name for stage in asking)}"
    for stage in asking[:1]:
        hints = stage.hints_of(learner.name)
        yield hint_queries(hints, games, decisions, f"which gives hints to {learner.name}{named}", hinter_spec(hints))
    changed = [stage.learner(learner) for stage in config.curriculum]
    if any(each is not None and JUDGE in each.reward for each in changed):
        yield QueryEstimate("a language model", f"which judges {learner.name}", games, games, games * 2)


def _clocked(first: Plan, place: Place, max_turns: int) -> tuple[float, float]:
    """Seconds and acts per game of a few matches between members that cost nothing.

    Each is played twice: the first time seats its members. The most acts that there are where nobody is free.
    """
    free = [task for task in first.matches if not any(seat.member.costly for seat in task.members)]
    spent, games, acts = 0.0, 0, 0
    for task in free[:: max(len(free) // WHOLE_MATCHES, 1)][:WHOLE_MATCHES]:
        play_match(task, place)
        began = time.process_time()
        played = play_match(task, place)
        spent += time.process_time() - began
        games += played.games
        acts += sum(int(leg.facts["turns"].sum(dtype=np.int64)) for leg in played.legs)
    return (spent / games, acts / games) if games else (0.0, float(max_turns))


def _seconds(task: TrainTask, place: Place) -> float:
    """Of a whole practice, from its first update. Nobody is asked who costs something to ask."""
    from league.tasks.train_task import practice_round

    task = _without_pay(task)
    short = dataclasses.replace(task, learner=task.learner.model_copy(update={"decisions": 1}))
    practice_round(short, place)  # seats everybody
    began = time.process_time()
    result = practice_round(short, place)
    seconds = time.process_time() - began
    return seconds * task.learner.decisions / max(result.state.decisions - task.state.decisions, 1)


def _without_pay(task: TrainTask) -> TrainTask:
    """The same practice without a language model that whispers or judges."""
    hints = HintsConfig() if task.hints.mode == "llm" else task.hints
    reward = "own" if JUDGE in task.learner.reward else task.learner.reward
    return dataclasses.replace(task, hints=hints, learner=task.learner.model_copy(update={"reward": reward}))


def _of_learner(task: TrainTask) -> list[str]:
    learner = task.learner
    met = ", ".join(f"{branch} {share:g}" for branch, share in learner.matchmaking.items())
    paid = "" if learner.reward == "own" else f", paid {learner.reward}"
    fixed = (seat_occupant(seat.member.spec) for seat in task.entrants if seat.member.spec is not None)
    return [
        f"{learner.name} ({learner.role}, {learner.algo}{paid}): {learner.decisions:,} decisions a round, meets {met}",
        *describe_practice_device(learner, fixed, task.env, sum(seat.member.spec is None for seat in task.entrants)),
    ]
