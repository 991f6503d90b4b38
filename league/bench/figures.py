"""Figures of a submission for a line of the results file: its cells, and means over them with the noise of the games.

A *cell* is one partner and one seat of the member. The means of a line weigh cells equally; tables weigh families of
partners equally, from the cells (:mod:`league.bench.table`). Where every scenario is played, only the noise is
uncertain: the spread of the replicates of one scenario around their mean, summed over orbits of scenarios (games that
are renamings of each other may share luck). Where only a sample of scenarios is played, the interval is that over
orbits (:meth:`league.figures.tally.Tally.mean`).

A family of partners is *known* by its program (:func:`partners.provenance.programs`), not its name: ``boulware`` is
``linear`` with another exponent, and ``trembling(of=linear)`` plays as ``linear`` most of the time.

A reference is the best response's points by partner, seat and slice of the scenarios, from
:mod:`league.standings.references`: a property of the partner alone, never of the judged policy. Tables use the current
ones for all lines.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dond_marl.errors import InputError, quote
from dond_marl.game import Act
from dond_marl.occupants import Spec, read_spec
from dond_marl.scenarios.sources import PARTS
from dond_marl.statistics import UNKNOWN, Estimate, scenario_groups, two_sided_quantile
from league.bench.protocol import ALL, CONFIDENCE, HEADLINE, SLICES, Field
from league.bench.results import Row
from league.evaluation.matches import MEMBER, SeatGames
from league.figures.measures import tally_of
from league.figures.tally import Tally
from league.play.values import Answers
from league.standings.references import reference_of, stored_references
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


MEASURES = {"points": "points", "left": "left", "deal": "deals", "welfare": "welfare"}  # key of a cell: figure
DIGITS = 6  # of a figure in a line
Cell = tuple[int, int]  # the partner's number and the member's seat


class PartnerGames(NamedTuple):
    """All games with one partner: R replicates of each scenario, one where both players are deterministic."""

    tally: Tally  # [seat, R, slice of the field, measure, GROUPS], by the member's seat
    answers: Mapping[str, Answers]
    offers: int  # of the member, in games that count
    insists: int  # those with INSIST


def partner_games(replicates: Iterable[SeatGames], field: Field) -> PartnerGames:
    """The games with one partner, all replicates of them."""
    assert field.source.table is not None
    groups, tallies = scenario_groups(field.source.table), []
    answers: dict[str, Answers] = {}
    offers = insists = 0
    for played in replicates:
        for name, counts in played.answers.items():
            answers[name] = answers.get(name, Answers()) + counts
        by_seat = []
        for seat, (games, measured) in enumerate(zip(played.games, played.measures(), strict=True)):
            slices = np.stack([mask[seat] for mask in field.slices.values()])
            by_seat.append(tally_of(measured, groups, slices & games.valid, MEASURES.values()))
            acts = games.act[games.valid, seat::2]
            insists += int((acts == Act.INSIST).sum())
            offers += int(np.isin(acts, (Act.PROPOSE, Act.INSIST)).sum())
        tallies.append(Tally.stack(by_seat))
    return PartnerGames(Tally.stack(tallies, axis=1), answers, offers, insists)


class CellMeans:
    """Means of one submission's games; ``mean`` takes any cells, any slice of the scenarios, any of the measures."""

    def __init__(self, games: Mapping[str, PartnerGames], field: Field) -> None:
        self.partners, self.games, self.field = tuple(games), tuple(games.values()), field
        self.cells = [(partner, seat) for partner in range(len(games)) for seat in (0, 1)]
        complete = not any(counts.left_out for played in self.games for counts in played.answers.values())
        self._noise_alone = field.whole and complete

    def mean(self, measure: str, cells: Sequence[Cell], name: str) -> Estimate:
        """The mean over ``cells`` of each cell's mean of a measure on the slice ``name``.

        ``nan`` without cells, or where one holds no scenario of the slice. ``n`` counts games.
        """
        index = list(self.field.slices).index(name), list(MEASURES).index(measure)
        tallies = [self.games[partner].tally[seat][:, *index] for partner, seat in cells]  # of [R, GROUPS]
        if not cells or not all(tally.games.any() for tally in tallies):
            return UNKNOWN
        if not self._noise_alone:
            return Tally.stack([tally.averaged() for tally in tallies]).mean(CONFIDENCE)
        means, variances, sizes = zip(*map(noisy_mean, tallies), strict=True)
        mean = sum(means) / len(cells)
        margin = two_sided_quantile(CONFIDENCE) * math.sqrt(sum(variances)) / len(cells)  # cells' noise is independent
        return Estimate(mean, sum(sizes), mean - margin, mean + margin)


def noisy_mean(tally: Tally) -> tuple[float, float, int]:
    """The mean over all of a finite set of scenarios, ``[R, GROUPS]``, its variance from noise, the games.

    Noise may be shared within a group: the deviations of a replicate from the mean of all are summed there, and the
    squares of these sums give the variance. One replicate is taken to hold no noise. An empty set has ``nan``.
    """
    replicates, games = len(tally.games), int(tally.games.sum())
    if not games:
        return math.nan, 0.0, 0
    mean = float(tally.sums.sum()) / games
    if replicates < 2:
        return mean, 0.0, games
    deviations = tally.sums - tally.sums.mean(axis=0)
    variance = float((deviations**2).sum()) / (replicates * (replicates - 1)) / (games / replicates) ** 2
    return mean, variance, games


