"""Findings of a league: ratings of its members and the stable mixtures of members, all with intervals.

Ratings (:mod:`league.standings.ratings`) and the meta-game (:mod:`league.standings.meta_game`) of a cross-play table.
Intervals are over scenarios: groups of them get random weights, and every table of means and all that follows from it
is computed again. Cells without games are predicted (:func:`league.standings.ratings.complete`). N = members that have
played.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dond_marl.game import SEATS
from dond_marl.randomness import generator
from dond_marl.statistics import TEN, Estimate, Estimates
from league.figures.rows import FigureRow, Figures, Unit, wide_row, write_csv, write_figures
from league.figures.tally import scenario_weights, with_interval, with_wide_interval
from league.standings.crossplay import CrossPlay
from league.standings.linear_programs import Pairs
from league.standings.meta_game import (
    Equilibria,
    JointMixture,
    deviation_rating,
    game_of,
    max_welfare_cce,
    nash_bargaining_cce,
)
from league.standings.ratings import Table, complete, distinctness, take_give

REPLICATES, FEWEST = 100, 20
MANY = 64  # above this many members fewer replicates, since a game of 300 takes five seconds to solve
Bounds = tuple[float, float]
Key = tuple[str, str, str, str]  # member, against, figure and seat of a row
POINTS, BOTH, SHARE = (0.0, TEN), (0.0, 2 * TEN), (0.0, 1.0)
WELFARE, NASH = "max-welfare CCE", "Nash-bargaining CCE"
RATINGS = (("take", ""), ("give", ""), *(("deviation", seat) for seat in SEATS))  # figure and seat of each rating
LEAST_SHARE = 0.005  # of a mixture: members and pairs of members below it are not listed
RATINGS_FILE, META_GAME_TABLE, META_GAME_FILE = "ratings.csv", "meta_game.csv", "meta_game.json"


class _SolvedGame(NamedTuple):
    """The equilibria and ratings of one table of means."""

    welfare: JointMixture
    nash: JointMixture
    deviation: Table  # [2, N]
    pairs: Pairs  # with a chance in one of the two equilibria


class _Samples(NamedTuple):
    """The table of means of the members that have played, and its bootstrap replicates, all ``[N, 2, N]``."""

    members: tuple[str, ...]
    games: Table
    weights: Table  # [N] see :func:`league.standings.ratings.distinctness`
    mean: Table
    resampled: list[Table]
    confidence: float
    enough: bool  # whether there are groups of scenarios to resample

    def interval(self, value: Table, draws: Sequence[Table], within: Bounds) -> Estimates:
        """A figure of the point table and of each replicate, with an interval within the range of the figure."""
        return with_wide_interval(value, np.stack(draws), self.confidence, enough=self.enough, within=within)

    def rows(self, keys: Iterable[Key], estimates: Estimates, unit: Unit = "points") -> Iterator[FigureRow]:
        """A row per value, in the order of ``keys``; ``n`` counts the games of all pairs, each pair's once."""
        n = round(float(self.games.sum()) / 2)
        values = zip(*(part.ravel().tolist() for part in estimates), strict=True)
        for key, (value, low, high) in zip(keys, values, strict=True):
            yield FigureRow(*key, value, low, high, n, unit)


