"""Who meets whom in a round: a pure function of the settings, the members, their states and the payoffs so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

from league.config import Config, LearnerConfig
from league.matchmaking import regret, uniform
from league.tasks import Block, LearnerState, MatchTask, Member, Seated

if TYPE_CHECKING:
    from league.crossplay import CrossPlay
    from league.train_task import Meeting, TrainTask


def members_of(config: Config) -> tuple[Member, ...]:
    """The members that a config names: who learns, then everybody else, in its order."""
    learners = tuple(Member(learner.name, None, role="main") for learner in config.learners)
    return learners + tuple(Member(member.name, member.spec) for member in config.members)


def block_of(config: Config, number: int) -> Block:
    """The scenarios that every match of round ``number`` plays: common ones, so that members compare in pairs."""
    size = config.league.block_size
    return Block(start=number * size, size=size)


def seats_of(members: Sequence[Member], states: Mapping[str, LearnerState]) -> tuple[Seated, ...]:
    """Every member with the weights that it has now."""
    return tuple(Seated(m, states[m.name].blob if m.role == "main" else m.blob) for m in members)


def plan_matches(config: Config, seats: Sequence[Seated], number: int) -> tuple[MatchTask, ...]:
    """The matches of round ``number``: a full cross-play, every member against every member and itself."""
    block = block_of(config, number)
    return tuple(
        MatchTask(
            round=number,
            number=position,
            members=pair,
            block=block,
            env=config.env,
            seed=config.league.seed,
            probability=1.0,
            reason="cross-play: every pair meets every round",
        )
        for position, pair in enumerate(combinations_with_replacement(seats, 2))
    )


def plan_training(
    config: Config,
    seats: Sequence[Seated],
    states: Mapping[str, LearnerState],
    cross: CrossPlay,
    number: int,
    first: int,
) -> tuple[TrainTask, ...]:
    """The practice of round ``number``, numbered from ``first``: each learner against all others."""
    from league.train_task import TrainTask

    return tuple(
        TrainTask(
            round=number,
            number=first + position,
            learner=learner,
            state=states[learner.name],
            meetings=_meetings(learner, seats, cross, config.league.confidence),
            env=config.env,
            seed=config.league.seed,
            total_decisions=learner.decisions * config.league.rounds,
        )
        for position, learner in enumerate(config.learners)
    )


def born_after(config: Config, states: Mapping[str, LearnerState], number: int) -> tuple[Member, ...]:
    """The snapshots that join after round ``number``, each a learner as it is then."""
    if number + 1 == config.league.rounds:
        return ()
    due = [x for x in config.learners if x.snapshot_every and (number + 1) % x.snapshot_every == 0]
    return tuple(
        Member(
            name=f"{learner.name}@{number + 1}",
            spec=None,
            role="snapshot",
            parent=learner.name,
            born=number + 1,
            blob=states[learner.name].blob,
        )
        for learner in due
    )


def _meetings(
    learner: LearnerConfig, seats: Sequence[Seated], cross: CrossPlay, confidence: float
) -> tuple[Meeting, ...]:
    """Whom a learner practices against, how often and why. Alone in its league it meets itself."""
    from league.train_task import Meeting

    others = [seat for seat in seats if seat.name != learner.name] or list(seats)
    if learner.matchmaking == "uniform":
        return tuple(Meeting(seat, p, "uniform") for seat, p in zip(others, uniform(len(others)).tolist(), strict=True))
    scored = np.array([cross.cell(learner.name, seat.name, confidence).mean for seat in others])
    best = np.array([cross.best_against(seat.name, confidence) for seat in others])
    chances = regret(scored, best).tolist()
    return tuple(
        Meeting(seat, p, f"regret: scores {mine:.2f} of {reach:.2f} points of ten")
        for seat, p, mine, reach in zip(others, chances, scored.tolist(), best.tolist(), strict=True)
    )
