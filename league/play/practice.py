"""One learner's practice of a round: a pure function from its weights to its new weights."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path

import torch

from dond_marl.batch import check_decisions
from dond_marl.errors import Blame, RunFailure, error_line
from dond_marl.game import Act
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import OccupantError
from dond_marl.scenarios.sources import ScenarioSource
from dond_marl.seats import UNREACHED_BOUND, Decisions, Partner, Turns
from league.play.blobs import RESERVOIR_KEY, name_of, read_blob
from league.play.devices import DeviceError, on_device
from league.play.hinters import league_hint_schedule
from league.play.match import SEATING, PartnerWrapper
from league.play.outside_learners import PracticeGames, first_outside_state, load_learner, pack_learner
from league.play.values import LearnerState, Meeting, TrainResult, TrainTask
from league.settings.learners import LearnerConfig
from league.settings.read import Config
from league.settings.sections import EnvConfig
from league.settings.training import Hyperparameters
from partners.learning.average_policy import RESERVOIR, AveragePolicy
from partners.learning.first_weights import first_network
from partners.learning.learners import Learner
from partners.learning.practice import Opponent, Practice, Session, in_practice
from partners.learning.rewards import RewardFailure, reward_of
from partners.learning.settings import LearnerSettings
from partners.mixture import BySeat, Mixture
from partners.network.checkpoint import Weights, network_note, pack
from partners.network.network import NetworkShape, PolicyNetwork, copy_of
from partners.network.partner import NetworkPartner
from partners.provenance import KEYS, NO_PAST, Ancestry


def first_states(
    config: Config, learners: Iterable[LearnerConfig], pasts: Mapping[str, Ancestry]
) -> Iterator[tuple[str, LearnerState, bytes]]:
    """Name, first state and blob of each of these ``learners`` of a league. Raises as :func:`first_state` does.

    ``pasts``: the provenance of each learner by name, see :func:`league.play.provenance.league_ancestries`.
    """
    members = tuple(sorted(member.name for member in config.members))
    layout, hinted, seed = config.layout, config.gives_hints, config.league.seed
    for learner in learners:
        if learner.train is not None:
            own_seed = learner_seed(seed, learner.name)
            yield learner.name, *first_outside_state(learner.train, own_seed, layout, pasts[learner.name])
            continue
        yield learner.name, *first_state(learner, layout, hinted, seed, pasts[learner.name], members)


def first_state(
    learner: LearnerConfig,
    layout: EnvConfig,
    hinted: bool,
    seed: int,
    past: Ancestry = NO_PAST,
    members: tuple[str, ...] = (),
) -> tuple[LearnerState, bytes]:
    """A learner's state before its first round, and the content of its blob.

    ``layout``: the widest environment of all stages, which fixes the network's features; ``hinted``: whether any stage
    gives hints; ``past``: the provenance that the blob notes; ``members``: names that the belief head distinguishes.
    The blob also holds the reference policy of the KL penalty, so that no file outside the run is read again. Raises
    :class:`partners.learning.first_weights.FirstWeightsError`.
    """
    seed = learner_seed(seed, learner.name)
    network = initial_network(learner, layout, hints=hinted, seed=seed, members=members)
    first = make_learner(learner, network, seed, 1)
    content = pack(first.state()[0], {**network_note(network), **past.note()})
    return LearnerState(name_of(content), 0, 0, 0), content


def network_shape(
    settings: Hyperparameters, env: EnvConfig, hints: bool, members: tuple[str, ...] = ()
) -> NetworkShape:
    """The shape of a learner's network for this game.

    ``hints``: whether it observes hints; ``members``: names that its belief head distinguishes, used with beliefs.
    """
    return NetworkShape(
        env.max_count,
        env.max_turns,
        env.reveal_partner_utilities,
        hints,
        settings.hidden,
        settings.sorted_items,
        settings.history,
        settings.head,
        settings.belief > 0,
        members if settings.belief else (),
    )


def initial_network(
    settings: Hyperparameters, env: EnvConfig, *, hints: bool, seed: int, members: tuple[str, ...] = ()
) -> PolicyNetwork:
    """The initial network of a learner, its weights drawn from ``seed`` or read from ``init_from``.

    ``hints`` and ``members`` as for :func:`network_shape`. Raises
    :class:`partners.learning.first_weights.FirstWeightsError`.
    """
    shape = network_shape(settings, env, hints, members)
    return first_network(shape, settings.init_from, disagree=env.disagree, seed=seed)


def learner_settings(settings: Hyperparameters, total_decisions: int) -> LearnerSettings:
    """The settings of a learner that makes ``total_decisions`` decisions in all."""
    shared = {field.name for field in fields(LearnerSettings)} & type(settings).model_fields.keys()
    return LearnerSettings(**{name: getattr(settings, name) for name in shared}, total_decisions=total_decisions)


def practice_plan(
    settings: Hyperparameters, env: EnvConfig, source: ScenarioSource, seed: int, unreached: float = UNREACHED_BOUND
) -> Practice:
    """The practice of one update: at least ``rollout`` decisions per env.

    ``unreached``: the share of an update's games, 0..1, in which the opponent may be unreachable.
    """
    own_turns = (env.max_turns + 1) // 2
    return Practice(
        source=source,
        rules=env.rules(),
        decisions=settings.num_envs * settings.rollout,
        games=settings.num_envs * -(-settings.rollout // own_turns),
        seed=seed,
        reveal_partner_utilities=env.reveal_partner_utilities,
        reward=reward_of(settings.reward),
        unreached=unreached,
        privileged=settings.belief > 0 or settings.critic == "both",
        labels_from=settings.labels_from,
    )


def learner_seed(seed: int, name: str, life: int = 0) -> int:
    """A learner's seed: a function of the run's seed, its name and the number of its restarts (``life``)."""
    text = f"{seed} {name}" if life == 0 else f"{seed} {name} {life}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7])


class MemberFault(RunFailure):
    """An opponent in practice raised an error or gave an answer that cannot be played. ``member``: its name."""

    def __init__(self, member: str, cause: str) -> None:
        super().__init__(f"{member}: {cause}")
        self.member, self.cause = member, cause


def practice_round(task: TrainTask, blobs: Path, tick: Callable[[], None] = lambda: None) -> TrainResult:
    """Train the learner until the round's ``decisions`` are made, in one torch thread, on the learner's device.

    A member at fault is left out, and the practice begins again with the other opponents. ``tick`` is called before
    every update; what it raises ends the practice without a result.
    """
    remainder: TrainTask | TrainResult = task
    while isinstance(remainder, TrainTask):
        try:
            return (_practice if task.learner.train is None else _outside_practice)(remainder, blobs, tick)
        except MemberFault as fault:
            remainder = remainder.forfeit(fault.member, fault.cause)
    return remainder


def _practice(task: TrainTask, blobs: Path, tick: Callable[[], None]) -> TrainResult:
    """The result of a practice against all of its playable opponents. Raises :class:`MemberFault`."""
    torch.set_num_threads(1)
    weights = read_blob(blobs, task.state.blob)
    session = _session(task, blobs, weights)
    mixture = opponent_mixture(task, self_play_partners(session.learner), blobs)
    session.opponents = [Opponent(mixture, 1.0)]
    target, points, deals, turns = task.state.decisions + task.learner.decisions, 0.0, 0.0, 0.0
    try:
        while session.learner.decisions < target:
            tick()
            with on_device(task.learner):
                score, _ = session.step()
            points += score.points * score.games
            deals += score.deals * score.games
            turns += score.turns * score.games
    except OccupantError as error:
        assert error.__cause__ is not None
        if isinstance(error.__cause__, MemberFault):
            raise error.__cause__ from None
        check_last_answers(mixture)
        return task.unfinished_result(error_line(error.__cause__))
    except DeviceError:  # no practice fits into its memory
        raise
    except RewardFailure as error:  # it would fail in every round
        raise RewardFailure(f"{task}: {error}") from error
    except RunFailure as error:  # of a judge, a hint provider, the opponent's server, or not finite weights
        return task.unfinished_result(error_line(error))
    state, content, reservoir = _pack_state(task, session, weights)
    played = state.games - task.state.games
    return TrainResult(
        task,
        state,
        content,
        points / played,
        deals / played,
        failed=task.faults[0][0] if task.faults else None,
        cause=task.cause_of_faults,
        turns=turns / played,
        reservoir_content=reservoir,
    )


def _outside_practice(task: TrainTask, blobs: Path, tick: Callable[[], None]) -> TrainResult:
    """The same for a learner of another library; what its code raises leaves it as it was."""
    torch.set_num_threads(1)
    assert task.learner.train is not None
    weights, name = read_blob(blobs, task.state.blob), task.learner.name
    for opponent in task.entrants:  # made first, as making one may seed global generators
        if opponent.name != name:
            SEATING.partner(opponent, blobs)
    seed = learner_seed(task.seed, f"{name} {task.state.updates}", task.state.life)
    mixture: Partner | None = None
    try:
        with Blame(lambda error: RunFailure(error_line(error)), RunFailure, KeyboardInterrupt):
            learner = load_learner(task.learner.train, weights, seed)
            mixture = opponent_mixture(task, [(PracticeOpponent(name, learner.partner()), 1.0)], blobs)
            games = PracticeGames(task.env, mixture, seed, tick)
            learner.practice(games, task.learner.decisions)
            if not games.games:
                raise RunFailure("it played no game to its end")
            content = pack_learner(learner, weights.about)
    except RunFailure as error:
        if isinstance(error.__cause__, MemberFault):
            raise error.__cause__ from None
        if mixture is not None:
            check_last_answers(mixture)
        return task.unfinished_result(str(error))
    before, played = task.state, games.games
    counts = before.updates + 1, before.decisions + games.decisions, before.games + played
    state, failed = LearnerState(name_of(content), *counts, before.life), task.faults[0][0] if task.faults else None
    return TrainResult(task, state, content, games.points / played, games.deals / played, failed, task.cause_of_faults)


def _session(task: TrainTask, blobs: Path, weights: Weights) -> Session:
    """The learner's training as the ``weights`` of its blob left it, without opponents yet."""
    seed = learner_seed(task.seed, task.learner.name, task.state.life)
    learner = make_learner(task.learner, weights.network().to(task.learner.device), seed, task.total_decisions)
    plan = practice_plan(task.learner, task.env, SEATING.source(task.env), seed, task.unreached)
    session = Session(learner=learner, plan=plan, hints=league_hint_schedule(task.hints))
    tensors = weights.tensors
    if RESERVOIR_KEY in weights.about:
        tensors = {**tensors, **read_blob(blobs, weights.about[RESERVOIR_KEY]).tensors}
    state = task.state
    session.restore(tensors, {"updates": state.updates, "decisions": state.decisions, "games": state.games})
    return session


