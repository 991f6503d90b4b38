"""Two occupants against each other on the same scenarios in both seats, and what came of it, with intervals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dond_marl.game import Rules
from dond_marl.records.record import GameRecord, records_of
from dond_marl.scenarios.sources import ScenarioSource
from dond_marl.seats import Doubles, Partner, Rows
from dond_marl.statistics import TEN, Estimate
from league.display.svg.axes import Axes
from league.display.svg.markup import Markup, element, numbers_table, svg
from league.evaluation.matches import Terms
from league.evaluation.outcomes import Figures, Outcomes, figures, landed, outcomes_of, together
from league.tables.figures import with_margin

CONFIDENCE = 0.95
SIZES = (100, 500, 2_000)  # scenarios, each played twice
MOST_REMOTE = 20  # where somebody is asked over the network
SHOWN = 4  # games of each kind that are told


class Match(NamedTuple):
    """A match in both seats."""

    names: tuple[str, str]
    source: str
    seed: int
    both: tuple[Figures, Figures]  # of the first, of the second, over both seats
    opening: tuple[Estimate, Estimate]  # own points of each where it opened
    answering: tuple[Estimate, Estimate]
    places: Doubles  # [M, 2] points of ten of the first and of the second, where games ended
    games_at: Rows  # [M] how many
    best: tuple[GameRecord, ...]  # that reached most of what there was to share
    worst: tuple[GameRecord, ...]
    games: int


def meet(
    occupants: tuple[Partner, Partner],
    names: tuple[str, str],
    source: ScenarioSource,
    rules: Rules,
    *,
    scenarios: int,
    seed: int = 0,
) -> Match:
    """Play ``scenarios`` scenarios in both seat orders. Raises :class:`~dond_marl.rollout.OccupantError`."""
    terms = Terms(source, source.block(seed, 0, scenarios), rules, seed)
    first, second = occupants
    seats: list[tuple[Outcomes, Outcomes]] = []
    kept: list[tuple[float, GameRecord]] = []
    for order, games in enumerate(terms.games((first, first), second)):
        outcomes = outcomes_of(games, order), outcomes_of(games, 1 - order)
        seats.append(outcomes)
        welfare = np.nan_to_num(outcomes[0].welfare, nan=1.0).tolist()
        written = records_of(games, names if order == 0 else names[::-1], source=source.label, seed=seed)
        kept += list(zip(welfare, written, strict=True))
    one, other = (together((seats[0][who], seats[1][who])) for who in (0, 1))
    places, number = landed(one)
    ranked = sorted(kept, key=lambda game: game[0])
    points = [[figures(player, CONFIDENCE).points for player in order] for order in seats]
    return Match(
        names,
        source.label,
        seed,
        (figures(one, CONFIDENCE), figures(other, CONFIDENCE)),
        (points[0][0], points[1][1]),
        (points[1][0], points[0][1]),
        places,
        number,
        tuple(record for _, record in ranked[::-1][:SHOWN]),
        tuple(record for _, record in ranked[:SHOWN]),
        2 * scenarios,
    )


def figures_table(match: Match) -> Markup:
    """The match in numbers."""
    one, other = match.both
    rows = [
        ("points of ten", with_margin(one.points), with_margin(other.points)),
        ("as the opener", *map(with_margin, match.opening)),
        ("as the responder", *map(with_margin, match.answering)),
        ("points where a deal closed", with_margin(one.points_agreed), with_margin(other.points_agreed)),
    ]
    shared = [
        ("deals", with_margin(one.deals, "share")),
        ("deals on the Pareto frontier", with_margin(one.pareto, "share")),
        ("of the largest joint score", with_margin(one.welfare, "share")),
        ("of the largest Nash product", with_margin(one.nash, "share")),
        ("deals without envy", with_margin(one.envy_free, "share")),
        ("gap between the two, per deal", with_margin(one.gap)),
        ("acts per game", with_margin(one.turns)),
    ]
    body = [
        element("tr", element("th", name, scope="row"), element("td", mine), element("td", theirs))
        for name, mine, theirs in rows
    ]
    body += [
        element("tr", element("th", name, scope="row"), element("td", value, colspan=2, class_="both"))
        for name, value in shared
    ]
    caption = f"{match.games:,} games on {match.source}, seed {match.seed}; ± is the 95 % interval over scenarios"
    return numbers_table(caption, (None, *match.names), body, "numbers wide")


def landing_chart(match: Match) -> Markup:
    """Where games ended, in points of ten; a circle's area is how many did there."""
    # 18 of each margin are room for circles at the edges.
    axes = Axes(360, 360, TEN, TEN, left=58, top=26, right=26, bottom=58, from_left=23, from_below=33)
    x, y = axes.x, axes.y
    places, number = _binned(match.places, match.games_at)
    most = max(int(number.max(initial=1)), 1)
    first, second = (name if len(name) <= 24 else f"{name[:23]}…" for name in match.names)
    frame = (*axes.columns(range(0, 11, 2)), *axes.rows(range(0, 11, 2)), axes.below(first), axes.beside(second))
    circles = [
        element(
            "circle",
            element("title", f"{count:,} games: {mine:g} to {theirs:g}"),
            class_="place" if mine or theirs else "place none",
            cx=x(mine),
            cy=y(theirs),
            r=2 + 17 * (count / most) ** 0.5,
        )
        for (mine, theirs), count in sorted(
            zip(places.tolist(), number.tolist(), strict=True), key=lambda place: -place[1]
        )
    ]
    label = f"Where {match.games:,} games ended: points of ten of {match.names[0]} across, of {match.names[1]} up"
    return svg(axes.width, axes.height, label, *frame, *circles, class_="chart landing")


def _binned(places: Doubles, number: Rows) -> tuple[Doubles, Rows]:
    """The places to half a point of ten, so that circles can be told apart."""
    near, which = np.unique(np.round(places * 2) / 2, axis=0, return_inverse=True)
    return near, np.bincount(which.reshape(-1), weights=number).astype(np.int64)
