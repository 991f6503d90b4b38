"""What a line of the results file says of the games: figures with intervals, and every cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dond_marl.statistics import Estimate, worst_tenth_weights
from league.bench.families import is_of_train
from league.bench.figures import MEASURES, Cell, Figures, in_order
from league.bench.protocol import Field
from league.bench.results import Row
from league.evaluation.matches import MEMBER, Repeated
from league.tasks.answers import Answers

DIGITS = 6  # of a figure in a line


def figures_of(games: Mapping[str, Repeated], field: Field) -> Row:
    """The figures of a line: each a value with its interval, ``None`` where it is not known."""
    played = in_order(games, field)
    figures, cells, head = Figures(played), played.cells, field.headline
    points = {cell: figures.mean("points", [cell], head).mean for cell in cells}
    known = [cell for cell in cells if is_of_train(played.partners[cell[0]])]
    unknown = [cell for cell in cells if cell not in known]
    worst = min(cells, key=lambda cell: points[cell])
    return {
        "points": plain(figures.mean("points", cells, head)),
        "points_by_part": {name: plain(figures.mean("points", cells, name)) for name in field.slices if name != head},
        "points_by_seat": [plain(figures.mean("points", [c for c in cells if c[1] == seat], head)) for seat in (0, 1)],
        "points_families_of_train": plain(figures.mean("points", known, head)),
        "points_other_families": plain(figures.mean("points", unknown, head)),
        "points_worst_tenth": plain(_worst_tenth(figures, points, head)),
        "points_worst_cell": _cell_named(played.partners, worst, points[worst]),
        "left": plain(figures.mean("left", cells, head)),
        "deals": plain(figures.mean("deal", cells, head)),
        "welfare": plain(figures.mean("welfare", cells, head)),
        "games": sum(each.points.size for each in games.values()),
    }


def _worst_tenth(figures: Figures, scores: Mapping[Cell, float], head: str) -> Estimate:
    """The mean over the worst tenth of the partners by their scores, mean of both seats."""
    partners = sorted({partner for partner, _ in scores})
    weights = worst_tenth_weights([(scores[partner, 0] + scores[partner, 1]) / 2 for partner in partners]).tolist()
    picked = [(partner, weight) for partner, weight in zip(partners, weights, strict=True) if weight]
    cells = [(partner, seat) for partner, _ in picked for seat in (0, 1)]
    return figures.mean("points", cells, head, [len(picked) * weight for _, weight in picked for _ in (0, 1)])


def cells_of(games: Mapping[str, Repeated], field: Field) -> list[Row]:
    """A line's cells: each partner and seat of the member, with its figures by slice."""
    played = in_order(games, field)
    figures, rows = Figures(played), []
    for number, seat in played.cells:
        partner = played.partners[number]
        by_slice = {name: figures.mean("points", [(number, seat)], name) for name in field.slices}
        rest = {name: figures.mean(name, [(number, seat)], field.headline) for name in MEASURES[1:]}
        rows.append(
            {
                "partner": partner,
                "seat": seat,
                "replicates": games[partner].points.shape[1],
                "points": {name: number_of(each.mean) for name, each in by_slice.items()},
                "margin": {name: number_of(each.margin) for name, each in by_slice.items() if each.margin > 0},
                **{name: number_of(each.mean) for name, each in rest.items()},
            }
        )
    return rows


def answers_of(games: Mapping[str, Repeated]) -> Row:
    """Whoever did not always answer for itself: the member over all its games, and each such partner."""
    total, found = Answers(), {}
    for name, played in games.items():
        total += played.answers[MEMBER]
        if name in played.answers and played.answers[name].fallbacks:
            found[name] = played.answers[name].document()
    return {MEMBER: total.document(), **found}


def _cell_named(partners: Sequence[str], cell: Cell, value: float) -> Row:
    return {"value": number_of(value), "partner": partners[cell[0]], "seat": cell[1]}


def plain(estimate: Estimate) -> Row | None:
    """An estimate as plain values; ``None`` where it is not known."""
    if math.isnan(estimate.mean):
        return None
    return {
        "value": number_of(estimate.mean),
        "low": number_of(estimate.low),
        "high": number_of(estimate.high),
        "n": estimate.n,
    }


def number_of(value: float) -> float | None:
    """A number as it stands in a line; ``None`` for ``nan``."""
    return None if math.isnan(value) else round(float(value), DIGITS)
