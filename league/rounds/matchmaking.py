"""Matchmaking rules: weights of opponents for a learner's practice, one function per rule.

A rule maps figures of a group of opponents (:class:`Prospects`) to weights and their reasons; the groups of opponents
and the mixture of rules of a role are in :mod:`league.rounds.opponents`. To add a rule, write its function, put it in
``RULES``, its words in ``IN_WORDS``, and its name in :data:`league.settings.learners.RuleName`.

``regret`` and ``variance`` are general-sum forms of AlphaStar's prioritized fictitious self-play (Vinyals et al. 2019,
Methods), which weighs an opponent that is beaten with probability x by (1 - x)**2 or by x (1 - x). Where a game is won
(10 points) or lost (0), a league weighs by them as AlphaStar does, apart from the shrinkage of its cells, once every
opponent has been beaten on every scenario by some member: the reachable points against an opponent are those of the
best game of any member on each scenario. Against an opponent that never leaves more than some points, no more are
reachable, so losing to it is no regret. N = opponents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from dond_marl.statistics import TEN
from league.settings.learners import AMONG, Among, RuleName

Floats = NDArray[np.float64]
Group = Among | Literal["oracles"]  # a branch names no group of oracles: they have a rule
Kind = Literal["fixed", "generated", "live", "main", "oracle", "past_self", "self", "snapshot"]
POWER = 2.0  # of the regret, as AlphaStar's (1 - x)**2
SIGNAL = 0.2  # share of the reachable points: AlphaStar's 20 % of games won (Vinyals et al. 2019, Methods)
LOST = 0.3  # share of the reachable points: its 30 % of games won, for former exploiters (supplement, pseudocode)


class Prospects(NamedTuple):
    """Figures of each opponent for one learner; points of ten, by the learner's seat, ``nan`` if unknown."""

    kinds: tuple[Kind, ...]  # [N] relation to the learner
    born: NDArray[np.int64]  # [N] round of joining
    scored: Floats  # [N, 2] the learner's mean points
    reachable: Floats  # [N, 2] mean over scenarios of the best game of any member
    variance: Floats  # [N, 2] of one game's points, squared points
    mixture: Floats  # [N] shares in the meta-game's solution, in one seat; all 0 if there is none
    won: Floats  # [N, 2] share of the games that the learner won, a draw being half a win; nan: unknown
    families: tuple[str, ...] = ()  # [N] the learner that it is a snapshot of; empty if none
    alone: Floats = np.zeros(0)  # [N] points of ten against itself; nan: unknown
    responses: Floats = np.zeros(0)  # [N] shares of the best responses to the learner; 0 for other opponents

    def select(self, places: NDArray[np.int64]) -> Prospects:
        """The figures of the opponents at ``places``."""
        selected: dict[str, Any] = {
            name: tuple(value[i] for i in places) if isinstance(value, tuple) else value[places]
            for name, value in self._asdict().items()
            if len(value)
        }
        return self._replace(**selected)


class Weighed(NamedTuple):
    """Weights of opponents, 0 or more in any unit, with reasons; a rule with all weights 0 abstains."""

    weights: Floats  # [N]
    reasons: tuple[str, ...]


Rule = Callable[[Prospects], Weighed]


def forgotten(opponents: Prospects) -> Weighed:
    """Opponents against which it gets less than ``LOST`` of the reachable points: ``(1 - that share)**2``.

    AlphaStar's main agents verify in this way that they still beat former exploiters and their own past versions, by
    games won (Vinyals et al. 2019, supplement, pseudocode); from wins and losses the share is that of the games won.
    Unlike there: one bound, where AlphaStar has 70 % for past versions; and only opponents below it, where AlphaStar
    draws from all former exploiters, or all past versions, once one of them is below.
    """
    gained = _share_of_reachable(opponents)
    weights = np.where(gained < LOST, (1 - np.minimum(gained, 1.0)) ** POWER, 0.0)  # 0 for nan
    return Weighed(weights, tuple(f"forgotten: gets {_percent(share)} of what is reachable" for share in gained))


def losses(opponents: Prospects) -> Weighed:
    """Opponents that it loses to: ``(1 - x)**2``, x the share of its games that it won, the seats' mean.

    AlphaStar's weights for the hardest opponents (Vinyals et al. 2019, Methods). In bargaining they reward having more
    than the other side, not having more: the leagues of this project use :func:`regret`. Unknown shares count as lost.
    """
    won = np.nan_to_num(opponents.won, nan=0.0)
    weights = ((1 - won) ** POWER).mean(axis=1)
    return Weighed(weights, tuple(f"losses: wins {share:.0%}" for share in won.mean(axis=1)))


def meta_mixture(opponents: Prospects) -> Weighed:
    """Weights in proportion to a solution of the meta-game (``league.meta_solver``), by the opponent's seat.

    So each seat's oracle trains a best response to the other seat's marginal, which does not change between the first
    matches of the oracle's newest snapshot and its next one (policy-space response oracles: Lanctot et al. 2017,
    section 3, algorithm 1; joint ones, of a coarse correlated equilibrium: Marris et al. 2021). Before its first
    snapshot all fixed members have equal weights.
    """
    return Weighed(opponents.mixture, tuple(f"meta-mixture: {share:.1%} of it" for share in opponents.mixture))


def oracles(opponents: Prospects) -> Weighed:
    """The newest best responses to the learner, with the shares that its oracles have in the settings."""
    return Weighed(opponents.responses, tuple(f"oracles: best response after round {n}" for n in opponents.born))


def past_selves(opponents: Prospects) -> Weighed:
    """The learner's own snapshots, with equal weights."""
    return _equal_weights(opponents, "past selves")


