"""What a best response earns against each member of a league: own points in the ladder are shares of it.

Exact best responses take seconds each, so those to the catalogue under the default rules are stored beside this module
(``dond ship responses`` computes them anew); ``league.responses: exact`` computes what is missing.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dond_marl.game import Rules
from dond_marl.occupants import OccupantNameError, catalogue, seat_occupant
from dond_marl.records.files import write_whole
from dond_marl.scenarios.sources import ScenarioSource, open_source
from dond_marl.yardsticks.best_response import OutOfReach, best_response_value, exact_by_answers
from dond_marl.yardsticks.contexts import prior_contexts
from dond_marl.yardsticks.solve import solve
from dond_marl.yardsticks.values import prior_scenarios
from league.settings.read import Config
from league.standings.ladder import Responses
from league.tasks.values import open_source as source_of

STORED = Path(__file__).with_name("responses.json")
PRIOR = "lewis"


def known_responses(config: Config) -> Responses:
    """The stored values by member; none unless the config plays ``lewis``, the default rules and hidden values."""
    env = config.env
    ordinary = source_of(env).prior == PRIOR and env.rules() == Rules() and not env.reveal_partner_utilities
    stored = _stored() if ordinary else {}
    return {member.name: stored[member.spec] for member in config.members if member.spec in stored}


def responses_of(config: Config) -> Responses:
    """The same with what ``league.responses: exact`` adds, for members that are deterministic and without memory."""
    responses = dict(known_responses(config))
    if config.league.responses == "exact" and not config.env.reveal_partner_utilities:
        source = source_of(config.env)
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
    stored = _stored() if source.prior == PRIOR and rules == Rules() and not revealed else {}
    return References(nash, float(np.mean(stored[partner])) if partner in stored else math.nan)


def exact_responses(spec: str, source: ScenarioSource, rules: Rules) -> tuple[float, float] | None:
    """Points of ten of a best response in each seat against ``spec``; ``None`` where that cannot be computed."""
    partner = seat_occupant(spec)
    if source.table is None or not exact_by_answers(partner, rules):
        return None
    try:
        contexts = (prior_contexts(source, seat) for seat in (0, 1))
        values = [best_response_value(partner, c, s, rules, prior=source.prior) for s, c in enumerate(contexts)]
    except OutOfReach:
        return None
    return values[0], values[1]


def store(target: Path = STORED) -> dict[str, tuple[float, float]]:
    """Compute the values of every occupant that needs no parameters, and write them to ``target``."""
    responses, source = {}, open_source(PRIOR, split="all")
    for name in catalogue():
        try:
            values = exact_responses(name, source, Rules())
        except OccupantNameError:  # it needs parameters
            continue
        if values is not None:
            responses[name] = values
    rounded = {name: [round(value, 9) for value in values] for name, values in responses.items()}
    rules = {"max_turns": Rules().max_turns, "disagree": Rules().disagree}
    write_whole(target, json.dumps({"prior": PRIOR, **rules, "points_of_ten": rounded}, indent=1) + "\n")
    return responses


@lru_cache(maxsize=1)
def _stored() -> dict[str, tuple[float, float]]:
    document = json.loads(STORED.read_text(encoding="utf-8"))
    return {name: (float(first), float(second)) for name, (first, second) in document["points_of_ten"].items()}
