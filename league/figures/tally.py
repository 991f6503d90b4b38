"""Tally: sums over games by cell and group of scenarios, from which every mean, share and interval is computed.

A *cell* is one member in one seat against one opponent. Cells weigh the same in a mean, however many games they hold;
:meth:`Tally.pooled` makes one cell of several, in which every game weighs the same. Groups of scenarios are the
sampling units (:mod:`dond_marl.statistics`). Games in which a seat was not reached are left out where a tally is made.

    sums[cell, group]     3.0  0.5   . . .      games[cell, group]     1  2   . . .      one mean per cell, its spread
                          1.0  0.0   . . .                             1  2   . . .      between groups the interval
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dond_marl.seats import Doubles
from dond_marl.statistics import GROUPS, Estimate, Estimates, mean_of_cells, rate, sums_by_group


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums of a measure and numbers of games, both ``[..., GROUPS]``: the first axes are cells, in any order."""

    sums: NDArray[np.floating[Any]]
    games: NDArray[np.floating[Any]]

    @classmethod
    def of(cls, values: NDArray[Any], groups: NDArray[np.int64], counted: NDArray[Any] | None = None) -> Tally:
        """The tally of ``values[..., K]``, one per game, whose scenarios are of the groups ``groups[K]``.

        ``counted``: mask of the games that count, shaped as ``values``; by default those that are not ``nan``.
        """
        counted = ~np.isnan(values) if counted is None else counted
        cells = values.shape[:-1]
        flat = (math.prod(cells), values.shape[-1])
        sums, games = sums_by_group(values.reshape(flat), groups, counted.reshape(flat))
        return cls(sums.reshape(*cells, GROUPS), games.reshape(*cells, GROUPS))

    @classmethod
    def stack(cls, tallies: Sequence[Tally], axis: int = 0) -> Tally:
        """Tallies of the same shape along a new axis, by default the first."""
        sums, games = ([getattr(tally, part) for tally in tallies] for part in ("sums", "games"))
        return cls(np.stack(sums, axis), np.stack(games, axis))

    def __getitem__(self, cells: Any) -> Tally:
        """The cells selected by an index of NumPy."""
        return Tally(self.sums[cells], self.games[cells])

    def __sub__(self, other: Tally) -> Tally:
        """The difference in each cell, paired: both must hold the same games of the same scenarios."""
        return Tally(self.sums - other.sums, self.games)

    def pooled(self, axis: int = 0) -> Tally:
        """One cell of all along an axis: every game weighs the same."""
        return Tally(self.sums.sum(axis=axis), self.games.sum(axis=axis))

    def averaged(self, axis: int = 0) -> Tally:
        """The mean of sums and of numbers of games along an axis, such as replicates of the same games."""
        return Tally(self.sums.mean(axis=axis), self.games.mean(axis=axis))

    def mean(self, confidence: float) -> Estimate:
        """The mean of the cells' means; ``n`` counts games, and ``confidence`` is two-sided, in (0, 1)."""
        return mean_of_cells(*self._cells(), confidence)

    def share(self, confidence: float) -> Estimate:
        """The mean of an event that happens or not, with an interval within 0..1."""
        return rate(*self._cells(), confidence)

    def ratio(self, other: Tally, confidence: float) -> Estimate:
        """The ratio of two sums in the same games, paired; ``n`` counts this tally's games.

        A ratio made linear at its value is what :func:`dond_marl.statistics.mean_of_cells` makes of sums and of what
        they are divided by.
        """
        ratio = mean_of_cells(self._cells()[0], other._cells()[0], confidence)
        return ratio._replace(n=int(self.games.sum()))

    def means(self, weights: Doubles | None = None) -> Doubles:
        """The mean of each cell, ``[...]``, or for each row of ``weights[R, GROUPS]``, ``[..., R]``; ``nan``: empty."""
        groups = np.ones(GROUPS) if weights is None else weights.T
        with np.errstate(invalid="ignore"):
            means: Doubles = (self.sums @ groups) / (self.games @ groups)
        return means

    @property
    def has_interval(self) -> bool:
        """Whether games of at least two groups are there, between which something can vary."""
        return int(np.count_nonzero(self.games.reshape(-1, GROUPS).any(axis=0))) > 1

    def _cells(self) -> tuple[Doubles, Doubles]:
        sums, games = (part.reshape(-1, GROUPS).astype(np.float64) for part in (self.sums, self.games))
        return sums, games


def scenario_weights(generator: np.random.Generator, replicates: int) -> Doubles:
    """Random weights of the groups of scenarios, ``[replicates, GROUPS]``, exponential with mean 1 (Rubin 1981)."""
    return generator.standard_exponential((replicates, GROUPS))


def with_interval(value: Doubles, draws: Doubles, confidence: float, *, enough: bool) -> Estimates:
    """A figure with the percentile interval of ``draws[replicates, ...]``; ``nan`` bounds unless ``enough`` groups."""
    if not enough:
        return Estimates(value, np.full(value.shape, np.nan), np.full(value.shape, np.nan))
    low, high = np.quantile(draws, [0.5 - confidence / 2, 0.5 + confidence / 2], axis=0)
    return Estimates(value, low, high)


def with_wide_interval(
    value: Doubles, draws: Doubles, confidence: float, *, enough: bool, within: tuple[float, float]
) -> Estimates:
    """Interval of a discontinuous figure, such as the value of an equilibrium between about equally good members.

    There the draws lie to one side of the value, and their percentiles cover too little or miss the value itself. The
    interval contains the draws' interval and its reflection at the value (Davison & Hinkley 1997, *Bootstrap Methods*,
    section 5.2), so it is conservative and always contains the value. ``within``: the range of the figure.
    """
    low, high = with_interval(value, draws, confidence, enough=enough)[1:]
    least, most = np.minimum(low, 2 * value - high), np.maximum(high, 2 * value - low)
    # A value may exceed its range by rounding.
    return Estimates(value, np.minimum(np.clip(least, *within), value), np.maximum(np.clip(most, *within), value))
