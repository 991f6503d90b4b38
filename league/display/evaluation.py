"""An evaluation for people: tables that fit the screen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dond_marl.dialogues.human_line import CONFIDENCE, HumanLine
from dond_marl.game import SEATS
from dond_marl.yardsticks.metrics import Estimate
from dond_marl.yardsticks.values import Value
from league.evaluation.evaluate import (
    BEST,
    BOTH,
    FAIR,
    FOUND,
    HUMANS,
    LARGEST,
    LAST,
    NASH,
    VIEWS,
    Evaluation,
    both,
    human_figures,
    ultimatum_seat,
)
from league.evaluation.outcomes import UNITS, Figures

LONGEST = 20  # characters of a member's name in a label
NARROWEST = 12  # characters of a column's heading


class Row(NamedTuple):
    """How a figure is shown."""

    label: str
    in_seats: bool  # shown for each seat too, not only for both together


ROWS: dict[str, Row] = {
    "points": Row("own points", True),
    "points_agreed": Row("  of deals", True),
    "left": Row("partner's points", True),
    "left_agreed": Row("  of deals", True),
    "joint": Row("joint points", False),
    "joint_agreed": Row("  of deals", False),
    "deals": Row("agreement", True),
    "pareto": Row("Pareto-optimal", True),
    "welfare": Row("welfare efficiency", True),
    "nash": Row("Nash efficiency", True),
    "product": Row("  product of points", False),
    "egalitarian": Row("fairness", True),
    "smaller": Row("  smaller share", False),
    "gap": Row("  gap in deals", False),
    "envy_free": Row("  both get half", False),
    "hits_nash": Row("deals: Nash", False),
    "hits_max_min": Row("  max-min", False),
    "hits_utilitarian": Row("  largest sum", False),
    "turns": Row("turns", True),
}
HEADINGS = {
    BEST: "best\nresponse",
    FOUND: "best\nfound",
    NASH: "\nNash",
    FAIR: "egal.,\nK.-S.",
    LARGEST: "utili-\ntarian",
    LAST: "ulti-\nmatum",
    HUMANS: "\nhumans",
}


def print_evaluation(console: Console, told: Evaluation, human: HumanLine) -> None:
    """The tables, what their figures mean, and what a reader must know of them."""
    rules = told.rules
    console.print(
        Text(
            f"{told.member} against {told.against} on {told.source.label}: {told.scenarios.size:,} scenarios, each in "
            f"both seats; max_turns {rules.max_turns}, disagree {rules.disagree}, seed {told.seed}"
        )
    )
    console.print(f"\nown points, beside the best response to {told.against}", markup=False)
    console.print(best_response_table(told))
    people = human_figures(human)
    for view in VIEWS:
        console.print(f"\n{view if view == BOTH else f'{told.member} as {view}'}", markup=False)
        for table in figure_tables(told, people, view, console.width):
            console.print(table)
    console.print()
    for line in explained(told, human):
        console.print(Text(line))


def best_response_table(told: Evaluation) -> Table:
    """What a best response is worth, what it and the member got, and the member's share of it, by seat."""
    member = told.member if len(told.member) <= LONGEST else f"{told.member[: LONGEST - 1]}…"
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for heading in (BOTH, *(f"as {seat}" for seat in SEATS)):
        table.add_column(heading, justify="right", no_wrap=True)
    if told.values is not None:
        table.add_row("best response: value", *map(value_text, (both(told.values), *told.values)))
    for line in (told.best, told.played):
        if line is not None:
            label = f"{line.name if line is told.best else member}: played"
            table.add_row(Text(label), *(figure(line.figures[view].points, share=False) for view in VIEWS))
    for name, shares in told.shares.items():
        label = f"  share of the {f'{name} point' if name == NASH else name}"
        table.add_row(label, *(figure(shares[view], share=True) for view in VIEWS))
    return table


