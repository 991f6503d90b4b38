"""The other unit of work: one learner's practice of a round. Weights go in, weights come out; nothing else changes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import NamedTuple

import torch

from dond_marl.occupants import seat_occupant
from dond_marl.rollout import OccupantError, one_line
from dond_marl.seats import Partner
from league.blobs import pack, read_blob
from league.config import EnvConfig, LearnerConfig
from league.tasks import LearnerState, Place, Seated, open_source, seated
from partners.learners import Learner
from partners.mixture import Mixture
from partners.network import PolicyNetwork
from partners.practice import Opponent, practice


class Meeting(NamedTuple):
    """Somebody to practice against, how often, and why."""

    opponent: Seated
    probability: float
    reason: str


@dataclass(frozen=True, slots=True)
class TrainTask:
    """One learner's practice of a round, against opponents drawn for every game."""

    round: int
    number: int  # within the round
    learner: LearnerConfig
    state: LearnerState
    meetings: tuple[Meeting, ...]
    env: EnvConfig
    seed: int
    total_decisions: int  # over the whole league, for annealing


class TrainResult(NamedTuple):
    """What came of a train task; a failed one leaves the learner as it was."""

    task: TrainTask
    state: LearnerState
    content: bytes | None  # of the new blob; None where it failed
    points: float  # of ten per game while it practiced, whoever it met
    deals: float
    failed: str | None = None  # the learner, whose practice could not be finished
    cause: str | None = None


def first_state(learner: LearnerConfig, env: EnvConfig, seed: int) -> tuple[LearnerState, bytes]:
    """A learner before its first round."""
    content = pack(_learner(learner, env, seed, learner_seed(seed, learner.name), 1).state()[0])
    return LearnerState(hashlib.sha256(content).hexdigest(), 0, 0, 0), content


def learner_seed(seed: int, name: str) -> int:
    """A learner's own seed, a function of the run's and of its name."""
    return int.from_bytes(hashlib.sha256(f"{seed} {name}".encode()).digest()[:7])


def train(task: TrainTask, place: Place) -> TrainResult:
    """Practice and improve until the round's ``decisions`` are made, in one torch thread."""
    torch.set_num_threads(1)
    learner = _learner(task.learner, task.env, task.seed, None, task.total_decisions)
    counters = {"updates": task.state.updates, "decisions": task.state.decisions}
    learner.restore(read_blob(place.blobs, task.state.blob), counters)
    crowd = _crowd(task, place)
    plan = task.learner.practice(task.env, open_source(task.env), learner_seed(task.seed, task.learner.name))
    target, games, points, deals = task.state.decisions + task.learner.decisions, task.state.games, 0.0, 0.0
    try:
        while learner.decisions < target:
            experience, score = practice(
                learner.network, [Opponent(crowd, 1.0)], plan, update=learner.updates, games_before=games
            )
            learner.update(experience)
            games += score.games
            points += score.points * score.games
            deals += score.deals * score.games
    except OccupantError as error:
        assert error.__cause__ is not None
        name, cause = task.learner.name, one_line(error.__cause__)
        return TrainResult(task, task.state, None, float("nan"), float("nan"), name, cause)
    tensors, counts = learner.state()
    content, played = pack(tensors), games - task.state.games
    state = LearnerState(hashlib.sha256(content).hexdigest(), counts["updates"], counts["decisions"], games)
    return TrainResult(task, state, content, points / played, deals / played)


def _learner(learner: LearnerConfig, env: EnvConfig, seed: int, weights: int | None, total_decisions: int) -> Learner:
    """A learner with the first weights of a seed, or (``None``) with any, to be restored."""
    network = PolicyNetwork(learner.shape(env, hints=False), seed=weights)
    return Learner(network, learner.learner(total_decisions), learner_seed(seed, learner.name))


def _crowd(task: TrainTask, place: Place) -> Partner:
    """All opponents as one, who is somebody else in every game."""
    partners = [seated(meeting.opponent, task.env, place) for meeting in task.meetings]
    return Mixture(of=[seat_occupant(partner) for partner in partners], weights=[m.probability for m in task.meetings])
