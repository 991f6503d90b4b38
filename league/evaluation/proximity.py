"""Shares of the reference's points that a member gets from each partner.

A share is a member's mean own points over the reference's, against one partner in one seat on the same scenarios. A
reference is exact or an upper bound that no policy exceeds; where neither is known there is no share. The summary of
the shares is their mean, the mean of those against exact references alone, the mean over the tenth of the partners
where they are worst, and the worst: robustness shows where a member does badly, so nothing is left out (as ZSC-Eval
does: Wang et al. 2024, section 4). Intervals are Bayesian bootstraps over groups of scenarios, and of the mean another
one over partners too. W = partners, R = replicates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.randomness import generator
from dond_marl.seats import Bools, Doubles
from dond_marl.statistics import GROUPS, Estimates, sums_by_group, worst_tenth_weights
from league.evaluation.outcomes import Outcomes
from league.standings.ratings import Table, scenario_weights, with_interval

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


def proximity(
    own: Sequence[tuple[Outcomes, Outcomes]],
    reference: Sequence[tuple[Doubles, Doubles]],
    exact: Bools,
    *,
    seed: int,
    confidence: float,
) -> Proximity:
    """The member's points as shares of the reference's, by partner and in both seats, in the same scenarios.

    ``reference``: its points of ten in each of the member's games, ``nan`` where it is unknown; ``exact[W, 2]``.
    """
    draws = scenario_weights(generator(seed, "final evaluation"), REPLICATES)
    theirs = [
        (first._replace(own=opens), second._replace(own=answers))
        for (first, second), (opens, answers) in zip(own, reference, strict=True)
    ]
    mine, marks = _sums(own, "own")[0], _sums(theirs, "own")[0]
    everywhere = np.ones(GROUPS)
    value, drawn = _shares(mine @ everywhere, marks @ everywhere), _shares(mine @ draws.T, marks @ draws.T)
    enough = _enough(own)
    picked = generator(seed, "partners").integers(len(own), size=(REPLICATES, len(own)))
    again = drawn[picked, :, np.arange(REPLICATES)[:, None]].reshape(REPLICATES, -1)
    fixed = np.moveaxis(drawn, -1, 0)
    worst = _worst_weights(value)

    def estimates(value: Table, drawn: Table) -> Estimates:
        return with_interval(value, drawn, confidence, enough=enough)

    mean, only = _over_cells(value[None])[0], np.where(exact, 1.0, np.nan)
    return Proximity(
        estimates(value, fixed),
        estimates(mean, _over_cells(fixed)),
        estimates(mean, _over_cells(again)),
        estimates(_over_cells((value * only)[None])[0], _over_cells(fixed * only)),
        estimates(np.array(np.nansum(value * worst) if worst.any() else np.nan), np.nansum(fixed * worst, axis=(1, 2))),
    )


def over_cells(figure: str, own: Sequence[tuple[Outcomes, Outcomes]], *, seed: int, confidence: float) -> Estimates:
    """A mean over all games of ``figure``, every cell weighing alike.

    ``figure`` names a field of :class:`~league.evaluation.outcomes.Outcomes`.
    """
    draws = scenario_weights(generator(seed, "final evaluation"), REPLICATES)
    sums, counts = _sums(own, figure)
    value = _mean(sums @ np.ones(GROUPS), counts @ np.ones(GROUPS))
    return with_interval(value, _mean(sums @ draws.T, counts @ draws.T), confidence, enough=_enough(own))


def _over_cells(values: Table) -> Table:
    """The mean of each row, ``[R]``; what is not known is left out, and nothing known is ``nan``."""
    flat = values.reshape(len(values), -1)
    known = ~np.isnan(flat)
    with np.errstate(invalid="ignore"):
        mean: Table = np.where(known, flat, 0.0).sum(axis=1) / known.sum(axis=1)
    return mean


def _worst_weights(shares: Table) -> Table:
    """How much each cell counts in the worst tenth of the partners, ``[W, 2]``; the sum is 1, or 0 without shares.

    A partner's share is the mean of its seats that have one; a fraction of a partner counts by its fraction.
    """
    known = ~np.isnan(shares)
    seats = known.sum(axis=1)
    some = np.flatnonzero(seats)
    weights = np.zeros(shares.shape)
    if len(some):
        per_partner = worst_tenth_weights(_over_cells(shares[some]))
        weights[some] = known[some] * (per_partner / seats[some])[:, None]
    return weights


def _shares(mine: Table, theirs: Table) -> Table:
    """``mine / theirs``, nan where the reference is unknown or gets nothing."""
    shares: Table = np.divide(mine, theirs, out=np.full(mine.shape, np.nan), where=theirs > LEAST)
    return shares


def _sums(games: Sequence[tuple[Outcomes, Outcomes]], figure: str) -> tuple[Table, Table]:
    """Sums of a figure and games by group of scenarios, two ``[W, 2, GROUPS]``; ``nan`` values are left out."""
    sums, counts = np.zeros((2, len(games), 2, GROUPS))
    for partner, seats in enumerate(games):
        for seat, outcomes in enumerate(seats):
            values = getattr(outcomes, figure)
            (sums[partner, seat],), (counts[partner, seat],) = sums_by_group(values, outcomes.groups, ~np.isnan(values))
            if not counts[partner, seat].any():
                sums[partner, seat] = np.nan  # nothing is known of it
    return sums, counts


def _mean(sums: Table, counts: Table) -> Table:
    """The mean over cells ``[W, 2, ...]`` of their means."""
    with np.errstate(invalid="ignore"):
        mean: NDArray[np.float64] = np.array(np.nanmean(sums / counts, axis=(0, 1)))
    return mean


def _enough(games: Sequence[tuple[Outcomes, Outcomes]]) -> bool:
    return len(np.unique(games[0][0].groups)) > 1
