"""Figures of a submission for a line of the results file: its cells, and means over them with the noise of the games.

A *cell* is one partner and one seat of the member. The means of a line weigh cells equally; tables weigh families of
partners equally, from the cells (:mod:`league.bench.table`). Where every scenario is played, only the noise is
uncertain: the spread of the replicates of one scenario around their mean, summed over orbits of scenarios (games that
are renamings of each other may share luck). Where only a sample of scenarios is played, the interval is that over
orbits (:func:`dond_marl.statistics.mean_over_scenarios`).

A family of partners is *known* by its program (:func:`partners.provenance.programs`), not its name: ``boulware`` is
``linear`` with another exponent, and ``trembling(of=linear)`` plays as ``linear`` most of the time.

A reference is the best response's points by partner, seat and slice of the scenarios, from
:mod:`league.standings.references`: a property of the partner alone, never of the judged policy. Tables use the current
ones for all lines.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dond_marl.errors import InputError, quote
from dond_marl.occupants import Spec, read_spec
from dond_marl.scenarios.sources import PARTS
from dond_marl.seats import Doubles, Rows
from dond_marl.statistics import Estimate, mean_over_scenarios, scenario_groups, two_sided_quantile
from league.bench.protocol import ALL, CONFIDENCE, HEADLINE, SLICES, Field
from league.bench.results import Row
from league.evaluation.matches import MEMBER, Repeated
from league.standings.references import reference_of, stored_references
from league.tasks.answers import Answers
from partners.provenance import NETWORKS, programs
from partners.rosters import TRAIN, roster


@lru_cache(maxsize=1024)  # called for every cell of a results file, with few partners
def partner_of(text: str) -> Spec:
    """The partner of a cell; nothing is looked up. Raises :class:`InputError` for text that is no spec."""
    spec = read_spec(text)
    if spec is None:
        raise InputError(f"a partner in the results is no occupant: {quote(text)}")
    return spec


@lru_cache(maxsize=1024)
def has_train_family(partner: Spec) -> bool:
    """Whether a member of the roster train plays by the program of ``partner``, or of a partner inside it."""
    return bool(programs(partner) & _train_programs())


@lru_cache(maxsize=1)
def _train_programs() -> frozenset[str]:
    return frozenset(program for member in roster(TRAIN) for program in programs(member))


MEASURES = ("points", "left", "deal", "welfare")
UNKNOWN = Estimate(math.nan, 0, math.nan, math.nan)
DIGITS = 6  # of a figure in a line
Cell = tuple[int, int]  # the partner's number and the member's seat


class Figures:
    """Means of one submission's games; ``mean`` takes any cells, any slice of the scenarios, any of the measures."""

    def __init__(self, games: Mapping[str, Repeated], field: Field) -> None:
        self.partners, self.games, self.field = tuple(games), tuple(games.values()), field
        self.cells = [(number, seat) for number in range(len(games)) for seat in (0, 1)]
        assert field.source.table is not None
        self._orbit: Rows = np.unique(field.orbits, return_inverse=True)[1]
        self._groups = scenario_groups(field.source.table)
        complete = not any(np.isnan(games.points).any() for games in self.games)
        self._noise_alone = field.whole and complete
        self._cache: dict[tuple[str, int, int, str], Estimate] = {}

    def mean(self, measure: str, cells: Sequence[Cell], name: str) -> Estimate:
        """The mean over ``cells`` of each cell's mean of a measure on the slice ``name``.

        ``nan`` without cells, or where one holds no scenario of the slice. ``n`` counts games.
        """
        if not cells or not all(self.field.slices[name][seat].any() for _, seat in cells):
            return UNKNOWN
        if self._noise_alone:
            return _mean_of_cells([self._cell(measure, *cell, name) for cell in cells])
        rows, among = [], []
        for partner, seat in cells:
            values = getattr(self.games[partner], measure)[seat]  # [R, N]
            counted = ~np.isnan(values)
            times = counted.sum(axis=0)
            rows.append(np.where(counted, values, 0).sum(axis=0) / np.maximum(times, 1))
            among.append((times > 0) & self.field.slices[name][seat])
        return mean_over_scenarios(np.array(rows), self._groups, CONFIDENCE, np.array(among))

    def _cell(self, measure: str, partner: int, seat: int, name: str) -> Estimate:
        """The mean of one cell with the interval of its noise."""
        key = (measure, partner, seat, name)
        if key not in self._cache:
            among = self.field.slices[name][seat]
            values = getattr(self.games[partner], measure)[seat][:, among]
            mean, variance, size = noisy_mean(values, self._orbit[among])
            margin = two_sided_quantile(CONFIDENCE) * math.sqrt(variance)
            self._cache[key] = Estimate(mean, size, mean - margin, mean + margin)
        return self._cache[key]


