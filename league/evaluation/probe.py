"""The value of information against a partner, and a member's exploitability and safety."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import ScenarioSource
from dond_marl.seats import Partner
from dond_marl.yardsticks.values import (
    Exploitability,
    Safety,
    Value,
    response_value,
    safety,
    self_play_values,
    told_value,
)
from league.evaluation.beside_equilibrium import BesideEquilibrium, Parted, beside_equilibrium, parted
from league.settings.rosters import zoo
from partners.best_response import BestResponse


class Probe(NamedTuple):
    """Expected points of ten under the source's prior, by seat; bounds where a value is not exact."""

    member: str
    against: str
    hidden: tuple[Value, Value]  # of a best response to the partner
    informed: tuple[Value, Value] | None  # of one that knows the partner's values; None where it is not known
    exploited: tuple[Exploitability, Exploitability]  # of the member, by a response in each seat
    safety: Safety  # the member's, against the zoo
    parted: Parted | None = None  # what the exploitability is made of, where a table of an equilibrium knows the game
    beside: BesideEquilibrium | None = None  # the member beside an equilibrium, likewise

    @property
    def information(self) -> list[tuple[float, float]] | None:
        """Bounds of what knowing the partner's values adds, by seat; at least 0."""
        if self.informed is None:
            return None
        pairs = zip(self.informed, self.hidden, strict=True)
        return [(max(known.low - hidden.high, 0.0), max(known.high - hidden.low, 0.0)) for known, hidden in pairs]


def probe(member: str, against: str, source: ScenarioSource, rules: Rules) -> Probe:
    """Compute a probe: in seconds where all is exact, longer for networks and where responses must be played."""
    player, partner = seat_occupant(member), seat_occupant(against)
    others = {name: seat_occupant(name) for name in zoo()}
    hidden, exploited, alone = [], [], self_play_values(player, source, rules)
    for seat in (0, 1):
        hidden.append(response_value(partner, source, rules, seat, _responses(partner, others)))
        response = response_value(player, source, rules, seat, {"itself": player, **_responses(player, others)})
        exploited.append(Exploitability(response, alone[seat]))
    try:
        informed = (told_value(partner, source, rules, 0), told_value(partner, source, rules, 1))
    except ValueError:  # it uses the history, or the source is endless
        informed = None
    return Probe(
        member,
        against,
        (hidden[0], hidden[1]),
        informed,
        (exploited[0], exploited[1]),
        safety(player, others, source, rules),
        parted((exploited[0], exploited[1]), source, rules),
        beside_equilibrium(player, source, rules),
    )


def _responses(to: Partner, others: Mapping[str, Partner]) -> dict[str, Partner]:
    """The responses that are tried where the best one is not exact: the zoo, and one that acts by the odds."""
    try:
        return {**others, "a response by the odds": BestResponse(to)}
    except ValueError:
        return dict(others)
