"""Plan of a round, its stage, practice and matches, from settings, history and states of the learners.

Matches: a learner has changed since the last round, so it plays ``league.opponents`` members again; members that never
change play each other once, and more often only to narrow an interval: at most ``league.pairs`` such matches a round,
those with the fewest games first. Left out of that are members that are expensive to query (language models, people):
they play ``league.costly`` matches a round, those with the most expected information per cost first; and best responses
to a learner (oracles): the newest one plays that learner. A match is played in both seat orders on the scenarios of the
round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, takewhile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.occupants import seat_occupant
from league.play.devices import check_devices
from league.play.provenance import league_ancestries
from league.play.values import ORACLES, Block, Decision, Entrant, LearnerState, MatchTask, Member, TrainTask
from league.rounds.matchmaking import matchmaking_in_words
from league.rounds.opponents import meetings_of
from league.settings.learners import LearnerConfig, StageConfig, Until
from league.settings.read import Config
from league.standings.history import History
from league.standings.ratings import POPOVICIU, STRENGTH, Payoffs
from partners.provenance import refuse_test_roster
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


def check_start(config: Config) -> None:
    """Check that the learners' devices are there and that each member can be seated, before anything is played.

    Raises :class:`league.play.devices.DeviceError` and :class:`dond_marl.errors.InputError`.
    """
    check_devices(config.learners)
    for member in (*config.members, *config.gate, *config.heldout):
        seat_occupant(member.spec)


def members_of(config: Config) -> tuple[Member, ...]:
    """The members of a config: learners, then fixed members, members of the gate, and held-out members."""
    learners = tuple(Member(learner.name, learner.train, learner.role) for learner in config.learners)
    fixed = tuple(Member(member.name, member.spec) for member in config.members)
    specs = {member.spec for member in config.members}  # the gate may list some of them too
    gate = tuple(Member(m.name, m.spec, split="gate") for m in config.gate if m.spec not in specs)
    return learners + fixed + gate + tuple(Member(m.name, m.spec, split="heldout") for m in config.heldout)


def first_states(config: Config, blobs: Path) -> dict[str, LearnerState]:
    """States of the learners before the first round; their weights are written into the folder ``blobs``.

    Raises what :func:`check_start` raises, :class:`partners.learning.first_weights.FirstWeightsError`, and
    :class:`partners.provenance.ProvenanceError` if a learner would train with a held-out roster.
    """
    check_start(config)
    if not config.learners:
        return {}
    pasts = league_ancestries(config)
    for name, past in pasts.items():
        refuse_test_roster(past, name)
    from league.play import practice
    from league.play.blobs import write_blob  # loads PyTorch

    states = {}
    for name, state, content in practice.first_states(config, config.learners, pasts):
        write_blob(blobs, content)
        states[name] = state
    return states


def plan_round(
    config: Config, history: History, states: Mapping[str, LearnerState], blobs: Path | None = None
) -> RoundPlan:
    """Plan the next round; of the weights in ``blobs`` only the names of reservoir buffers (NFSP) are read."""
    number = history.round
    seats = {m.name: Entrant(m, states[m.name].blob if m.live else m.blob) for m in history.members}
    stage, block, pairs = stage_now(config, history), block_of(config, number), pairs_of(config, history)
    training = _training_tasks(config, config.curriculum[stage], history, seats, states, blobs)
    matches = tuple(
        MatchTask(
            round=number,
            number=len(training) + i,
            members=(seats[first], seats[second]),
            block=block,
            env=config.env,
            seed=config.league.seed,
            reason=reason,
            unreached=config.league.unreached,
        )
        for i, (first, second, reason) in enumerate(pairs)
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
    if not config.learners or history.round >= config.league.rounds:
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
    blobs: Path | None,
) -> tuple[TrainTask, ...]:
    base, tasks = {learner.name: learner for learner in config.learners}, list[TrainTask]()
    for learner in _practicing_learners(config, stage, history):
        tasks.append(
            TrainTask(
                round=history.round,
                number=len(tasks),
                learner=learner,
                state=states[learner.name],
                reservoir=_reservoir(learner, states[learner.name], blobs),
                total_decisions=base[learner.name].decisions * rounds_of_practice(config, base[learner.name]),
                meetings=meetings_of(config, learner, history, seats),
                env=stage.env.apply_to(config.env),
                hints=stage.hints_of(learner.name),
                seed=config.league.seed,
                unreached=config.league.unreached,
            )
        )
    return tuple(tasks)


def _reservoir(learner: LearnerConfig, state: LearnerState, blobs: Path | None) -> str | None:
    if not learner.reservoir or blobs is None:
        return None
    from league.play.blobs import reservoir_of  # loads PyTorch

    return reservoir_of(blobs, state.blob)


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
    versions = chain(*map(config.versions, config.learners))
    if any("skill_levels" in branch for version in versions for branch in version.matchmaking):
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


# Curriculum: the stage of each round and the end of stages, as functions of the history


def stage_now(config: Config, history: History) -> int:
    """The index of the stage that the next round practices."""
    if not history.stages:
        return 0
    return history.stages[-1] + (stage_end(config, history) is not None)


def rounds_of_practice(config: Config, learner: LearnerConfig) -> int:
    """Number of rounds in which a learner practices, if every stage has its full length and every gate passes."""
    remaining, practiced = config.league.rounds, 0
    for i, stage in enumerate(config.curriculum):
        last = i + 1 == len(config.curriculum) or stage.rounds is None
        rounds = remaining if last or stage.rounds is None else min(stage.rounds, remaining)
        practiced += rounds if stage.learner(learner) is not None else 0
        remaining -= rounds
    waits = config.league.occasions(learner.snapshot_every) if learner.is_oracle else 0
    return practiced - waits


def stage_end(config: Config, history: History) -> Decision | None:
    """The decision to end the stage of the last round; ``None`` if the stage continues."""
    index = history.stages[-1]
    if index + 1 == len(config.curriculum):
        return None
    stage = config.curriculum[index]
    played = sum(1 for _ in takewhile(lambda other: other == index, reversed(history.stages)))  # rounds
    if stage.until is not None:
        reached, text = _check_figure(stage.until, config, history)
        if reached:
            return Decision("stage", stage.name, True, f"{text} after {played} rounds")
        if stage.rounds is not None and played >= stage.rounds:
            return Decision("stage", stage.name, True, f"time-out after {played} rounds; {text}")
        return None
    if stage.rounds is None or played < stage.rounds:
        return None
    return Decision("stage", stage.name, True, f"its {played} rounds are over")


def describe(config: Config, stage: StageConfig) -> str:
    """A stage in one line: its changes, and its end."""
    changed = stage.env.model_dump(exclude_none=True)
    parts = [
        f"games of at most {value} acts" if key == "max_turns" else f"{key} {value}" for key, value in changed.items()
    ]
    if stage.hints.mode != "none":
        every = f"every {stage.hints.cadence_k} own steps"
        parts.append(f"hints by {stage.hints.mode} {every}{stage.hints.privileged_note}")
    for name, learner in stage.learners.items():
        values = learner.changes()
        if learner.matchmaking is not None:
            values["practice"] = f"with {matchmaking_in_words(values.pop('matchmaking'))}"
        if learner.hints is not None:
            values["hints"] = f"by {learner.hints.mode}"
        parts += [f"{name} does not learn"] if not learner.learns else [f"{name}: {k} {v}" for k, v in values.items()]
    ends = []
    if stage.until is not None:
        until, first = stage.until, config.learners[0].name
        sure = f"{until.confidence:.0%} sure, over at least {until.games:,} games"
        ends.append(f"until {first} has at least {until.at_least:g} points of ten from all others ({sure})")
    if stage.rounds is not None:
        rounds = f"{stage.rounds} round{'s' * (stage.rounds != 1)}"
        ends.append(f"at most {rounds}" if ends else rounds)
    return f"{stage.name}: {', '.join(parts) or 'the league as it is'}; {' or '.join(ends) or 'to the end'}"


def _check_figure(until: Until, config: Config, history: History) -> tuple[bool, str]:
    learner = config.learners[0].name
    points = history.cross.tally("points", learner).mean(2 * until.confidence - 1)
    text = f"{learner} has {points.mean:.2f} points of ten, at least {points.low:.2f} at {until.confidence:.0%}"
    if points.n < until.games:
        return False, f"{text}, over {points.n:,} of {until.games:,} games"
    return points.low >= until.at_least, text  # false for nan