def _mean_of_cells(estimates: Sequence[Estimate]) -> Estimate:
    """The mean of estimates whose noise is independent."""
    number = len(estimates)
    mean = sum(each.mean for each in estimates) / number
    margin = math.hypot(*(each.margin for each in estimates)) / number
    return Estimate(mean, sum(each.n for each in estimates), mean - margin, mean + margin)


def noisy_mean(values: Doubles, orbit: Rows) -> tuple[float, float, int]:
    """The mean of ``values[R, N]`` over all of a finite set of scenarios, its variance from noise, the games.

    ``orbit[N]`` numbers the clusters in which noise may be shared: deviations from the scenario's own mean are summed
    within them, and their squares give the variance. One replicate is taken to hold no noise. An empty set has ``nan``.
    """
    times, size = values.shape
    if not size:
        return math.nan, 0.0, 0
    mean = float(values.mean())
    if times < 2:
        return mean, 0.0, size
    deviation = values - values.mean(axis=0)
    sums = np.stack([np.bincount(orbit, weights=row) for row in deviation])  # [R, clusters]
    variance = float((sums**2).sum()) / (times * (times - 1)) / size**2
    return mean, variance, times * size


def figures_of(games: Mapping[str, Repeated], field: Field) -> Row:
    """The figures of a line: each a value with its interval, ``None`` where it is not known."""
    figures, head = Figures(games, field), field.headline
    cells, partners = figures.cells, figures.partners
    points = {cell: figures.mean("points", [cell], head).mean for cell in cells}
    worst = min(cells, key=lambda cell: points[cell])
    return {
        "points": _plain(figures.mean("points", cells, head)),
        "points_by_part": {name: _plain(figures.mean("points", cells, name)) for name in field.slices if name != head},
        "points_by_seat": [_plain(figures.mean("points", [c for c in cells if c[1] == seat], head)) for seat in (0, 1)],
        "points_worst_cell": {"value": _digits(points[worst]), "partner": partners[worst[0]], "seat": worst[1]},
        "left": _plain(figures.mean("left", cells, head)),
        "deals": _plain(figures.mean("deal", cells, head)),
        "welfare": _plain(figures.mean("welfare", cells, head)),
        "insists": _plain(_insists(games.values())),
        "games": sum(each.points.size for each in games.values()),
    }


def _insists(games: Collection[Repeated]) -> Estimate:
    """The share of INSIST among the member's offers, of all its games."""
    offers, insists = (sum(getattr(each, name) for each in games) for name in ("offers", "insists"))
    return Estimate(insists / offers, offers, insists / offers, insists / offers) if offers else UNKNOWN


def label_gains(games: Mapping[str, Repeated], relabelled: Sequence[Mapping[str, Repeated]], field: Field) -> Row:
    """The figure ``best_labels``: points won if all offers to a partner had the label that suits that partner best.

    A mean over partners, as all figures of a line; tables weigh families equally
    (:meth:`league.bench.arms.Arm.label_gains`).

    ``relabelled``: the games with partners that read labels, all offers PROPOSE, and all INSIST. The label is chosen
    after the games, so that the figure is an upper estimate where a game has chance. ``by_partner``: the differences
    from the games as played, PROPOSE and INSIST, of the partners that read labels.
    """
    head = field.headline
    played = {name: _points_by_partner({name: own}, field, head) for name, own in games.items()}
    by_partner = {
        name: [_points_by_partner({name: each[name]}, field, head) - played[name] for each in relabelled]
        for name in games
        if name in relabelled[0]
    }
    gain = sum(max(0.0, *own) for own in by_partner.values()) / len(games)
    differences = {name: [_digits(each) for each in own] for name, own in by_partner.items()}
    return {"best_labels": {**(_plain(Estimate(gain, len(games), gain, gain)) or {}), "by_partner": differences}}


