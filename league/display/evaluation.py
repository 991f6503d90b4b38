"""An evaluation for people and for programs: tables that fit the screen, and the same figures as JSON and CSV."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
    LARGEST,
    LAST,
    NASH,
    VIEWS,
    Evaluation,
    both,
    ultimatum_seat,
)
from league.evaluation.outcomes import Figures, landed
from league.evaluation.probe import Probe
from league.evaluation.probe import to_json as probe_json
from league.standings.crossplay import write_csv

HUMANS = "humans"
LONGEST = 20  # characters of a member's name in a label
NARROWEST = 12  # characters of a column's heading
UNKNOWN = Estimate(math.nan, 0, math.nan, math.nan)


class Row(NamedTuple):
    """How a figure is shown."""

    label: str
    unit: str
    in_seats: bool  # shown for each seat too, not only for both together

    @property
    def share(self) -> bool:
        """Whether it is shown in per cent."""
        return self.unit.startswith("share")


ROWS: dict[str, Row] = {
    "points": Row("own points", "points of ten per game", True),
    "points_agreed": Row("  of deals", "points of ten per deal", True),
    "left": Row("partner's points", "points of ten per game", True),
    "left_agreed": Row("  of deals", "points of ten per deal", True),
    "joint": Row("joint points", "points of ten per game", False),
    "joint_agreed": Row("  of deals", "points of ten per deal", False),
    "deals": Row("agreement", "share of games", True),
    "pareto": Row("Pareto-optimal", "share of deals", True),
    "welfare": Row("welfare efficiency", "share of the largest joint points, no deal 0", True),
    "nash": Row("Nash efficiency", "share of the largest product of points, no deal 0", True),
    "product": Row("  product of points", "square points of ten per game", False),
    "egalitarian": Row("fairness", "share of the largest smaller share, no deal 0", True),
    "smaller": Row("  smaller share", "points of ten per game", False),
    "gap": Row("  gap in deals", "points of ten per deal", False),
    "envy_free": Row("  both get half", "share of deals", False),
    "hits_nash": Row("deals: Nash", "share of deals", False),
    "hits_max_min": Row("  max-min", "share of deals", False),
    "hits_utilitarian": Row("  largest sum", "share of deals", False),
    "turns": Row("turns", "acts of both seats per game", True),
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
HUMAN_NAMES = {
    "points": "score",
    "points_agreed": "score_of_deals",
    "left": "score",
    "left_agreed": "score_of_deals",
    "joint_agreed": "joint_of_deals",
    "deals": "deals",
    "pareto": "pareto_of_deals",
    "product": "nash_product_mean_of_products",
    "envy_free": "fair_of_deals",
    "hits_nash": "nash_point_of_deals",
    "hits_max_min": "max_min_of_deals",
    "hits_utilitarian": "most_points_of_deals",
    "turns": "turns",
}


def human_figures(line: HumanLine) -> dict[str, Figures]:
    """The human line in the words of an evaluation: who speaks first is ``seat_0``; unknown where nobody counted."""
    told = {name: line.figures[known] for name, known in HUMAN_NAMES.items()}
    together = Figures(**{**dict.fromkeys(Figures._fields, UNKNOWN), **told})
    seats = [
        together._replace(
            points=line.figures[own],
            points_agreed=line.figures[f"{own}_of_deals"],
            left=line.figures[other],
            left_agreed=line.figures[f"{other}_of_deals"],
        )
        for own, other in (("first", "second"), ("second", "first"))
    ]
    return dict(zip(VIEWS, (together, *seats), strict=True))


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


def to_json(told: Evaluation, human: HumanLine) -> dict[str, Any]:
    """Everything as plain JSON values; an unknown number is ``None``."""
    people = human_figures(human)
    lines = {line.name: line.figures for line in told.lines} | {HUMANS: people}
    return {
        "member": told.member,
        "against": told.against,
        "scenarios": {"source": told.source.label, "number": told.scenarios.size, "sha256": told.source.digest()},
        "rules": {"max_turns": told.rules.max_turns, "disagree": told.rules.disagree},
        "seed": told.seed,
        "confidence": told.confidence,
        "notes": list(told.notes),
        "units": {name: row.unit for name, row in ROWS.items()},
        "figures": {
            name: {view: {key: _plain(e) for key, e in of[view]._asdict().items()} for view in VIEWS}
            for name, of in lines.items()
        },
        "best_response_value": None
        if told.values is None
        else {view: value._asdict() for view, value in zip(VIEWS, (both(told.values), *told.values), strict=True)},
        "shares_of_own_points": {
            name: {view: _plain(estimate) for view, estimate in shares.items()} for name, shares in told.shares.items()
        },
        "landed": {  # own points, the partner's, games
            seat: [[*place, number] for place, number in zip(*(a.tolist() for a in landed(outcomes)), strict=True)]
            for seat, outcomes in zip(SEATS, told.played.seats, strict=True)
        },
        "humans": {"source": human.source, "sides": human.perspectives},
    }


def write_json(path: Path, told: Evaluation, human: HumanLine, probed: Probe | None = None) -> None:
    """The evaluation, and what could be gained if that was asked for, as a JSON file."""
    document = to_json(told, human) | ({} if probed is None else {"probe": probe_json(probed)})
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def write_figures(path: Path, told: Evaluation, human: HumanLine) -> None:
    """Every figure as CSV, a row each."""
    rows = [["who", "view", "figure", "mean", "low", "high", "n"]]
    lines = {line.name: line.figures for line in told.lines} | {HUMANS: human_figures(human)}
    for name, of in lines.items():
        for view in VIEWS:
            rows += [[name, view, key, *_digits(estimate)] for key, estimate in of[view]._asdict().items()]
    for name, shares in told.shares.items():
        rows += [[told.member, view, f"share of {name}", *_digits(estimate)] for view, estimate in shares.items()]
    for view, value in zip(VIEWS, (both(told.values), *told.values) if told.values else (), strict=False):
        mean = value.low if value.exact else math.nan
        rows.append([BEST, view, "value", *_digits(Estimate(mean, 0, value.low, value.high))])
    write_csv(path, rows)


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
    shown = [figure(getattr(of, name), share=row.share, interval=interval) for name, row in rows.items()]
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


def _plain(estimate: Estimate) -> dict[str, float | int | None]:
    return {key: None if math.isnan(value) else value for key, value in estimate._asdict().items()}


def _digits(estimate: Estimate) -> list[str]:
    bounds = (estimate.mean, estimate.low, estimate.high)
    return [*("" if math.isnan(v) else f"{v:.6f}" for v in bounds), str(estimate.n)]
