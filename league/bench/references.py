"""Shares of the reference and points by family, recomputed from the cells of a results line.

A line stores the figures of the day it was measured; a leaderboard uses the current references and families
(:mod:`league.bench.figures`) for all its lines. A reference is the best response's points by partner, seat and slice of
the scenarios, from :mod:`league.standings.references`: a property of the partner alone, never of the judged policy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from dond_marl.scenarios.views import PARTS
from dond_marl.statistics import Estimate, worst_tenth_weights
from league.bench.figures import has_train_family, plain_estimate, rounded_number
from league.bench.protocol import ALL, HEADLINE, SLICES
from league.bench.results import Row
from league.standings.references import reference_of

PARTS_OF = {HEADLINE: (1, 2), ALL: (0, 1, 2), **{name: (number,) for number, name in enumerate(PARTS)}}


class References(NamedTuple):
    """References of one partner: points of ten by slice and by the member's seat, and whether they are exact there.

    An inexact one is a certified upper bound: a share of it is at most the true share. ``nan`` where none is known.
    """

    values: Mapping[str, tuple[float, float]]  # by slice
    exact: tuple[bool, bool]


def references_to(partners: Sequence[str]) -> dict[str, References]:
    """The stored references to those of ``partners``, specs, that have one; on all scenarios of ``lewis``."""
    found = {}
    for partner in partners:
        stored = reference_of(partner)
        if stored is None:
            continue
        values = {}
        for name in SLICES:
            first, second = (
                math.nan if side is None else side.over(seat, PARTS_OF[name])[1]
                for seat, side in enumerate(stored.seats)
            )
            values[name] = first, second
        first_exact, second_exact = (side is not None and side.exact for side in stored.seats)
        found[partner] = References(values, (first_exact, second_exact))
    return found


def with_shares(row: Row) -> Row:
    """The line with the reference in each cell, and the shares of it among its figures.

    Unchanged where no reference is known: beyond the scenarios of ``lewis``, or on a sample of them.
    """
    benchmark = row["benchmark"]
    if benchmark["scenarios"] != "lewis" or not benchmark["every_scenario"]:
        return row
    references = _references(tuple(dict.fromkeys(cell["partner"] for cell in row["cells"])))
    if not references:
        return row
    cells = [_referenced(cell, references.get(cell["partner"])) for cell in row["cells"]]
    return {**row, "cells": cells, "figures": {**row["figures"], **_share_figures(cells, benchmark["headline"])}}


def with_families(row: Row) -> Row:
    """The line with its points against partners whose family is in train, and against the others, from its cells.

    On a sample of scenarios, which its cells have in common, an interval is at least as wide as that of the games.
    """
    benchmark, groups = row["benchmark"], {}
    for name, in_train in (("points_families_of_train", True), ("points_other_families", False)):
        cells = [cell for cell in row["cells"] if has_train_family(cell["partner"]) is in_train]
        groups[name] = _mean_points(cells, benchmark["headline"], alone=benchmark["every_scenario"])
    return {**row, "figures": {**row["figures"], **groups}}


def _mean_points(cells: Sequence[Row], head: str, *, alone: bool) -> Row | None:
    """The mean over cells of points of ten; ``alone``: the noise of the cells is independent."""
    if not cells or any(cell["points"][head] is None for cell in cells):
        return None
    mean = sum(cell["points"][head] for cell in cells) / len(cells)
    margins = [cell["margin"].get(head, 0.0) / len(cells) for cell in cells]
    margin = math.sqrt(sum(each**2 for each in margins)) if alone else sum(margins)
    return plain_estimate(Estimate(mean, len(cells), mean - margin, mean + margin))


@lru_cache(maxsize=16)
def _references(partners: tuple[str, ...]) -> dict[str, References]:
    return references_to(partners)


def _referenced(cell: Row, own: References | None) -> Row:
    rest = {key: value for key, value in cell.items() if not key.startswith("reference")}
    if own is None:
        return rest
    seat = cell["seat"]
    values = {name: rounded_number(own.values[name][seat]) for name in cell["points"]}
    return {**rest, "reference": values, "reference_exact": own.exact[seat]}


def _share_figures(cells: Sequence[Row], head: str) -> Row:
    """Means over cells of points over reference: all cells that have one, the exact ones alone, the worst."""

    def mean(fits: Callable[[Row], bool] = lambda _: True, name: str = head) -> Row | None:
        return plain_estimate(
            _mean_share([cell for cell in cells if _reference_points(cell, name) and fits(cell)], name)
        )

    def of_train(cell: Row) -> bool:
        return has_train_family(cell["partner"])

    some = [cell for cell in cells if _reference_points(cell, head)]
    worst = min(some, key=lambda cell: _cell_share(cell, head), default=None)
    return {
        "share": mean(),
        "share_exact": mean(lambda cell: bool(cell["reference_exact"])),
        "share_by_part": {name: mean(name=name) for name in cells[0]["points"] if name != head},
        "share_by_seat": [mean(lambda cell, seat=seat: bool(cell["seat"] == seat)) for seat in (0, 1)],  # type: ignore[misc]
        "share_families_of_train": mean(of_train),
        "share_other_families": mean(lambda cell: not of_train(cell)),
        "share_worst_tenth": plain_estimate(_worst_tenth(some, head)),
        "share_worst_cell": worst
        and {"value": rounded_number(_cell_share(worst, head)), "partner": worst["partner"], "seat": worst["seat"]},
        "cells_with_reference": len(some),
        "cells_with_exact_reference": sum(cell["reference_exact"] for cell in some),
    }


def _worst_tenth(cells: Sequence[Row], head: str) -> Estimate:
    """The mean over the worst tenth of the partners by their share, mean of the seats that have a reference."""
    seats: dict[str, list[Row]] = {}
    for cell in cells:
        seats.setdefault(cell["partner"], []).append(cell)
    if not seats:
        return _mean_share([], head)
    per_partner = [sum(_cell_share(cell, head) for cell in own) / len(own) for own in seats.values()]
    weights = worst_tenth_weights(per_partner).tolist()
    pairs = [(cell, weight / len(own)) for own, weight in zip(seats.values(), weights, strict=True) for cell in own]
    return _mean_share([cell for cell, _ in pairs], head, [weight for _, weight in pairs])


def _mean_share(cells: Sequence[Row], name: str, weights: Sequence[float] | None = None) -> Estimate:
    """The mean of shares, by default of equal weights, with the independent noise of the cells."""
    if not cells:
        return Estimate(math.nan, 0, math.nan, math.nan)
    factors = [1 / len(cells)] * len(cells) if weights is None else weights
    mean = sum(weight * _cell_share(cell, name) for cell, weight in zip(cells, factors, strict=True))
    margins = [
        weight * cell["margin"].get(name, 0.0) / _reference_points(cell, name)
        for cell, weight in zip(cells, factors, strict=True)
    ]
    margin = math.sqrt(sum(each**2 for each in margins))
    return Estimate(mean, len(cells), mean - margin, mean + margin)


def _cell_share(cell: Row, name: str) -> float:
    return float(cell["points"][name]) / _reference_points(cell, name)


def _reference_points(cell: Row, name: str) -> float:
    """The reference's points; 0 without one."""
    points: Any = (cell.get("reference") or {}).get(name)
    return float(points or 0.0)
