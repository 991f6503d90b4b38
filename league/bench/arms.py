"""Arms of the benchmark: results of one name under one protocol are seeds of one arm, and figures of it from its cells.

The headline of an arm is the mean over families of the mean over their members, both seats
(:mod:`dond_marl.statistics`). Intervals on a roster are for seeds and partners like these; partners that are named one
by one are no sample, and there one run has the interval of the noise of its games.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dond_marl import statistics
from dond_marl.occupants import Spec, catalogue, seat_occupant
from dond_marl.seats import Doubles, Traits
from dond_marl.statistics import UNKNOWN, Estimate
from league.bench.figures import has_train_family, partner_of
from league.bench.results import Row
from league.figures.rows import Unit
from partners.rosters import ROSTERS, family_of, load_rosters

NASHCONV = "NashConv"  # heading
ADVERSARY = "what an adversary gains"  # heading
SAME = ("version", "roster", "roster_sha256", "scenarios", "scenarios_sha256", "headline")  # of the protocol


class Column(NamedTuple):
    """A column of figures of arms: what of a cell, on which scenarios, and of which cells."""

    measure: str = "points"  # a key of a cell, or "share": points over the reference
    unit: Unit = "points"
    part: str | None = None  # of the scenarios; None: the headline's
    seat: int | None = None
    partners: Callable[[Spec], bool] = lambda _: True
    exact: bool = False  # cells with an exact reference only


@lru_cache(maxsize=1024)
def _traits(partner: Spec) -> Traits | None:
    """The traits of a member of a roster; ``None`` for others, as names from a file are not made into occupants."""
    if not any(partner in members for members in load_rosters().members.values()):
        return None
    traits = getattr(catalogue()[partner.kind], "traits", None)
    return traits if isinstance(traits, Traits) else seat_occupant(partner).traits


def _has_memory(partner: Spec) -> bool:
    traits = _traits(partner)
    return traits is not None and not traits.memoryless


def _is_random(partner: Spec) -> bool:
    traits = _traits(partner)
    return traits is not None and not traits.deterministic and not traits.remote


MAIN = {
    "points": Column(),
    "BR-Prox": Column("share", "share"),
    "exact BR-Prox": Column("share", "share", exact=True),
    "deals": Column("deal", "share"),
    "welfare": Column("welfare", "share"),
    "left to partner": Column("left"),
}
PARTS = {
    "seat_0": Column(seat=0),
    "seat_1": Column(seat=1),
    "known families": Column(partners=has_train_family),
    "new families": Column(partners=lambda partner: not has_train_family(partner)),
    "with memory": Column(partners=_has_memory),
    "random partners": Column(partners=_is_random),
}


class Arm(NamedTuple):
    """All results of one name under one protocol, by seed."""

    name: str
    rows: tuple[Row, ...]

    @property
    def partners(self) -> list[Spec]:
        """The partners, sorted."""
        return sorted({partner_of(cell["partner"]) for cell in self.rows[0]["cells"]})

    @property
    def families(self) -> list[str]:
        """The family of each partner."""
        return [family_of(partner) for partner in self.partners]

    @property
    def learned(self) -> bool:
        """Whether another training may give another policy."""
        return bool(self.rows[0]["submission"]["learned"])

    def scores(self, column: Column = MAIN["points"]) -> Doubles:
        """A figure by seed, partner and seat, ``[n, W, 2]``; ``nan`` outside the column's cells, or where unknown."""
        return np.array([scores_of(row, column) for row in self.rows])

    def exploitability(self, key: str) -> Doubles | None:
        """An entry of the results' exploitability by seed, ``[n, ...]``; ``None`` where a seed has none."""
        entries = [row["exploitability"][key] for row in self.rows if "exploitability" in row]
        return np.array(entries) if len(entries) == len(self.rows) else None

    def adversary_gains(self) -> tuple[Doubles, bool] | None:
        """Points that an adversary gains by seed, ``[n]``, and whether all are exact (NashConv).

        Those that are not exact are lower bounds, by trained exploiters. ``None`` where a seed has neither.
        """
        exact = [row.get("exploitability", {}).get("nashconv") for row in self.rows]
        bounds = [row.get("adversary", {}).get("at_least") for row in self.rows]
        gains = [bound if gain is None else gain for gain, bound in zip(exact, bounds, strict=True)]
        return None if None in gains else (np.array(gains), None not in exact)

    def worst_tenth(self) -> Doubles | None:
        """The mean points of the worst tenth of the partners by seed, ``[n]``; ``None`` with one partner."""
        return statistics.worst_tenth_scores(self.scores()) if len(self.partners) > 1 else None

    def best_label_gains(self) -> Doubles | None:
        """Points gained by seed and partner if all offers to it had had its best label, ``[n, W]``, mean of both seats.

        Partners that read no labels count 0. ``None`` where a seed was measured without labels.
        """
        if any("best_labels" not in row["figures"] for row in self.rows):
            return None
        by_seed = [row["figures"]["best_labels"]["by_partner"] for row in self.rows]
        return np.array(
            [[max(0.0, *by_partner.get(partner, (0.0,))) for partner in self.partners] for by_partner in by_seed]
        )

    def label_gains(self) -> Doubles | None:
        """:meth:`best_label_gains` by seed, ``[n]``: the mean over families of the mean over their members."""
        gains = self.best_label_gains()
        if gains is None:
            return None
        return statistics.headline_scores(np.repeat(gains[:, :, None], 2, axis=2), self.families)

    def headline(self, column: Column = MAIN["points"]) -> Estimate:
        """The headline of a column: the mean over families of the mean over their members; ``nan`` where unknown."""
        scores = self.scores(column)
        if np.isnan(scores).all():
            return UNKNOWN
        fixed = self.rows[0]["benchmark"]["roster"] not in ROSTERS
        estimate = statistics.headline(scores, self.families, fixed=fixed)
        if math.isnan(estimate.low) and len(self.rows) == 1:
            margin = _noise(self.rows[0], column, self.families)
            estimate = estimate._replace(low=estimate.mean - margin, high=estimate.mean + margin)
        return estimate


