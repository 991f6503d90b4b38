"""What could be gained: by knowing the partner's values, by answering the member best; and what it is left with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

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
from league.settings.rosters import zoo
from partners.best_response import BestResponse


class Probe(NamedTuple):
    """Expected points of ten under the source's prior, by seat; intervals where something is not exact."""

    member: str
    against: str
    hidden: tuple[Value, Value]  # of a best response to the partner
    told: tuple[Value, Value] | None  # of one that is told the partner's values; None where it is not known
    exploited: tuple[Exploitability, Exploitability]  # of the member, by a response in each seat
    safety: Safety  # the member's, against the zoo


def probe(member: str, against: str, source: ScenarioSource, rules: Rules) -> Probe:
    """Compute all of it; seconds where everything is exact, more for networks and where responses must be played."""
    player, partner = seat_occupant(member), seat_occupant(against)
    others = {name: seat_occupant(name) for name in zoo()}
    hidden, exploited, alone = [], [], self_play_values(player, source, rules)
    for seat in (0, 1):
        hidden.append(response_value(partner, source, rules, seat, _responses(partner, others)))
        response = response_value(player, source, rules, seat, {"itself": player, **_responses(player, others)})
        exploited.append(Exploitability(response, alone[seat]))
    try:
        told = (told_value(partner, source, rules, 0), told_value(partner, source, rules, 1))
    except ValueError:  # it uses the history, or the source is endless
        told = None
    return Probe(
        member,
        against,
        (hidden[0], hidden[1]),
        told,
        (exploited[0], exploited[1]),
        safety(player, others, source, rules),
    )


def _responses(to: Partner, others: Mapping[str, Partner]) -> dict[str, Partner]:
    """Who is tried where the best response is not exact: the zoo, and the response that acts by the odds."""
    try:
        return {**others, "a response by the odds": BestResponse(to)}
    except ValueError:
        return dict(others)


def print_probe(console: Console, found: Probe) -> None:
    """A table of the two gains and what they are the difference of, and who leaves the member least."""
    table = Table(box=None, pad_edge=False)
    for column in ("expected points of ten", "as seat_0", "as seat_1"):
        table.add_column(column, justify="left" if column.startswith("expected") else "right")
    for name, cells in _rows(found):
        table.add_row(name, *cells)
    console.print("\nwhat could be gained")
    console.print(table)
    console.print(
        f"safety: {found.member} is left with least by {found.safety.responder} of the zoo: "
        f"{found.safety.points:.2f} points of ten, mean of both seats",
        markup=False,
        soft_wrap=True,
    )
    ways = {value.how for value in (*found.hidden, *(e.response for e in found.exploited)) if not value.exact}
    for how in sorted(ways):
        console.print(f"a range is bounds: {how}", markup=False, soft_wrap=True)


def to_json(found: Probe) -> dict[str, Any]:
    """Every figure by name; ranges as two bounds."""
    return {
        "value_of_a_response": [_bounds(value) for value in found.hidden],
        "value_told": None if found.told is None else [_bounds(value) for value in found.told],
        "value_of_information": None
        if found.told is None
        else [_gain(told, hidden) for told, hidden in zip(found.told, found.hidden, strict=True)],
        "self_play": [each.self_play for each in found.exploited],
        "value_of_a_response_to_the_member": [_bounds(each.response) for each in found.exploited],
        "exploitability": [list(each.gain) for each in found.exploited],
        "safety": {"responder": found.safety.responder, "points": found.safety.points},
    }


def _rows(found: Probe) -> Iterator[tuple[str, list[str]]]:
    yield f"best response to {found.against}", [_range(*_bounds(value)) for value in found.hidden]
    if found.told is not None:
        yield "  told its values", [_range(*_bounds(value)) for value in found.told]
        gains = [_gain(told, hidden) for told, hidden in zip(found.told, found.hidden, strict=True)]
        yield "  value of information", [_range(low, high) for low, high in gains]
    yield f"best response to {found.member}", [_range(*_bounds(each.response)) for each in found.exploited]
    yield f"  {found.member} against itself", [f"{each.self_play:.2f}" for each in found.exploited]
    yield "  exploitability", [_range(*each.gain) for each in found.exploited]


def _bounds(value: Value) -> list[float]:
    return [value.low, value.high]


def _gain(told: Value, hidden: Value) -> list[float]:
    """What being told adds; never less than nothing."""
    return [max(told.low - hidden.high, 0.0), max(told.high - hidden.low, 0.0)]


def _range(low: float, high: float) -> str:
    return f"{low:.2f}" if math.isclose(low, high, abs_tol=5e-7) else f"{low:.2f}..{high:.2f}"
