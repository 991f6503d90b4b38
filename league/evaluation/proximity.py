"""How close a member comes to a reference, the best known response to each partner: shares of its points.

A share is a member's mean own points over the reference's, against one partner in one seat on the same scenarios, and
at most 1. Their interquartile mean leaves out the quarter of the cells where it is worst and the quarter where it is
best: one partner that nobody can deal with decides nothing (BR-Prox: Wang et al. 2024, *ZSC-Eval*, section 4; Agarwal
et al. 2021, *Deep Reinforcement Learning at the Edge of the Statistical Precipice*). Intervals are Bayesian bootstraps
over groups of scenarios, and another over partners too. C = cells, W = partners, R = replicates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.randomness import generator
from dond_marl.yardsticks.metrics import GROUPS, by_group
from league.evaluation.outcomes import Outcomes
from league.standings.ratings import Rated, Table, scenario_weights, with_interval

REPLICATES = 1_000
LEAST = 1e-9  # points of ten; of a reference that gets no more nobody can have a share


class Proximity(NamedTuple):
    """Shares of a reference's own points, and their interquartile mean."""

    cells: Rated  # [W, 2] by partner and seat, 0..1; nan where the reference gets nothing
    middle: Rated  # [] interquartile mean, for these partners: over scenarios
    of_partners: Rated  # [] the same as a sample of partners: over scenarios and partners


class Beside(NamedTuple):
    """One figure of a member and of its references, and the ratio of the two."""

    own: Rated
    reference: Rated
    ratio: Rated


def proximity(
    own: Sequence[tuple[Outcomes, Outcomes]],
    reference: Sequence[tuple[Outcomes, Outcomes]],
    *,
    seed: int,
    confidence: float,
) -> Proximity:
    """The member's points as shares of the reference's, by partner and in both seats, in the same scenarios."""
    draws, mine, theirs = _weights(seed), _sums(own, "own")[0], _sums(reference, "own")[0]
    everywhere = np.ones(GROUPS)
    value, drawn = _shares(mine @ everywhere, theirs @ everywhere), _shares(mine @ draws.T, theirs @ draws.T)
    enough = _enough(own)
    picked = generator(seed, "partners").integers(len(own), size=(REPLICATES, len(own)))
    again = drawn[picked, :, np.arange(REPLICATES)[:, None]].reshape(REPLICATES, -1)
    fixed = np.moveaxis(drawn, -1, 0)
    middle = np.array(interquartile_mean(value.reshape(1, -1))[0])
    return Proximity(
        with_interval(value, fixed, confidence, enough=enough),
        with_interval(middle, interquartile_mean(fixed.reshape(REPLICATES, -1)), confidence, enough=enough),
        with_interval(middle, interquartile_mean(again), confidence, enough=enough),
    )


def beside(
    figure: str,
    own: Sequence[tuple[Outcomes, Outcomes]],
    reference: Sequence[tuple[Outcomes, Outcomes]],
    *,
    seed: int,
    confidence: float,
) -> Beside:
    """A mean over all games of ``figure``, every cell weighing alike.

    ``figure`` names a field of :class:`~league.evaluation.outcomes.Outcomes`.
    """
    draws, enough, means = _weights(seed), _enough(own), []
    for side in (own, reference):
        sums, counts = _sums(side, figure)
        value = _mean(sums @ np.ones(GROUPS), counts @ np.ones(GROUPS))
        means.append((value, _mean(sums @ draws.T, counts @ draws.T)))
    (mine, my_draws), (theirs, their_draws) = means
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio, ratios = np.array(mine / theirs), my_draws / their_draws

    def rated(value: Table, drawn: Table) -> Rated:
        return with_interval(value, drawn, confidence, enough=enough)

    return Beside(rated(mine, my_draws), rated(theirs, their_draws), rated(ratio, ratios))


def interquartile_mean(values: Table) -> Table:
    """The mean of the middle half of each row, ``[R, C]`` to ``[R]``; ``nan`` values are left out."""
    ordered = np.sort(values, axis=1)  # nan last
    known = np.count_nonzero(~np.isnan(ordered), axis=1)[:, None]
    place, cut = np.arange(ordered.shape[1]), known // 4
    middle = (place >= cut) & (place < known - cut)
    sums, counted = np.where(middle, ordered, 0.0).sum(axis=1), middle.sum(axis=1)
    mean: Table = np.divide(sums, counted, out=np.full(len(values), np.nan), where=counted > 0)
    return mean


def _shares(mine: Table, theirs: Table) -> Table:
    """``min(1, mine / theirs)``, nan where the reference gets nothing."""
    known = np.divide(mine, theirs, out=np.full(mine.shape, np.nan), where=theirs > LEAST)
    shares: Table = np.minimum(known, 1.0)
    return shares


def _sums(games: Sequence[tuple[Outcomes, Outcomes]], figure: str) -> tuple[Table, Table]:
    """Sums of a figure and games by group of scenarios, two ``[W, 2, GROUPS]``; ``nan`` values are left out."""
    sums, counts = np.zeros((2, len(games), 2, GROUPS))
    for partner, seats in enumerate(games):
        for seat, outcomes in enumerate(seats):
            values = getattr(outcomes, figure)
            (sums[partner, seat],), (counts[partner, seat],) = by_group(values, outcomes.groups, ~np.isnan(values))
    return sums, counts


def _mean(sums: Table, counts: Table) -> Table:
    """The mean over cells ``[W, 2, ...]`` of their means."""
    with np.errstate(invalid="ignore"):
        mean: NDArray[np.float64] = np.array(np.nanmean(sums / counts, axis=(0, 1)))
    return mean


def _weights(seed: int) -> Table:
    return scenario_weights(generator(seed, "final evaluation"), REPLICATES)


def _enough(games: Sequence[tuple[Outcomes, Outcomes]]) -> bool:
    return len(np.unique(games[0][0].groups)) > 1
