"""Outcomes of games, and of the solutions of bargaining theory, as the same arrays and the same figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dond_marl.batch import Games
from dond_marl.seats import Bools, Doubles, Rows
from dond_marl.solvers.efficiency import Efficiency, efficiency_of
from dond_marl.solvers.solve import Concept, Solutions, measures, split_scores
from dond_marl.statistics import (
    TEN,
    Estimate,
    mean_of_cells,
    mean_over_scenarios,
    rate,
    scenario_groups,
    sums_by_group,
)


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


class FigureTerms(NamedTuple):
    """The meaning of a figure, and its row in a table of all of them."""

    measure: str  # the field of Outcomes that is averaged, or their joint points
    unit: str
    label: str
    human: str | None = None  # its name in the human line; None: it is not known of people
    in_seats: bool = True  # whether it differs between the seats


FIGURES = {
    "points": FigureTerms("own", "points of ten per game", "own points", "score"),
    "points_agreed": FigureTerms("own", "points of ten per deal", "  of deals", "score_of_deals"),
    "left": FigureTerms("left", "points of ten per game", "partner's points", "score"),
    "left_agreed": FigureTerms("left", "points of ten per deal", "  of deals", "score_of_deals"),
    "joint": FigureTerms("joint", "points of ten per game", "joint points", None, False),
    "joint_agreed": FigureTerms("joint", "points of ten per deal", "  of deals", "joint_of_deals", False),
    "deals": FigureTerms("deal", "share of games", "agreement", "deals"),
    "pareto": FigureTerms("pareto", "share of deals", "Pareto-optimal", "pareto_of_deals"),
    "welfare": FigureTerms("welfare", "share of the largest joint points, no deal 0", "welfare efficiency"),
    "nash": FigureTerms("nash", "share of the largest product of points, no deal 0", "Nash efficiency"),
    "product": FigureTerms(
        "product", "square points of ten per game", "  product of points", "nash_product_mean_of_products", False
    ),
    "egalitarian": FigureTerms("egalitarian", "share of the largest smaller share, no deal 0", "fairness"),
    "smaller": FigureTerms("smaller", "points of ten per game", "  smaller share", None, False),
    "gap": FigureTerms("gap", "points of ten per deal", "  gap in deals", None, False),
    "envy_free": FigureTerms("envy_free", "share of deals", "  both get half", "fair_of_deals", False),
    "hits_nash": FigureTerms("hits_nash", "share of deals", "deals at Nash", "nash_point_of_deals", False),
    "hits_max_min": FigureTerms("hits_max_min", "share of deals", "deals at max-min", "max_min_of_deals", False),
    "hits_utilitarian": FigureTerms(
        "hits_utilitarian", "share of deals", "deals at largest sum", "most_points_of_deals", False
    ),
    "turns": FigureTerms("turns", "acts of both seats per game", "acts", "turns"),
}


def outcomes_of(games: Games, seat: int) -> Outcomes:
    """The outcomes of the player in ``seat``. Raises :class:`~dond_marl.solvers.efficiency.ImpossibleScore`."""
    return outcomes_from(efficiency_of(games), seat)._replace(turns=games.turns.astype(np.float64))


def outcomes_from(reached: Efficiency, seat: int) -> Outcomes:
    """The same from the efficiency of games, without their turns."""
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
        turns=np.full(reached.size, np.nan),
    )


def outcomes_of_concepts(solutions: Solutions, concepts: Mapping[str, Concept]) -> dict[str, tuple[Outcomes, Outcomes]]:
    """By name the outcomes of both seats if every game ended at a split of the concept, all of them equally often."""
    scenarios = solutions.scenarios
    scores, splits = split_scores(scenarios, solutions.max_count)
    wholes = scenarios.pool_values.T[:, :, None].astype(np.int64)
    first, second = scores * (TEN / np.maximum(wholes, 1))
    by_split = {  # [N, K]: a property of each split, a row of the grid of dond_marl.solvers.solve
        "gap": np.abs(first - second),
        "pareto": solutions.pareto.splits,
        "envy_free": splits & (2 * scores >= wholes).all(axis=0),
        "hits_nash": solutions.nash.splits,
        "hits_max_min": splits & (measures(scores, wholes).smaller == solutions.best.smaller[:, None]),
        "hits_utilitarian": solutions.utilitarian.splits,
    }
    groups, found = scenario_groups(scenarios), {}
    for name, at in concepts.items():
        number = at.splits.sum(axis=1)
        opens = Outcomes(
            groups=groups,
            deal=number > 0,
            own=at.point[:, 0],
            left=at.point[:, 1],
            smaller=at.smaller,
            product=at.product,
            welfare=_ratio(at.point.sum(axis=1), solutions.joint),
            nash=_ratio(at.product, solutions.product),
            egalitarian=_ratio(at.smaller, solutions.smaller),
            turns=np.full(solutions.size, np.nan),
            **{
                measure: np.einsum("nk,nk->n", values.astype(np.float64), at.splits) / np.maximum(number, 1)
                for measure, values in by_split.items()
            },
        )
        found[name] = opens, opens._replace(own=opens.left, left=opens.own)
    return found


def select_games(outcomes: Outcomes, counted: Bools) -> Outcomes:
    """Those games of the outcomes that count, ``counted[N]``."""
    return outcomes if counted.all() else outcomes._replace(**{k: v[counted] for k, v in outcomes._asdict().items()})


def join_seats(seats: tuple[Outcomes, Outcomes]) -> Outcomes:
    """The games of both seats, each weighing the same."""
    first, second = seats
    return Outcomes(*(np.concatenate(pair) for pair in zip(first, second, strict=True)))


def figures(outcomes: Outcomes, confidence: float) -> Figures:
    """The means of outcomes, every game weighing the same."""
    measures_of_games = {**outcomes._asdict(), "joint": outcomes.own + outcomes.left}

    def estimate(measure: str, unit: str) -> Estimate:
        values = measures_of_games[measure]
        among = ~np.isnan(values) & (outcomes.deal if unit.endswith(("deal", "deals")) else True)
        if unit.startswith("share"):
            return rate(*sums_by_group(values, outcomes.groups, among), confidence)
        return mean_over_scenarios(values, outcomes.groups, confidence, among)

    return Figures(**{figure: estimate(terms.measure, terms.unit) for figure, terms in FIGURES.items()})


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
