"""The best known response to a partner: exact where that can be computed, otherwise one that acts by the odds.

The same object says what it is worth and plays, so that nothing is solved twice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from dond_marl.game import Rules
from dond_marl.scenarios.sources import ScenarioSource
from dond_marl.seats import Partner
from dond_marl.yardsticks.adaptive import has_minds
from dond_marl.yardsticks.best_response import exact_by_answers
from dond_marl.yardsticks.contexts import prior_contexts
from dond_marl.yardsticks.odds import EXACT_TURNS, check_odds
from dond_marl.yardsticks.values import Value, response_value
from partners.best_response import BestResponse


class Reply(NamedTuple):
    """A response for each seat, which believes the source's prior."""

    players: tuple[BestResponse, BestResponse]
    exact: bool  # nobody who believes the same does better


def best_reply(partner: Partner, source: ScenarioSource, rules: Rules, *, revealed: bool = False) -> Reply:
    """The best known response to ``partner``; ``revealed``: both seats see each other's values.

    Raises ``ValueError`` where there is none: the partner's answers depend on what was said before, or their odds are
    not known, or the source is endless.
    """
    sure = exact_by_answers(partner, rules)
    followed = not sure and not revealed and source.table is not None and has_minds(partner, rules)
    if not sure and not followed:
        try:
            check_odds(partner, rules)
        except ValueError:
            raise ValueError("its answers depend on what was said before, or their odds are not known") from None
    first, second = (BestResponse(partner, None if revealed else prior_contexts(source, seat)) for seat in (0, 1))
    if followed:
        sure = not any(math.isnan(each.value(seat, rules, source.prior)) for seat, each in enumerate((first, second)))
    return Reply((first, second), sure or (rules.max_turns <= EXACT_TURNS and not followed))


def reply_value(
    reply: Reply | None,
    partner: Partner,
    source: ScenarioSource,
    rules: Rules,
    seat: int,
    candidates: Mapping[str, Partner] | None = None,
) -> Value:
    """As :func:`dond_marl.yardsticks.values.response_value`, solved once for the value and for playing."""
    if reply is not None and (exact_by_answers(partner, rules) or has_minds(partner, rules)):
        value = reply.players[seat].value(seat, rules, source.prior)
        if not math.isnan(value):
            return Value(value, value, True, "expectimax")
    return response_value(partner, source, rules, seat, candidates)
