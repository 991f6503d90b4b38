"""Shares of the reference's points that a member gets from each partner.

A share is a member's mean own points over the reference's, against one partner in one seat on the same scenarios. A
reference is exact or an upper bound that no policy exceeds; where neither is known there is no share. The summary of
the shares is their mean, the mean of those against exact references alone, the mean over the tenth of the partners
where they are worst, and the worst: robustness shows where a member does badly, so nothing is left out (as ZSC-Eval
does: Wang et al. 2024, section 4). Intervals are Bayesian bootstraps over groups of scenarios, and of the mean another
one over partners too. W = partners, R = replicates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dond_marl.randomness import generator
from dond_marl.seats import Bools, Doubles
from dond_marl.statistics import GROUPS, Estimates, worst_tenth_weights
from league.figures.tally import Tally, scenario_weights, with_interval

REPLICATES = 1_000
LEAST = 1e-9  # points of ten; a reference below it has no shares


class Proximity(NamedTuple):
    """Shares of the references' points; ``nan`` where no reference is certain or where it gets nothing."""

    cells: Estimates  # [W, 2] by partner and seat
    mean: Estimates  # [] of the cells, for these partners: over scenarios
    of_partners: Estimates  # [] the same for partners like these: over scenarios and partners
    exact: Estimates  # [] the mean of the cells whose reference is exact
    worst_tenth: Estimates  # [] the mean of the worst tenth of the partners, at least one, each the mean of its seats

    def worst(self) -> tuple[int, int] | None:
        """The partner and the seat of the smallest share, the first of equals; ``None`` without any."""
        shares = np.asarray(self.cells.value)
        if np.isnan(shares).all():
            return None
        partner, seat = np.unravel_index(np.nanargmin(shares), shares.shape)
        return int(partner), int(seat)


def proximity(points: Tally, reference: Tally, exact: Bools, *, seed: int, confidence: float) -> Proximity:
    """The member's points as shares of the reference's in the same games, by partner and in both seats.

    ``points[W, 2, GROUPS]`` and ``reference[W, 2, GROUPS]``, without games where it is unknown; ``exact[W, 2]``.
    """
    shares = _shares(points, reference, _weights(seed))  # [1 + R, W, 2]
    picked = generator(seed, "partners").integers(shares.shape[1], size=(REPLICATES, shares.shape[1]))
    again = shares[np.arange(1, REPLICATES + 1)[:, None], picked]  # partners drawn again in each replicate
    worst = _worst_weights(shares[0])

    def estimates(values: Doubles, drawn: Doubles | None = None) -> Estimates:
        """The first of ``values[1 + R, ...]``, with the interval of the others or of those ``drawn``."""
        return with_interval(values[0], values[1:] if drawn is None else drawn, confidence, enough=points.has_interval)

    mean = _over_cells(shares)
    return Proximity(
        cells=estimates(shares),
        mean=estimates(mean),
        of_partners=estimates(mean, _over_cells(again)),
        exact=estimates(_over_cells(np.where(exact, shares, np.nan))),
        worst_tenth=estimates(np.nansum(shares * worst, axis=(1, 2)) if worst.any() else mean),
    )


def over_cells(measure: Tally, *, seed: int, confidence: float) -> Estimates:
    """The mean of a measure ``[W, 2, GROUPS]`` over its cells, every cell with games weighing alike."""
    values = np.nanmean(measure.means(_weights(seed)), axis=(0, 1))
    return with_interval(values[0], values[1:], confidence, enough=measure.has_interval)


def _weights(seed: int) -> Doubles:
    """Weights of the groups of scenarios, ``[1 + R, GROUPS]``: all equal, then those of the replicates."""
    return np.vstack([np.ones(GROUPS), scenario_weights(generator(seed, "final evaluation"), REPLICATES)])


def _shares(points: Tally, reference: Tally, weights: Doubles) -> Doubles:
    """The shares ``[1 + R, W, 2]``; ``nan`` where the reference is unknown or gets nothing."""
    sums, most = points.sums @ weights.T, reference.sums @ weights.T
    shares = np.divide(sums, most, out=np.full(sums.shape, np.nan), where=most > LEAST)
    return np.moveaxis(shares, -1, 0)


def _over_cells(values: Doubles) -> Doubles:
    """The mean of each row, ``[R]``, over the entries that are known; ``nan`` without any."""
    flat = values.reshape(len(values), -1)
    known = ~np.isnan(flat)
    with np.errstate(invalid="ignore"):
        mean: Doubles = np.where(known, flat, 0.0).sum(axis=1) / known.sum(axis=1)
    return mean


def _worst_weights(shares: Doubles) -> Doubles:
    """The weight of each cell in the mean of the worst tenth, ``[W, 2]``; the sum is 1, or 0 without any share.

    A partner's share is the mean of its seats that have one; a fraction of a partner counts by its fraction.
    """
    known = ~np.isnan(shares)
    seats = known.sum(axis=1)
    known_partners = np.flatnonzero(seats)
    weights = np.zeros(shares.shape)
    if len(known_partners):
        per_partner = worst_tenth_weights(_over_cells(shares[known_partners]))
        weights[known_partners] = known[known_partners] * (per_partner / seats[known_partners])[:, None]
    return weights