def _pack_state(task: TrainTask, session: Session, weights: Weights) -> tuple[LearnerState, bytes, bytes | None]:
    """The learner's new state, the content of its blob, and of that of its reservoir buffer."""
    tensors, counts = session.state()
    note = network_note(session.learner.network)
    note |= {key: weights.about[key] for key in KEYS if key in weights.about}
    host, reservoir = {name: value.cpu() for name, value in tensors.items()}, None
    if buffers := {name: host.pop(name) for name in list(host) if name.startswith(RESERVOIR)}:
        reservoir = pack(buffers)
        note[RESERVOIR_KEY] = name_of(reservoir)
    content = pack(host, note)
    return LearnerState(name_of(content), **counts, life=task.state.life), content, reservoir


def make_learner(settings: LearnerConfig, network: PolicyNetwork, seed: int, total: int) -> Learner:
    """A learner of ``total`` own decisions that begins with ``network``.

    So do its average policy (NFSP) and the reference policy of its KL penalty.
    """
    options, average = learner_settings(settings, total), None
    if settings.reservoir:
        average = AveragePolicy(copy_of(network), options, seed, settings.reservoir, settings.anticipation)
    return Learner(network, options, seed, copy_of(network) if settings.kl else None, average)


def opponent_mixture(task: TrainTask, itself: Sequence[tuple[Partner, float]], blobs: Path) -> Partner:
    """All opponents of a practice as one mixture, drawn for every game; ``itself``: those of self-play, with shares."""
    partners, names, weights = list[Partner](), list[str](), list[tuple[float, float]]()
    for meeting in task.playable_meetings:
        chances = (meeting.probability,) * 2 if meeting.by_seat is None else meeting.by_seat
        for partner, share in _opponents(meeting, task, itself, blobs):
            partners.append(partner)
            names.append(meeting.opponent.name)
            weights.append((chances[0] * share, chances[1] * share))
    seats = [seat_occupant(in_practice(partner, task.learner.labels_from)) for partner in partners]
    first, second = (
        Mixture(of=seats, weights=list(chances) if any(chances) else None, names=names)  # equal if none is left
        for chances in zip(*weights, strict=True)
    )
    return first if all(meeting.by_seat is None for meeting in task.meetings) else BySeat(first, second)


