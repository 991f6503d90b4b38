"""Whom a learner meets and why: rules for choosing opponents, mixed by branch probabilities.

A role is a list of branches, such as AlphaStar's main agent: half by regret among past members, a third itself, the
rest among its own past (Vinyals et al. 2019, Methods, "Populating the league"). A branch is a rule applied to some of
the opponents. A rule that has nothing to say of its opponents, and a branch without opponents, pass their share on.
N = opponents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.yardsticks.metrics import TEN
from league.rounds.matchmaking import FLOOR, NOTHING, coverage, hard, learning_progress, variance
from league.standings.cells import Payoffs
from league.standings.payoffs import best_replies, bounds, shrink

Figures = NDArray[np.float64]
Kind = Literal["fixed", "live", "main", "past_self", "self", "snapshot"]
Among = Literal["all", "fixed", "live", "mains", "others", "past_selves", "self", "snapshots"]
RuleName = Literal[
    "coverage",
    "latest",
    "learning_progress",
    "meta_mixture",
    "past_selves",
    "regret",
    "self_play",
    "uniform",
    "variance",
]
GROUPS_OF: Mapping[Among, tuple[Kind, ...]] = {
    "all": ("fixed", "live", "main", "past_self", "self", "snapshot"),
    "fixed": ("fixed",),
    "live": ("live", "main"),  # other learners, as they are now
    "mains": ("main",),  # those of them whose role is main
    "others": ("fixed", "live", "main", "past_self", "snapshot"),
    "past_selves": ("past_self",),
    "self": ("self",),
    "snapshots": ("past_self", "snapshot"),
}


class Prospects(NamedTuple):
    """What is known of each opponent from one learner's chair; ``nan``: not known. Points of ten."""

    kinds: tuple[Kind, ...]  # [N], what each is to the learner
    born: NDArray[np.int64]  # [N] round
    scored: Figures  # [N, 2] by the learner's seat
    reachable: Figures  # [N, 2] what somebody is known to score
    given_scenario: Figures  # [N, 2] variance of own points
    games: Figures  # [N] effective, both seats
    rounds: Figures  # [R, N] points per round so far
    mixture: Figures  # [N] shares in the meta-game's solution; 0 everywhere where there is none


class Reasoned(NamedTuple):
    """Weights that a rule gives to opponents, 0 or more, and why; weights of 0 have nothing to say."""

    weights: Figures  # [N]
    reasons: tuple[str, ...]


class Meetings(NamedTuple):
    """Whom to meet: probabilities that add up to 1, and why."""

    chances: Figures  # [N]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """A part of a learner's meetings."""

    rule: RuleName
    share: float  # of all meetings, more than 0; shares of a role need not add up to 1
    among: Among = "others"


Rule = Callable[[Prospects], Reasoned]


def prospects(
    payoffs: Payoffs,
    learner: int,
    opponents: Sequence[int],
    kinds: Sequence[Kind],
    born: Sequence[int],
    *,
    confidence: float,
    rounds: Figures | None = None,
    mixture: Figures | None = None,
) -> Prospects:
    """What the cells say of ``opponents``, members by number, from the chair of ``learner``.

    Where no scenario came twice in a round, the variance given the scenario is not known: the cell's whole variance
    stands in, which is at least as large (law of total variance). ``confidence`` is of the bounds on what is
    reachable. ``rounds`` and ``mixture`` are nothing unless given.
    """
    shrunk, others = shrink(payoffs), list(opponents)
    low, _ = bounds(shrunk, confidence)
    met = payoffs.games[learner][:, others].T > 0  # [N, 2]
    within, whole = (cells[learner][:, others].T for cells in (payoffs.within, payoffs.variance))
    return Prospects(
        kinds=tuple(kinds),
        born=np.array(born, dtype=np.int64),
        scored=np.where(met, shrunk.mean[learner][:, others].T, np.nan),
        reachable=best_replies(low, payoffs.games)[:, others].T,
        given_scenario=np.where(np.isnan(within), whole, within),
        games=payoffs.games[learner][:, others].sum(axis=0),
        rounds=np.zeros((0, len(others))) if rounds is None else rounds,
        mixture=np.zeros(len(others)) if mixture is None else mixture,
    )


