"""Best-response values with bounds, the value of information, exploitability and its parts.

A best response is exact where :mod:`dond_marl.solvers.best_response` or :mod:`dond_marl.solvers.odds` make it so.
Elsewhere there is an interval that contains it, up to sampling error of the games played: below, the best of some
responses that were played; above, the value with more information than the seat can have, or the whole pool.

A policy gets v in a seat against itself, and a best response to it gets b there: its exploitability is b - v, and
NashConv the sum over both seats (Lanctot et al. 2017, arXiv 1711.00832, section 2). It has two parts. Let e be the
points of a best response to an equilibrium in the seat, that is to a partner that answers and offers rationally. Then

    b - v  =  (e - v)  +  (b - e)

*Conceded*, e - v, is what the seat would gain against a partner that plays that equilibrium by claiming it (in a game
that ends like an ultimatum, first-mover power; other equilibria concede less): it depends only on the policy's own play
there. *Weak*, b - e, is what the policy's
answers and offers in the other seat give away beyond those of an equilibrium. Either may be negative: a seat may get
more than an equilibrium's because the policy's other seat is weak, and answers may be harder than rational ones, at a
cost to the policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dond_marl.game import Rules
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios, ScenarioSource, played_prior
from dond_marl.seats import Doubles, Partner
from dond_marl.solvers.adaptive import Adaptive, is_enumerable
from dond_marl.solvers.best_response import best_response_value, exact_by_answers
from dond_marl.solvers.contexts import Views, distinct_views, prior_contexts, prior_table, split_points, splits_of
from dond_marl.solvers.odds import (
    EXACT_TURNS,
    Odds,
    check_odds,
    exact_value,
    has_odds,
    personas_have_odds,
    upper_bound,
)
from dond_marl.solvers.replies import Replies
from dond_marl.statistics import TEN, points_of_ten

Pair = tuple[float, float]  # of seat_0 and seat_1, or the least and the most that a value can be
PLAYED = 5295  # games per response: as many as the legal space has scenarios
BLOCK = 256  # scenarios per call of the exact evaluation


class Value(NamedTuple):
    """Expected points of ten, somewhere in ``low .. high``; both the same where ``exact``."""

    low: float
    high: float
    exact: bool
    how: str  # the method in a few words, for display


def response_value(
    partner: Partner, source: ScenarioSource, rules: Rules, seat: int, responses: Mapping[str, Partner] | None = None
) -> Value:
    """The value of the best response of ``seat`` to ``partner`` under the source's distribution.

    Exact for deterministic memoryless partners, for those that declare what they remember or are drawn for each game
    where that is tractable, and for memoryless ones with known probabilities in games of at most four turns. Elsewhere
    ``responses`` are played to find the lower bound; without any it is 0. Every split of ``lewis`` has the whole space
    for its prior; for the uniform source, which is endless, the upper bound is the whole pool.
    """
    high, above = TEN, "the whole pool"
    if source.table is not None:
        contexts = prior_contexts(source, seat)
        if exact_by_answers(partner, rules):
            return _exact(best_response_value(partner, contexts, seat, rules, prior=source.prior), "expectimax")
        if is_enumerable(partner, rules):
            value, exact = Adaptive(partner, contexts, seat, rules, source.prior).value()
            if exact:
                return _exact(value, "expectimax over beliefs")
            high, above = value, "revealed in the end"
        elif personas_have_odds(partner, rules):
            odds = Odds(partner, contexts, rules, source.prior)
            if rules.max_turns <= EXACT_TURNS:
                return _exact(exact_value(odds, seat), "expectimax over its odds")
            high, above = upper_bound(odds, seat), "revealed after its first act"
    means = {
        name: played_value((other, partner) if seat == 0 else (partner, other), source, rules, seat)
        for name, other in (responses or {}).items()
    }
    best = max(means, key=lambda name: means[name], default=None)
    below = "nothing played" if best is None else f"{best} played"
    low = 0.0 if best is None else means[best]
    return Value(low, max(high, low), False, f"below: {below}; above: {above}")


def informed_value(partner: Partner, source: ScenarioSource, rules: Rules, seat: int) -> Value:
    """The value of the best response of ``seat`` if the partner's values are revealed to it alone.

    The difference to :func:`response_value` is the value of that information. Exact for memoryless partners that are
    deterministic or know their probabilities, at any length; raises :class:`~dond_marl.errors.NotComputable` for
    others.
    """
    contexts = prior_contexts(source, seat).certain()
    if exact_by_answers(partner, rules):
        return _exact(best_response_value(partner, contexts, seat, rules, prior=source.prior), "expectimax, revealed")
    check_odds(partner, rules)
    return _exact(upper_bound(Odds(partner, contexts, rules, source.prior), seat), "dynamic programming, revealed")


def prior_scenarios(source: ScenarioSource) -> Scenarios:
    """The scenarios of the source's prior: all of them if finitely many, else ``PLAYED`` draws."""
    table = prior_table(source)
    return source.draw(np.random.default_rng(0), PLAYED) if table is None else table._replace(prior=source.prior)


def played_value(pair: tuple[Partner, Partner], source: ScenarioSource, rules: Rules, seat: int) -> float:
    """Mean points of ten of ``seat`` in one game on each of :func:`prior_scenarios`."""
    scenarios = prior_scenarios(source)
    games = rollout(pair, scenarios, rules, seed=0, index=(seat,))
    return float(points_of_ten(games.scores, scenarios.pool_values)[:, seat].mean())


