"""Outcomes of games, and of the solutions of bargaining theory, as the same arrays and the same figures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dond_marl.batch import Games
from dond_marl.seats import Bools, Doubles, Rows
from dond_marl.statistics import (
    TEN,
    Estimate,
    mean_of_cells,
    mean_over_scenarios,
    rate,
    scenario_groups,
    sums_by_group,
)
from dond_marl.yardsticks.efficiency import Efficiency, efficiency_of
from dond_marl.yardsticks.solve import Concept, Solutions, measures, split_scores


class Outcomes(NamedTuple):
    """N games of one player in one seat, or the mean points of a concept's splits there, one entry per scenario.

    ``nan`` where a measure says nothing: a ratio to an optimum of 0, the turns of a split that was not played.
    """

    groups: Rows  # [N] the scenario's group, for intervals
    deal: Bools  # [N]
    own: Doubles  # [N] points of ten, 0 without a deal
    left: Doubles  # [N] the partner's points of ten
    smaller: Doubles  # [N] the smaller of the two
    product: Doubles  # [N] of the two, 0..100
    gap: Doubles  # [N] between the two
    welfare: Doubles  # [N] joint points over the most there is, 0..1
    nash: Doubles  # [N] product over the largest there is, 0..1
    egalitarian: Doubles  # [N] smaller share over the largest smaller share, 0..1
    pareto: Doubles  # [N] 1 for a Pareto-optimal deal, 0 for others; and so on
    envy_free: Doubles  # [N] both get at least half of what the pool is worth to them
    hits_nash: Doubles  # [N] the split has the largest product
    hits_max_min: Doubles  # [N] the largest smaller share, whatever the larger one is
    hits_utilitarian: Doubles  # [N] the largest sum
    turns: Doubles  # [N] acts of both seats


class Figures(NamedTuple):
    """Means of :class:`Outcomes` with intervals over scenarios; ``n`` counts the games, or deals, averaged over.

    Shares of *deals* are ratios of two counts that both vary with the scenarios, and get intervals that know it
    (:func:`dond_marl.statistics.mean_of_cells`); intervals of all shares stay within 0..1
    (:func:`dond_marl.statistics.rate`).
    """

    points: Estimate  # own points of ten per game, no deal being 0
    points_agreed: Estimate  # per deal
    left: Estimate  # the partner's, per game
    left_agreed: Estimate
    joint: Estimate
    joint_agreed: Estimate
    deals: Estimate  # share of games
    pareto: Estimate  # share of deals
    welfare: Estimate  # over games, no deal being 0; and so the next two
    nash: Estimate
    egalitarian: Estimate
    smaller: Estimate  # points of ten per game
    product: Estimate  # per game, 0..100
    gap: Estimate  # points of ten per deal
    envy_free: Estimate  # share of deals, and so the next three
    hits_nash: Estimate
    hits_max_min: Estimate
    hits_utilitarian: Estimate
    turns: Estimate  # per game


UNITS = {
    "points": "points of ten per game",
    "points_agreed": "points of ten per deal",
    "left": "points of ten per game",
    "left_agreed": "points of ten per deal",
    "joint": "points of ten per game",
    "joint_agreed": "points of ten per deal",
    "deals": "share of games",
    "pareto": "share of deals",
    "welfare": "share of the largest joint points, no deal 0",
    "nash": "share of the largest product of points, no deal 0",
    "product": "square points of ten per game",
    "egalitarian": "share of the largest smaller share, no deal 0",
    "smaller": "points of ten per game",
    "gap": "points of ten per deal",
    "envy_free": "share of deals",
    "hits_nash": "share of deals",
    "hits_max_min": "share of deals",
    "hits_utilitarian": "share of deals",
    "turns": "acts of both seats per game",
}


def outcomes_of(games: Games, seat: int) -> Outcomes:
    """The outcomes of the player in ``seat``. Raises :class:`~dond_marl.yardsticks.efficiency.ImpossibleScore`."""
    return outcomes_from(efficiency_of(games), seat, games.turns.astype(np.float64))


def outcomes_from(reached: Efficiency, seat: int, turns: Doubles | None = None) -> Outcomes:
    """The same from the efficiency of games, which does not hold their ``turns[N]``."""
    own, left = reached.points[:, seat], reached.points[:, 1 - seat]
    return Outcomes(
        groups=reached.groups,
        deal=reached.deal,
        own=own,
        left=left,
        smaller=np.minimum(own, left),
        product=own * left,
        gap=np.abs(own - left),
        welfare=reached.welfare,
        nash=reached.nash,
        egalitarian=reached.egalitarian,
        pareto=reached.pareto.astype(np.float64),
        envy_free=reached.envy_free.astype(np.float64),
        hits_nash=reached.hits_nash.astype(np.float64),
        hits_max_min=(reached.egalitarian == 1).astype(np.float64),  # a ratio of equal whole numbers is exactly 1
        hits_utilitarian=reached.hits_utilitarian.astype(np.float64),
        turns=np.full(reached.size, np.nan) if turns is None else turns,
    )


class Marks(NamedTuple):
    """Properties of each split of N scenarios, ``[N, K]``: rows of the grid of :mod:`dond_marl.yardsticks.solve`."""

    gap: Doubles  # points of ten between the two shares
    envy_free: Bools
    max_min: Bools  # the largest smaller share


def split_marks(solutions: Solutions) -> Marks:
    """The marks of every split; ``K`` is the grid's size."""
    scenarios = solutions.scenarios
    scores, splits = split_scores(scenarios, solutions.max_count)
    wholes = scenarios.pool_values.T[:, :, None].astype(np.int64)
    first, second = scores * (TEN / np.maximum(wholes, 1))
    return Marks(
        gap=np.abs(first - second),
        envy_free=splits & (2 * scores >= wholes).all(axis=0),
        max_min=splits & (measures(scores, wholes).smaller == solutions.best.smaller[:, None]),
    )


