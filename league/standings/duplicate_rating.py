"""Duplicate match points: who does better with the same cards, as a Bayesian rating with an interval over scenarios.

As in duplicate bridge, only members compare that held the same values in the same seat against the same partner; how
much better counts for nothing. Every such table is one race that openskill rates. Intervals come from a Bayesian
bootstrap (Rubin 1981) in which the scenarios of all tables get random weights, and races are rated for all replicates
at once. N = members, k = entrants of a table, K = scenarios, R = replicates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Bools
from dond_marl.yardsticks.metrics import GROUPS, scenario_groups
from league.standings.ratings import Rated, Table, scenario_weights, with_interval
from league.tasks.values import Leg

RESOLUTION = 9  # decimals of a match-point share; sums in another order must not break a tie


class Session(NamedTuple):
    """Everybody who sat in one seat against one partner on one block: a duplicate tournament at one table."""

    entrants: tuple[int, ...]
    shares: Table  # [k, K] match points per scenario: 1 for each other entrant with fewer own points, half for a tie
    groups: NDArray[np.int64]  # [K] of the scenarios


def sessions(scenarios: Scenarios, legs: Iterable[Leg], place: Mapping[str, int]) -> list[Session]:
    """The sessions of a round by seat and partner; a partner that met one member in a seat compares nobody.

    ``place`` gives each member's number. Match points are divided by the number of other entrants: 0..1. A scenario
    on which a game counts for nobody is left out of the session.
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
                played.append(Session(entrants, match_points(points), groups))
            elif kept.any():
                played.append(Session(entrants, match_points(points[:, kept]), groups[kept]))
    return played


def match_points(points: NDArray[np.int16]) -> Table:
    """The share of the other entrants that each beats, ties half, per scenario: ``points[k, K]`` -> ``[k, K]``."""
    beaten = np.stack([(own > points).sum(axis=0) + ((own == points).sum(axis=0) - 1) / 2 for own in points])
    shares: Table = beaten / (len(points) - 1)
    return shares


def duplicate_rating(
    rounds: Iterable[Sequence[Session]],
    members: int,
    generator: np.random.Generator,
    *,
    live: Sequence[int] = (),
    replicates: int,
    confidence: float,
) -> Rated:
    """Plackett-Luce skill ``[N]`` (openskill's mu, about 25) from the sessions of each round; ``nan``: in none.

    Each session is one race, ranked by match points. Members that are ``live`` begin each round anew, for they have
    changed since the last. One round is held at a time. Source: Weng & Lin 2011, *A Bayesian Approximation Method for
    Online Ranking*, algorithm 4, as in openskill >= 6.2.
    """
    from openskill.models import PlackettLuce  # only needed here

    model, weights = PlackettLuce(), scenario_weights(generator, replicates)
    skill, draws = [model.rating() for _ in range(members)], Skills(replicates, members)
    seen, occupied = np.zeros(members, dtype=bool), np.zeros(GROUPS, dtype=bool)
    for played in rounds:
        for member in live:
            skill[member] = model.rating()
        draws.forget(live)
        for entrants, shares, groups in played:
            ranks = np.unique(-np.round(shares.mean(axis=1), RESOLUTION), return_inverse=True)[1]  # 0: best
            teams = model.rate([[skill[entrant]] for entrant in entrants], ranks=ranks.astype(float).tolist())
            for entrant, (after,) in zip(entrants, teams, strict=True):
                skill[entrant], seen[entrant] = after, True
            weighed = weights[:, groups]
            means = weighed @ shares.T / weighed.sum(axis=1, keepdims=True)  # [R, k]
            draws.race(entrants, np.round(means, RESOLUTION))
            occupied[groups] = True
    value, drawn = (np.where(seen, mu, np.nan) for mu in ([rating.mu for rating in skill], draws.mean))
    return with_interval(value, drawn, confidence, enough=int(occupied.sum()) > 1)


class Skills:
    """Plackett-Luce skills of N members in R replicates, which openskill's defaults rate as openskill does."""

    def __init__(self, replicates: int, members: int) -> None:
        from openskill.models import PlackettLuce

        self._model = PlackettLuce()
        self.mean = np.full((replicates, members), self._model.mu)
        self._variance = np.full((replicates, members), self._model.sigma**2)

    def forget(self, members: Sequence[int]) -> None:
        """Set members back to the prior."""
        self.mean[:, members], self._variance[:, members] = self._model.mu, self._model.sigma**2

    def race(self, entrants: Sequence[int], results: Table) -> None:
        """One race, in which the larger of ``results[R, k]`` are better: algorithm 4 of Weng & Lin 2011."""
        model, places = self._model, list(entrants)
        order = np.argsort(-results, axis=1, kind="stable")
        ordered = np.take_along_axis(results, order, axis=1)
        first, last = _ties(ordered)
        mean = np.take_along_axis(self.mean[:, places], order, axis=1)
        variance = np.take_along_axis(self._variance[:, places], order, axis=1) + model.tau**2
        c = np.sqrt((variance + model.beta**2).sum(axis=1, keepdims=True))
        strength = np.exp(mean / c)
        alike = last - first + 1
        behind = np.take_along_axis(np.cumsum(strength[:, ::-1], axis=1)[:, ::-1], first, axis=1)  # and as good
        # Everybody who is as good or better has beaten an entrant with this chance, and so it learns from each.
        faced = strength * np.take_along_axis(np.cumsum(1 / (alike * behind), axis=1), last, axis=1)
        squares = strength**2 * np.take_along_axis(np.cumsum(1 / (alike * behind**2), axis=1), last, axis=1)
        moved = mean + variance / c * (1 / alike - faced)
        shrunk = 1 - np.sqrt(variance) / c * variance / c**2 * (faced - squares)
        back = np.argsort(order, axis=1)
        self.mean[:, places] = np.take_along_axis(moved, back, axis=1)
        sure = variance * np.maximum(shrunk, model.kappa)
        self._variance[:, places] = np.take_along_axis(sure, back, axis=1)


def _ties(ordered: Table) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and the last place of those that are equal, two ``[R, k]``, for descending rows."""
    size = ordered.shape[1]
    places = np.broadcast_to(np.arange(size), ordered.shape)
    begins = np.ones(ordered.shape, dtype=bool)
    begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    ends = np.roll(begins, -1, axis=1)  # the place before the next begins; the last always ends
    first = np.maximum.accumulate(np.where(begins, places, 0), axis=1)
    last = np.minimum.accumulate(np.where(ends, places, size)[:, ::-1], axis=1)[:, ::-1]
    return first, last