def headline_of(row: Row) -> float:
    """The headline of one result: points of ten, the mean over families of the mean over their members."""
    return Arm(row["submission"]["name"], (row,)).headline().mean


def scores_of(row: Row, column: Column = MAIN["points"], part_of_cell: str = "value") -> Doubles:
    """A figure of one result by partner and seat, ``[W, 2]``; ``of="margin"``: half the interval of its noise."""
    by_cell = {(cell["partner"], cell["seat"]): _value(row, cell, column, part_of_cell) for cell in row["cells"]}
    return np.array([[by_cell[partner, seat] for seat in (0, 1)] for partner in sorted({name for name, _ in by_cell})])


def _value(row: Row, cell: Row, column: Column, part_of_cell: str) -> float:
    """A figure of a cell; ``nan`` outside the column's cells, or where it is unknown."""
    inside = column.seat in (None, cell["seat"]) and column.partners(partner_of(cell["partner"]))
    if not inside or (column.exact and not cell.get("reference_exact")):
        return math.nan
    part, value, divisor = column.part or row["benchmark"]["headline"], None, 1.0
    if column.measure in ("points", "share"):
        value = cell["points"].get(part) if part_of_cell == "value" else cell["margin"].get(part, 0.0)
    elif part_of_cell == "value":
        value = cell[column.measure]
    if column.measure == "share":
        divisor = (cell.get("reference") or {}).get(part) or 0.0
    return math.nan if value is None or not divisor else float(value) / divisor


def _noise(row: Row, column: Column, families: Sequence[str]) -> float:
    """Half the interval of a headline from the noise of its games; on a sample of scenarios at most that.

    ``nan`` for figures whose noise is not known.
    """
    margins = scores_of(row, column, "margin")
    if np.isnan(margins).all():
        return math.nan
    weighted = np.nan_to_num(margins) * statistics.cell_weights(margins, families)
    return float(np.linalg.norm(weighted) if row["benchmark"]["every_scenario"] else weighted.sum())


def arms_by_protocol(rows: Sequence[Row]) -> list[tuple[dict[str, Any], list[Arm]]]:
    """The arms of each protocol among the results, best first, test rosters first."""
    by_protocol: dict[tuple[Any, ...], dict[tuple[str, Any], Row]] = {}
    for row in rows:
        key = tuple(row["benchmark"][name] for name in SAME)
        run = row["submission"]["name"], row["submission"]["seed"]
        by_protocol.setdefault(key, {}).pop(run, None)
        by_protocol[key][run] = row
    order = ROSTERS[::-1]
    keys = sorted(
        by_protocol, key=lambda key: (order.index(key[1]) if key[1] in order else len(order), key[3:], key[2])
    )
    groups = []
    for key in keys:
        results = list(by_protocol[key].values())
        names = dict.fromkeys(row["submission"]["name"] for row in results)
        arms = [Arm(name, tuple(row for row in results if row["submission"]["name"] == name)) for name in names]
        points = {arm.name: statistics.headline_scores(arm.scores(), arm.families).mean() for arm in arms}
        groups.append((results[0]["benchmark"], sorted(arms, key=lambda arm: -points[arm.name])))
    return groups
