"""Figures of a submission, with intervals, for a line of the results file: means over partners, seats and scenarios.

A family of partners is a program (:func:`partners.provenance.programs`), not a name: ``boulware`` is ``linear`` with
another exponent, and ``trembling(of=linear)`` plays as ``linear`` most of the time.

A *cell* is one partner and one seat of the member. All means weigh cells equally; partners are those of the roster, a
fixed list, not a sample of anything. Where every scenario is played, only the noise is uncertain: the spread
of the replicates of one scenario around their mean, summed over orbits of scenarios (games that are renamings of each
other may share luck). Where only a sample of scenarios is played, the interval is that over orbits
(:func:`dond_marl.statistics.mean_over_scenarios`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from dond_marl.seats import Doubles, Rows
from dond_marl.statistics import Estimate, mean_over_scenarios, scenario_groups, worst_tenth_weights
from league.bench.protocol import CONFIDENCE, Field
from league.bench.results import Row
from league.evaluation.matches import MEMBER, Repeated
from league.tasks.answers import Answers
from partners.provenance import programs
from partners.rosters import TRAIN, roster


@lru_cache(maxsize=1024)  # called for every cell of a results file, with few partners
def has_train_family(partner: str) -> bool:
    """Whether a member of the roster train plays by the program of ``partner``, a spec, or of a partner inside it."""
    return bool(programs(partner) & _train_programs())


@lru_cache(maxsize=1)
def _train_programs() -> frozenset[str]:
    return frozenset(program for member in roster(TRAIN) for program in programs(member))


MEASURES = ("points", "left", "deal", "welfare")
Cell = tuple[int, int]  # the partner's number and the member's seat
Pick = Sequence[Cell]


class PlayedGames(NamedTuple):
    """All games of a submission: P partners, 2 seats, R replicates, N scenarios."""

    partners: tuple[str, ...]
    games: tuple[Repeated, ...]  # by partner
    field: Field

    @property
    def cells(self) -> list[Cell]:
        return [(number, seat) for number in range(len(self.partners)) for seat in (0, 1)]


def ordered_games(played: Mapping[str, Repeated], field: Field) -> PlayedGames:
    """The games by partner, in order."""
    return PlayedGames(tuple(played), tuple(played.values()), field)


class Figures:
    """Means of one submission's games; ``mean`` takes any cells, any slice of the scenarios, any of the measures."""

    def __init__(self, played: PlayedGames) -> None:
        self.played, field = played, played.field
        assert field.source.table is not None
        self._orbit: Rows = np.unique(field.orbits, return_inverse=True)[1]
        self._groups = scenario_groups(field.source.table)
        complete = not any(np.isnan(games.points).any() for games in played.games)
        self._noise_alone = field.whole and complete
        self._cache: dict[tuple[str, int, int, str], tuple[float, float, int]] = {}

    def mean(self, measure: str, cells: Pick, name: str, factors: Sequence[float] | None = None) -> Estimate:
        """The mean over ``cells`` of each cell's mean of a measure on the slice ``name``, times its factor (1).

        ``nan`` without cells, or where one holds no scenario of the slice. ``n`` counts games.
        """
        factors = [1.0] * len(cells) if factors is None else list(factors)
        if not cells or not all(self.played.field.slices[name][seat].any() for _, seat in cells):
            return Estimate(math.nan, 0, math.nan, math.nan)
        if not self._noise_alone:
            return self._over_scenarios(measure, cells, name, factors)
        found = [self._cell(measure, *cell, name) for cell in cells]
        mean = sum(own[0] * factor for own, factor in zip(found, factors, strict=True)) / len(found)
        variance = sum(own[1] * factor**2 for own, factor in zip(found, factors, strict=True)) / len(found) ** 2
        margin = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2) * math.sqrt(variance)
        return Estimate(mean, sum(n for _, _, n in found), mean - margin, mean + margin)

    def _cell(self, measure: str, partner: int, seat: int, name: str) -> tuple[float, float, int]:
        """The mean of one cell, the variance of that mean from noise, and how many games it holds."""
        key = (measure, partner, seat, name)
        if key not in self._cache:
            among = self.played.field.slices[name][seat]
            values = getattr(self.played.games[partner], measure)[seat][:, among]
            self._cache[key] = noisy_mean(values, self._orbit[among])
        return self._cache[key]

    def _over_scenarios(self, measure: str, cells: Pick, name: str, factors: Sequence[float]) -> Estimate:
        rows, among = [], []
        for (partner, seat), factor in zip(cells, factors, strict=True):
            values = getattr(self.played.games[partner], measure)[seat]  # [R, N]
            counted = ~np.isnan(values)
            times = counted.sum(axis=0)
            rows.append(factor * np.where(counted, values, 0).sum(axis=0) / np.maximum(times, 1))
            among.append((times > 0) & self.played.field.slices[name][seat])
        return mean_over_scenarios(np.array(rows), self._groups, CONFIDENCE, np.array(among))


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


DIGITS = 6  # of a figure in a line


def figures_of(games: Mapping[str, Repeated], field: Field) -> Row:
    """The figures of a line: each a value with its interval, ``None`` where it is not known."""
    played = ordered_games(games, field)
    figures, cells, head = Figures(played), played.cells, field.headline
    points = {cell: figures.mean("points", [cell], head).mean for cell in cells}
    train = [cell for cell in cells if has_train_family(played.partners[cell[0]])]
    others = [cell for cell in cells if cell not in train]
    worst = min(cells, key=lambda cell: points[cell])
    return {
        "points": plain_estimate(figures.mean("points", cells, head)),
        "points_by_part": {
            name: plain_estimate(figures.mean("points", cells, name)) for name in field.slices if name != head
        },
        "points_by_seat": [
            plain_estimate(figures.mean("points", [c for c in cells if c[1] == seat], head)) for seat in (0, 1)
        ],
        "points_families_of_train": plain_estimate(figures.mean("points", train, head)),
        "points_other_families": plain_estimate(figures.mean("points", others, head)),
        "points_worst_tenth": plain_estimate(_worst_tenth(figures, points, head)),
        "points_worst_cell": _cell_named(played.partners, worst, points[worst]),
        "left": plain_estimate(figures.mean("left", cells, head)),
        "deals": plain_estimate(figures.mean("deal", cells, head)),
        "welfare": plain_estimate(figures.mean("welfare", cells, head)),
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
    played = ordered_games(games, field)
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
                "points": {name: rounded_number(each.mean) for name, each in by_slice.items()},
                "margin": {name: rounded_number(each.margin) for name, each in by_slice.items() if each.margin > 0},
                **{name: rounded_number(each.mean) for name, each in rest.items()},
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


def _cell_named(partners: Sequence[str], cell: Cell, value: float) -> Row:
    return {"value": rounded_number(value), "partner": partners[cell[0]], "seat": cell[1]}


def plain_estimate(estimate: Estimate) -> Row | None:
    """An estimate as plain values; ``None`` for an unknown one."""
    if math.isnan(estimate.mean):
        return None
    return {
        "value": rounded_number(estimate.mean),
        "low": rounded_number(estimate.low),
        "high": rounded_number(estimate.high),
        "n": estimate.n,
    }


def rounded_number(value: float) -> float | None:
    """A number rounded as in a line; ``None`` for ``nan``."""
    return None if math.isnan(value) else round(float(value), DIGITS)
