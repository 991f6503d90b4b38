"""Duplicate rating: maximum-likelihood comparison of members on the same scenarios, seat and partner, with intervals.

As in duplicate bridge, members are compared only if they had the same values in the same seat against the same partner;
the size of a difference does not count. On each scenario of such a table every two of its entrants are compared once:
more own points win, equal points are half a win for both. The rating maximises the likelihood of all comparisons of a
league (Bradley & Terry 1952), so the order of rounds and rows does not matter. Intervals come from a Bayesian bootstrap
(Rubin 1981) over the scenarios of all tables. N = members, k = entrants of a table, K = scenarios, R = replicates.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Bools
from dond_marl.statistics import GROUPS, Estimates, scenario_groups
from league.standings.ratings import Table, scenario_weights, with_interval
from league.tasks.values import Leg

PRIOR = 1.0  # tied comparisons of every member with a member of rating 0, added so that ratings stay finite
CLOSE = 1e-7  # log-odds; the length of the last step, whose error is about its square
TINY = 1e-300
COMPARED_AT_ONCE = 2**24  # bounds the memory for a round


class Session(NamedTuple):
    """A duplicate tournament at one table: all members in one seat against one partner on one block of scenarios."""

    entrants: tuple[int, ...]  # ascending
    points: NDArray[np.int16]  # [k, K] own scores
    groups: NDArray[np.int64]  # [K] of the scenarios


def sessions(scenarios: Scenarios, legs: Iterable[Leg], place: Mapping[str, int]) -> list[Session]:
    """The sessions of a round by seat and partner, with at least two entrants each.

    ``place`` is each member's number. A scenario with a game that does not count is left out of the session.
    """
    tables: dict[tuple[int, int], dict[int, NDArray[np.int16]]] = defaultdict(dict)
    counted: dict[tuple[int, int], Bools] = {}
    for leg in legs:
        for seat in (0, 1):
            entrant, partner = place[leg.seats[seat]], place[leg.seats[1 - seat]]
            tables[seat, partner][entrant] = leg.facts["scores"][:, seat]
            if leg.counted is not None:
                counted[seat, partner] = leg.counted & counted.get((seat, partner), leg.counted)
    groups, played = scenario_groups(scenarios), []
    for at, table in sorted(tables.items()):
        if len(table) > 1:
            entrants = tuple(sorted(table))
            points, valid = np.stack([table[entrant] for entrant in entrants]), counted.get(at)
            if valid is None:
                played.append(Session(entrants, points, groups))
            elif valid.any():
                played.append(Session(entrants, points[:, valid], groups[valid]))
    return played


def duplicate_rating(
    rounds: Iterable[Sequence[Session]],
    members: int,
    generator: np.random.Generator,
    *,
    live: Sequence[int] = (),
    replicates: int,
    confidence: float,
) -> Estimates:
    """Log-odds ``[N]`` from the sessions of each round; ``nan`` for members in none.

    Of two members that differ by d the better gets ``1 / (1 + exp(-d))`` of the match points between them: 0.1 is
    52.5 %, 1 is 73 %. A member with 0 is as often ahead of others as behind. ``live`` members change between rounds:
    only their last round counts. One round is in memory at a time.
    """
    won, weights = match_points(rounds, members, live), scenario_weights(generator, replicates)
    value = fit_ratings(won.sum(axis=2, dtype=np.float64))
    again = np.stack([weights @ points.T.astype(np.float64) for points in won], axis=1)  # [R, N, N]
    return with_interval(
        value, fit_ratings(again, value), confidence, enough=int(np.count_nonzero(won.any(axis=(0, 1)))) > 1
    )


def match_points(rounds: Iterable[Sequence[Session]], members: int, live: Sequence[int] = ()) -> NDArray[np.float32]:
    """Number of wins of each member over each other by group of scenarios, ties half: ``[N, N, GROUPS]``."""
    won = np.zeros((members, members, GROUPS), dtype=np.float32)
    for played in rounds:
        changed = np.intersect1d(live, [entrant for session in played for entrant in session.entrants]).astype(np.int64)
        won[changed], won[:, changed] = 0, 0
        alike: dict[bytes, list[Session]] = defaultdict(list)
        for session in played:
            alike[session.groups.tobytes()].append(session)
        for tables in alike.values():
            _compare(won, tables)
    won[np.arange(members), np.arange(members)] = 0
    return won


def fit_ratings(won: Table, start: Table | None = None) -> Table:
    """The maximum-likelihood ratings ``[..., N]`` of match points ``won[..., N, N]``; ``nan`` without comparisons.

    ``PRIOR`` ties with a member of rating 0 are added for each. ``start[N]``: initial ratings. Newton's method for all
    tables at once, with steps that never overshoot (Sun & Tran-Dinh 2019, *Generalized Self-Concordant Functions*,
    theorem 2; the third derivative of a logistic is at most its second).
    """
    compared = np.flatnonzero((won + np.swapaxes(won, -1, -2)).reshape(-1, *won.shape[-2:]).any(axis=(0, 2)))
    rating = np.full(won.shape[:-1], np.nan)
    if not len(compared):
        return rating
    won = won[..., compared[:, None], compared]
    games, places = won + np.swapaxes(won, -1, -2), np.arange(len(compared))
    fit = np.zeros(won.shape[:-1]) if start is None else np.broadcast_to(start[compared], won.shape[:-1]).copy()
    step = np.full(fit.shape, math.inf)
    while np.abs(step).max() > CLOSE:
        behind = 1 / (1 + np.exp(fit[..., :, None] - fit[..., None, :]))  # probability of being behind
        behind_zero = 1 / (1 + np.exp(fit))
        gained = won * behind
        slope = (gained - np.swapaxes(gained, -1, -2)).sum(axis=-1) + PRIOR * (behind_zero - 0.5)
        curved = -games * behind * (1 - behind)
        curved[..., places, places] = 0.0
        curved[..., places, places] = PRIOR * behind_zero * (1 - behind_zero) - curved.sum(axis=-1)
        step = np.linalg.solve(curved, slope[..., None])[..., 0]
        apart = np.maximum(np.maximum(step.max(axis=-1), 0) - np.minimum(step.min(axis=-1), 0), TINY)
        fit += step * (np.log1p(apart) / apart)[..., None]
    rating[..., compared] = fit
    return rating


def _compare(won: NDArray[np.float32], tables: Sequence[Session]) -> None:
    """Add every comparison of sessions on the same scenarios."""
    members, groups = len(won), tables[0].groups
    together = np.zeros((members, members), dtype=np.int16)  # number of tables with both
    seats = [np.ix_(session.entrants, session.entrants) for session in tables]
    for both in seats:
        together[both] += 1
    at_once = max(COMPARED_AT_ONCE // members**2, 1)
    for start in range(0, len(groups), at_once):
        some = slice(start, start + at_once)
        ahead = np.zeros((members, members, len(groups[some])), dtype=np.int16)
        for both, session in zip(seats, tables, strict=True):
            points = session.points[:, some]
            if len(points) == members:  # all members in order: no copy of a part
                ahead += points[:, None] > points
            else:
                ahead[both] += points[:, None] > points
        twice = together[:, :, None] + ahead - ahead.transpose(1, 0, 2)  # a win is 2, a tie 1
        order = np.argsort(groups[some], kind="stable")
        present, starts = np.unique(groups[some][order], return_index=True)
        won[:, :, present] += np.add.reduceat(twice[:, :, order], starts, axis=2, dtype=np.float32) / 2
