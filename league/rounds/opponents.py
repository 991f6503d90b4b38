"""Practice opponents of a learner with probabilities and reasons: groups of opponents, and the mixture of rules.

A role is a list of branches, such as AlphaStar's main agent: half by regret among past members, a third itself, the
rest among its own past (Vinyals et al. 2019, Methods, "Populating the league"). A branch applies a rule of
:mod:`league.rounds.matchmaking` to a group of opponents. A branch whose rule abstains, or whose group is empty, passes
its share on to the others. N = opponents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.randomness import generator
from league.play.values import ORACLES, Entrant, Meeting, Member
from league.rounds.matchmaking import OWN_GROUP, RULES, Floats, Group, Kind, Prospects
from league.settings.learners import Branch, LearnerConfig, branches_of
from league.settings.read import Config
from league.standings.history import History
from league.standings.meta_game import (
    MetaGame,
    game_of,
    max_gini_cce,
    max_gini_ce,
    max_welfare_cce,
    nash_bargaining_cce,
    replicator_dynamics,
)
from league.standings.ratings import Payoffs, Shrunk, complete, shrink

if TYPE_CHECKING:
    from league.settings.sections import LeagueConfig, MetaSolver

NEVER = 1e-12  # probabilities and weights below it are 0
EXPLORED = 0.01  # share of projected replicator dynamics that is spread over all members
RULES_WITH_REACHABLE = {"forgotten", "regret", "within_reach"}  # rules that need the reachable points
GROUPS_OF: Mapping[Group, tuple[Kind, ...]] = {
    "all": ("fixed", "generated", "live", "main", "past_self", "self", "snapshot"),
    "fixed": ("fixed", "generated"),
    "generated": ("generated",),
    "live": ("live", "main"),  # other learners, as they are now
    "mains": ("main",),  # learners with the role main
    "oracles": ("oracle",),
    "others": ("fixed", "generated", "live", "main", "past_self", "snapshot"),
    "past_selves": ("past_self",),
    "self": ("self",),
    "snapshots": ("past_self", "snapshot"),
}


class Mix(NamedTuple):
    """Probabilities of opponents, which add up to 1, with reasons."""

    chances: Floats  # [N]
    reasons: tuple[str, ...]


def meetings_of(
    config: Config, learner: LearnerConfig, history: History, seats: Mapping[str, Entrant]
) -> tuple[Meeting, ...]:
    """Practice pairings of ``learner`` in the next round, likeliest first; ``seats``: all members as they are now."""
    members = history.members
    branches = branches_of(learner.matchmaking)
    rules = {branch.rule for branch in branches}
    responses = _shares_of_oracles(config, learner.name, members) if "oracles" in rules else {}
    opponents = [i for i, member in enumerate(members) if _may_meet(learner, member, members)]
    opponents += responses
    others_only = [i for i in opponents if members[i].name != learner.name]
    if others_only and not any("self" in GROUPS_OF[_group(branch)] for branch in branches):
        opponents = others_only
    names = [members[i].name for i in opponents]
    figures = prospects(
        history.cross.payoffs(),
        next(i for i, member in enumerate(members) if member.name == learner.name),
        opponents,
        [_kind(learner.name, members[i]) for i in opponents],
        [members[i].born for i in opponents],
        reached=history.cross.best_reached() if rules & RULES_WITH_REACHABLE else None,
        shrunk=history.cross.shrunk(),
    )
    figures = figures._replace(**_snapshots(history, opponents)) if "skill_levels" in rules else figures
    if responses:
        figures = figures._replace(responses=np.array([responses.get(i, 0.0) for i in opponents]))
    first = second = mix_branches(branches, figures, config.league.floor)
    if "meta_mixture" in rules:
        shares = _mixture(config.league, history, learner.name, opponents)
        first, second = (
            mix_branches(branches, figures._replace(mixture=of_seat), config.league.floor) for of_seat in shares.T
        )
    meetings = [
        _meeting(seats[name], *row)
        for name, *row in zip(
            names, first.chances.tolist(), second.chances.tolist(), first.reasons, second.reasons, strict=True
        )
    ]
    return tuple(
        sorted(
            (meeting for meeting in meetings if meeting.probability > NEVER),
            key=lambda meeting: (-meeting.probability, meeting.opponent.name),
        )
    )


def prospects(
    payoffs: Payoffs,
    learner: int,
    opponents: Sequence[int],
    kinds: Sequence[Kind],
    born: Sequence[int],
    *,
    reached: Floats | None = None,
    shrunk: Shrunk | None = None,
) -> Prospects:
    """Figures of ``opponents`` for ``learner`` from the payoff table, members by number; ``kinds[N]``, ``born[N]``.

    Points are shrunk (:func:`league.standings.ratings.shrink`), or taken from ``shrunk``. ``reached``: see
    :meth:`league.standings.crossplay.CrossPlay.best_reached`; unknown by default.
    """
    shrunk, columns = shrink(payoffs) if shrunk is None else shrunk, list(opponents)
    played = payoffs.games[learner][:, columns].T > 0  # [N, 2]
    return Prospects(
        kinds=tuple(kinds),
        born=np.array(born, dtype=np.int64),
        scored=np.where(played, shrunk.mean[learner][:, columns].T, np.nan),
        reachable=np.full((len(columns), 2), np.nan) if reached is None else reached[:, columns].T,
        variance=payoffs.variance[learner][:, columns].T,
        mixture=np.zeros(len(columns)),
        won=payoffs.won[learner][:, columns].T,
    )


def _meeting(opponent: Entrant, first: float, second: float, why_first: str, why_second: str) -> Meeting:
    if first == second:
        return Meeting(opponent, first, why_first)
    reason = f"in seat_0 {first:.1%}: {why_first or 'never'}; in seat_1 {second:.1%}: {why_second or 'never'}"
    return Meeting(opponent, (first + second) / 2, reason, (first, second))


def mix_branches(branches: Sequence[Branch], figures: Prospects, floor: float) -> Mix:
    """Probabilities over all opponents, one at least, from one branch or more.

    ``floor`` (0..1) of the probability is spread evenly, so that every opponent is drawn at times. If every branch
    abstains, all opponents are equally likely.
    """
    total, parts = np.zeros(len(figures.kinds)), [list[str]() for _ in figures.kinds]
    live = [(branch, shares) for branch in branches if (shares := _branch_shares(branch, figures)) is not None]
    total_share = sum(branch.share for branch, _ in live)
    for branch, (places, weights, reasons) in live:
        share = (1 - floor) * branch.share / total_share
        total[places] += share * weights
        for i, weight, reason in zip(places.tolist(), weights.tolist(), reasons, strict=True):
            if weight > 0:
                parts[i].append(f"{share * weight:.1%} {reason}")
    if not live:
        even = 1 / len(total)
        return Mix(np.full(len(total), even), (f"{even:.1%} nothing is known",) * len(total))
    even = floor / len(total)
    tail = [f"{even:.1%} floor"] if floor > 0 else []
    return Mix(total + even, tuple("; ".join(reasons + tail) for reasons in parts))


def _branch_shares(branch: Branch, figures: Prospects) -> tuple[NDArray[np.int64], Floats, tuple[str, ...]] | None:
    """Opponents of a branch's group with shares in the branch and reasons; ``None`` if the branch abstains."""
    kinds = GROUPS_OF[_group(branch)]
    places = np.array([i for i, kind in enumerate(figures.kinds) if kind in kinds], dtype=np.int64)
    if not len(places):
        return None
    weights, reasons = RULES[branch.rule](figures.select(places))
    largest = weights.max()  # divided by first, so that sums neither overflow nor underflow
    if not largest > NEVER:
        return None
    shares = weights / largest
    return places, shares / shares.sum(), reasons


