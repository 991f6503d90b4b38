"""Plan of a round, its practice and its matches, from settings, history and states of the learners.

Matches: a learner has changed since the last round, so it plays ``league.opponents`` members again; members that never
change play each other once, and more often only to narrow an interval: at most ``league.pairs`` such matches a round,
those with the fewest games first. Left out of that are members that are expensive to query (language models, people):
they play ``league.costly`` matches a round, those with the most expected information per cost first; and best responses
to a learner (oracles): the newest one plays that learner. A match is played in both seat orders on the scenarios of the
round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from league.rounds.curriculum import rounds_of_practice, stage_now
from league.rounds.opponents import meetings_of
from league.settings.learners import LearnerConfig, StageConfig
from league.settings.read import Config
from league.standings.history import History
from league.standings.ratings import POPOVICIU, STRENGTH, Payoffs
from league.tasks.values import ORACLES, Block, Entrant, LearnerState, MatchTask, Member, Place, TrainTask
from partners.rosters import TRAIN, plain_name, roster

Pair = tuple[str, str, str]  # two members and the reason


class RoundPlan(NamedTuple):
    """A round before it is played."""

    number: int
    stage: int
    block: Block
    training: tuple[TrainTask, ...]
    matches: tuple[MatchTask, ...]

    @property
    def tasks(self) -> tuple[TrainTask | MatchTask, ...]:
        """All tasks, numbered from 0; practice first because it takes longest."""
        return (*self.training, *self.matches)


def members_of(config: Config) -> tuple[Member, ...]:
    """The members of a config: learners, then fixed members, members of the gate, and held-out members."""
    learners = tuple(Member(learner.name, None, learner.role) for learner in config.learners)
    fixed = tuple(Member(member.name, member.spec) for member in config.members)
    specs = {member.spec for member in config.members}  # the gate may list some of them too
    gate = tuple(Member(m.name, m.spec, split="gate") for m in config.gate if m.spec not in specs)
    return learners + fixed + gate + tuple(Member(m.name, m.spec, split="heldout") for m in config.heldout)


def first_states(config: Config, blobs: Path) -> dict[str, LearnerState]:
    """States of the learners before the first round; their weights are written into the folder ``blobs``.

    Raises :class:`partners.learning.first_weights.FirstWeightsError`.
    """
    if not config.learners:
        return {}
    from league.tasks import train_task
    from league.tasks.blobs import write_blob  # loads PyTorch

    states = {}
    for name, state, content in train_task.first_states(config, config.learners):
        write_blob(blobs, content)
        states[name] = state
    return states


def plan_round(
    config: Config, history: History, states: Mapping[str, LearnerState], place: Place | None = None
) -> RoundPlan:
    """Plan the next round; in ``place`` only the names of reservoir buffers (NFSP) are read, from the weights."""
    number = history.round
    seats = {m.name: Entrant(m, states[m.name].blob if m.live else m.blob) for m in history.members}
    stage = stage_now(config, history)
    training = _training_tasks(config, config.curriculum[stage], history, seats, states, place)
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
    return RoundPlan(number, stage, block, training, matches)


def block_of(config: Config, number: int) -> Block:
    """The scenarios of all matches of round ``number``: common ones, so that members are compared in pairs."""
    size = config.league.block_size
    return Block(start=number * size, size=size)


def _practicing_learners(config: Config, stage: StageConfig, history: History) -> list[LearnerConfig]:
    """Learners that practice in the next round, with the settings of its stage; none in the closing measurement.

    An oracle whose snapshot joins waits for one round: its next target mixture is computed from those matches.
    """
    if not config.learners or config.schedule.phase(history.round) == "measures":
        return []
    practicing = [changed for learner in config.learners if (changed := stage.learner(learner)) is not None]
    born = [member for member in history.members if member.born == history.round > 0]
    joining = {member.parent for member in born if member.role == "snapshot"}
    return [learner for learner in practicing if not (learner.is_oracle and learner.name in joining)]


def _training_tasks(
    config: Config,
    stage: StageConfig,
    history: History,
    seats: Mapping[str, Entrant],
    states: Mapping[str, LearnerState],
    weights: Place | None,
) -> tuple[TrainTask, ...]:
    base, tasks = {learner.name: learner for learner in config.learners}, list[TrainTask]()
    for learner in _practicing_learners(config, stage, history):
        tasks.append(
            TrainTask(
                round=history.round,
                number=len(tasks),
                learner=learner,
                state=states[learner.name],
                meetings=meetings_of(config, learner, history, seats),
                env=stage.env.apply_to(config.env),
                hints=stage.hints_of(learner.name),
                seed=config.league.seed,
                total_decisions=base[learner.name].decisions * rounds_of_practice(config, base[learner.name]),
                unreached=config.league.unreached,
                reservoir=_reservoir(learner, states[learner.name], weights),
            )
        )
    return tuple(tasks)


def _reservoir(learner: LearnerConfig, state: LearnerState, weights: Place | None) -> str | None:
    if not learner.reservoir or weights is None:
        return None
    from league.tasks.blobs import reservoir_of  # loads PyTorch

    return reservoir_of(weights.blobs, state.blob)


def pairs_of(config: Config, history: History) -> list[Pair]:
    """The pairs of the next round's matches, each once, in the order of importance."""
    members, payoffs = history.members, history.cross.payoffs()
    games = payoffs.games.sum(axis=1)  # [N, N] both seats
    costly = [i for i, member in enumerate(members) if member.costly]
    oracles = [i for i, member in enumerate(members) if member.role in ORACLES]
    left_out = costly + oracles
    games[left_out], games[:, left_out] = np.inf, np.inf  # never among those with the fewest games
    chosen: dict[tuple[int, int], str] = {}

    def add(i: int, j: int, reason: str) -> bool:
        pair = (min(i, j), max(i, j))
        is_new = pair not in chosen
        chosen.setdefault(pair, reason)
        return is_new

    live = [i for i, member in enumerate(members) if member.live]
    pool = [i for i in gate_pool(config, members) if i not in costly]
    gated = {learner.name for learner in config.learners if learner.gate is not None}
    for i in live:
        for j in pool if members[i].name in gated else ():
            add(i, j, "gate: what the learner scores")
            last = history.last_snapshot(members[i].name)
            if last is not None:
                add(members.index(last), j, "gate: what its last snapshot scores in its place")
    for i in live:
        for j in _by_fewest_games(games[i])[: config.league.opponents]:
            add(i, j, "a learner: it has changed since it last played")
    newest = {members[i].name.rpartition("@")[0]: i for i in oracles}  # in the order of joining
    for i in newest.values():
        add(history.cross.place[str(members[i].parent)], i, "an oracle: what the newest one gets from its learner")
    newborn = [i for i, member in enumerate(members) if member.role == "snapshot" and member.born == history.round]
    if any("skill_levels" in branch for learner in _learners_of_all_stages(config) for branch in learner.matchmaking):
        for i in newborn:
            add(i, i, "a new snapshot: what it gets with itself says how skilled it is")
    for i in newborn:
        for j in _by_fewest_games(games[i])[: config.league.opponents]:
            add(i, j, "a new snapshot: it has not played before")
    pairs_left = config.league.pairs
    for i, j in _pairs_by_fewest_games(games, live):
        if pairs_left <= 0:
            break
        pairs_left -= add(i, j, f"coverage: {games[i, j]:,.0f} games so far")
    for i, j, reason in _costly_pairs(payoffs, costly, 2 * config.league.block_size)[: config.league.costly]:
        add(i, j, reason)
    return [(members[i].name, members[j].name, reason) for (i, j), reason in chosen.items()]


