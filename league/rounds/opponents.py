"""Whom a learner practices against, how often and why: its role's branches over what the league knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from league.rounds.branches import GROUPS_OF, OWN_GROUP, Kind, meetings, prospects
from league.rounds.matches import asks_for_pay
from league.settings.learner import LearnerConfig, branches_of
from league.settings.read import Config
from league.standings.history import History
from league.standings.payoffs import complete
from league.tasks.values import Member, Seated

if TYPE_CHECKING:
    from league.settings.sections import MetaSolver
    from league.tasks.practice import Meeting

NEVER = 1e-12  # a probability that is none
BOUNDS = 0.95  # of what is reachable; not league.confidence, which only says how figures are shown


def meetings_of(
    config: Config, learner: LearnerConfig, history: History, seats: Mapping[str, Seated]
) -> tuple[Meeting, ...]:
    """The practice of ``learner`` in the next round, likeliest first; ``seats``: everybody as they are now."""
    from league.tasks.practice import Meeting

    members = history.members
    branches = branches_of(learner.matchmaking)
    itself = any("self" in GROUPS_OF[OWN_GROUP.get(branch.rule, branch.among)] for branch in branches)
    opponents = [place for place, member in enumerate(members) if _may_meet(learner, member, members)]
    others = [place for place in opponents if members[place].name != learner.name]
    opponents = opponents if itself or not others else others
    kinds = [_kind(learner.name, members[place]) for place in opponents]
    rules = {branch.rule for branch in branches}
    names = [members[place].name for place in opponents]
    known = prospects(
        history.cross.payoffs(),
        next(place for place, member in enumerate(members) if member.name == learner.name),
        opponents,
        kinds,
        [members[place].born for place in opponents],
        confidence=BOUNDS,
        rounds=history.rounds_of(learner.name, names) if "learning_progress" in rules else None,
        mixture=_mixture(config.league.meta_solver, history, opponents) if "meta_mixture" in rules else None,
    )
    chosen = meetings(branches, known, config.league.floor)
    told = sorted(zip(names, chosen.chances.tolist(), chosen.reasons, strict=True), key=lambda one: (-one[1], one[0]))
    return tuple(Meeting(seats[name], chance, reason) for name, chance, reason in told if chance > NEVER)


def _may_meet(learner: LearnerConfig, member: Member, members: Sequence[Member]) -> bool:
    """A learner practices against the split ``train`` alone, never against members that cost something to ask.

    A main exploiter practices against mains and what they were.
    """
    if member.split != "train" or asks_for_pay(member):
        return False
    if learner.role != "main_exploiter" or member.name == learner.name:
        return True
    roles = {one.name: one.role for one in members}
    mains = any(role == "main" for role in roles.values())
    return not mains or "main" in (member.role, roles.get(member.parent or ""))


def _kind(learner: str, member: Member) -> Kind:
    """What a member is to a learner."""
    if member.name == learner:
        return "self"
    if member.role == "snapshot":
        return "past_self" if member.parent == learner else "snapshot"
    if member.role == "main":
        return "main"
    return "live" if member.live else "fixed"


def _mixture(solver: MetaSolver, history: History, opponents: Sequence[int]) -> NDArray[np.float64]:
    """How often each opponent plays in a solution of the game between those of them that do not learn, ``[N]``.

    The share of a member is its mean over both seats (PSRO's meta-solver: Lanctot et al. 2017).
    """
    from league.standings.evolution import replicator
    from league.standings.meta_game import game_of, max_welfare_cce, nash_bargaining_cce

    still = [place for place, member in enumerate(opponents) if not history.members[member].live]
    shares = np.zeros(len(opponents))
    payoffs = history.cross.payoffs()
    if not still or not payoffs.games.any():
        return shares
    those = [opponents[place] for place in still]
    game = game_of(complete(payoffs)[np.ix_(those, (0, 1), those)])
    if solver == "uniform":
        shares[still] = 1 / len(still)
        return shares
    if solver == "replicator":
        drift = replicator(game, floor=0.01)
        first, second = drift.first, drift.second
    else:
        first, second = (max_welfare_cce if solver == "max_welfare" else nash_bargaining_cce)(game).mixtures
    shares[still] = (first + second) / 2
    return shares