def _opponents(
    meeting: Meeting, task: TrainTask, itself: Sequence[tuple[Partner, float]], blobs: Path
) -> Sequence[tuple[Partner, float]]:
    """The partners that play for a meeting's opponent, each with its share of the games."""
    if meeting.opponent.name != task.learner.name:
        partner = SEATING.partner(meeting.opponent, blobs)
        # Networks act together, where they are known by their class. No fault is theirs: it is our code.
        if not isinstance(partner, NetworkPartner):
            partner = PracticeOpponent(meeting.opponent.name, partner)
        return [(partner, 1.0)]
    return itself


def self_play_partners(learner: Learner) -> list[tuple[Partner, float]]:
    """The partners of self-play with their shares: the network that learns.

    An NFSP learner plays its average policy, and with probability ``anticipation`` its best-response network.
    """
    itself, average = NetworkPartner(learner.network), learner.average
    if average is None:
        return [(itself, 1.0)]
    return [(NetworkPartner(average.network), 1 - average.anticipation), (itself, average.anticipation)]


class PracticeOpponent(PartnerWrapper):
    """A member's partner in a practice: what it raises, or answers, is attributed to the member."""

    def __init__(self, member: str, partner: Partner) -> None:
        super().__init__(partner)
        self._member = member
        self._last: tuple[Turns, Decisions] | None = None

    def act(self, turns: Turns) -> Decisions:
        with Blame(lambda error: MemberFault(self._member, error_line(error))):
            decisions = self._partner.act(turns)
        self._last = turns, decisions
        return decisions

    def check_last_answer(self) -> None:
        """Raise :class:`MemberFault` if its last answer cannot be played."""
        if self._last is None:
            return
        turns, decisions = self._last
        try:
            act, oA = check_decisions(decisions, turns.size)
        except Exception as error:  # the answer may be of any type
            raise MemberFault(self._member, error_line(error)) from error
        beyond = ((oA.T < 0) | (turns.caps < oA.T)).any(axis=1) & (act < Act.AGREE)
        illegal = beyond | ((act == Act.AGREE) & ~turns.act_mask[:, Act.AGREE])
        if illegal.any():
            row = int(illegal.argmax())
            answer = f"{Act(int(act[row])).name} of {oA[:, row].tolist()} from a pool of {turns.counts[row].tolist()}"
            raise MemberFault(self._member, f"illegal in {int(illegal.sum())} of {turns.size} games; first: {answer}")


def check_last_answers(mixture: Partner) -> None:
    """Raise :class:`MemberFault` if the last answer of an opponent cannot be played: the checks of the whole batch.

    An answer is checked with the batch, which is quicker but does not know the members of a mixture.
    """
    for part in mixture.seats if isinstance(mixture, BySeat) else (mixture,):
        assert isinstance(part, Mixture)
        for partner in part.partners:
            if isinstance(partner, PracticeOpponent):
                partner.check_last_answer()