def _learners_of_all_stages(config: Config) -> Iterator[LearnerConfig]:
    """All learners with their own settings and with those of each stage."""
    for learner in config.learners:
        stages = (stage.learner(learner) for stage in config.curriculum)
        yield from (learner, *(changed for changed in stages if changed is not None))


def gate_pool(config: Config, members: Sequence[Member]) -> list[int]:
    """Numbers of the gate's opponents: those listed in ``gate``, whether in practice or not.

    Without such a list, the league's members of the roster train or, if there are none, all fixed members.
    """
    if config.gate:
        specs = {member.spec for member in config.gate}
        return [i for i, member in enumerate(members) if member.spec in specs]
    still = [(i, m.spec) for i, m in enumerate(members) if m.role == "fixed" and m.split == "train"]
    train = set(roster(TRAIN))
    listed = [i for i, spec in still if spec is not None and plain_name(spec) in train]
    return listed or [i for i, _ in still]


def _costly_pairs(payoffs: Payoffs, costly: list[int], games: int) -> list[tuple[int, int, str]]:
    """Pairs with a costly member, by the reduction of the variance of a mean per costly game, largest first.

    After ``n`` games of variance ``v`` the mean of a cell has variance ``v / (n + STRENGTH)``; a match adds ``games``.
    A game between two costly members costs twice.
    """
    played = payoffs.games.sum(axis=1)
    spread = np.where(payoffs.games > 1, np.nan_to_num(payoffs.variance), POPOVICIU).mean(axis=1)
    narrowed = spread / (played + STRENGTH) - spread / (played + games + STRENGTH)
    pairs = []
    for i in costly:
        for j in range(len(played)):
            if j == i or (j in costly and j < i):
                continue
            cost = games * (1 + (j in costly))
            gain = float(narrowed[i, j] + narrowed[j, i])
            worth = f"{gain:.3f} squared points for {cost:,} games that are paid for"
            pairs.append((gain / cost, i, j, f"information: {worth}, {played[i, j]:,.0f} so far"))
    pairs.sort(key=lambda pair: -pair[0])
    return [(i, j, reason) for _, i, j, reason in pairs]


def _by_fewest_games(games: NDArray[np.float64]) -> list[int]:
    order: list[int] = np.argsort(games, kind="stable").tolist()
    return order[: int(np.isfinite(games).sum())]


def _pairs_by_fewest_games(games: NDArray[np.float64], live: list[int]) -> Iterator[tuple[int, int]]:
    """Pairs of members that do not learn, with the fewest games first, ties in the members' order."""
    first, second = np.triu_indices(len(games))
    still = ~(np.isin(first, live) | np.isin(second, live)) & np.isfinite(games[first, second])
    first, second = first[still], second[still]
    order = np.argsort(games[first, second], kind="stable")
    yield from zip(first[order].tolist(), second[order].tolist(), strict=True)
