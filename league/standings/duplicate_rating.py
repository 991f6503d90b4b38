"""Duplicate match points: who does better with the same cards, as a rating by maximum likelihood, with an interval.

As in duplicate bridge, only members compare that held the same values in the same seat against the same partner; how
much better counts for nothing. On each scenario of such a table every two of its entrants compare once: more own points
win, as many are half a win for both. The rating is what makes all comparisons of a league likeliest together (Bradley &
Terry 1952), so that neither the order of rounds nor of rows matters. Intervals come from a Bayesian bootstrap
(Rubin 1981) in which the scenarios of all tables get random weights. N = members, k = entrants of a table,
K = scenarios, R = replicates.
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

PRIOR = 1.0  # comparisons that every member is taken to have tied with a member of rating 0, so that all stay finite
CLOSE = 1e-7  # log-odds; a step as short is the last, for the error is as small as its square
TINY = 1e-300
COMPARED_AT_ONCE = 2**24  # bounds the memory that a round takes


class Session(NamedTuple):
    """Everybody who sat in one seat against one partner on one block: a duplicate tournament at one table."""

    entrants: tuple[int, ...]  # ascending
    points: NDArray[np.int16]  # [k, K] own scores
    groups: NDArray[np.int64]  # [K] of the scenarios


def sessions(scenarios: Scenarios, legs: Iterable[Leg], place: Mapping[str, int]) -> list[Session]:
    """The sessions of a round by seat and partner; a partner that met one member in a seat compares nobody.

    ``place`` gives each member's number. A scenario on which a game counts for nobody is left out of the session.
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
            points, kept = np.stack([table[entrant] for entrant in entrants]), counted.get(at)
            if kept is None:
                played.append(Session(entrants, points, groups))
            elif kept.any():
                played.append(Session(entrants, points[:, kept], groups[kept]))
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
    """Log-odds ``[N]`` from the sessions of each round; ``nan``: in none.

    Of two members that differ by d the better gets ``1 / (1 + exp(-d))`` of the match points between them: 0.1 is
    52.5 %, 1 is 73 %. 0 is a member that is as often ahead of others as behind. Of members that are ``live``, and so
    change between rounds, only the last round in which they sat counts. One round is held at a time.
    """
    won, weights = match_points(rounds, members, live), scenario_weights(generator, replicates)
    value = likeliest(won.sum(axis=2, dtype=np.float64))
    again = np.stack([weights @ own.T.astype(np.float64) for own in won], axis=1)  # [R, N, N]
    return with_interval(
        value, likeliest(again, value), confidence, enough=int(np.count_nonzero(won.any(axis=(0, 1)))) > 1
    )


def match_points(rounds: Iterable[Sequence[Session]], members: int, live: Sequence[int] = ()) -> NDArray[np.float32]:
    """How often each member was ahead of each other by group of scenarios, ties half: ``[N, N, GROUPS]``."""
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


def likeliest(won: Table, start: Table | None = None) -> Table:
    """The ratings under which match points are likeliest, ``won[..., N, N]`` to ``[..., N]``, of whom compared at all.

    Besides, each has tied ``PRIOR`` comparisons with a member whose rating is 0. ``start[N]``: ratings to begin with.
    Newton's method for all tables at once; its steps are as long as never overshoots (Sun & Tran-Dinh 2019,
    *Generalized Self-Concordant Functions*, theorem 2; the third derivative of a logistic is at most its second).
    """
    met = np.flatnonzero((won + np.swapaxes(won, -1, -2)).reshape(-1, *won.shape[-2:]).any(axis=(0, 2)))
    rating = np.full(won.shape[:-1], np.nan)
    if not len(met):
        return rating
    won = won[..., met[:, None], met]
    games, places = won + np.swapaxes(won, -1, -2), np.arange(len(met))
    fit = np.zeros(won.shape[:-1]) if start is None else np.broadcast_to(start[met], won.shape[:-1]).copy()
    step = np.full(fit.shape, math.inf)
    while np.abs(step).max() > CLOSE:
        behind = 1 / (1 + np.exp(fit[..., :, None] - fit[..., None, :]))  # the chance to be
        own = 1 / (1 + np.exp(fit))
        gained = won * behind
        slope = (gained - np.swapaxes(gained, -1, -2)).sum(axis=-1) + PRIOR * (own - 0.5)
        curved = -games * behind * (1 - behind)
        curved[..., places, places] = 0.0
        curved[..., places, places] = PRIOR * own * (1 - own) - curved.sum(axis=-1)
        step = np.linalg.solve(curved, slope[..., None])[..., 0]
        apart = np.maximum(np.maximum(step.max(axis=-1), 0) - np.minimum(step.min(axis=-1), 0), TINY)
        fit += step * (np.log1p(apart) / apart)[..., None]
    rating[..., met] = fit
    return rating


def _compare(won: NDArray[np.float32], tables: Sequence[Session]) -> None:
    """Add every comparison of sessions on the same scenarios."""
    members, groups = len(won), tables[0].groups
    together = np.zeros((members, members), dtype=np.int16)  # tables at which both sat
    seats = [np.ix_(session.entrants, session.entrants) for session in tables]
    for both in seats:
        together[both] += 1
    at_once = max(COMPARED_AT_ONCE // members**2, 1)
    for start in range(0, len(groups), at_once):
        some = slice(start, start + at_once)
        ahead = np.zeros((members, members, len(groups[some])), dtype=np.int16)
        for both, session in zip(seats, tables, strict=True):
            points = session.points[:, some]
            if len(points) == members:  # in order: a part of the table need not be copied
                ahead += points[:, None] > points
            else:
                ahead[both] += points[:, None] > points
        twice = together[:, :, None] + ahead - ahead.transpose(1, 0, 2)  # a win is 2, a tie 1
        order = np.argsort(groups[some], kind="stable")
        present, starts = np.unique(groups[some][order], return_index=True)
        won[:, :, present] += np.add.reduceat(twice[:, :, order], starts, axis=2, dtype=np.float32) / 2
