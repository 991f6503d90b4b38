"""How far one member is ahead of another, with the interval of the difference."""

from __future__ import annotations

import numpy as np

from dond_marl.yardsticks.metrics import Estimate, mean_of_cells
from league.standings.crossplay import CrossPlay


def lead(cross: CrossPlay, first: str, second: str, confidence: float) -> Estimate:
    """The mean points of ten of ``first`` over its opponents less those of ``second`` over its own, both seats.

    The interval is paired: both means come from the same scenarios. It is ``nan`` where one of them has met more
    opponents than the other.
    """
    members = cross.members
    own, other = (
        cross.cells.groups(*cross.cells.met(place, [k for k in range(len(members)) if k != place]))
        for place in (members.index(first), members.index(second))
    )
    means = [float((sums.sum(axis=1) / games.sum(axis=1)).mean()) for sums, games in (own, other)]
    if len(own[0]) != len(other[0]):
        return Estimate(means[0] - means[1], 0, np.nan, np.nan)
    # The mean of all cells, the second's with a minus, is half the difference.
    half = mean_of_cells(np.concatenate([own[0], -other[0]]), np.concatenate([own[1], other[1]]), confidence)
    return Estimate(2 * half.mean, half.n, 2 * half.low, 2 * half.high)
