"""A final evaluation for people: tables that fit the screen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dond_marl.game import SEATS
from dond_marl.yardsticks.metrics import Estimate
from league.display.tables import spared
from league.evaluation.evaluate import BOTH, LAST, NASH
from league.evaluation.final import EXACT, FinalEvaluation, MemberEvaluation
from league.standings.ratings import Rated

MOST_EXPLOITERS = 5  # that are shown; all are written
LONGEST_LABEL = 24  # characters of a member's name that a table shows


def print_final(console: Console, found: FinalEvaluation) -> None:
    """The tables of every member, and what their figures mean."""
    told = f"{found.source.label}: {found.scenarios.size:,} scenarios, each in both seats"
    console.print(Text(f"\nfinal evaluation on {told}; max_turns {found.rules.max_turns}"), soft_wrap=True)
    for note in found.notes:
        console.print(Text(f"note: {note}"), soft_wrap=True)
    for one in found.members:
        console.print(Text(f"\n{one.member} against members that it never met"))
        console.print(spared(meetings_table(one), console.width))
        for line in shares_told(one):
            console.print(Text(line), soft_wrap=True)
        console.print(Text(f"\n{one.member} against itself"))
        console.print(spared(self_play_table(found, one), console.width))
        console.print(Text(f"\nwhat others can take from {one.member}, points of ten"))
        console.print(spared(exploited_table(one), console.width))
    for line in explained(found):
        console.print(Text(line), soft_wrap=True)


def meetings_table(one: MemberEvaluation) -> Table:
    """Own points beside the reference's, by opponent, worst share first."""
    table = _table("against", ("points", "reference", "share as\nseat_0", "share as\nseat_1", "deals", "of ref."))
    table.add_column("the reference is", overflow="fold")
    cells = one.proximity.cells.value
    order = np.argsort(np.nan_to_num(cells.mean(axis=1), nan=2.0), kind="stable")
    for place in order.tolist():
        met = one.meetings[place]
        mine, theirs = met.played.figures[BOTH], met.reference.figures[BOTH]
        first, second = met.kinds
        kinds = first if first == second else f"{first.partition(' (')[0]}; {second}"
        table.add_row(
            Text(met.opponent),
            f"{mine.points.mean:.2f}",
            f"{theirs.points.mean:.2f}",
            *(_percent(share) for share in cells[place]),
            f"{mine.deals.mean:.0%}",
            f"{theirs.deals.mean:.0%}",
            Text(kinds),
        )
    return table


def shares_told(one: MemberEvaluation) -> Iterator[str]:
    """The figures over all opponents, in words."""
    near = one.proximity
    exact = sum(kind == EXACT for met in one.meetings for kind in met.kinds)
    yield (
        f"share of the reference's points, interquartile mean: {_rated(near.middle)} over scenarios, "
        f"{_bounds(near.of_partners)} over partners too; {exact} of {2 * len(one.meetings)} references are exact"
    )
    for name, figure in (("agreement", one.agreement), ("welfare efficiency", one.welfare)):
        yield (
            f"{name}: {_rated(figure.own)}, the references' own {_rated(figure.reference)}; "
            f"ratio {_rated(figure.ratio, '.3f')}"
        )


def self_play_table(found: FinalEvaluation, one: MemberEvaluation) -> Table:
    """Its games with itself, by seat, beside the points of reference of the same scenarios."""
    lines = [one.self_play, *(line for line in found.points if line.name in (LAST, NASH))]
    heads = {LAST: "ultimatum", NASH: "Nash"}
    table = _table("", [heads.get(line.name, line.name) for line in lines])
    for label, view in (("own points", BOTH), *((f"  as {seat}", seat) for seat in SEATS)):
        table.add_row(label, *(f"{line.figures[view].points.mean:.2f}" for line in lines))
    for label, figure in (("deals", "deals"), ("welfare efficiency", "welfare"), ("Pareto-optimal deals", "pareto")):
        estimates = [getattr(line.figures[BOTH], figure) for line in lines]
        table.add_row(label, *(_estimate(each, ".1%") for each in estimates))
    return table


def exploited_table(one: MemberEvaluation) -> Table:
    """What trained exploiters and a best response gain, by their seat; what they leave the member, by its seat."""
    gains, drops = (f"gain as\n{seat}" for seat in SEATS), (f"drop as\n{seat}" for seat in SEATS)
    table = _table("", [*gains, *drops])
    if one.exploitability is not None:
        kind = "best response" if all(each.response.exact for each in one.exploitability) else "best response, bounds"
        table.add_row(kind, *(_range(*each.gain) for each in one.exploitability), "", "")
    for each in one.exploiters[:MOST_EXPLOITERS]:
        table.add_row(Text(each.exploiter), *(_estimate(e, "+.2f") for e in (*each.gain, *each.drop)))
    if not table.row_count:
        table.add_row("nobody was trained to, and no bound is known", "", "", "", "")
    return table


def explained(found: FinalEvaluation) -> Iterator[str]:
    """What the figures mean."""
    yield (
        f"\npoints: own points of ten per game, no deal being 0. share: of the reference's points in the same seat, "
        f"against the same partner, on the same scenarios, at most 100%; the interquartile mean leaves out the best "
        f"and the worst quarter. gain: an exploiter's points less what the member gets "
        f"against itself in that seat; drop: what the member gets from the opponents above less what the exploiter "
        f"leaves it. ± and ranges: {found.confidence:.0%} intervals over scenarios."
    )


def _table(label: str, heads: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(label, overflow="ellipsis", no_wrap=True, max_width=2 * LONGEST_LABEL)
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    return table


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{share:.1%}"


def _rated(rated: Rated, form: str = ".1%") -> str:
    value = float(rated.value)
    return "-" if math.isnan(value) else f"{value:{form}} ({_bounds(rated, form)})"


def _bounds(rated: Rated, form: str = ".1%") -> str:
    low, high = float(rated.low), float(rated.high)
    return "?" if math.isnan(low) else f"{low:{form}}..{high:{form}}"


def _estimate(estimate: Estimate, form: str) -> str:
    if math.isnan(estimate.mean):
        return "-"
    half = "" if math.isnan(estimate.margin) else f" ±{estimate.margin:{form.replace('+', '')}}"
    return f"{estimate.mean:{form}}{half}"


def _range(low: float, high: float) -> str:
    return f"{low:+.2f}" if math.isclose(low, high, abs_tol=5e-3) else f"{low:+.2f}..{high:+.2f}"
