"""Which pairs meet in a round's matches, and why: those whose result is news, then those met least.

A learner has changed since the last round, so it meets as many as ``league.opponents`` allows; members that never
change need to meet once, and more often only to narrow an interval: at most ``league.pairs`` such matches a round,
those first that have met least. A match is played in both seat orders on the scenarios of the round.

Members that cost something to ask (language models, people) stay out of that: they play ``league.costly`` matches a
round, those first that are expected to tell most for what they cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from league.settings.learners import LearnerConfig
from league.settings.read import Config
from league.standings.history import History
from league.standings.ratings import POPOVICIU, STRENGTH, Payoffs
from league.tasks.values import Member
from partners.rosters import TRAIN, plain_name, roster

Pair = tuple[str, str, str]  # two members and the reason


def pairs_of(config: Config, history: History) -> list[Pair]:
    """The matches of the next round, each pair once, in the order of importance."""
    members, payoffs = history.members, history.cross.payoffs()
    games = payoffs.games.sum(axis=1)  # [N, N] both seats
    costly = [i for i, member in enumerate(members) if member.costly]
    games[costly], games[:, costly] = np.inf, np.inf  # met least by nobody
    chosen: dict[tuple[int, int], str] = {}

    def add(i: int, j: int, reason: str) -> bool:
        pair = (min(i, j), max(i, j))
        new = pair not in chosen
        chosen.setdefault(pair, reason)
        return new

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
        for j in _least_met(games[i])[: config.league.opponents]:
            add(i, j, "a learner: it has changed since it last played")
    newborn = [i for i, member in enumerate(members) if member.role == "snapshot" and member.born == history.round]
    if any("skill_levels" in branch for learner in _every(config) for branch in learner.matchmaking):
        for i in newborn:
            add(i, i, "a new snapshot: what it gets with itself says how skilled it is")
    for i in newborn:
        for j in _least_met(games[i])[: config.league.opponents]:
            add(i, j, "a new snapshot: it has not played before")
    left = config.league.pairs
    for i, j in _pairs_least_met(games, live):
        if left <= 0:
            break
        left -= add(i, j, f"coverage: {games[i, j]:,.0f} games so far")
    for i, j, reason in _worth_their_cost(payoffs, costly, 2 * config.league.block_size)[: config.league.costly]:
        add(i, j, reason)
    return [(members[i].name, members[j].name, reason) for (i, j), reason in chosen.items()]


def _every(config: Config) -> Iterator[LearnerConfig]:
    """All learners, as they are and as each stage has them."""
    for learner in config.learners:
        stages = (stage.learner(learner) for stage in config.curriculum)
        yield from (learner, *(changed for changed in stages if changed is not None))


def gate_pool(config: Config, members: Sequence[Member]) -> list[int]:
    """Against whom a learner is judged: whom ``gate`` lists, practiced against or not.

    Where it lists nobody, the league's members of the roster train, or else all that never learn.
    """
    if config.gate:
        specs = {member.spec for member in config.gate}
        return [i for i, member in enumerate(members) if member.spec in specs]
    still = [(i, m.spec) for i, m in enumerate(members) if m.role == "fixed" and m.split == "train"]
    train = set(roster(TRAIN))
    listed = [i for i, spec in still if spec is not None and plain_name(spec) in train]
    return listed or [i for i, _ in still]


def _worth_their_cost(payoffs: Payoffs, costly: list[int], games: int) -> list[tuple[int, int, str]]:
    """Pairs with a costly member, those first whose match narrows most variance of a mean per game that is paid for.

    After ``n`` games of variance ``v`` the mean of a cell has variance ``v / (n + STRENGTH)``; a match adds ``games``.
    A game between two costly members costs twice.
    """
    met = payoffs.games.sum(axis=1)
    spread = np.where(payoffs.games > 1, np.nan_to_num(payoffs.variance), POPOVICIU).mean(axis=1)
    narrowed = spread / (met + STRENGTH) - spread / (met + games + STRENGTH)
    pairs = []
    for i in costly:
        for j in range(len(met)):
            if j == i or (j in costly and j < i):
                continue
            cost = games * (1 + (j in costly))
            gain = float(narrowed[i, j] + narrowed[j, i])
            worth = f"{gain:.3f} squared points for {cost:,} games that are paid for"
            pairs.append((gain / cost, i, j, f"information: {worth}, {met[i, j]:,.0f} so far"))
    pairs.sort(key=lambda pair: -pair[0])
    return [(i, j, reason) for _, i, j, reason in pairs]


def _least_met(games: NDArray[np.float64]) -> list[int]:
    order: list[int] = np.argsort(games, kind="stable").tolist()
    return order[: int(np.isfinite(games).sum())]


def _pairs_least_met(games: NDArray[np.float64], live: list[int]) -> Iterator[tuple[int, int]]:
    """Pairs of members that do not learn, those that have met least first, equal ones in the members' order."""
    first, second = np.triu_indices(len(games))
    still = ~(np.isin(first, live) | np.isin(second, live)) & np.isfinite(games[first, second])
    first, second = first[still], second[still]
    order = np.argsort(games[first, second], kind="stable")
    yield from zip(first[order].tolist(), second[order].tolist(), strict=True)
