"""What a best response earns against each member of a league: own points in the ladder are shares of it.

Those to the rosters and the catalogue under the default rules are stored with the package
(:mod:`league.standings.references`); only exact ones are used. ``league.responses: exact`` computes what is missing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dond_marl.errors import InputError
from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import ScenarioSource
from dond_marl.seats import Partner
from dond_marl.yardsticks.adaptive import Adaptive, has_minds
from dond_marl.yardsticks.best_response import OutOfReach, best_response_value, exact_by_answers
from dond_marl.yardsticks.contexts import prior_contexts
from dond_marl.yardsticks.solve import solve
from dond_marl.yardsticks.values import prior_scenarios
from league.settings.read import Config
from league.standings.ladder import Responses
from league.standings.references import PRIOR, reference_of
from league.tasks.seating import SEATING


def known_responses(config: Config) -> Responses:
    """The stored values by member; none unless the config plays ``lewis``, the default rules and hidden values."""
    env = config.env
    if SEATING.source(env).prior != PRIOR or env.rules() != Rules() or env.reveal_partner_utilities:
        return {}
    found = {member.name: _stored(member.spec) for member in config.members}
    return {name: values for name, values in found.items() if values is not None}


def responses_of(config: Config) -> Responses:
    """The same with what ``league.responses: exact`` adds, for members that are deterministic and without memory."""
    responses = dict(known_responses(config))
    if config.league.responses == "exact" and not config.env.reveal_partner_utilities:
        source = SEATING.source(config.env)
        for member in config.members:
            values = None if member.name in responses else exact_responses(member.spec, source, config.env.rules())
            if values is not None:
                responses[member.name] = values
    return responses


class References(NamedTuple):
    """Two marks for own points of ten against a partner, mean of both seats; ``nan`` where unknown."""

    nash: float  # at the Nash points of the source's scenarios
    response: float  # of a best response to the partner, under the source's prior


NOTHING_KNOWN = References(math.nan, math.nan)


def references(partner: str, source: ScenarioSource, rules: Rules, revealed: bool) -> References:
    """The marks against ``partner``; the best response's only where it is stored. ``revealed``: values are open."""
    nash = float(solve(prior_scenarios(source)).nash.point.mean())
    ordinary = source.prior == PRIOR and rules == Rules() and not revealed
    stored = _stored(partner) if ordinary else None
    return References(nash, math.nan if stored is None else float(np.mean(stored)))


def exact_responses(spec: str | Partner, source: ScenarioSource, rules: Rules) -> tuple[float, float] | None:
    """Points of ten of a best response in each seat against ``spec``; ``None`` where that cannot be computed."""
    partner = seat_occupant(spec)
    if source.table is None or not (exact_by_answers(partner, rules) or has_minds(partner, rules)):
        return None
    try:
        contexts = [prior_contexts(source, seat) for seat in (0, 1)]
        if not exact_by_answers(partner, rules):
            games = [Adaptive(partner, each, seat, rules, source.prior).value() for seat, each in enumerate(contexts)]
            return (games[0][0], games[1][0]) if all(exact for _, exact in games) else None
        values = [best_response_value(partner, c, s, rules, prior=source.prior) for s, c in enumerate(contexts)]
    except OutOfReach:
        return None
    return values[0], values[1]


def _stored(spec: str) -> tuple[float, float] | None:
    """The stored exact values of both seats; ``None`` without them."""
    try:
        found = reference_of(spec)
    except InputError:  # weights that are not here, or a name that nobody has: who needs it says so
        return None
    first, second = (None, None) if found is None else found.seats
    if first is None or second is None or not (first.exact and second.exact):
        return None
    return first.high, second.high