def meetings(branches: Sequence[Branch], known: Prospects, floor: float = FLOOR) -> Meetings:
    """Mix ``branches``, of which at least one is given, over all opponents, of whom there is at least one.

    ``floor`` (0..1) of the probability is spread evenly over all opponents. Where no branch has anything to say,
    everybody is equally likely.
    """
    total, said = np.zeros(len(known.kinds)), [list[str]() for _ in known.kinds]
    live = [(branch, weighed) for branch in branches if (weighed := _weighed(branch, known)) is not None]
    whole = sum(branch.share for branch, _ in live)
    for branch, (places, weights, reasons) in live:
        share = (1 - floor) * branch.share / whole
        total[places] += share * weights
        for place, weight, reason in zip(places.tolist(), weights.tolist(), reasons, strict=True):
            if weight > 0:
                said[place].append(f"{share * weight:.1%} {reason}")
    if not live:
        even = 1 / len(total)
        return Meetings(np.full(len(total), even), (f"{even:.1%} nothing is known",) * len(total))
    even = floor / len(total)
    tail = [f"{even:.1%} floor"] if floor > 0 else []
    return Meetings(total + even, tuple("; ".join(parts + tail) for parts in said))


def _weighed(branch: Branch, known: Prospects) -> tuple[NDArray[np.int64], Figures, tuple[str, ...]] | None:
    """Whom a branch is about, their shares of it and why; ``None`` where it has nothing to say."""
    among = OWN_GROUP.get(branch.rule, branch.among)
    places = np.array([place for place, kind in enumerate(known.kinds) if kind in GROUPS_OF[among]], dtype=np.int64)
    if not len(places):
        return None
    weights, reasons = RULES[branch.rule](_part(known, places))
    largest = weights.max()
    if not largest > NOTHING:
        return None
    shares = weights / largest
    return places, shares / shares.sum(), reasons


def _part(known: Prospects, places: NDArray[np.int64]) -> Prospects:
    return Prospects(
        kinds=tuple(known.kinds[place] for place in places),
        born=known.born[places],
        scored=known.scored[places],
        reachable=known.reachable[places],
        given_scenario=known.given_scenario[places],
        games=known.games[places],
        rounds=known.rounds[:, places],
        mixture=known.mixture[places],
    )


def _uniform(known: Prospects) -> Reasoned:
    return _alike(known, "uniform")


def _self_play(known: Prospects) -> Reasoned:
    return _alike(known, "self-play")


def _past_selves(known: Prospects) -> Reasoned:
    return _alike(known, "past selves")


def _alike(known: Prospects, reason: str) -> Reasoned:
    return Reasoned(np.ones(len(known.kinds)), (reason,) * len(known.kinds))


def _latest(known: Prospects) -> Reasoned:
    newest = known.born == known.born.max()
    return Reasoned(newest.astype(np.float64), (f"latest: of round {known.born.max()}",) * len(newest))


def _regret(known: Prospects) -> Reasoned:
    told = zip(known.scored.mean(axis=1), known.reachable.mean(axis=1), strict=True)
    reasons = tuple(f"regret: scores {_figure(own)} of {_figure(best)}" for own, best in told)
    return Reasoned(hard(known.scored, known.reachable), reasons)


def _variance(known: Prospects) -> Reasoned:
    told = np.sqrt(known.given_scenario.mean(axis=1))
    return Reasoned(variance(known.given_scenario), tuple(f"variance: points vary by {_figure(x)}" for x in told))


def _learning_progress(known: Prospects) -> Reasoned:
    moved = learning_progress(known.rounds)
    return Reasoned(moved, tuple(f"learning progress: moved by {_figure(TEN * x)}" for x in moved))


def _coverage(known: Prospects) -> Reasoned:
    return Reasoned(coverage(known.games), tuple(f"coverage: {games:.0f} games so far" for games in known.games))


def _meta_mixture(known: Prospects) -> Reasoned:
    return Reasoned(known.mixture, tuple(f"meta-mixture: {share:.1%} of it" for share in known.mixture))


def _figure(points: float) -> str:
    return "unknown" if np.isnan(points) else f"{points:.2f}"


RULES: dict[RuleName, Rule] = {
    "coverage": _coverage,
    "latest": _latest,
    "learning_progress": _learning_progress,
    "meta_mixture": _meta_mixture,
    "past_selves": _past_selves,
    "regret": _regret,
    "self_play": _self_play,
    "uniform": _uniform,
    "variance": _variance,
}
OWN_GROUP: dict[RuleName, Among] = {"past_selves": "past_selves", "self_play": "self"}  # their name says among whom
