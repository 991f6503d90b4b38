"""Efficiency of played games: outcomes relative to the best of their scenarios (:mod:`dond_marl.solvers.solve`).

Only scores are needed, not the allocation of items: splits that pay the same are equally good. Each game has its own
optimum, so its own ratio to it. Three measures of a deal, each over the largest value that any split of the scenario
gives it (the utilitarian, Nash and egalitarian collective utility of Chevaleyre et al. 2006, *Issues in Multiagent
Resource Allocation*, section 5):

welfare       joint score over W*
nash          product of both shares over P*; a mean of products, not the product of both seats' means
egalitarian   smaller share over the largest smaller share: the fairness of a game. 1 is a "max-min" deal, which need
              not be Pareto-optimal; the egalitarian set asks for the largest larger share besides

No deal is 0 in all three. A ratio is ``nan``, and left out of means, where there was nothing to gain (an optimum of 0).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.batch import Games
from dond_marl.errors import InputError
from dond_marl.scenarios.sources import Scenarios, numbers_of
from dond_marl.seats import Bools, Doubles, Rows
from dond_marl.solvers.solve import CACHED_CELLS, Measures, Solutions, measures, solve, split_scores
from dond_marl.splits import grid_size
from dond_marl.statistics import TEN, points_of_ten, scenario_groups

_SCORES = 512  # more than there are scores: at most 300 points, ten items of each type at ten points each


class ImpossibleScore(InputError):
    """Scores that no split of the scenario pays: a bug wherever they came from."""


class Efficiency(NamedTuple):
    """N games, one entry each; every ``bool`` but ``deal`` is False without a deal."""

    groups: Rows  # [N] the game's group of scenarios, for intervals
    deal: Bools  # [N]
    points: Doubles  # [N, 2] points of ten, 0 without a deal
    best_joint: Doubles  # [N] W*, points of ten
    welfare: Doubles  # [N] joint score over W*, 0..1
    nash: Doubles  # [N] product over P*, 0..1
    egalitarian: Doubles  # [N] smaller share over the largest smaller share, 0..1
    pareto: Bools  # [N] no split gives one seat more and neither less
    hits_nash: Bools  # [N] the split is one of the Nash splits
    hits_utilitarian: Bools  # [N] and so on
    envy_free: Bools  # [N] both got at least half their whole value, so neither would swap (Foley 1967); "both >= 5"

    @property
    def size(self) -> int:
        return len(self.deal)


def efficiency_of(games: Games) -> Efficiency:
    """The efficiency of each of N played games."""
    return efficiency(games.scenarios, games.scores, games.deal)


def efficiency(scenarios: Scenarios, scores: NDArray[np.int16], deal: Bools) -> Efficiency:
    """The efficiency of each of N games, from both seats' ``scores[N, 2]`` in points and whether it closed a deal.

    Raises :class:`ImpossibleScore` where no split pays these scores, or where a game without a deal pays any.
    """
    size = scenarios.size
    if scores.shape != (size, 2) or deal.shape != (size,):
        raise ValueError(f"{size} scenarios need scores[{size}, 2] and deal[{size}]; got {scores.shape}, {deal.shape}")
    deal = deal.astype(bool)  # the ledger keeps bytes
    if (paid := ~deal & scores.any(axis=1)).any():
        raise ImpossibleScore(f"{int(paid.sum())} games without a deal pay; first game {int(paid.argmax())}")
    best, pareto = _compare_with_best(scenarios, scores, deal)
    pool_values = scenarios.pool_values.astype(np.int64)
    got = measures(scores.T.astype(np.int64), pool_values.T)
    points = points_of_ten(scores, scenarios.pool_values)
    return Efficiency(
        groups=scenario_groups(scenarios),
        deal=deal,
        points=points,
        best_joint=best.joint * (TEN / np.maximum(pool_values, 1).prod(axis=1)),
        welfare=_ratio(got.joint, best.joint),
        nash=_ratio(got.product, best.product),
        egalitarian=_ratio(got.smaller, best.smaller),
        pareto=pareto,
        hits_nash=pareto & (got.product == best.product),
        hits_utilitarian=deal & (got.joint == best.joint),
        envy_free=deal & (2 * scores.astype(np.int64) >= pool_values).all(axis=1),
    )


def _compare_with_best(scenarios: Scenarios, scores: NDArray[np.int16], deal: Bools) -> tuple[Measures, Bools]:
    """The best measures of each game's scenario, and whether its deal is Pareto-optimal, ``[N]``."""
    distinct, scenario_index = _distinct(scenarios)
    best = np.zeros((len(Measures._fields), scenarios.size), dtype=np.int64)
    pareto = np.zeros(scenarios.size, dtype=bool)
    order = np.argsort(scenario_index, kind="stable")
    in_order = scenario_index[order]
    for start, part in _parts(distinct):
        first, last = np.searchsorted(in_order, (start, start + part.size)).tolist()
        games = order[first:last]
        best[:, games] = np.stack(part.best)[:, scenario_index[games] - start]
        games = games[deal[games]]
        rows = scenario_index[games] - start
        pareto[games] = part.pareto.splits[rows, _split_that_pays(part, rows, scores[games], games)]
    return Measures(*best), pareto


