"""The rules of matchmaking: how much meeting each opponent would teach a learner, one function per rule.

A rule maps what is known of a group of opponents (:class:`Prospects`) to weights and their reasons; which opponents a
rule is applied to, and how the rules of a role are mixed, is :mod:`league.rounds.opponents`. To add a rule, write its
function, put it in ``RULES`` and its name in :data:`league.settings.learners.RuleName`.

``regret`` and ``variance`` are general-sum forms of AlphaStar's prioritized fictitious self-play (Vinyals et al. 2019,
Methods), which weighs an opponent that is beaten with probability x by (1 - x)**2 or by x (1 - x). Where a game is won
(10 points) or lost (0), a league mixes by them as AlphaStar does, but for how its cells are shrunk, once every opponent
has been beaten on every scenario by somebody: what is reachable against it is the best game that anybody had on each
scenario. Against an opponent that leaves nobody more than some points, those are reachable and no more, so that losing
to it is no regret. N = opponents, R = rounds so far.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from dond_marl.statistics import TEN
from league.settings.learners import Among, RuleName

Floats = NDArray[np.float64]
Kind = Literal["fixed", "live", "main", "past_self", "self", "snapshot"]
POWER = 2.0  # of the regret, as AlphaStar's (1 - x)**2
SIGNAL = 0.2  # of what is reachable: AlphaStar's 20 % of games won (Vinyals et al. 2019, Methods)
LOST = 0.3  # of what is reachable: its 30 % of games won, of former exploiters (supplement, pseudocode)
FAST, SLOW = 0.3, 0.05  # of an opponent's latest round in the two running means of learning progress


class Prospects(NamedTuple):
    """What a learner knows of each opponent; points are of ten, by the learner's seat, ``nan`` where not known."""

    kinds: tuple[Kind, ...]  # [N], what each is to the learner
    born: NDArray[np.int64]  # [N] round
    scored: Floats  # [N, 2] the learner's mean points
    reachable: Floats  # [N, 2] mean over scenarios of the best game that anybody had
    variance: Floats  # [N, 2] of one game's points, squared points
    games: Floats  # [N] effective number of games, both seats
    rounds: Floats  # [R, N] the learner's mean points in each round so far
    mixture: Floats  # [N] shares in the meta-game's solution, in one seat; all 0 where there is none
    won: Floats  # [N, 2] share of the games that the learner won, a draw being half a win; nan: not known
    families: tuple[str, ...] = ()  # [N] whose snapshot each is, empty where it is none
    alone: Floats = np.zeros(0)  # [N] what each gets with itself, points of ten; nan: not known


class Weighed(NamedTuple):
    """How much each opponent counts, 0 or more in any unit, and why; where all weights are 0, a rule abstains."""

    weights: Floats  # [N]
    reasons: tuple[str, ...]


Rule = Callable[[Prospects], Weighed]


def coverage(known: Prospects) -> Weighed:
    """Those met least: ``sqrt(log(1 + all games) / games)``, fewer than one game counting as one.

    The width of an upper confidence bound (UCB1: Auer, Cesa-Bianchi & Fischer 2002).
    """
    weights = np.sqrt(np.log1p(known.games.sum()) / np.maximum(known.games, 1.0))
    return Weighed(weights, tuple(f"coverage: {games:.0f} games so far" for games in known.games))


def forgotten(known: Prospects) -> Weighed:
    """Those against whom it gets less than ``LOST`` of what is reachable: ``(1 - that share)**2``, and nobody else.

    AlphaStar's main agents verify in this way that they still beat former exploiters and who they were, by games won
    (Vinyals et al. 2019, supplement, pseudocode); from wins and losses the share is that of the games won. Not as
    there: one bound, where AlphaStar has 70 % for who they were; and only those below it, where AlphaStar draws from
    all former exploiters, or all who they were, once one of them is.
    """
    taken = _taken(known)
    weights = np.where(taken < LOST, (1 - np.minimum(taken, 1.0)) ** POWER, 0.0)  # not where it is nan
    return Weighed(weights, tuple(f"forgotten: gets {_share(share)} of what is reachable" for share in taken))


def latest(known: Prospects) -> Weighed:
    """The newest alone, all of them alike where several are of one round."""
    newest = known.born == known.born.max()
    return Weighed(newest.astype(np.float64), (f"latest: of round {known.born.max()}",) * len(newest))


def learning_progress(known: Prospects) -> Weighed:
    """Those against whom points move fastest, up or down: ``|fast - slow running mean| / 10``.

    Against whom there are fewer than two rounds, nothing is known of progress: the most of all others, or else 1.
    Source: Oudeyer, Kaplan & Hafner 2007; absolute, so that forgetting counts too (Portelas et al. 2020).
    """
    fast, slow = (np.full(known.rounds.shape[1], np.nan) for _ in range(2))
    for scored in known.rounds:
        met, first = ~np.isnan(scored), np.isnan(fast)
        for mean, rate in ((fast, FAST), (slow, SLOW)):
            mean[met & first] = scored[met & first]
            mean[met & ~first] += rate * (scored - mean)[met & ~first]
    moved = np.abs(fast - slow) / TEN
    enough = np.count_nonzero(~np.isnan(known.rounds), axis=0) > 1
    moved[~enough] = moved[enough].max() if enough.any() else 1.0
    return Weighed(moved, tuple(f"learning progress: moved by {_points(TEN * x)}" for x in moved))