def _group(branch: Branch) -> Group:
    return OWN_GROUP.get(branch.rule, branch.among)


def _may_meet(learner: LearnerConfig, member: Member, members: Sequence[Member]) -> bool:
    """Whether ``member`` is allowed in practice: of the split ``train``, and not expensive to query.

    A main exploiter practices against mains and their snapshots, or against the one main that it exploits. Oracles are
    opponents by their own rule only.
    """
    if member.split != "train" or member.costly or member.role in ORACLES:
        return False
    if learner.role != "main_exploiter" or member.name == learner.name:
        return True
    mains = {other.name for other in members if other.role == "main" and learner.exploits in (None, other.name)}
    return not mains or member.name in mains or member.parent in mains


def _shares_of_oracles(config: Config, learner: str, members: Sequence[Member]) -> dict[int, float]:
    """The best responses to ``learner`` that practice with it, by their numbers among ``members``, and their shares."""
    shares: dict[int, float] = {}
    for oracle in config.oracles:
        born = [i for i, member in enumerate(members) if member.name == oracle.member_name(member.born)]
        if oracle.of == learner and born:
            newest = born[: -oracle.kept - 1 : -1] if oracle.kept else born[::-1]
            shares |= zip(newest, shares_of_newest(oracle.newest, len(newest)), strict=True)
    return shares


