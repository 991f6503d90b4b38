"""Figures of a submission: means over partners, seats and scenarios, each with the doubt that is left in it.

A *cell* is one partner and one seat of the member. All means weigh cells equally; partners are those of the roster, a
fixed list, not a sample of anything. Where every scenario is played, what is uncertain is the noise alone: the spread
of the replicates of one scenario around their mean, summed over orbits of scenarios (games that are renamings of each
other may share luck). Where only a sample of scenarios is played, the interval is that over orbits
(:func:`dond_marl.statistics.mean_over_scenarios`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from dond_marl.seats import Doubles, Rows
from dond_marl.statistics import Estimate, mean_over_scenarios, scenario_groups
from league.bench.protocol import CONFIDENCE, Field
from league.evaluation.matches import Repeated

MEASURES = ("points", "left", "deal", "welfare")
Cell = tuple[int, int]  # the partner's number and the member's seat
Pick = Sequence[Cell]


class Played(NamedTuple):
    """All games of a submission: P partners, 2 seats, R replicates, N scenarios."""

    partners: tuple[str, ...]
    games: tuple[Repeated, ...]  # by partner
    field: Field

    @property
    def cells(self) -> list[Cell]:
        return [(number, seat) for number in range(len(self.partners)) for seat in (0, 1)]


def in_order(played: Mapping[str, Repeated], field: Field) -> Played:
    """The games by partner, as figures are taken of them."""
    return Played(tuple(played), tuple(played.values()), field)


class Figures:
    """Means of one submission's games; ``mean`` takes any cells, any slice of the scenarios, any of the measures."""

    def __init__(self, played: Played) -> None:
        self.played, field = played, played.field
        assert field.source.table is not None
        self._orbit: Rows = np.unique(field.orbits, return_inverse=True)[1]
        self._groups = scenario_groups(field.source.table)
        complete = not any(np.isnan(games.points).any() for games in played.games)
        self._noise_alone = field.whole and complete
        self._known: dict[tuple[str, int, int, str], tuple[float, float, int]] = {}

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
        if key not in self._known:
            among = self.played.field.slices[name][seat]
            values = getattr(self.played.games[partner], measure)[seat][:, among]
            self._known[key] = noisy_mean(values, self._orbit[among])
        return self._known[key]

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
