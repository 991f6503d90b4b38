"""Measures of games and of the solutions of bargaining theory, and the figures that are means of them.

:class:`PlayedFigures` describes every figure once: its name, measure, unit and heading. A *measure* is a number for
each game of one player in one seat. In a figure per deal only games with a deal count. The figures of both seats pool
the games: a share of deals is a share of all deals of both seats, not the mean of the seats' shares, so that points per
game are always the share of deals times the points per deal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, NamedTuple, get_type_hints

import numpy as np

from dond_marl.batch import Games
from dond_marl.seats import Bools, Doubles, Rows
from dond_marl.solvers.efficiency import Efficiency, efficiency_of
from dond_marl.solvers.solve import Concept, Solutions, measures, split_scores
from dond_marl.statistics import TEN, Estimate
from league.figures.rows import Unit
from league.figures.tally import Tally

Measures = Mapping[str, Doubles]  # by name, [N]; nan where a game says nothing, as a ratio to an optimum of 0


class FigureTerms(NamedTuple):
    """The meaning of a figure, and its row in a table of all of them."""

    measure: str  # of each game, averaged
    unit: str
    label: str  # in a table of all figures
    human: str | None = None  # its name in the human line; None: it is not known of people
    in_seats: bool = True  # whether it differs between the seats

    @property
    def is_share(self) -> bool:
        """Whether it is a share, 0..1, and not a number of points or acts."""
        return self.unit.startswith("share")

    @property
    def per_deal(self) -> bool:
        """Whether only games with a deal count."""
        return self.unit.endswith(("deal", "deals"))

    @property
    def cell_unit(self) -> Unit:
        """The unit of its numbers in tables."""
        return "share" if self.is_share else "acts" if self.measure == "turns" else "points"


GAME, DEAL, DEALS = "points of ten per game", "points of ten per deal", "share of deals"
OF_SUM, OF_PRODUCT, OF_SMALLER = (
    f"share of the largest {best}, no deal 0" for best in ("joint points", "product of points", "smaller share")
)
SQUARE = "square points of ten per game"


class PlayedFigures(NamedTuple):
    """The figures of one player in one view, with their terms and intervals over scenarios.

    ``n`` counts the games, or deals, averaged over. Shares of deals are ratios of two counts that both vary with the
    scenarios, and their intervals account for it (:func:`dond_marl.statistics.mean_of_cells`).
    """

    points: Annotated[Estimate, FigureTerms("own", GAME, "own points", "score")]
    points_agreed: Annotated[Estimate, FigureTerms("own", DEAL, "  of deals", "score_of_deals")]
    left: Annotated[Estimate, FigureTerms("left", GAME, "partner's points", "score")]
    left_agreed: Annotated[Estimate, FigureTerms("left", DEAL, "  of deals", "score_of_deals")]
    joint: Annotated[Estimate, FigureTerms("joint", GAME, "joint points", None, False)]
    joint_agreed: Annotated[Estimate, FigureTerms("joint", DEAL, "  of deals", "joint_of_deals", False)]
    deals: Annotated[Estimate, FigureTerms("deal", "share of games", "agreement", "deals")]
    pareto: Annotated[Estimate, FigureTerms("pareto", DEALS, "Pareto-optimal", "pareto_of_deals")]
    welfare: Annotated[Estimate, FigureTerms("welfare", OF_SUM, "welfare efficiency")]
    nash: Annotated[Estimate, FigureTerms("nash", OF_PRODUCT, "Nash efficiency")]
    product: Annotated[
        Estimate, FigureTerms("product", SQUARE, "  product of points", "nash_product_mean_of_products", False)
    ]
    egalitarian: Annotated[Estimate, FigureTerms("egalitarian", OF_SMALLER, "fairness")]
    smaller: Annotated[Estimate, FigureTerms("smaller", GAME, "  smaller share", None, False)]
    gap: Annotated[Estimate, FigureTerms("gap", DEAL, "  gap in deals", None, False)]
    envy_free: Annotated[Estimate, FigureTerms("envy_free", DEALS, "  both get half", "fair_of_deals", False)]
    hits_nash: Annotated[Estimate, FigureTerms("hits_nash", DEALS, "deals at Nash", "nash_point_of_deals", False)]
    hits_max_min: Annotated[Estimate, FigureTerms("hits_max_min", DEALS, "deals at max-min", "max_min_of_deals", False)]
    hits_utilitarian: Annotated[
        Estimate, FigureTerms("hits_utilitarian", DEALS, "deals at largest sum", "most_points_of_deals", False)
    ]
    turns: Annotated[Estimate, FigureTerms("turns", "acts of both seats per game", "acts", "turns")]


FIGURES: dict[str, FigureTerms] = {
    name: annotation.__metadata__[0] for name, annotation in get_type_hints(PlayedFigures, include_extras=True).items()
}
NUMBER = {name: i for i, name in enumerate(FIGURES)}  # of a figure in the last axis but one of a tally


def measures_of_games(games: Games, seat: int) -> Measures:
    """The measures of N games of the player in ``seat``.

    Raises :class:`~dond_marl.solvers.efficiency.ImpossibleScore`.
    """
    return {**measures_of_efficiency(efficiency_of(games), seat), "turns": games.turns.astype(np.float64)}


def measures_of_efficiency(reached: Efficiency, seat: int) -> Measures:
    """The measures of N games from their efficiency, without their turns."""
    points, partner = reached.points[:, seat], reached.points[:, 1 - seat]
    return {
        **_points(points, partner),
        "smaller": np.minimum(points, partner),
        "product": points * partner,
        "gap": np.abs(points - partner),
        "turns": np.full(reached.size, np.nan),
        "hits_max_min": (reached.egalitarian == 1).astype(np.float64),  # a ratio of equal whole numbers is exactly 1
        **{
            name: getattr(reached, name).astype(np.float64)
            for name in (
                "deal",
                "welfare",
                "nash",
                "egalitarian",
                "pareto",
                "envy_free",
                "hits_nash",
                "hits_utilitarian",
            )
        },
    }


def measures_of_concepts(solutions: Solutions, concepts: Mapping[str, Concept]) -> dict[str, tuple[Measures, Measures]]:
    """The measures in both seats, by concept, if every game ended at its splits, all of them equally often."""
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
    outcomes: dict[str, tuple[Measures, Measures]] = {}
    for concept, average in concepts.items():
        number = average.splits.sum(axis=1)
        shared = {
            "deal": (number > 0).astype(np.float64),
            "smaller": average.smaller,
            "product": average.product,
            "welfare": _ratio(average.point.sum(axis=1), solutions.joint),
            "nash": _ratio(average.product, solutions.product),
            "egalitarian": _ratio(average.smaller, solutions.smaller),
            "turns": np.full(solutions.size, np.nan),
        }
        for name, values in by_split.items():
            shared[name] = np.einsum("nk,nk->n", values.astype(np.float64), average.splits) / np.maximum(number, 1)
        points, partner = average.point.T
        outcomes[concept] = {**shared, **_points(points, partner)}, {**shared, **_points(partner, points)}
    return outcomes


def tally_of(measured: Measures, groups: Rows, counted: Bools, names: Iterable[str] = FIGURES) -> Tally:
    """The tally ``[..., figures, GROUPS]`` of one player's games in one seat, by default of all :data:`FIGURES`.

    ``groups[N]``: the groups of the games' scenarios; ``counted[..., N]``: masks of the games that count.
    """
    described = [FIGURES[name] for name in names]
    rows = np.stack([measured[terms.measure] for terms in described])
    with_deal = measured["deal"] > 0
    masks = np.stack([counted & with_deal if terms.per_deal else counted for terms in described], axis=-2)
    among = masks & ~np.isnan(rows)
    return Tally.of(np.broadcast_to(rows, among.shape), groups, among)


def figures(tally: Tally, confidence: float) -> PlayedFigures:
    """The figures of a tally ``[figures, GROUPS]``, of one seat or pooled over several."""
    return PlayedFigures(
        **{
            name: tally[i].share(confidence) if terms.is_share else tally[i].mean(confidence)
            for i, (name, terms) in enumerate(FIGURES.items())
        }
    )


def score_pairs(points: Doubles) -> tuple[Doubles, Rows]:
    """The different pairs of own and partner's ``points[N, 2]``, ``[M, 2]``, and the number of games that end there."""
    pairs, number = np.unique(points, axis=0, return_counts=True)
    return pairs, number


def _points(points: Doubles, partner: Doubles) -> dict[str, Doubles]:
    return {"own": points, "left": partner, "joint": points + partner}


def _ratio(got: Doubles, best: Doubles) -> Doubles:
    """The ratio ``got / best``, nan where the best is nothing."""
    ratio: Doubles = np.divide(got, best, out=np.full(len(got), np.nan), where=best > 0)
    return ratio