def _points_by_partner(games: Mapping[str, Repeated], field: Field, name: str) -> float:
    figures = Figures(games, field)
    return figures.mean("points", figures.cells, name).mean


def cells_of(games: Mapping[str, Repeated], field: Field) -> list[Row]:
    """A line's cells: each partner and seat of the member, with its figures by slice."""
    figures, rows = Figures(games, field), []
    for number, seat in figures.cells:
        partner = figures.partners[number]
        by_slice = {name: figures.mean("points", [(number, seat)], name) for name in field.slices}
        rest = {name: figures.mean(name, [(number, seat)], field.headline) for name in MEASURES[1:]}
        rows.append(
            {
                "partner": partner,
                "seat": seat,
                "replicates": games[partner].points.shape[1],
                "points": {name: _digits(each.mean) for name, each in by_slice.items()},
                "margin": {name: _digits(each.margin) for name, each in by_slice.items() if each.margin > 0},
                **{name: _digits(each.mean) for name, each in rest.items()},
            }
        )
    return rows


def answers_of(games: Mapping[str, Repeated]) -> Row:
    """The answer counts of the member over all its games, and of each partner with fallback acts."""
    total, found = Answers(), {}
    for name, played in games.items():
        total += played.answers[MEMBER]
        if name in played.answers and played.answers[name].fallbacks:
            found[name] = played.answers[name].document()
    return {MEMBER: total.document(), **found}


def _plain(estimate: Estimate) -> Row | None:
    """An estimate as plain values; ``None`` for an unknown one."""
    mean, n, low, high = estimate
    return None if math.isnan(mean) else {"value": _digits(mean), "low": _digits(low), "high": _digits(high), "n": n}


def _digits(value: float) -> float | None:
    """A number with the digits of a line; ``None`` for ``nan``."""
    return None if math.isnan(value) else round(float(value), DIGITS)


PARTS_OF = {HEADLINE: (1, 2), ALL: (0, 1, 2), **{name: (number,) for number, name in enumerate(PARTS)}}


class References(NamedTuple):
    """References of one partner: points of ten by slice and by the member's seat, and whether they are exact there.

    An inexact one is a certified upper bound: a share of it is at most the true share. ``nan`` where none is known.
    """

    values: Mapping[str, tuple[float, float]]  # by slice
    exact: tuple[bool, bool]


@lru_cache(maxsize=256)
def _references_to(partner: Spec) -> References | None:
    """The stored references to ``partner`` on all scenarios of ``lewis``; ``None`` without any.

    A name from a file is not made into an occupant, which may start a program, unless its kind has references.
    """
    kinds = {partner_of(name).kind for name in stored_references()}
    stored = reference_of(partner) if partner.kind in {*kinds, *NETWORKS} else None
    if stored is None:
        return None
    values = {}
    for name in SLICES:
        first, second = (
            math.nan if side is None else side.values_over(seat, PARTS_OF[name])[1]
            for seat, side in enumerate(stored.seats)
        )
        values[name] = first, second
    first_exact, second_exact = (side is not None and side.exact for side in stored.seats)
    return References(values, (first_exact, second_exact))


def with_references(row: Row) -> Row:
    """The line with the current reference in each cell.

    Unchanged where no reference is known: beyond the scenarios of ``lewis``, or on a sample of them.
    """
    benchmark = row["benchmark"]
    if benchmark["scenarios"] != "lewis" or not benchmark["every_scenario"]:
        return row
    return {**row, "cells": [_with_reference(cell) for cell in row["cells"]]}


def _with_reference(cell: Row) -> Row:
    rest = {key: value for key, value in cell.items() if not key.startswith("reference")}
    own, seat = _references_to(partner_of(cell["partner"])), cell["seat"]
    if own is None:
        return rest
    values = {name: _digits(own.values[name][seat]) for name in cell["points"]}
    return {**rest, "reference": values, "reference_exact": own.exact[seat]}