def figures_of(games: Mapping[str, PartnerGames], field: Field) -> Row:
    """The figures of a line: each a value with its interval, ``None`` where it is not known."""
    figures, head = CellMeans(games, field), field.headline
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
        "games": sum(played.answers[MEMBER].games for played in games.values()),
    }


def _insists(games: Collection[PartnerGames]) -> Estimate:
    """The share of INSIST among the member's offers, of all its games."""
    offers, insists = (sum(getattr(played, name) for played in games) for name in ("offers", "insists"))
    return Estimate(insists / offers, offers, insists / offers, insists / offers) if offers else UNKNOWN


def label_gains(
    games: Mapping[str, PartnerGames], relabelled: Sequence[Mapping[str, PartnerGames]], field: Field
) -> Row:
    """The figure ``best_labels``: points won if all offers to a partner had the label that suits that partner best.

    A mean over partners, as all figures of a line; tables weigh families equally
    (:meth:`league.bench.arms.Arm.label_gains`).

    ``relabelled``: the games with partners that read labels, all offers PROPOSE, and all INSIST. The label is chosen
    after the games, so that the figure is an upper estimate where a game has chance. ``by_partner``: the differences
    from the games as played, PROPOSE and INSIST, of the partners that read labels.
    """

    def points(with_partner: PartnerGames) -> float:
        means = CellMeans({"": with_partner}, field)
        return means.mean("points", means.cells, field.headline).mean

    played = {name: points(with_partner) for name, with_partner in games.items()}
    by_partner = {
        name: [points(again[name]) - played[name] for again in relabelled] for name in games if name in relabelled[0]
    }
    gain = sum(max(0.0, *gains) for gains in by_partner.values()) / len(games)
    differences = {name: [_digits(points) for points in gains] for name, gains in by_partner.items()}
    return {"best_labels": {**(_plain(Estimate(gain, len(games), gain, gain)) or {}), "by_partner": differences}}


def cells_of(games: Mapping[str, PartnerGames], field: Field) -> list[Row]:
    """A line's cells: each partner and seat of the member, with its figures by slice."""
    figures, rows = CellMeans(games, field), []
    for i, seat in figures.cells:
        partner = figures.partners[i]
        by_slice = {name: figures.mean("points", [(i, seat)], name) for name in field.slices}
        measures = {name: figures.mean(name, [(i, seat)], field.headline) for name in MEASURES if name != "points"}
        rows.append(
            {
                "partner": partner,
                "seat": seat,
                "replicates": len(games[partner].tally.games[seat]),
                "points": {name: _digits(points.mean) for name, points in by_slice.items()},
                "margin": {name: _digits(points.margin) for name, points in by_slice.items() if points.margin > 0},
                **{name: _digits(figure.mean) for name, figure in measures.items()},
            }
        )
    return rows


def answers_of(games: Mapping[str, PartnerGames]) -> Row:
    """The answer counts of the member over all its games, and of each partner with fallback acts."""
    total, partners = Answers(), {}
    for name, played in games.items():
        total += played.answers[MEMBER]
        if name in played.answers and played.answers[name].fallbacks:
            partners[name] = played.answers[name].document()
    return {MEMBER: total.document(), **partners}


def _plain(estimate: Estimate) -> Row | None:
    """An estimate as plain values; ``None`` for an unknown one."""
    mean, n, low, high = estimate
    return None if math.isnan(mean) else {"value": _digits(mean), "low": _digits(low), "high": _digits(high), "n": n}


def _digits(value: float) -> float | None:
    """A number with the digits of a line; ``None`` for ``nan``."""
    return None if math.isnan(value) else round(float(value), DIGITS)


PARTS_OF = {HEADLINE: (1, 2), ALL: (0, 1, 2), **{name: (part,) for part, name in enumerate(PARTS)}}


@lru_cache(maxsize=512)
def _reference_to(partner: Spec, seat: int) -> tuple[Mapping[str, float | None], bool] | None:
    """The stored reference to ``partner`` for a member in ``seat``, in points of ten by slice, and whether it is exact.

    An inexact one is a certified upper bound: a share of it is at most the true share. ``None`` without any. A name
    from a file is not made into an occupant, which may start a program, unless its kind has references.
    """
    kinds = {partner_of(name).kind for name in stored_references()}
    stored = reference_of(partner) if partner.kind in {*kinds, *NETWORKS} else None
    if stored is None:
        return None
    side = stored.seats[seat]
    values = {name: None if side is None else _digits(side.values_over(seat, PARTS_OF[name])[1]) for name in SLICES}
    return values, side is not None and side.exact


def with_references(row: Row) -> Row:
    """The line with the current reference in each cell.

    Unchanged where no reference is known: beyond the scenarios of ``lewis``, or on a sample of them.
    """
    benchmark = row["benchmark"]
    if benchmark["scenarios"] != "lewis" or not benchmark["every_scenario"]:
        return row
    return {**row, "cells": [_with_reference(cell) for cell in row["cells"]]}


def _with_reference(cell: Row) -> Row:
    fields = {key: value for key, value in cell.items() if not key.startswith("reference")}
    reference = _reference_to(partner_of(cell["partner"]), cell["seat"])
    if reference is None:
        return fields
    values, exact = reference
    return {**fields, "reference": {name: values[name] for name in cell["points"]}, "reference_exact": exact}