def findings_of(cross: CrossPlay, *, seed: int, confidence: float, replicates: int | None = None) -> Figures | None:
    """The findings of a cross-play table; ``None`` if nothing was played. Takes seconds for 20 or 50 members.

    Without oracles, which play one member.

    Rows: the :data:`RATINGS` of each member; for the mixtures :data:`WELFARE` and :data:`NASH`, named as members, the
    value of each seat, the welfare, and the regret gap, a seat's gain from committing to one member; the share of each
    member in each mixture and seat; and the chance of each pair of members. Terms: the members, the share of the cells
    that were played (the others are predicted), the number of replicates and the confidence.
    """
    ranked = np.array([name not in cross.oracles for name in cross.members], dtype=bool)
    members = np.flatnonzero(cross.payoffs().games.any(axis=(1, 2)) & ranked)
    if not len(members):
        return None
    if replicates is None:
        replicates = max(FEWEST, REPLICATES * MANY // max(MANY, len(members)))
    samples = _samples(cross, members, scenario_weights(generator(seed, "findings"), replicates), confidence)
    point = _solve_game(complete(samples.mean, samples.games))
    draws = [_solve_game(complete(table, samples.games), point.pairs) for table in samples.resampled]
    deviation = samples.interval(point.deviation, [draw.deviation for draw in draws], (-TEN, 0.0))
    ratings = Estimates(*map(np.concatenate, zip(_take_give_ratings(samples), deviation, strict=True)))
    terms = {
        "members": list(samples.members),
        "confidence": confidence,
        "replicates": replicates,
        "cells_played": float(np.count_nonzero(samples.games)) / samples.games.size,
    }
    rows = (
        *samples.rows([(name, "", *rating) for rating in RATINGS for name in samples.members], ratings),
        *_mixture_rows(samples, WELFARE, point.welfare, [draw.welfare for draw in draws]),
        *_mixture_rows(samples, NASH, point.nash, [draw.nash for draw in draws]),
    )
    return Figures(terms, rows)


def _samples(cross: CrossPlay, members: NDArray[np.int64], weights: Table, confidence: float) -> _Samples:
    """The tables of ``members``, with one replicate per row of ``weights[replicates, GROUPS]``."""
    payoffs, part = cross.payoffs(), np.ix_(members, np.arange(2), members)
    return _Samples(
        tuple(cross.members[i] for i in members),
        payoffs.games[part],
        distinctness(type(payoffs)(*(table[part] for table in payoffs))),
        payoffs.mean[part],
        [table[part] for table in cross.resampled_means(weights)],
        confidence,
        cross.occupied_groups > 1,
    )


def _take_give_ratings(samples: _Samples) -> Estimates:
    """Take and give, ``[2, N]``."""

    def fit(table: Table) -> Table:
        rating = take_give(table, samples.games, samples.weights)
        return np.stack([rating.take, rating.give])

    draws = np.stack([fit(table) for table in samples.resampled])
    return with_interval(fit(samples.mean), draws, samples.confidence, enough=samples.enough)


def _mixture_rows(
    samples: _Samples, name: str, joint: JointMixture, draws: Sequence[JointMixture]
) -> Iterator[FigureRow]:
    def figure(measure: Callable[[JointMixture], ArrayLike], within: Bounds) -> Estimates:
        return samples.interval(np.array(measure(joint)), [np.array(measure(draw)) for draw in draws], within)

    values, welfare = figure(lambda mixed: mixed.values, POINTS), figure(lambda mixed: mixed.welfare, BOTH)
    yield from samples.rows([(name, "", "value", seat) for seat in SEATS], values)
    yield from samples.rows([(name, "", "welfare", "")], welfare)
    yield from samples.rows([(name, "", "regret gap", "")], figure(lambda mixed: mixed.gap, BOTH))
    keys = [(member, name, "share", seat) for seat in SEATS for member in samples.members]
    yield from samples.rows(keys, figure(lambda mixed: mixed.mixtures, SHARE), "share")
    chances = joint.chances  # [N, N] of seat_0's member and seat_1's
    pairs = np.argwhere(chances >= LEAST_SHARE)
    for a, b in pairs[np.argsort(-chances[pairs[:, 0], pairs[:, 1]], kind="stable")].tolist():
        pair, chance = (samples.members[a], samples.members[b]), float(chances[a, b])
        yield FigureRow(*pair, f"chance in {name}", SEATS[0], chance, math.nan, math.nan, 0, "share")


def _solve_game(table: Table, start: Pairs | None = None) -> _SolvedGame:
    """Equilibria and ratings of a full table ``[N, 2, N]``; ``start``: pairs with a chance in a similar game."""
    equilibria = Equilibria(game_of(table), start)
    welfare, nash = max_welfare_cce(equilibria), nash_bargaining_cce(equilibria)
    strictest = np.stack(deviation_rating(equilibria))
    return _SolvedGame(welfare, nash, strictest, np.flatnonzero(welfare.chances + nash.chances))


def ratings_of(findings: Figures, member: str) -> dict[str, Estimate]:
    """The ratings of one member by their column in tables, unknown for members that have not played."""
    return {"_".join(filter(None, key)): findings.estimate(member, "", *key) for key in RATINGS}


def write_findings(directory: Path, findings: Figures) -> None:
    """Write ``meta_game.json`` and ``meta_game.csv``, all rows, and ``ratings.csv``, a row per member."""
    write_figures(findings, directory / META_GAME_FILE, directory / META_GAME_TABLE)
    rows = [wide_row({"member": name, **ratings_of(findings, name)}) for name in findings.terms["members"]]
    write_csv(directory / RATINGS_FILE, rows[0], (row.values() for row in rows))