def losses(known: Prospects) -> Weighed:
    """Those it loses to: ``(1 - x)**2``, x the share of its games that it won, the seats' mean.

    AlphaStar's weights for the hardest opponents (Vinyals et al. 2019, Methods). In bargaining they ask for more than
    the other side has, not for more: :func:`regret` is what the leagues of this project use. What is not known counts
    as lost.
    """
    won = np.nan_to_num(known.won, nan=0.0)
    weights = ((1 - won) ** POWER).mean(axis=1)
    return Weighed(weights, tuple(f"losses: wins {share:.0%}" for share in won.mean(axis=1)))


def meta_mixture(known: Prospects) -> Weighed:
    """In proportion to shares in a solution of the meta-game (``league.meta_solver``), those of the opponent's seat.

    So each seat's oracle answers the other seat's marginal, which is fixed for the oracle's life, from its waiting for
    the matches of its last snapshot to its next one (policy-space response oracles: Lanctot et al. 2017, section 3,
    algorithm 1; joint ones, of a coarse correlated equilibrium: Marris et al. 2021). Before its first
    snapshot all fixed members are alike.
    """
    return Weighed(known.mixture, tuple(f"meta-mixture: {share:.1%} of it" for share in known.mixture))


def past_selves(known: Prospects) -> Weighed:
    """The learner's own snapshots, all alike."""
    return _alike(known, "past selves")


def regret(known: Prospects) -> Weighed:
    """Those against whom most is left to gain: ``((reachable - scored) / 10)**2`` where positive, the seats' mean.

    What is not known counts as if everything were left to gain.
    """
    gap = np.maximum(np.nan_to_num(known.reachable, nan=TEN) - np.nan_to_num(known.scored, nan=0.0), 0.0) / TEN
    weights = (np.where(np.isnan(known.scored), 1.0, gap) ** POWER).mean(axis=1)
    means = zip(known.scored.mean(axis=1), known.reachable.mean(axis=1), strict=True)
    return Weighed(weights, tuple(f"regret: scores {_points(own)} of {_points(best)}" for own, best in means))


def self_play(known: Prospects) -> Weighed:
    """The learner itself, as it is now."""
    return _alike(known, "self-play")


def skill_levels(known: Prospects) -> Weighed:
    """Of each learner's snapshots the first, the last, and the first that is half as good as the last; all alike.

    How good one is, is what it gets with itself; where that is not known, the middle one in time stands between. The
    partners of fictitious co-play (Strouse et al. 2021): self-play's beginning, end, and half the reward.
    """
    weights, why = np.zeros(len(known.kinds)), ["skill levels"] * len(known.kinds)
    for family in sorted({*known.families} - {""}):
        places = [place for place, whose in enumerate(known.families) if whose == family]
        places.sort(key=lambda place: int(known.born[place]))  # stable: of one round, the first weights come first
        half = [place for place in places if known.alone[place] >= known.alone[places[-1]] / 2]
        between = half[0] if half else places[len(places) // 2]
        for level, place in (("half as good as", between), ("the last of", places[-1]), ("the first of", places[0])):
            weights[place], why[place] = 1.0, f"skill levels: {level} {family}"
    return Weighed(weights, tuple(why))


def uniform(known: Prospects) -> Weighed:
    """Everybody alike."""
    return _alike(known, "uniform")


def variance(known: Prospects) -> Weighed:
    """Those against whom the outcome is open: ``Var(own points) / 10**2``, the seats' mean.

    How much scenarios differ counts too. A variance that is not known counts as the most it can be, a quarter.
    """
    weights = (np.nan_to_num(known.variance, nan=TEN**2 / 4) / TEN**2).mean(axis=1)
    deviations = np.sqrt(known.variance.mean(axis=1))
    return Weighed(weights, tuple(f"variance: points vary by {_points(deviation)}" for deviation in deviations))


def within_reach(known: Prospects) -> Weighed:
    """Those against whom it gets ``SIGNAL`` of what is reachable or more, or nobody knows yet; all of them alike.

    Where there are none the branch abstains, and its share goes to the others: so AlphaStar's main exploiters turn
    from a main that they hardly ever beat to what it was (Vinyals et al. 2019, Methods); points take the place of wins,
    and from wins and losses the share is that of the games won.
    """
    taken = _taken(known)
    weights = np.where(taken < SIGNAL, 0.0, 1.0)  # 1 where it is nan
    return Weighed(weights, tuple(f"within reach: gets {_share(share)} of what is reachable" for share in taken))


_ALL = (
    coverage, forgotten, latest, learning_progress, losses, meta_mixture, past_selves,
    regret, self_play, skill_levels, uniform, variance, within_reach,
)  # fmt: skip
RULES: dict[str, Rule] = {rule.__name__: rule for rule in _ALL}
OWN_GROUP: dict[RuleName, Among] = {"past_selves": "past_selves", "self_play": "self"}  # their name says among whom
assert set(RULES) == set(get_args(RuleName)), "the settings name other rules than there are"


def _alike(known: Prospects, reason: str) -> Weighed:
    return Weighed(np.ones(len(known.kinds)), (reason,) * len(known.kinds))


def _taken(known: Prospects) -> Floats:
    """The share of what is reachable that the learner gets, mean of both seats, ``[N]``; ``nan``: not known.

    All of it where nothing is.
    """
    scored, reachable = known.scored.mean(axis=1), known.reachable.mean(axis=1)
    return np.where(reachable == 0, 1.0, scored / np.where(reachable == 0, 1.0, reachable))


def _share(share: float) -> str:
    return "an unknown part" if np.isnan(share) else f"{share:.0%}"


def _points(points: float) -> str:
    return "unknown" if np.isnan(points) else f"{points:.2f}"
