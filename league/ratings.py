"""What each member is worth, in three numbers that suit bargaining, each with its interval over scenarios.

*Take and give*: what a member takes and what it leaves to whom it meets, points of ten. *Duplicate match points*: who
does better with the same cards, fed to a Bayesian rating. The third, clone-invariant one is
:func:`league.meta_game.deviation_rating`. Intervals come from a Bayesian bootstrap (Rubin 1981): groups of scenarios,
the unit of doubt, get random weights and the rating is made again. N = members, k = entrants, K = scenarios.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.metrics import GROUPS, scenario_groups
from dond_marl.scenarios import Scenarios
from league.cells import Cells
from league.tasks import Leg

Table = NDArray[np.float64]
RIDGE = 0.5  # cells that say "like everybody else": a member of 11 opponents in both seats is pulled by 2 %
RELIABLE = 8.0  # games with which a cell weighs half; see league.payoffs.STRENGTH
REPLICATES = 200
RESOLUTION = 9  # decimals of a match-point share; sums in another order must not break a tie


class Rated(NamedTuple):
    """A rating per member, of any shape, with a two-sided interval; ``nan`` where nothing, or too little, is known."""

    value: Table
    low: Table
    high: Table


class TakeGive(NamedTuple):
    """``base + seat[s] + take[i] + give[j]``: what ``i`` scores in seat ``s`` against ``j``, points of ten."""

    base: float
    seat: Table  # [2], of seat_0 and seat_1; adds up to 0
    take: Table  # [N], what a member gets more than others do; nan where it met nobody
    give: Table  # [N], what others get more from it; take + give is what it adds to welfare

    def predicted(self) -> Table:
        """Every cell ``[N, 2, N]``; a member that met nobody is like everybody else."""
        take, give = np.nan_to_num(self.take), np.nan_to_num(self.give)
        cells: Table = self.base + self.seat[None, :, None] + take[:, None, None] + give[None, None, :]
        return cells


def take_give(mean: Table, games: Table) -> TakeGive:
    """Fit what members take and leave to ``mean[N, 2, N]`` of ``games[N, 2, N]`` (0: not played, ``nan`` there).

    Ridge regression (Hoerl & Kennard 1970) in which a cell weighs ``games / (games + RELIABLE)``, so that opponents
    count about the same however often they were met. At least one cell must be played.
    """
    weight = np.where(np.isnan(mean), 0.0, games / (games + RELIABLE))
    assert weight.any(), "no cell was played"
    seat = weight * np.array([0.5, -0.5])[:, None]
    size = len(weight)
    of_take, of_give = np.diag(weight.sum(axis=(1, 2))), np.diag(weight.sum(axis=(0, 1)))
    # Unknowns: base, seat_0's advantage over seat_1, take, give.
    squares = np.zeros((2 + 2 * size, 2 + 2 * size))
    squares[0, 0], squares[0, 1], squares[1, 1] = weight.sum(), seat.sum(), weight.sum() / 4
    squares[0, 2 : 2 + size], squares[0, 2 + size :] = weight.sum(axis=(1, 2)), weight.sum(axis=(0, 1))
    squares[1, 2 : 2 + size], squares[1, 2 + size :] = seat.sum(axis=(1, 2)), seat.sum(axis=(0, 1))
    squares[2 : 2 + size, 2 : 2 + size], squares[2 + size :, 2 + size :] = of_take, of_give
    squares[2 : 2 + size, 2 + size :] = weight.sum(axis=1)
    squares = np.triu(squares) + np.triu(squares, 1).T + np.diag([0.0] + [RIDGE] * (1 + 2 * size))
    points, advantage = weight * np.nan_to_num(mean), seat * np.nan_to_num(mean)
    sums = np.concatenate(
        [[points.sum(), advantage.sum()], points.sum(axis=(1, 2)), points.sum(axis=(0, 1))]
    )  # fmt: skip
    fit = np.linalg.solve(squares, sums)
    met = weight.any(axis=(1, 2)) | weight.any(axis=(0, 1))
    take, give = (np.where(met, part, np.nan) for part in (fit[2 : 2 + size], fit[2 + size :]))
    return TakeGive(float(fit[0]), fit[1] * np.array([0.5, -0.5]), take, give)


def bootstrap(
    statistic: Callable[[Table], Table],
    cells: Cells,
    generator: np.random.Generator,
    *,
    replicates: int = REPLICATES,
    confidence: float,
) -> Rated:
    """A function of the table of means ``[N, 2, N]`` (``nan``: not played) with its interval over scenarios.

    ``confidence`` is two-sided, in (0, 1). Fewer than two groups of scenarios give ``nan`` bounds.
    """
    tables = cells.resampled(scenario_weights(generator, replicates))
    value = statistic(cells.payoffs().mean)
    draws = np.stack([statistic(table) for table in tables])
    return _with_interval(value, draws, confidence, enough=cells.occupied > 1)


def scenario_weights(generator: np.random.Generator, replicates: int) -> Table:
    """Random weights of the groups of scenarios, ``[replicates, GROUPS]``, exponential with mean 1 (Rubin 1981)."""
    return generator.standard_exponential((replicates, GROUPS))


class Session(NamedTuple):
    """Everybody who sat in one seat against one partner on one block: a duplicate tournament at one table.

    Only such members compare, as in duplicate bridge: they held the same values against the same partner.
    """

    entrants: tuple[int, ...]
    shares: Table  # [k, K] match points per scenario: 1 for each other entrant with fewer own points, half for a tie
    groups: NDArray[np.int64]  # [K] of the scenarios


def sessions(scenarios: Scenarios, legs: Iterable[Leg], place: Mapping[str, int]) -> list[Session]:
    """The sessions of a round by seat and partner; a partner that met one member in a seat compares nobody.

    ``place`` gives each member's number. Match points are divided by the number of other entrants: 0..1.
    """
    tables: dict[tuple[int, int], dict[int, NDArray[np.int16]]] = defaultdict(dict)
    for leg in legs:
        for seat in (0, 1):
            entrant, partner = place[leg.seats[seat]], place[leg.seats[1 - seat]]
            tables[seat, partner][entrant] = leg.facts["scores"][:, seat]
    groups, found = scenario_groups(scenarios), []
    for _, table in sorted(tables.items()):
        if len(table) > 1:
            entrants = tuple(sorted(table))
            found.append(Session(entrants, match_points(np.stack([table[entrant] for entrant in entrants])), groups))
    return found


def match_points(points: NDArray[np.int16]) -> Table:
    """The share of the other entrants that each beats, ties half, per scenario: ``points[k, K]`` -> ``[k, K]``."""
    beaten = np.stack([(own > points).sum(axis=0) + ((own == points).sum(axis=0) - 1) / 2 for own in points])
    shares: Table = beaten / (len(points) - 1)
    return shares


def duplicate_rating(played: Sequence[Session], members: int, weights: Table | None = None) -> Table:
    """Plackett-Luce skill ``[members]`` (openskill's mu, about 25) from sessions in their order; ``nan``: in none.

    Each session is one race, ranked by match points with the groups of scenarios weighed by ``weights[GROUPS]``. It is
    ordinal: by how much somebody did better does not count. Source: Weng & Lin 2011, *A Bayesian Approximation Method
    for Online Ranking*, as in openskill >= 6.2.
    """
    from openskill.models import PlackettLuce  # only needed here

    model = PlackettLuce()
    skill = [model.rating() for _ in range(members)]
    seen = np.zeros(members, dtype=bool)
    for entrants, shares, groups in played:
        of_each = np.ones(shares.shape[1]) if weights is None else weights[groups]
        ranks = np.unique(-np.round(shares @ of_each / of_each.sum(), RESOLUTION), return_inverse=True)[1]
        teams = model.rate([[skill[entrant]] for entrant in entrants], ranks=[float(rank) for rank in ranks])
        for entrant, (after,) in zip(entrants, teams, strict=True):
            skill[entrant], seen[entrant] = after, True
    return np.where(seen, [rating.mu for rating in skill], np.nan)


def rated_duplicates(
    played: Sequence[Session],
    members: int,
    generator: np.random.Generator,
    *,
    replicates: int = REPLICATES,
    confidence: float,
) -> Rated:
    """:func:`duplicate_rating` with its interval over scenarios; about 0.1 ms a session of 12 and replicate."""
    value = duplicate_rating(played, members)
    draws = [duplicate_rating(played, members, weights) for weights in scenario_weights(generator, replicates)]
    occupied = len(np.unique(np.concatenate([session.groups for session in played]))) if played else 0
    return _with_interval(value, np.stack(draws), confidence, enough=occupied > 1)


def _with_interval(value: Table, draws: Table, confidence: float, *, enough: bool) -> Rated:
    if not enough:
        return Rated(value, np.full(value.shape, np.nan), np.full(value.shape, np.nan))
    low, high = np.quantile(draws, [0.5 - confidence / 2, 0.5 + confidence / 2], axis=0)
    return Rated(value, low, high)
