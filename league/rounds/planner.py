"""What a round plays: a pure function of the settings, the ledger's history and where the learners stand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from league.rounds.curriculum import rounds_of_practice, stage_now
from league.rounds.matches import pairs_of
from league.rounds.opponents import meetings_of
from league.rounds.repair import Repair, repair_of
from league.settings.learners import LearnerConfig
from league.settings.read import Config
from league.standings.history import History
from league.tasks.values import Block, Entrant, LearnerState, MatchTask, Member, Place, TrainTask


class Plan(NamedTuple):
    """A round before it is played."""

    number: int
    stage: int
    block: Block
    training: tuple[TrainTask, ...]
    matches: tuple[MatchTask, ...]

    @property
    def tasks(self) -> tuple[TrainTask | MatchTask, ...]:
        """All tasks, numbered from 0: practice first, which takes longest."""
        return (*self.training, *self.matches)


def members_of(config: Config) -> tuple[Member, ...]:
    """The members that a config names: who learns, then everybody else, in its order."""
    learners = tuple(Member(learner.name, None, learner.role) for learner in config.learners)
    fixed = tuple(Member(member.name, member.spec) for member in config.members)
    met = {member.spec for member in config.members}  # of whom the gate may ask some too
    gate = tuple(Member(m.name, m.spec, split="gate") for m in config.gate if m.spec not in met)
    return learners + fixed + gate + tuple(Member(m.name, m.spec, split="heldout") for m in config.heldout)


def first_states(config: Config, blobs: Path) -> dict[str, LearnerState]:
    """Where the learners stand before the first round; their weights are written into the folder ``blobs``.

    Raises :class:`partners.learning.first_weights.FirstWeightsError`.
    """
    if not config.learners:
        return {}
    from league.tasks import train_task
    from league.tasks.blobs import write_blob  # PyTorch is loaded only where somebody learns

    states = {}
    for name, state, content in train_task.first_states(config, config.learners):
        write_blob(blobs, content)
        states[name] = state
    return states


def plan_round(
    config: Config, history: History, states: Mapping[str, LearnerState], place: Place | None = None
) -> Plan:
    """The next round; ``place``: where the learners' weights lie, from which best responses to them are computed."""
    number = history.round
    seats = {m.name: Entrant(m, states[m.name].blob if m.live else m.blob) for m in history.members}
    repairs = {
        learner.name: made
        for learner in _practicing(config, history)
        if (made := repair_of(config, learner, history, seats, place)) is not None
    }
    stage, training = stage_now(config, history), _training(config, history, seats, states, repairs, place)
    block = block_of(config, number)
    matches = tuple(
        MatchTask(
            round=number,
            number=len(training) + place,
            members=(seats[first], seats[second]),
            block=block,
            env=config.env,
            seed=config.league.seed,
            reason=reason,
            unreached=config.league.unreached,
        )
        for place, (first, second, reason) in enumerate(pairs_of(config, history))
    )
    return Plan(number, stage, block, training, matches)


def block_of(config: Config, number: int) -> Block:
    """The scenarios that every match of round ``number`` plays: common ones, so that members compare in pairs."""
    size = config.league.block_size
    return Block(start=number * size, size=size)


def _practicing(config: Config, history: History) -> list[LearnerConfig]:
    """Who practices in the next round, as the stage has it; nobody in the last round, which only measures.

    An oracle whose snapshot joins waits until that has played: what it answers next is solved from those matches.
    """
    if not config.learners or config.schedule.phase(history.round) == "measures":
        return []
    stage = config.curriculum[stage_now(config, history)]
    practicing = [changed for learner in config.learners if (changed := stage.learner(learner)) is not None]
    joining = {member.parent for member in history.members if member.born == history.round > 0}
    return [learner for learner in practicing if not (learner.is_oracle and learner.name in joining)]


def _training(
    config: Config,
    history: History,
    seats: Mapping[str, Entrant],
    states: Mapping[str, LearnerState],
    repairs: Mapping[str, Repair],
    weights: Place | None,
) -> tuple[TrainTask, ...]:
    """The practice of the next round, by the rules of its stage."""
    practicing = _practicing(config, history)
    if not practicing:
        return ()
    stage = config.curriculum[stage_now(config, history)]
    whole = {learner.name: learner for learner in config.learners}
    return tuple(
        TrainTask(
            round=history.round,
            number=place,
            learner=learner,
            state=states[learner.name],
            meetings=meetings_of(config, learner, history, seats, repairs.get(learner.name)),
            env=stage.env.over(config.env),
            hints=stage.hints_of(learner.name),
            seed=config.league.seed,
            total_decisions=whole[learner.name].decisions * rounds_of_practice(config, whole[learner.name]),
            unreached=config.league.unreached,
            repaired=repairs[learner.name].decision(learner.name) if learner.name in repairs else None,
            reservoir=_reservoir(learner, states[learner.name], weights),
        )
        for place, learner in enumerate(practicing)
    )


def _reservoir(learner: LearnerConfig, state: LearnerState, weights: Place | None) -> str | None:
    if not learner.reservoir or weights is None:
        return None
    from league.tasks.blobs import reservoir_of  # PyTorch is loaded only where somebody learns

    return reservoir_of(weights.blobs, state.blob)