def figure_tables(told: Evaluation, human: Mapping[str, Figures], view: str, width: int) -> Iterator[Table]:
    """Every figure of one view, a column for the member, the best response, each point of reference and people.

    A narrow screen is spared the intervals of what nobody played; one too narrow even then gets several tables.
    """
    columns = {line.name if line is not told.played else told.member: line.figures[view] for line in told.lines}
    columns[HUMANS] = human[view]
    rows = {name: row for name, row in ROWS.items() if view == BOTH or row.in_seats}
    labels = [*(row.label for row in rows.values()), "n games", "n deals"]
    room = width - max(map(len, labels))
    played = {told.member, BEST, FOUND}
    for gap, with_interval in ((2, set(columns)), (1, played)):
        cells = {name: _cells(of, rows, name in with_interval) for name, of in columns.items()}
        widths = {name: max(*map(len, cells[name]), *map(len, _heading(name).split("\n"))) for name in columns}
        if sum(widths.values()) + gap * len(widths) <= room:
            break
    for part in _parts(widths, room, gap):
        table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False)
        table.add_column("", no_wrap=True)
        for name in part:
            table.add_column(Text(_heading(name)), justify="right", no_wrap=True)
        for place, label in enumerate(labels):
            table.add_row(label, *(cells[name][place] for name in part))
        yield table


def explained(told: Evaluation, human: HumanLine) -> Iterator[str]:
    """What the figures mean, and what to know of these."""
    yield from (f"note: {note}" for note in told.notes)
    if told.values is not None:
        value = both(told.values)
        kind = "exact" if value.exact else "bounds"
        yield f"value: own points expected under the whole prior, {told.source.prior}; {kind}: {value.how}"
    yield (
        f"points of ten: a score as tenths of what the whole pool is worth to the seat, no deal being 0. ± is the "
        f"{told.confidence:.0%} interval over scenarios; shares of the best response and of the Nash point are ratios "
        f"of mean own points in the same games, paired. Efficiencies and fairness: joint points, product of points "
        f"and smaller share, each over the largest that any split of the scenario gives, no deal being 0."
    )
    last = ultimatum_seat(told.rules)
    ultimatum = "" if last is None else f", with the ultimatum {SEATS[last]}'s, who makes the last answerable offer"
    yield f"Nash to ultimatum: what the seat would get if every game ended there, ties shared{ultimatum}."
    yield (
        f"humans: {human.perspectives:,} sides of negotiations, on their own scenarios and by talking; seat_0 is who "
        f"speaks first, turns count the closing selection, ± is the {CONFIDENCE:.0%} interval. {human.source}"
    )


def figure(estimate: Estimate, *, share: bool, interval: bool = True) -> str:
    """A mean with half its interval, in per cent if it is a share; ``-`` where there is none."""
    if math.isnan(estimate.mean):
        return "-"
    form = ".1%" if share else ".2f"
    margin = "" if math.isnan(estimate.margin) or not interval else f" ±{estimate.margin:{form}}"
    return f"{estimate.mean:{form}}{margin}"


def value_text(value: Value) -> str:
    """A value, or the bounds it lies between."""
    low, high = f"{value.low:.2f}", f"{value.high:.2f}"
    return low if low == high else f"{low}..{high}"


def _cells(of: Figures, rows: Mapping[str, Row], interval: bool) -> list[str]:
    shown = [figure(getattr(of, name), share=UNITS[name].startswith("share"), interval=interval) for name in rows]
    return [*shown, f"{of.points.n:,}", f"{of.points_agreed.n:,}"]


def _heading(name: str) -> str:
    if name in HEADINGS:
        return HEADINGS[name]
    return "\n" + (name if len(name) <= NARROWEST else f"{name[: NARROWEST - 1]}…")


def _parts(widths: Mapping[str, int], room: int, gap: int) -> Iterator[Sequence[str]]:
    """The columns in as many tables as it takes, at least one in each."""
    part: list[str] = []
    for name in widths:
        if part and sum(widths[each] + gap for each in (*part, name)) > room:
            yield part
            part = []
        part.append(name)
    yield part