def _split_that_pays(solutions: Solutions, rows: Rows, scores: NDArray[np.int16], games: Rows) -> Rows:
    """A row of the grid that pays ``scores[B, 2]`` in the scenarios ``rows[B]``; ``games[B]`` names them in errors.

    Splits that pay the same are in the same sets, so any will do.
    """
    paid, splits = split_scores(solutions.scenarios, solutions.max_count)
    scenario, split = np.nonzero(splits)
    outcomes = _outcome(scenario, paid[0][splits], paid[1][splits])
    scored = _outcome(rows, *scores.T.astype(np.int64))
    by_outcome = np.argsort(outcomes)
    match = by_outcome[np.minimum(np.searchsorted(outcomes, scored, sorter=by_outcome), len(outcomes) - 1)]
    if (wrong := outcomes[match] != scored).any():
        row = int(wrong.argmax())
        raise ImpossibleScore(
            f"{int(wrong.sum())} deals pay what no split does; first game {int(games[row])}: {scores[row].tolist()} "
            f"points in {solutions.scenarios.scenario(int(rows[row]))}"
        )
    return split[match]


def _outcome(scenario: Rows, first: Rows, second: Rows) -> Rows:
    """One number for a scenario and both scores; what is no score at all gets a number that no split has."""
    scores = np.clip(first, -1, _SCORES - 1) * _SCORES + np.clip(second, -1, _SCORES - 1)
    sensible = (first >= 0) & (second >= 0)
    return np.where(sensible, scenario * _SCORES**2 + scores, -1)


def _parts(scenarios: Scenarios) -> Iterator[tuple[int, Solutions]]:
    """The scenarios solved in parts of bounded size: the number of each part's first scenario, and the part."""
    max_count = int(scenarios.counts.max(initial=1))
    step = CACHED_CELLS // grid_size(max_count)
    for start in range(0, scenarios.size, step):
        yield start, solve(scenarios.rows(slice(start, start + step)), max_count)


def _distinct(scenarios: Scenarios) -> tuple[Scenarios, Rows]:
    """The distinct scenarios, and the index of each scenario among them, ``[N]``."""
    keys = numbers_of(scenarios.counts, scenarios.utilities.reshape(-1, 6))
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return scenarios.rows(first), inverse.reshape(-1)


def _ratio(got: Rows, best: Rows) -> Doubles:
    """``got / best``, nan where the best is nothing."""
    ratio: Doubles = np.divide(got, best, out=np.full(len(got), np.nan), where=best > 0)
    return ratio
