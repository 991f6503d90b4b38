"""The other unit of work: one learner's practice of a round. Weights go in, weights come out; nothing else changes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch

from dond_marl.occupants import seat_occupant
from dond_marl.rollout import OccupantError, one_line
from dond_marl.seats import Partner
from hints.providers import HinterError
from league.settings.learner import LearnerConfig
from league.settings.sections import EnvConfig
from league.settings.training import HintsConfig
from league.tasks.blobs import pack, read_blob, read_network
from league.tasks.values import LearnerState, Place, Seated, open_source, seated
from league.training.training import schedule_of
from partners.judges.judge import JudgeError
from partners.learning.first_weights import first_network, reference_for
from partners.learning.learners import Learner
from partners.learning.practice import Opponent, practice
from partners.mixture import Mixture
from partners.network.checkpoint import describe
from partners.network.partner import NetworkPartner


class Meeting(NamedTuple):
    """Somebody to practice against, how often, and why."""

    opponent: Seated
    probability: float
    reason: str


@dataclass(frozen=True, slots=True)
class TrainTask:
    """One learner's practice of a round, against opponents drawn for every game, by the rules of a stage."""

    round: int
    number: int  # within the round
    learner: LearnerConfig  # as the stage has it
    state: LearnerState
    meetings: tuple[Meeting, ...]
    env: EnvConfig  # of the stage
    hints: HintsConfig
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

    @property
    def games(self) -> int:
        """Games practiced."""
        return self.state.games - self.task.state.games


def first_state(learner: LearnerConfig, layout: EnvConfig, hinted: bool, seed: int) -> tuple[LearnerState, bytes]:
    """A learner before its first round; its features hold whatever any stage shows (``layout``, ``hinted``).

    Its blob holds the reference that it is pulled toward too, so that nothing is read from outside a run again. Raises
    :class:`partners.learning.first_weights.FirstWeightsError`.
    """
    network = first_network(learner, layout, hints=hinted, seed=learner_seed(seed, learner.name))
    made = Learner(network, learner.learner(1), 0, reference_for(learner, network))
    content = pack(made.state()[0], describe(network))
    return LearnerState(hashlib.sha256(content).hexdigest(), 0, 0, 0), content


def learner_seed(seed: int, name: str, life: int = 0) -> int:
    """A learner's own seed, a function of the run's, of its name and of how often it has started over."""
    text = f"{seed} {name}" if life == 0 else f"{seed} {name} {life}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7])


def train(task: TrainTask, place: Place, tick: Callable[[], None] = lambda: None) -> TrainResult:
    """Practice and improve until the round's ``decisions`` are made, in one torch thread.

    ``tick`` is called before every update; what it raises ends the practice, of which nothing is kept.
    """
    torch.set_num_threads(1)
    seed = learner_seed(task.seed, task.learner.name, task.state.life)
    network = read_network(place.blobs, task.state.blob)
    learner = Learner(network, task.learner.learner(task.total_decisions), seed)
    counters = {"updates": task.state.updates, "decisions": task.state.decisions}
    learner.restore(read_blob(place.blobs, task.state.blob), counters)
    opponents = [Opponent(_crowd(task, learner, place), 1.0)]
    plan = task.learner.practice(task.env, open_source(task.env), seed)
    whisper = schedule_of(task.hints)
    target, games, points, deals = task.state.decisions + task.learner.decisions, task.state.games, 0.0, 0.0
    try:
        while learner.decisions < target:
            tick()
            experience, score = practice(
                learner.network, opponents, plan, update=learner.updates, games_before=games, whisper=whisper
            )
            learner.update(experience)
            games += score.games
            points += score.points * score.games
            deals += score.deals * score.games
    except OccupantError as error:
        assert error.__cause__ is not None
        return _failed(task, error.__cause__)
    except (JudgeError, HinterError) as error:  # of whoever is asked what a game is worth
        return _failed(task, error)
    tensors, counts = learner.state()
    content, played = pack(tensors, describe(network)), games - task.state.games
    blob = hashlib.sha256(content).hexdigest()
    state = LearnerState(blob, counts["updates"], counts["decisions"], games, task.state.life)
    return TrainResult(task, state, content, points / played, deals / played)


def _failed(task: TrainTask, error: BaseException) -> TrainResult:
    """What comes of a practice that could not be finished: the learner stays as it was."""
    return TrainResult(task, task.state, None, float("nan"), float("nan"), task.learner.name, one_line(error))


def _crowd(task: TrainTask, learner: Learner, place: Place) -> Partner:
    """All opponents as one, who is somebody else in every game; itself is the network that learns, not a copy."""
    own = task.learner.name
    partners = [
        NetworkPartner(learner.network) if meeting.opponent.name == own else seated(meeting.opponent, place)
        for meeting in task.meetings
    ]
    return Mixture(of=[seat_occupant(partner) for partner in partners], weights=[m.probability for m in task.meetings])