def outcomes_at(concept: Concept, solutions: Solutions, known: Marks, seat: int) -> Outcomes:
    """The outcomes of ``seat`` if every game ended at a split of the concept, all of its splits equally often."""
    number = concept.splits.sum(axis=1)

    def mean(values: Doubles | Bools) -> Doubles:
        means: Doubles = np.einsum("nk,nk->n", values.astype(np.float64), concept.splits) / np.maximum(number, 1)
        return means

    own, left = concept.point[:, seat], concept.point[:, 1 - seat]
    return Outcomes(
        groups=scenario_groups(solutions.scenarios),
        deal=number > 0,
        own=own,
        left=left,
        smaller=concept.smaller,
        product=concept.product,
        gap=mean(known.gap),
        welfare=_ratio(own + left, solutions.joint),
        nash=_ratio(concept.product, solutions.product),
        egalitarian=_ratio(concept.smaller, solutions.smaller),
        pareto=mean(solutions.pareto.splits),
        envy_free=mean(known.envy_free),
        hits_nash=mean(solutions.nash.splits),
        hits_max_min=mean(known.max_min),
        hits_utilitarian=mean(solutions.utilitarian.splits),
        turns=np.full(solutions.size, np.nan),
    )


def select_games(outcomes: Outcomes, counted: Bools) -> Outcomes:
    """Those games of the outcomes that count, ``counted[N]``."""
    return outcomes if counted.all() else outcomes._replace(**{k: v[counted] for k, v in outcomes._asdict().items()})


def join_seats(seats: tuple[Outcomes, Outcomes]) -> Outcomes:
    """The games of both seats, each weighing the same."""
    first, second = seats
    return Outcomes(*(np.concatenate(pair) for pair in zip(first, second, strict=True)))


def figures(outcomes: Outcomes, confidence: float) -> Figures:
    """The means of outcomes, every game weighing the same."""
    groups, deal, joint = outcomes.groups, outcomes.deal, outcomes.own + outcomes.left

    def mean(values: Doubles | Bools, among: Bools | bool = True) -> Estimate:
        return mean_over_scenarios(values, groups, confidence, among & ~np.isnan(values))

    def rated(values: Doubles | Bools, among: Bools | bool = True) -> Estimate:
        return rate(*sums_by_group(values, groups, among & ~np.isnan(values)), confidence)

    return Figures(
        points=mean(outcomes.own),
        points_agreed=mean(outcomes.own, deal),
        left=mean(outcomes.left),
        left_agreed=mean(outcomes.left, deal),
        joint=mean(joint),
        joint_agreed=mean(joint, deal),
        deals=rated(deal),
        pareto=rated(outcomes.pareto, deal),
        welfare=rated(outcomes.welfare),
        nash=rated(outcomes.nash),
        egalitarian=rated(outcomes.egalitarian),
        smaller=mean(outcomes.smaller),
        product=mean(outcomes.product),
        gap=mean(outcomes.gap, deal),
        envy_free=rated(outcomes.envy_free, deal),
        hits_nash=rated(outcomes.hits_nash, deal),
        hits_max_min=rated(outcomes.hits_max_min, deal),
        hits_utilitarian=rated(outcomes.hits_utilitarian, deal),
        turns=mean(outcomes.turns),
    )


def points_ratio(own: Outcomes, of: Outcomes, confidence: float) -> Estimate:
    """The ratio of two mean own points in the same games, with a paired interval: the ratio made linear at its value.

    A ratio of sums is what :func:`dond_marl.statistics.mean_of_cells` makes of sums and of what they are
    divided by.
    """
    mine, theirs = (sums_by_group(each.own, each.groups)[0] for each in (own, of))
    return mean_of_cells(mine, theirs, confidence)._replace(n=len(own.own))


def score_pairs(outcomes: Outcomes) -> tuple[Doubles, Rows]:
    """The different pairs of own and partner's points ``[M, 2]``, and the number of games that ended at each."""
    places, number = np.unique(np.stack([outcomes.own, outcomes.left], axis=1), axis=0, return_counts=True)
    return places, number


def _ratio(got: Doubles, best: Doubles) -> Doubles:
    """``got / best``, nan where the best is nothing."""
    ratio: Doubles = np.divide(got, best, out=np.full(len(got), np.nan), where=best > 0)
    return ratio