def shares_of_newest(newest: float | None, size: int) -> list[float]:
    """The shares of the ``size`` newest best responses in practice, newest first, which add up to 1."""
    if newest is None or size == 1:
        return [1 / size] * size
    return [newest, *[(1 - newest) / (size - 1)] * (size - 1)]


def _kind(learner: str, member: Member) -> Kind:
    if member.name == learner:
        return "self"
    if member.role == "snapshot":
        return "past_self" if member.parent == learner else "snapshot"
    if member.role in ORACLES:
        return "oracle"
    if member.role == "main":
        return "main"
    if member.live:
        return "live"
    return "generated" if member.spec is not None and member.spec.kind == "generated" else "fixed"


def _snapshots(history: History, opponents: Sequence[int]) -> dict[str, Any]:
    """The learner of which each opponent is a snapshot, and its points against itself."""
    members, mean = [history.members[i] for i in opponents], history.cross.payoffs().mean
    families = tuple((member.parent or "") if member.role == "snapshot" else "" for member in members)
    return {"families": families, "alone": np.array([mean[i, :, i].mean() for i in opponents])}


def _mixture(league: LeagueConfig, history: History, oracle: str, opponents: Sequence[int]) -> NDArray[np.float64]:
    """Share of each opponent in either seat, ``[N, 2]``, in a solution of the meta-game between unchanging opponents.

    The payoffs are those when the oracle's newest snapshot joined (``history.settled``); members without games then
    have no share.
    """
    shares = np.zeros((len(opponents), 2))
    payoffs = history.settled.get(oracle)
    if payoffs is None:
        shares[[history.members[i].role == "fixed" for i in opponents]] = 1.0
        return shares
    games = payoffs.games.sum(axis=(1, 2)) + payoffs.games.sum(axis=(0, 1))
    still = [
        number
        for number, i in enumerate(opponents)
        if i < len(games) and games[i] > 0 and history.members[i].role in ("fixed", "snapshot")
    ]
    if not still:
        return shares
    unchanging, lives = [opponents[number] for number in still], len(history.snapshots_of(oracle))
    drawn = generator(league.seed, "recommendation", history.cross.place[oracle], lives).random(2)
    game = game_of(complete(payoffs.mean, payoffs.games)[np.ix_(unchanging, (0, 1), unchanging)])
    shares[still] = np.column_stack(solution(league.meta_solver, game, (float(drawn[0]), float(drawn[1]))))
    return shares


def solution(solver: MetaSolver, game: MetaGame, drawn: tuple[float, float] = (0.0, 0.0)) -> tuple[Floats, Floats]:
    """Shares of the members in seat_0, ``[A]``, and in seat_1, ``[B]``, in a solution of the meta-game.

    ``replicator``: projected replicator dynamics (Lanctot et al. 2017, section 3.1); ``max_gini_ce``: the opponents
    given the recommendation at ``drawn`` (0..1) of a correlated equilibrium; otherwise, except for ``uniform``, the
    marginals of a coarse one (Marris et al. 2021).
    """
    if solver == "uniform":
        return np.full(len(game.first), 1 / len(game.first)), np.full(len(game.second.T), 1 / len(game.second.T))
    if solver == "replicator":
        return replicator_dynamics(game, EXPLORED)
    if solver == "max_gini_ce":
        return max_gini_ce(game).conditionals(drawn)
    solve = {"max_gini": max_gini_cce, "max_welfare": max_welfare_cce, "nash_bargaining": nash_bargaining_cce}[solver]
    return solve(game).mixtures
