"""What a member adds to a population: how far what it earns is from what mixtures of the others earn.

Response diversity of Liu et al. 2021 (NeurIPS), *Towards Unifying Behavioral and Response Diversity
for Open-ended Learning in Zero-sum Games*: the distance of a policy's payoffs from the convex hull of the payoffs of
those that there are. A member whose payoffs some mixture of the others has too adds nothing.

Payoffs are those of the member itself, in both seats, against the league's fixed members, who never change; the
distance is per cell, so that it is in points of ten and does not grow with the league. P = population, C = cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from league.standings.ratings import Payoffs
from league.tasks.values import Member

SUM_TO_ONE = 1e4  # how much more than a point it weighs that a mixture's shares add up to one


class Added(NamedTuple):
    """What a member adds to the snapshots before it."""

    member: Member
    distance: float  # root mean square over cells, points of ten; nan: nobody before it, or it met too few
    error: float  # of its own payoffs alone, likewise: a distance not above it may be chance
    before: int  # snapshots that it is compared with
    cells: int  # fixed members, in both seats


def from_mixtures(row: NDArray[np.float64], population: NDArray[np.float64]) -> float:
    """How far ``row[C]`` is from the nearest mixture of ``population[P, C]``, root mean square over cells.

    ``nan`` without a cell or without a population.
    """
    if not row.size or not len(population):
        return math.nan
    from scipy.optimize import nnls  # slow to import, and only needed here

    shares, _ = nnls(np.vstack([population.T, np.full((1, len(population)), SUM_TO_ONE)]), np.append(row, SUM_TO_ONE))
    return float(np.sqrt(np.mean((row - (shares / shares.sum()) @ population) ** 2)))


def added(payoffs: Payoffs, members: Sequence[Member], place: int, before: Sequence[int]) -> Added:
    """What the member at ``place`` adds to those at ``before``, all numbered as in ``members`` and ``payoffs``.

    Cells that it has not played are left out, and so is whoever lacks one of the others.
    """
    fixed = [i for i, member in enumerate(members) if member.role == "fixed" and member.split == "train"]
    own = payoffs.mean[place][:, fixed].ravel()
    known = ~np.isnan(own) & (payoffs.games[place][:, fixed].ravel() > 0)
    rows = payoffs.mean[list(before)][:, :, fixed].reshape(len(before), known.size)[:, known]
    population = rows[~np.isnan(rows).any(axis=1)]
    error = payoffs.error[place][:, fixed].ravel()[known]
    return Added(
        members[place],
        from_mixtures(own[known], population),
        float(np.sqrt(np.mean(error))) if error.size else math.nan,
        len(population),
        int(known.sum()),
    )


def over_time(payoffs: Payoffs, members: Sequence[Member]) -> list[Added]:
    """What every snapshot of a league added to those before it, in the order in which they joined."""
    snapshots = [place for place, member in enumerate(members) if member.role == "snapshot"]
    snapshots.sort(key=lambda place: members[place].born)
    return [added(payoffs, members, place, snapshots[:number]) for number, place in enumerate(snapshots)]
