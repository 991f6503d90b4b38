"""Dry run of a league: its plan and size, from the settings and the plan of the first round; nothing is played."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from league.play.hinters import (
    JUDGE,
    QueryEstimate,
    expected_decisions,
    hint_queries,
    query_lines,
)
from league.play.occupant_kinds import kinds_in
from league.play.values import TrainTask
from league.rounds.matchmaking import matchmaking_in_words
from league.rounds.planner import (
    RoundPlan,
    describe,
    first_states,
    members_of,
    plan_round,
    rounds_of_practice,
)
from league.settings.learners import LearnerConfig
from league.settings.read import Config
from league.standings.history import History
from league.tables.figures import count_noun


class LeagueSize(NamedTuple):
    """Estimated size of a run."""

    matches: int
    games: int  # of matches
    decisions: int  # own, of all learners
    snapshots: int  # at most
    queries: tuple[QueryEstimate, ...] = ()  # for expensive members, hint providers and judges
    oracles: int = 0  # best responses to learners


def plan_lines(config: Config) -> list[str]:
    """The plan of a league and its size, a line each; nothing is stored. Raises as :func:`estimate` does."""
    source = config.env.open_source()
    size, first = estimate(config)
    names = {split: [m.name for m in members_of(config) if m.split == split] for split in ("train", "gate", "heldout")}
    return [
        f"{count_noun(len(names['train']), 'member')} for practice: {', '.join(names['train'])}",
        *([f"{len(names['gate'])} only for gates: {', '.join(names['gate'])}"] if names["gate"] else []),
        *([f"{len(names['heldout'])} held out to the end: {', '.join(names['heldout'])}"] if names["heldout"] else []),
        f"{config.league.block_size} scenarios a match in both seat orders, from {source.label}",
        config.length,
        *(f"stage {number}: {describe(config, stage)}" for number, stage in enumerate(config.curriculum, start=1)),
        *(_learner_line(task, config) for task in first.training),
        f"first round: {len(first.matches)} matches; in all up to {size.matches:,} matches, {size.games:,} games, "
        f"{size.decisions:,} decisions, {count_noun(size.snapshots, 'snapshot')}"
        + (f", {size.oracles} best responses to learners" if size.oracles else ""),
        *query_lines(size.queries),
    ]


def estimate(config: Config) -> tuple[LeagueSize, RoundPlan]:
    """The size of a league, and the plan of its first round. Raises what reading the learners' first weights raises."""
    with tempfile.TemporaryDirectory() as folder:
        states = first_states(config, Path(folder))
        first = plan_round(config, History(members_of(config), config.league.decay), states)
    matches = matches_in_all(config, first)
    queries = [*_match_queries(config, first)]
    for learner in config.learners:
        queries += _practice_queries(config, learner)
    size = LeagueSize(
        matches=matches,
        games=matches * 2 * config.league.block_size,
        decisions=sum(learner.decisions * rounds_of_practice(config, learner) for learner in config.learners),
        snapshots=snapshots_at_most(config),
        queries=tuple(queries),
        oracles=sum(config.league.occasions(oracle.every) for oracle in config.oracles),
    )
    return size, first


def snapshots_at_most(config: Config) -> int:
    """Number of snapshots of all learners, if every gate passes."""
    firsts = sum(learner.keeps_first for learner in config.learners)
    return firsts + sum(config.league.occasions(learner.snapshot_every) for learner in config.learners)


def matches_in_all(config: Config, first: RoundPlan) -> int:
    """Largest number of matches of a league whose first round is ``first``."""
    # A snapshot plays every learner, and the other members once; the newest best response to a learner plays it.
    later = min(len(config.learners), config.league.opponents) * snapshots_at_most(config) // 2
    return (len(first.matches) + len(config.oracles) + later) * config.total_rounds


def _match_queries(config: Config, first: RoundPlan) -> Iterator[QueryEstimate]:
    """Queries of expensive members if every round is like the first."""
    decisions, most = expected_decisions(config.env.max_turns), -(-config.env.max_turns // 2)
    for member in members_of(config):
        if not member.costly:
            continue
        seats = sum(entrant.member == member for task in first.matches for leg in task.legs for entrant in leg)
        games = seats * config.league.block_size * config.total_rounds
        if games:
            to_model = member.spec is not None and "llm" in kinds_in(member.spec)
            yield QueryEstimate(member.name, "which plays", games, round(games * decisions), games * most, to_model)


def _practice_queries(config: Config, learner: LearnerConfig) -> Iterator[QueryEstimate]:
    """Queries in a learner's practice if every round is of a stage with queries."""
    decisions = learner.decisions * config.league.rounds
    games = round(decisions / expected_decisions(config.env.max_turns))
    stages = [stage for stage in config.curriculum if stage.hints_of(learner.name).mode == "llm"]
    named = f" in stage{'s' * (len(stages) != 1)} {', '.join(stage.name for stage in stages)}"
    for stage in stages[:1]:
        hints = stage.hints_of(learner.name)
        yield hint_queries(hints, games, decisions, f"which gives hints to {learner.name}{named}")
    changed = [stage.learner(learner) for stage in config.curriculum]
    if any(settings is not None and JUDGE in settings.reward for settings in changed):
        yield QueryEstimate("a language model", f"which judges {learner.name}", games, games, games * 2)


def _learner_line(task: TrainTask, config: Config) -> str:
    learner = task.learner
    settings = next(row for row in config.learners if row.name == learner.name)
    in_all = settings.decisions * rounds_of_practice(config, settings)
    opponents = matchmaking_in_words(learner.matchmaking)
    reward = "" if learner.reward == "own" else f", reward {learner.reward}"
    return (
        f"{learner.name} ({learner.role}, {learner.algo}{reward}): {learner.decisions:,} decisions a round, "
        f"{in_all:,} in all, opponents: {opponents}"
    )
