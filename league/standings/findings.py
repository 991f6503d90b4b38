"""Findings of a league: ratings of its members and the stable mixtures of members, all with intervals.

Ratings (:mod:`league.standings.ratings`) and the meta-game (:mod:`league.standings.meta_game`) of a cross-play table.
Intervals are over scenarios: groups of them get random weights, and every table of means and all that follows from it
is computed again. Cells without games are predicted (:func:`league.standings.ratings.complete`). N = members that have
played.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dond_marl.randomness import generator
from dond_marl.statistics import TEN, Estimates
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
from league.standings.ratings import Table, distinctness, take_give

REPLICATES = 100
MANY, FEWER = 64, 40  # above this many members, fewer replicates: a game of 200 takes seconds to solve
Bounds = tuple[float, float]
POINTS, BOTH, SHARE = (0.0, TEN), (0.0, 2 * TEN), (0.0, 1.0)
WELFARE, NASH = "max-welfare CCE", "Nash-bargaining CCE"


class Solution(NamedTuple):
    """A mixture of pairs of members, with its values."""

    name: str
    values: Estimates  # [2] of the seats, points of ten
    welfare: Estimates  # [] of both together
    gap: Estimates  # [] a seat's gain from committing to one member
    shares: Estimates  # [2, N] share of each member in each seat
    chances: Table  # [N, N] of seat_0's member and seat_1's


class Findings(NamedTuple):
    """Ratings ``[N]``, deviation ratings ``[2, N]`` by seat, and the meta-game, all with two-sided intervals."""

    members: tuple[str, ...]
    take: Estimates  # points of ten
    give: Estimates
    deviation: Estimates  # points of ten, at most 0
    solutions: tuple[Solution, ...]
    played: float  # share of the cells with games; the others are predicted
    replicates: int
    confidence: float


class _SolvedGame(NamedTuple):
    """The equilibria and ratings of one table of means."""

    welfare: JointMixture
    nash: JointMixture
    deviation: Table  # [2, N]
    pairs: Pairs  # with a chance in one of the two equilibria


class _Samples(NamedTuple):
    """The table of means of the members that have played, and its bootstrap replicates, all ``[N, 2, N]``."""

    games: Table
    weights: Table  # [N] see :func:`league.standings.ratings.distinctness`
    mean: Table
    resampled: list[Table]
    confidence: float
    enough: bool  # whether there are groups of scenarios to resample

    def interval(self, value: Table, draws: Sequence[Table], within: Bounds) -> Estimates:
        """A figure of the point table and of each replicate, with an interval within the range of the figure."""
        return with_wide_interval(value, np.stack(draws), self.confidence, enough=self.enough, within=within)

    def fill(self, table: Table) -> Table:
        """A table with its missing cells predicted."""
        played = ~np.isnan(table)
        return table if played.all() else np.where(played, table, take_give(table, self.games).predictions())


def findings_of(cross: CrossPlay, *, seed: int, confidence: float, replicates: int | None = None) -> Findings | None:
    """The findings of a cross-play table; ``None`` if nothing was played. Takes seconds for 20 or 50 members."""
    members = np.flatnonzero(cross.payoffs().games.any(axis=(1, 2)))
    if not len(members):
        return None
    if replicates is None:
        replicates = REPLICATES if len(members) <= MANY else FEWER
    samples = _samples(cross, members, scenario_weights(generator(seed, "findings"), replicates), confidence)
    point = _solve_game(samples.fill(samples.mean))
    draws = [_solve_game(samples.fill(table), point.pairs) for table in samples.resampled]
    take, give = _take_give_ratings(samples)
    return Findings(
        members=tuple(cross.members[number] for number in members),
        take=take,
        give=give,
        deviation=samples.interval(point.deviation, [draw.deviation for draw in draws], (-TEN, 0.0)),
        solutions=(
            _solution(samples, WELFARE, point.welfare, [draw.welfare for draw in draws]),
            _solution(samples, NASH, point.nash, [draw.nash for draw in draws]),
        ),
        played=float(np.count_nonzero(samples.games)) / samples.games.size,
        replicates=replicates,
        confidence=confidence,
    )


def _samples(cross: CrossPlay, members: NDArray[np.int64], weights: Table, confidence: float) -> _Samples:
    """The tables of ``members``, with one replicate per row of ``weights[replicates, GROUPS]``."""
    payoffs, part = cross.payoffs(), np.ix_(members, np.arange(2), members)
    return _Samples(
        payoffs.games[part],
        distinctness(type(payoffs)(*(table[part] for table in payoffs))),
        payoffs.mean[part],
        [table[part] for table in cross.resampled_means(weights)],
        confidence,
        cross.occupied_groups > 1,
    )


def _take_give_ratings(samples: _Samples) -> tuple[Estimates, Estimates]:
    def fit(table: Table) -> Table:
        rating = take_give(table, samples.games, samples.weights)
        return np.stack([rating.take, rating.give])

    value, draws = fit(samples.mean), [fit(table) for table in samples.resampled]
    take, give = (
        with_interval(value[row], np.stack([draw[row] for draw in draws]), samples.confidence, enough=samples.enough)
        for row in (0, 1)
    )
    return take, give


def _solution(samples: _Samples, name: str, joint: JointMixture, draws: Sequence[JointMixture]) -> Solution:
    def figure(of: Callable[[JointMixture], ArrayLike], within: Bounds) -> Estimates:
        return samples.interval(np.array(of(joint)), [np.array(of(draw)) for draw in draws], within)

    return Solution(
        name,
        figure(lambda joint: joint.values, POINTS),
        figure(lambda joint: joint.welfare, BOTH),
        figure(lambda joint: joint.gap, BOTH),
        figure(lambda joint: joint.mixtures, SHARE),
        joint.chances,
    )


def _solve_game(table: Table, start: Pairs | None = None) -> _SolvedGame:
    """Equilibria and ratings of a full table ``[N, 2, N]``; ``start``: pairs with a chance in a similar game."""
    equilibria = Equilibria(game_of(table), start)
    welfare, nash = max_welfare_cce(equilibria), nash_bargaining_cce(equilibria)
    strictest = np.stack(deviation_rating(equilibria))
    return _SolvedGame(welfare, nash, strictest, np.flatnonzero(welfare.chances + nash.chances))
