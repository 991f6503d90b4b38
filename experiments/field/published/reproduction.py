"""How near ours come to the published row of RL, and where on its way learning passes it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dond_marl.statistics import Estimate
from experiments.field.published.cells import Cell, published
from experiments.field.published.results import Found
from league.tables.figures import with_interval

NEAR = 0.4  # points of ten
HEADS = ("who", "seeds", "own points, more than published", "the other's", f"both means within {NEAR}")


def markdown(found: Found) -> str:
    """A table of every learner beside the published row, and where on its way learning had that row's own points."""
    own, other = (_published(measure) for measure in ("points", "left"))
    rows = "\n".join(_lines(found, own, other))
    passes = [(who, _passes(found, who, own)) for who in _learners(found)]
    passed = [f"`{who}` after {games:,} games" for who, games in passes if games is not None]
    return (
        f"Beside the published row of RL, {own:g} against {other:g} points:\n\n{rows}\n\nMean over the seeds of its "
        f"practice first at or above {own:g} points: {', '.join(passed) or 'nobody'}."
    )


def _lines(found: Found, own: float, other: float) -> Iterator[str]:
    yield f"| {' | '.join(HEADS)} |"
    yield f"|{'---|' * len(HEADS)}"
    for who in _learners(found):
        more = [_less(found.of(who, measure), of) for measure, of in (("points", own), ("left", other))]
        near = "yes" if all(abs(each.mean) <= NEAR for each in more) else "no"
        yield f"| {' | '.join([f'`{who}`', str(more[0].n), *map(with_interval, more), near])} |"


def _learners(found: Found) -> list[str]:
    return list(dict.fromkeys(row.who for row in found.rows if row.curve))


def _passes(found: Found, who: str, points: float) -> int | None:
    """The games after which the mean over seeds of practice's points was first at or above ``points``."""
    curves = [row.curve for row in found.rows if row.who == who]
    for steps in zip(*curves, strict=False):
        if float(np.mean([step.points for step in steps])) >= points:
            return int(steps[0].games)
    return None


def _less(estimate: Estimate, of: float) -> Estimate:
    return estimate._replace(mean=estimate.mean - of, low=estimate.low - of, high=estimate.high - of)


def _published(measure: str) -> float:
    """A figure of the published row of RL against the likelihood model."""
    row: list[Cell] = [cell for cell in published().cells if (cell.paper, cell.who) == ("lewis2017", "RL")]
    [value] = [cell.value for cell in row if cell.measure == measure and cell.value is not None]
    return value
