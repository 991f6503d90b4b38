"""Table of public games of large models, rescored, next to occupants of this project on the same item tables.

The protocol is *talk, then secret proposals*, as in clembench's ``dond`` (Hakimov et al. 2025, *The Price of Thought*,
arXiv 2510.08098). The rows are archived (docs/ARCHIVE.md): the games have no licence, and the scoring code is removed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from dond_marl.errors import InputError
from dond_marl.statistics import Estimate
from experiments.kit import table_section
from league.tables.blocks import Section
from league.tables.figures import with_interval

ALL, FIT, MODEL, REPLY = "all", "that fit", "model", "exact reply"  # values of ``tables`` and ``kind`` in the file
HEADS = ("player", "tables", "games", "deals", "welfare, all games", "Pareto, of deals", "points of ten")


class ModelRow(NamedTuple):
    """The games of one model or occupant on some of the item tables."""

    player: str
    kind: str  # model, with itself, nothing binding, exact reply
    tables: str
    number: int  # of item tables
    deals: Estimate  # share of games; its n is the number of games
    welfare: Estimate  # joint points over the maximum, no deal counting 0
    pareto: Estimate  # share of deals
    points: tuple[Estimate, Estimate]  # of ten: first speaker, other


def parse_frontier(lines: Iterable[str]) -> list[ModelRow]:
    """The rows of a results file. Raises :class:`InputError` for other lines."""
    try:
        return [_parse_row(json.loads(line)) for line in lines]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"no results of frontier models ({error}); see docs/ARCHIVE.md") from None


def frontier_section(rows: list[ModelRow]) -> Section:
    """One row per model or occupant; for an exact best response its own points come first."""
    cells = []
    for row in rows:
        shares = (with_interval(share, "share") for share in (row.deals, row.welfare, row.pareto))
        points = " and ".join(map(with_interval, row.points))
        cells.append([row.player, f"{row.number}, {row.tables}", str(row.deals.n), *shares, points])
    fit = max((row.number for row in rows if row.tables == FIT), default=0)
    order = "of the first speaker and the other"
    order += ", for an exact reply its own and its partner's" if any(row.kind == REPLY for row in rows) else ""
    note = (
        f"Models play each table once against themselves; {fit} tables have three types of at most four items, and our "
        "occupants play each of those in both orders of speaking, one game each. Nothing binding: a player may claim "
        f"otherwise after it agreed. Points are {order}. 95 % intervals: Wilson's for shares of games and of deals, "
        "Student's for means, with games taken as independent."
    )
    return table_section("Talk, then secret proposals", HEADS, cells, note)


def _parse_row(line: Mapping[str, Any]) -> ModelRow:
    first, second = map(_estimate, line["points"])
    deals, welfare, pareto = (_estimate(line[key]) for key in ("deals", "welfare", "pareto"))
    return ModelRow(line["who"], line["kind"], line["tables"], line["number"], deals, welfare, pareto, (first, second))


def _estimate(values: Mapping[str, Any]) -> Estimate:
    mean, low, high = (float("nan") if values[key] is None else values[key] for key in ("mean", "low", "high"))
    return Estimate(mean, values["n"], low, high)
