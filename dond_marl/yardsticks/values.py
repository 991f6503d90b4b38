"""What could be had: best-response values with bounds, what information is worth, exploitability.

A best response is exact where :mod:`dond_marl.yardsticks.best_response` or :mod:`dond_marl.yardsticks.odds` make it so. Elsewhere there is an
interval that holds it for certain, but for chance in what was played: below, the best of some responses that were
played; above, what the seat would get if it knew more than it can, or everything on the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dond_marl.game import Rules
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios, ScenarioSource
from dond_marl.seats import Partner
from dond_marl.yardsticks.best_response import best_response_value, exact_by_answers
from dond_marl.yardsticks.contexts import prior_contexts, prior_table
from dond_marl.yardsticks.metrics import TEN, points_of_ten
from dond_marl.yardsticks.odds import EXACT_TURNS, Odds, exact_value, has_odds, upper_bound
from dond_marl.yardsticks.policy_value import policy_value

PLAYED = 5295  # games that each response is tried in: the legal space once


class Value(NamedTuple):
    """Expected points of ten, somewhere in ``low .. high``; both the same where ``exact``."""

    low: float
    high: float
    exact: bool
    how: str  # a few words for people


def response_value(
    partner: Partner,
    source: ScenarioSource,
    rules: Rules,
    seat: int,
    responses: Mapping[str, Partner] | None = None,
) -> Value:
    """What the best response of ``seat`` to ``partner`` is worth under the source's distribution.

    Exact for deterministic memoryless partners, for memoryless ones that know their probabilities in games of at most
    four turns, for deterministic ones that use the history in at most three. Elsewhere ``responses`` are played to find
    the lower bound; without any it is 0. Every split of ``lewis`` has the whole space for its prior; the uniform
    source, which is endless, has no upper bound but everything on the table.
    """
    if source.table is not None:
        contexts = prior_contexts(source, seat)
        if exact_by_answers(partner, rules):
            return _exact(best_response_value(partner, contexts, seat, rules, prior=source.prior), "expectimax")
        if has_odds(partner, rules):
            odds = Odds(partner, contexts, rules, source.prior)
            if rules.max_turns <= EXACT_TURNS:
                return _exact(exact_value(odds, seat), "expectimax over its odds")
            return _between(
                partner, source, rules, seat, responses, upper_bound(odds, seat), "told after its first act"
            )
    return _between(partner, source, rules, seat, responses, TEN, "everything on the table")


def told_value(partner: Partner, source: ScenarioSource, rules: Rules, seat: int) -> Value:
    """The same for a seat that is told its partner's values, which the partner does not know.

    Less :func:`response_value` it is the value of that information. Exact for memoryless partners that are
    deterministic or know their probabilities, at any length; raises ``ValueError`` for others.
    """
    contexts = prior_contexts(source, seat).certain()
    if exact_by_answers(partner, rules):
        return _exact(best_response_value(partner, contexts, seat, rules, prior=source.prior), "expectimax, told")
    return _exact(upper_bound(Odds(partner, contexts, rules, source.prior), seat), "dynamic programming, told")


def prior_scenarios(source: ScenarioSource, number: int = PLAYED) -> Scenarios:
    """Scenarios of the distribution that a seat believes in: all of them if they are finitely many."""
    table = prior_table(source)
    return source.draw(np.random.default_rng(0), number) if table is None else table


def played_value(pair: tuple[Partner, Partner], source: ScenarioSource, rules: Rules, seat: int) -> float:
    """Mean points of ten of ``seat`` in one game on each of :func:`prior_scenarios`."""
    scenarios = prior_scenarios(source)
    games = rollout(pair, scenarios, rules, seed=0, index=(seat,), prior=source.prior)
    return float(points_of_ten(games.scores, scenarios.wholes)[:, seat].mean())


class Exploitability(NamedTuple):
    """What a best response in one seat gains over the member's own play there, both against the member."""

    response: Value
    self_play: float  # points of ten of the member in that seat against itself

    @property
    def gain(self) -> tuple[float, float]:
        """The lower and the upper bound; equal where the response is exact."""
        return self.response.low - self.self_play, self.response.high - self.self_play


def exploitability(
    member: Partner,
    source: ScenarioSource,
    rules: Rules,
    seat: int,
    responses: Mapping[str, Partner] | None = None,
) -> Exploitability:
    """How much a seat could gain by not playing as ``member`` does (one seat's part of NashConv: Lanctot et al. 2017).

    Where the best response is not exact, ``member`` itself is played besides ``responses``.
    """
    alone = {"itself": member, **(responses or {})}  # at least as much as it leaves itself
    response = response_value(member, source, rules, seat, alone)
    return Exploitability(response, self_play_values(member, source, rules)[seat])


def self_play_values(member: Partner, source: ScenarioSource, rules: Rules) -> tuple[float, float]:
    """What ``member`` gets in each seat against itself, points of ten, over :func:`prior_scenarios`.

    Exact where the member is deterministic or knows its probabilities, otherwise played once on each of them.
    """
    scenarios = prior_scenarios(source)
    if has_odds(member, rules) and not member.traits.deterministic:
        points = policy_value((member, member), scenarios, rules, source.prior).points
    else:
        games = rollout((member, member), scenarios, rules, seed=0, index=(0,), prior=source.prior)
        points = points_of_ten(games.scores, scenarios.wholes)
    first, second = points.mean(axis=0).tolist()
    return first, second


class Safety(NamedTuple):
    """Who leaves a member least, and how much that is."""

    responder: str
    points: float  # points of ten, mean of both seats


def safety(member: Partner, zoo: Mapping[str, Partner], source: ScenarioSource, rules: Rules) -> Safety:
    """What ``member`` is left with against its worst responder of ``zoo``, which must not be empty."""
    left = {
        name: (played_value((member, other), source, rules, 0) + played_value((other, member), source, rules, 1)) / 2
        for name, other in zoo.items()
    }
    worst = min(left, key=lambda name: left[name])
    return Safety(worst, left[worst])


def _between(
    partner: Partner,
    source: ScenarioSource,
    rules: Rules,
    seat: int,
    responses: Mapping[str, Partner] | None,
    high: float,
    above: str,
) -> Value:
    found = {
        name: played_value((other, partner) if seat == 0 else (partner, other), source, rules, seat)
        for name, other in (responses or {}).items()
    }
    best = max(found, key=lambda name: found[name], default=None)
    below = "nothing played" if best is None else f"{best} played"
    low = 0.0 if best is None else found[best]
    return Value(low, max(high, low), False, f"below: {below}; above: {above}")


def _exact(value: float, how: str) -> Value:
    return Value(value, value, True, how)
