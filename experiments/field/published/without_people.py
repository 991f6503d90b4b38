"""Who learned without people, against their clone, as a table: one line each and game, means over seeds."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.field.published.players import percent
from experiments.field.published.results import Found
from league.tables.figures import with_margin

HEADS = ("who", "in", "seeds", "games", "to the clone", "to the agent", "mean of both", "product", "deals, %")
HERE = "_here"


def markdown(found: Found) -> str:
    """The table, and how to read it."""
    return (
        f"Against `{found.settings['against']}`, {found.settings['instances']} instances in both seats, everybody "
        "sampling; means over seeds with 95 % intervals, points of ten, no deal being 0; the product is of both mean "
        "points of a seed.\n\n" + "\n".join(_lines(found))
    )


def _lines(found: Found) -> Iterator[str]:
    yield f"| {' | '.join(HEADS)} |"
    yield f"|{'---|' * len(HEADS)}"
    for who in found.players:
        rows = [row for row in found.rows if row.who == who]
        game = "this game" if who.endswith(HERE) else "`bargaining`"
        cells = [f"`{who.removesuffix(HERE)}`", game, str(len(rows)), f"{sum(row.games for row in rows):,}"]
        figures = [with_margin(found.of(who, measure)) for measure in ("left", "points", "joint", "nash")]
        yield f"| {' | '.join([*cells, *figures, with_margin(percent(found.of(who, 'deals')))])} |"
