"""One learner's practice of a round: weights go in, weights come out, and nothing else changes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator

import torch

from dond_marl.occupants import seat_occupant
from dond_marl.rollout import OccupantError, one_line
from dond_marl.seats import Partner
from hints.providers import HinterError
from league.settings.learner import LearnerConfig
from league.settings.read import Config
from league.settings.sections import EnvConfig
from league.tasks.blame import unwatched
from league.tasks.blobs import KEPT, name_of, read_blob
from league.tasks.devices import device_of, on_device, practicing
from league.tasks.hinters import league_schedule_of
from league.tasks.pasts import pasts_of_league
from league.tasks.values import LearnerState, Meeting, Place, TrainResult, TrainTask, open_source, seated
from partners.judges.judge import JudgeError
from partners.learning.average_policy import RESERVOIR, AveragePolicy
from partners.learning.learners import Learner
from partners.learning.practice import Opponent, OpponentUnreached, train_until
from partners.mixture import BySeat, Mixture
from partners.network.checkpoint import describe, pack
from partners.network.network import PolicyNetwork, copy_of
from partners.network.partner import NetworkPartner
from partners.provenance import KEYS, NOBODY, Ancestry


def first_states(config: Config, learners: Iterable[LearnerConfig]) -> Iterator[tuple[str, LearnerState, bytes]]:
    """Name, first state and blob of each of these ``learners`` of a league. Raises as :func:`first_state` does."""
    pasts = pasts_of_league(config)
    members = tuple(sorted(member.name for member in config.members))
    for learner in learners:
        past = pasts[learner.name]
        yield learner.name, *first_state(learner, config.layout, config.hinted, config.league.seed, past, members)


def first_state(
    learner: LearnerConfig,
    layout: EnvConfig,
    hinted: bool,
    seed: int,
    past: Ancestry = NOBODY,
    members: tuple[str, ...] = (),
) -> tuple[LearnerState, bytes]:
    """A learner before its first round, and the content of its blob; its features hold whatever any stage shows.

    ``layout``: the widest environment of all stages; ``hinted``: whether any of them gives hints; ``past``: everybody
    whom it will have met, which the blob notes; ``members``: whom it may come to know. The blob holds also the
    reference that the learner is pulled toward, so that nothing is read from outside the run again. Raises
    :class:`partners.learning.first_weights.FirstWeightsError`.
    """
    own = learner_seed(seed, learner.name)
    network = learner.first_network(layout, hints=hinted, seed=own, members=members)
    made = learner_of(learner, network, own, 1, copy_of(network) if learner.kl else None)
    content = pack(made.state()[0], {**describe(network), **past.note()})
    return LearnerState(name_of(content), 0, 0, 0), content


def learner_seed(seed: int, name: str, life: int = 0) -> int:
    """A learner's own seed: a function of the run's, of its name and of how often it has started over (``life``)."""
    text = f"{seed} {name}" if life == 0 else f"{seed} {name} {life}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7])


def train(task: TrainTask, place: Place, tick: Callable[[], None] = lambda: None) -> TrainResult:
    """Practice and improve until the round's ``decisions`` are made, in one torch thread, on the learner's device.

    ``tick`` is called before every update; what it raises ends the practice, of which nothing is kept.
    """
    torch.set_num_threads(1)
    seed = learner_seed(task.seed, task.learner.name, task.state.life)
    weights = read_blob(place.blobs, task.state.blob)
    device = device_of(task.learner)
    network = weights.network().to(device)
    learner = learner_of(task.learner, network, seed, task.total_decisions)
    counters = {"updates": task.state.updates, "decisions": task.state.decisions}
    tensors = weights.tensors
    if KEPT in weights.about:
        tensors = {**tensors, **read_blob(place.blobs, weights.about[KEPT]).tensors}
    learner.restore({name: value.to(device) for name, value in tensors.items()}, counters)
    opponents = [Opponent(crowd_of(task, learner, place), 1.0)]
    plan = task.learner.practice(task.env, open_source(task.env), seed, task.unreached)
    play = practicing(task.learner, plan)
    target, points, deals, turns = task.state.decisions + task.learner.decisions, 0.0, 0.0, 0.0
    updates = train_until(
        learner,
        play,
        opponents,
        decisions=target,
        games_before=task.state.games,
        hints=league_schedule_of(task.hints),
        decisions_per_game=task.state.decisions / max(task.state.games, 1),
    )
    games = task.state.games
    try:
        while learner.decisions < target:
            tick()
            with on_device(task.learner):
                score, _, games, _ = next(updates)
            points += score.points * score.games
            deals += score.deals * score.games
            turns += score.turns * score.games
    except OccupantError as error:
        assert error.__cause__ is not None
        return task.unfinished(one_line(error.__cause__))
    except (JudgeError, HinterError, OpponentUnreached) as error:  # of whoever judges a game or gives hints
        return task.unfinished(one_line(error))
    tensors, counts = learner.state()
    note = {**describe(network), **{key: weights.about[key] for key in KEYS if key in weights.about}}
    own, acts = {name: value.cpu() for name, value in tensors.items()}, None
    if sampled := {name: own.pop(name) for name in list(own) if name.startswith(RESERVOIR)}:
        acts = pack(sampled)
        note[KEPT] = name_of(acts)
    content, played = pack(own, note), games - task.state.games
    state = LearnerState(name_of(content), counts["updates"], counts["decisions"], games, task.state.life)
    return TrainResult(task, state, content, points / played, deals / played, turns=turns / played, acts_kept=acts)


def learner_of(
    settings: LearnerConfig, network: PolicyNetwork, seed: int, total: int, reference: PolicyNetwork | None = None
) -> Learner:
    """A learner of ``total`` own decisions that begins with ``network``, and so does its average, where it has one."""
    own, average = settings.learner(total), None
    if settings.reservoir:
        average = AveragePolicy(copy_of(network), own, seed, settings.reservoir, settings.anticipation)
    return Learner(network, own, seed, reference, average)


def crowd_of(task: TrainTask, learner: Learner, place: Place) -> Partner:
    """All opponents as one, drawn for every game; where the learner meets itself, it is the network that learns.

    One that learns the average of what it does meets that average, and itself in the share that it anticipates.
    """
    partners, names, weights = list[Partner](), list[str](), list[tuple[float, float]]()
    for meeting in task.meetings:
        chances = (meeting.probability,) * 2 if meeting.by_seat is None else meeting.by_seat
        for who, share in _met(meeting, task, learner, place):
            partners.append(who)
            names.append(meeting.opponent.name)
            weights.append((chances[0] * share, chances[1] * share))
    if task.learner.plays_on_device:  # where networks are known as such, and nobody is asked whose code may hang
        partners = [inner if isinstance(inner := unwatched(who), NetworkPartner) else who for who in partners]
    seats = [seat_occupant(partner) for partner in partners]
    first, second = (Mixture(of=seats, weights=list(chances), names=names) for chances in zip(*weights, strict=True))
    return first if all(meeting.by_seat is None for meeting in task.meetings) else BySeat(first, second)


def _met(meeting: Meeting, task: TrainTask, learner: Learner, place: Place) -> list[tuple[Partner, float]]:
    """Who sits there in a meeting, and in which share of its games."""
    if meeting.opponent.name != task.learner.name:
        return [(seated(meeting.opponent, place), 1.0)]
    itself, average = NetworkPartner(learner.network), learner.average
    if average is None:
        return [(itself, 1.0)]
    return [(NetworkPartner(average.network), 1 - average.anticipation), (itself, average.anticipation)]