class Exploitability(NamedTuple):
    """A best response in one seat compared with the member's own play there, both against the member."""

    response: Value
    self_play: float  # points of ten of the member in that seat against itself

    @property
    def gain(self) -> tuple[float, float]:
        """The lower and the upper bound; equal where the response is exact."""
        return self.response.low - self.self_play, self.response.high - self.self_play


def self_play_values(member: Partner, source: ScenarioSource, rules: Rules) -> Pair:
    """The points of ten of ``member`` in each seat against itself, over :func:`prior_scenarios`.

    Exact where the member is deterministic or knows its probabilities, otherwise played once on each of them.
    """
    exact, scenarios = has_odds(member, rules) and not member.traits.deterministic, prior_scenarios(source)
    return pair_points((member, member), scenarios, rules, exact=exact, index=(0,))


def pair_points(
    pair: tuple[Partner, Partner],
    scenarios: Scenarios,
    rules: Rules,
    *,
    exact: bool,
    index: tuple[int, ...] = (),
) -> Pair:
    """Mean points of ten of both seats: ``exact`` by :func:`policy_value`, or of one game on each scenario."""
    if exact:
        points = policy_value(pair, scenarios, rules)
    else:
        games = rollout(pair, scenarios, rules, seed=0, index=index)
        points = points_of_ten(games.scores, scenarios.pool_values)
    first, second = points.mean(axis=0).tolist()
    return first, second


class Safety(NamedTuple):
    """The responder that leaves a member least, and the member's points then."""

    responder: str
    points: float  # points of ten, mean of both seats


def safety(member: Partner, zoo: Mapping[str, Partner], source: ScenarioSource, rules: Rules) -> Safety:
    """The points of ``member`` against its worst responder of ``zoo``, which must not be empty."""
    points = {
        name: (played_value((member, other), source, rules, 0) + played_value((other, member), source, rules, 1)) / 2
        for name, other in zoo.items()
    }
    worst = min(points, key=lambda name: points[name])
    return Safety(worst, points[worst])


def policy_value(partners: tuple[Partner, Partner], scenarios: Scenarios, rules: Rules) -> Doubles:
    """The exact expected points of ten, ``[S, 2]``: ``partners[0]`` opens against ``partners[1]``, both without memory.

    Given the scenario, a seat's act depends on the other's last act only, so the distribution over the last act is
    carried from turn to turn, jointly with the mover's own claim for the final selection. Only for ``disagree="ends"``
    and partners that know their probabilities; raises :class:`~dond_marl.errors.NotComputable` for others.
    """
    for partner in partners:
        check_odds(partner, rules)
    parts = [
        _block_value(partners, scenarios.rows(slice(start, start + BLOCK)), rules)
        for start in range(0, scenarios.size, BLOCK)
    ]
    return np.concatenate(parts)


def _block_value(partners: tuple[Partner, Partner], scenarios: Scenarios, rules: Rules) -> Doubles:
    size = scenarios.size
    views = [distinct_views(scenarios.counts, scenarios.utilities[:, seat]) for seat in (0, 1)]
    replies = [
        Replies(partner, rules, seat_views, played_prior(scenarios))
        for partner, (seat_views, _) in zip(partners, views, strict=True)
    ]
    splits, n = splits_of(scenarios.counts), replies[0].width
    complement, fits = splits.complement, np.arange(n) < splits.number[:, None]
    # Points of keeping each split, [2, S, N].
    values = scenarios.utilities.swapaxes(0, 1)
    worth = np.stack([split_points(Views(scenarios.counts, seat_values), splits) for seat_values in values])
    points = np.zeros((size, 2))
    last = np.zeros((size, 2 * n))  # [S, 2N] how likely each offer was the last act, the game being open
    mirrored = np.zeros((size, 2 * n))  # of that, with the mover's own claim the rest of it
    for turn in range(rules.max_turns):
        mover, turns_left = turn % 2, rules.max_turns - turn
        mover_views, view_index = views[mover]
        probs = replies[mover].probs(turns_left, np.arange(mover_views.size))[view_index]  # [S, 2N + 1, 2N + 3]
        answers = probs[:, :-1] if turn else probs[:, -1:]
        weight = last if turn else np.ones((size, 1))
        spoken = weight[:, :, None] * answers  # [S, H, X]
        if turn:
            keeps_split = np.tile(complement, 2)[:, :, None]  # the rest that each offer leaves to the mover
            mirrors = [np.take_along_axis(spoken, keeps_split + kind * n, axis=2)[:, :, 0] for kind in (0, 1)]
            closed = spoken[:, :, 2 * n] + mirrored * answers[:, :, 2 * n + 2]
            if turns_left == 1:
                closed += sum(mirrors)
            claims = np.tile(np.arange(n), 2)
            points[:, 1 - mover] += (closed * worth[1 - mover][:, claims]).sum(axis=1)
            points[:, mover] += (closed * np.take_along_axis(worth[mover], keeps_split[:, :, 0], axis=1)).sum(axis=1)
            # Where this offer claims the rest of the last one, the next mover's own claim is the rest of this one.
            by_split = [(mirror[:, :n] + mirror[:, n:]) * fits for mirror in mirrors]  # [S, N] by the last one's split
            mirrored = np.concatenate(
                [np.take_along_axis(part, complement, axis=1) * fits for part in by_split], axis=1
            )
        last = spoken[:, :, : 2 * n].sum(axis=1)
    return points


def _exact(value: float, how: str) -> Value:
    return Value(value, value, True, how)
