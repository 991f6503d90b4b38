"""The players at the level of acts as a table: one line each, means over seeds."""

from __future__ import annotations

from collections.abc import Iterator

from dond_marl.statistics import Estimate
from experiments.field.published.results import Found
from league.tables.figures import with_margin

HEADS = (
    "who",
    "seeds",
    "games",
    "points",
    "of the likelihood model",
    "agreed",
    "its",
    "deals, %",
    "Pareto, % of deals",
)
PERCENT = ("deals", "pareto")
SHOWN = ("points", "left", "points_agreed", "left_agreed", *PERCENT)


def markdown(found: Found) -> str:
    """The table, and how to read it."""
    return (
        "Each player against the likelihood model of its seed, both sampling, on the scenarios of the published test "
        "dialogues in both seats; means over seeds with 95 % intervals, points of ten.\n\n" + "\n".join(_lines(found))
    )


def percent(estimate: Estimate) -> Estimate:
    """A share as percent."""
    return estimate._replace(mean=100 * estimate.mean, low=100 * estimate.low, high=100 * estimate.high)


def figure(found: Found, who: str, measure: str) -> str:
    """A figure with half of its interval; without one where there is one seed."""
    estimate = found.of(who, measure)
    return with_margin(percent(estimate) if measure in PERCENT else estimate)


def _lines(found: Found) -> Iterator[str]:
    yield f"| {' | '.join(HEADS)} |"
    yield f"|{'---|' * len(HEADS)}"
    for who in found.players:
        rows = [row for row in found.rows if row.who == who]
        cells = [f"`{who}`", str(len(rows)), f"{sum(row.games for row in rows):,}"]
        yield f"| {' | '.join([*cells, *(figure(found, who, measure) for measure in SHOWN)])} |"
