"""Published figures and ours side by side: as lines for a terminal or a page, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from string import ascii_lowercase
from typing import Any, NamedTuple

from dond_marl.dialogues.human_line import stored_human_line
from dond_marl.statistics import Estimate
from experiments.field.published.cells import STATUSES, Cell, Published
from experiments.field.published.players import PERCENT, percent
from experiments.field.published.results import Found
from league.tables.figures import with_interval

PEOPLE = "people"  # as ``ours``: the people of the published dialogues, computed anew
OF_PEOPLE = {"points": "score", "deals": "deals", "pareto": "pareto_of_deals", "nash": "nash_product_of_means"}
SPELLED = {
    "points": "points",
    "left": "the other's points",
    "points_agreed": "points of deals",
    "left_agreed": "the other's points of deals",
    "deals": "deals, %",
    "pareto": "Pareto-optimal, % of deals",
    "turns": "turns",
    "joint": "both's mean points",
    "reward": "joint reward",
    "nash": "Nash product",
    "accuracy": "accuracy",
    "factor_low": "times the score before, from",
    "factor_high": "times the score before, to",
}
HEADS = ("who", "against", "figure", "published", "status")


class Ours(NamedTuple):
    """What we measured beside a published figure."""

    estimate: Estimate  # in the figure's unit
    over: str  # what n of the estimate is over


def beside(cell: Cell, found: Found | None) -> Ours | None:
    """Our figure for ``cell`` in the results ``found``; None where there is none."""
    if cell.ours == PEOPLE:
        estimate = stored_human_line().figures[OF_PEOPLE[cell.measure]]
        return Ours(_in_unit(cell.measure, estimate), f"{estimate.n:,} perspectives")
    if found is None or cell.ours is None:
        return None
    rows = [row for row in found.rows if row.who == cell.ours]
    if not rows or not all(cell.measure in row.measures for row in rows):
        return None
    games = sum(row.games for row in rows)
    estimate = found.of(cell.ours, cell.measure)
    return Ours(_in_unit(cell.measure, estimate), f"{len(rows)} seed{'s' * (len(rows) > 1)}, {games:,} games")


def markdown(published: Published, results: Sequence[Found], level: int = 3) -> str:
    """One table a paper, under headings of this ``level``, with a column for each of ``results``."""
    read = sum(cell.value is not None for cell in published.cells)
    both = sum(cell.value is not None and _any(cell, results) for cell in published.cells)
    parts = [
        f"{len(published.papers)} sources, {len(published.cells)} figures, {read} of which were read; {both} of these "
        "have a figure of ours beside them. Points are points of ten per game, no deal being 0; intervals are 95 %, "
        "over seeds; status: " + "; ".join(f"*{name}*: {what}" for name, what in STATUSES.items()) + ".",
    ]
    for paper, title in published.papers.items():
        cells = [cell for cell in published.cells if cell.paper == paper]
        places = list(dict.fromkeys(cell.read for cell in cells if cell.read))
        parts += [f"{'#' * level} {title}", "\n".join(_table(cells, results, places))]
        if places:
            parts.append("Read in: " + "; ".join(f"{_mark(place, places)}: {place}" for place in places) + ".")
    parts += [f"- {note.strip()}" for note in published.notes]
    return "\n\n".join(parts) + "\n"


def document(published: Published, results: Sequence[Found]) -> dict[str, Any]:
    """Everything as plain values, the papers' figures with ours in the same unit."""
    cells = []
    for cell in published.cells:
        ours = [(title_of(found), beside(cell, found)) for found in results]
        shown = [
            {"title": title, **{end: getattr(own.estimate, end) for end in ("mean", "low", "high")}, "over": own.over}
            for title, own in ours
            if own is not None
        ]  # fmt: skip
        plain = {key: value for key, value in cell._asdict().items() if key != "ours"}
        cells.append({**plain, "player": cell.ours, "ours": json.loads(json.dumps(shown).replace("NaN", "null"))})
    return {"papers": published.papers, "cells": cells, "notes": list(published.notes)}


def title_of(found: Found) -> str:
    """The head of its column."""
    return str(found.settings.get("title", "ours"))


def _mark(place: str, places: Sequence[str]) -> str:
    """The letter that stands for a place in the table of its paper."""
    return ascii_lowercase[places.index(place)]


def _table(cells: Sequence[Cell], results: Sequence[Found], places: Sequence[str]) -> Iterator[str]:
    others = [found for found in results[1:] if any(beside(cell, found) for cell in cells if cell.ours != PEOPLE)]
    columns: list[Found | None] = [*results[:1], *others] or [None]
    titles = ["ours" if found is None else title_of(found) for found in columns]
    yield f"| {' | '.join((*HEADS, *titles, 'over'))} |"
    yield f"|{'---|' * (len(HEADS) + len(titles) + 1)}"
    for cell in cells:
        value = "-" if cell.value is None else f"{cell.value:g}"
        status = cell.status + (f" {_mark(cell.read, places)}" if cell.read else "")
        ours = [beside(cell, found) for found in columns]
        figures = [cell.none or "-" if own is None else with_interval(own.estimate) for own in ours]
        if cell.ours == PEOPLE:
            figures = [*figures[:1], *("" for _ in figures[1:])]
        over = " and ".join(dict.fromkeys(own.over for own in ours if own is not None))
        named = SPELLED[cell.measure]
        yield f"| {' | '.join([cell.who, cell.against, named, value, status, *figures, over])} |"


def _any(cell: Cell, results: Sequence[Found]) -> bool:
    return any(beside(cell, found) is not None for found in [*results, None])


def _in_unit(measure: str, estimate: Estimate) -> Estimate:
    return percent(estimate) if measure in PERCENT else estimate
