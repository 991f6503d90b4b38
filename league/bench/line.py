"""What a line of the results file says of the games: figures with intervals, and every cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dond_marl.occupants import parse_spec
from dond_marl.yardsticks.metrics import Estimate
from league.bench.figures import MEASURES, Cell, Figures, Pick, in_order, worst_weights
from league.bench.protocol import Field
from league.bench.references import References
from league.bench.results import Row
from league.evaluation.matches import MEMBER, Repeated
from league.tasks.answers import Answers
from partners.rosters import TRAIN, roster

DIGITS = 6  # of a figure in a line


def figures_of(games: Mapping[str, Repeated], field: Field, references: Mapping[str, References]) -> Row:
    """The figures of a line: each a value with its interval, ``None`` where it is not known."""
    played = in_order(games, field)
    figures, cells, head = Figures(played), played.cells, field.headline
    points = {cell: figures.mean("points", [cell], head).mean for cell in cells}
    kinds = {parse_spec(member)[0] for member in roster(TRAIN)}
    families = [parse_spec(name)[0] for name in played.partners]
    known = [cell for cell in cells if families[cell[0]] in kinds]
    unknown = [cell for cell in cells if cell not in known]
    worst = min(cells, key=lambda cell: points[cell])
    document: Row = {
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
    if references:
        document |= _shares(figures, points, references, head)
    return document


def _shares(figures: Figures, points: Mapping[Cell, float], references: Mapping[str, References], head: str) -> Row:
    """Points over the reference of each cell: all cells that have one, the exact ones alone, the worst."""
    partners = figures.played.partners
    of = {cell: references[partners[cell[0]]] for cell in points if partners[cell[0]] in references}
    marks = {cell: each.values[head][cell[1]] for cell, each in of.items()}
    marks = {cell: mark for cell, mark in marks.items() if mark > 0}
    exact = [cell for cell in marks if of[cell].exact[cell[1]]]
    shares = {cell: points[cell] / mark for cell, mark in marks.items()}
    worst = min(shares, key=lambda cell: shares[cell]) if shares else None

    def mean(cells: Pick, name: str = head) -> Estimate:
        usable = [cell for cell in cells if of[cell].values[name][cell[1]] > 0]
        return figures.mean("points", usable, name, [1 / of[cell].values[name][cell[1]] for cell in usable])

    every = list(marks)
    kinds = {parse_spec(member)[0] for member in roster(TRAIN)}
    families = {cell: parse_spec(partners[cell[0]])[0] in kinds for cell in every}
    return {
        "share": plain(mean(every)),
        "share_exact": plain(mean(exact)),
        "share_by_part": {name: plain(mean(every, name)) for name in figures.played.field.slices if name != head},
        "share_by_seat": [plain(mean([cell for cell in every if cell[1] == seat])) for seat in (0, 1)],
        "share_families_of_train": plain(mean([cell for cell in every if families[cell]])),
        "share_other_families": plain(mean([cell for cell in every if not families[cell]])),
        "share_worst_tenth": plain(
            _worst_tenth(figures, shares, head, {cell: 1 / mark for cell, mark in marks.items()})
        ),
        "share_worst_cell": None if worst is None else _cell_named(partners, worst, shares[worst]),
        "cells_with_reference": len(every),
        "cells_with_exact_reference": len(exact),
    }


def _worst_tenth(
    figures: Figures,
    scores: Mapping[Cell, float],
    head: str,
    factors: Mapping[Cell, float] | None = None,
) -> Estimate:
    """The mean over the worst tenth of the partners by their scores, mean of the seats that have one."""
    seats: dict[int, list[Cell]] = {}
    for cell in scores:
        seats.setdefault(cell[0], []).append(cell)
    if not seats:
        return Estimate(math.nan, 0, math.nan, math.nan)
    of_partner = [sum(scores[cell] for cell in own) / len(own) for own in seats.values()]
    weights = worst_weights(of_partner)
    picked = [(cell, w / len(own)) for own, w in zip(seats.values(), weights, strict=True) if w for cell in own]
    cells = [cell for cell, _ in picked]
    share = [len(picked) * weight * (factors[cell] if factors else 1.0) for cell, weight in picked]
    return figures.mean("points", cells, head, share)


def cells_of(games: Mapping[str, Repeated], field: Field, references: Mapping[str, References]) -> list[Row]:
    """A line's cells: each partner and seat of the member, with its figures by slice and what it could have had."""
    played = in_order(games, field)
    figures, rows = Figures(played), []
    for number, seat in played.cells:
        partner = played.partners[number]
        by_slice = {name: figures.mean("points", [(number, seat)], name) for name in field.slices}
        rest = {name: figures.mean(name, [(number, seat)], field.headline) for name in MEASURES[1:]}
        row: Row = {
            "partner": partner,
            "seat": seat,
            "replicates": games[partner].points.shape[1],
            "points": {name: _number(each.mean) for name, each in by_slice.items()},
            "margin": {name: _number(each.margin) for name, each in by_slice.items() if each.margin > 0},
            **{name: _number(each.mean) for name, each in rest.items()},
        }
        if partner in references:
            own = references[partner]
            row["reference"] = {name: _number(own.values[name][seat]) for name in field.slices}
            row["reference_exact"] = own.exact[seat]
        rows.append(row)
    return rows


def answers_of(games: Mapping[str, Repeated]) -> Row:
    """Whoever did not always answer for itself: the member over all its games, and each such partner."""
    total, found = Answers(), {}
    for name, played in games.items():
        total += played.answers[MEMBER]
        if name in played.answers and played.answers[name].fallen:
            found[name] = played.answers[name].document()
    return {MEMBER: total.document(), **found}


def _cell_named(partners: Sequence[str], cell: Cell, value: float) -> Row:
    return {"value": _number(value), "partner": partners[cell[0]], "seat": cell[1]}


def plain(estimate: Estimate) -> Row | None:
    """An estimate as plain values; ``None`` where it is not known."""
    if math.isnan(estimate.mean):
        return None
    return {
        "value": _number(estimate.mean),
        "low": _number(estimate.low),
        "high": _number(estimate.high),
        "n": estimate.n,
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(float(value), DIGITS)