def regret(opponents: Prospects) -> Weighed:
    """Opponents with the most points left to gain: ``((reachable - scored) / 10)**2`` if positive, the seats' mean.

    Unknown points have the largest weight, 1; unknown reachable points count as 10.
    """
    gap = np.maximum(np.nan_to_num(opponents.reachable, nan=TEN) - np.nan_to_num(opponents.scored, nan=0.0), 0.0) / TEN
    weights = (np.where(np.isnan(opponents.scored), 1.0, gap) ** POWER).mean(axis=1)
    means = zip(opponents.scored.mean(axis=1), opponents.reachable.mean(axis=1), strict=True)
    return Weighed(
        weights, tuple(f"regret: scores {_points_text(scored)} of {_points_text(best)}" for scored, best in means)
    )


def self_play(opponents: Prospects) -> Weighed:
    """The learner itself, as it is now."""
    return _equal_weights(opponents, "self-play")


def skill_levels(opponents: Prospects) -> Weighed:
    """Three snapshots a learner, with equal weights: the first, the last, and the first with half the last one's skill.

    Skill is the points against itself; if unknown, the middle snapshot in time is taken. The partners of fictitious
    co-play (Strouse et al. 2021): beginning, end, and half the reward of self-play.
    """
    weights, reasons = np.zeros(len(opponents.kinds)), ["skill levels"] * len(opponents.kinds)
    for family in sorted({*opponents.families} - {""}):
        places = [i for i, parent in enumerate(opponents.families) if parent == family]
        places.sort(key=lambda i: int(opponents.born[i]))  # stable: of one round, the first weights come first
        half = [i for i in places if opponents.alone[i] >= opponents.alone[places[-1]] / 2]
        between = half[0] if half else places[len(places) // 2]
        for level, i in (("half as good as", between), ("the last of", places[-1]), ("the first of", places[0])):
            weights[i], reasons[i] = 1.0, f"skill levels: {level} {family}"
    return Weighed(weights, tuple(reasons))


def uniform(opponents: Prospects) -> Weighed:
    """All opponents with equal weights."""
    return _equal_weights(opponents, "uniform")


def variance(opponents: Prospects) -> Weighed:
    """Opponents with uncertain outcomes: ``Var(own points) / 10**2``, the seats' mean.

    The variance between scenarios is included. An unknown variance counts as the largest possible, a quarter.
    """
    weights = (np.nan_to_num(opponents.variance, nan=TEN**2 / 4) / TEN**2).mean(axis=1)
    deviations = np.sqrt(opponents.variance.mean(axis=1))
    return Weighed(weights, tuple(f"variance: points vary by {_points_text(deviation)}" for deviation in deviations))


def within_reach(opponents: Prospects) -> Weighed:
    """Opponents against which it gets ``SIGNAL`` of the reachable points or more, or unknown; equal weights.

    Without any the branch abstains, and its share goes to the others: so AlphaStar's main exploiters turn from a main
    that they hardly ever beat to its past versions (Vinyals et al. 2019, Methods); points replace wins, and from wins
    and losses the share is that of the games won.
    """
    gained = _share_of_reachable(opponents)
    weights = np.where(gained < SIGNAL, 0.0, 1.0)  # 1 for nan
    return Weighed(weights, tuple(f"within reach: gets {_percent(share)} of what is reachable" for share in gained))


_ALL = (
    forgotten, losses, meta_mixture, oracles, past_selves, regret, self_play, skill_levels, uniform, variance,
    within_reach,
)  # fmt: skip
RULES: dict[str, Rule] = {rule.__name__: rule for rule in _ALL}
# Rules whose name is a group.
OWN_GROUP: dict[RuleName, Group] = {"oracles": "oracles", "past_selves": "past_selves", "self_play": "self"}
IN_WORDS: Mapping[str, str] = {  # a rule, for people
    "forgotten": "those against which it has forgotten",
    "losses": "more with those to which it loses",
    "meta_mixture": "the solution of the meta-game",
    "oracles": "best responses to it",
    "past_selves": "its past selves",
    "regret": "more where most is left to gain",
    "self_play": "itself",
    "skill_levels": "all levels of skill",
    "uniform": "all alike",
    "variance": "more where results vary",
    "within_reach": "those within reach",
}
assert set(RULES) == set(get_args(RuleName)) == set(IN_WORDS), "RuleName in the settings, RULES and IN_WORDS differ"


def matchmaking_in_words(shares: Mapping[str, float]) -> str:
    """A learner's opponents for people: ``70% fixed members (all alike), 30% itself``."""
    total, words = sum(shares.values()), []
    for branch, share in shares.items():
        rule, _, among = branch.partition(AMONG)
        group = f"{among} members ({IN_WORDS[rule]})" if among == "fixed" else f"{among} ({IN_WORDS[rule]})"
        words.append(f"{share / total:.0%} {group if among else IN_WORDS[rule]}")
    return ", ".join(words)


def _equal_weights(opponents: Prospects, reason: str) -> Weighed:
    return Weighed(np.ones(len(opponents.kinds)), (reason,) * len(opponents.kinds))


def _share_of_reachable(opponents: Prospects) -> Floats:
    """Share of the reachable points that the learner gets, mean of both seats, ``[N]``; ``nan``: unknown.

    1 if no points are reachable.
    """
    scored, reachable = opponents.scored.mean(axis=1), opponents.reachable.mean(axis=1)
    return np.where(reachable == 0, 1.0, scored / np.where(reachable == 0, 1.0, reachable))


def _percent(share: float) -> str:
    return "an unknown part" if np.isnan(share) else f"{share:.0%}"


def _points_text(points: float) -> str:
    return "unknown" if np.isnan(points) else f"{points:.2f}"
