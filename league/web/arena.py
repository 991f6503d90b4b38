"""The arena page: a match of two occupants on the same scenarios in both seats, with figures and intervals."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dond_marl.game import Rules
from dond_marl.records.record import GameRecord, records_of
from dond_marl.scenarios.sources import ScenarioSource
from dond_marl.seats import Doubles, Partner, Rows
from dond_marl.statistics import TEN, Estimate
from league.display.svg.axes import Axes
from league.display.svg.markup import Markup, element, svg
from league.evaluation.matches import Terms
from league.evaluation.outcomes import Figures, Outcomes, figures, join_seats, outcomes_of, score_pairs
from league.web.background import MATCH_SECONDS, WithDeadline
from league.web.frame import render
from league.web.occupants import (
    OccupantMenu,
    make_partner,
    make_source,
    parse_whole_number,
    rules_of,
    source_choices,
)
from league.web.recorded import title

CONFIDENCE = 0.95
SIZES = (100, 500, 2_000)  # scenarios, each played twice
MAX_REMOTE = 20  # scenarios of a partner that is queried over a network
SHOWN = 4  # games of each kind that are listed
DEFAULT_PAIR = {"one": "expert", "other": "heuristic"}


class Match(NamedTuple):
    """A match in both seats."""

    names: tuple[str, str]
    source: str
    seed: int
    both: tuple[Figures, Figures]  # of the first and of the second, over both seats
    opening: tuple[Estimate, Estimate]  # own points of each as the opener
    answering: tuple[Estimate, Estimate]
    places: Doubles  # [M, 2] points of ten of the first and of the second at the ends of games
    games_at: Rows  # [M] number of games with that end
    best: tuple[GameRecord, ...]  # games with the largest share of the best joint score
    worst: tuple[GameRecord, ...]
    games: int


def play_match(
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
    ranked_games: list[tuple[float, GameRecord]] = []
    for order, games in enumerate(terms.games((first, first), second)):
        outcomes = outcomes_of(games, order), outcomes_of(games, 1 - order)
        seats.append(outcomes)
        welfare = np.nan_to_num(outcomes[0].welfare, nan=1.0).tolist()
        exported = records_of(games, names if order == 0 else names[::-1], source=source.label, seed=seed)
        ranked_games += list(zip(welfare, exported, strict=True))
    own, others = (join_seats((seats[0][player], seats[1][player])) for player in (0, 1))
    places, number = score_pairs(own)
    ranked = sorted(ranked_games, key=lambda game: game[0])
    points = [[figures(player, CONFIDENCE).points for player in order] for order in seats]
    return Match(
        names,
        source.label,
        seed,
        (figures(own, CONFIDENCE), figures(others, CONFIDENCE)),
        (points[0][0], points[1][1]),
        (points[1][0], points[0][1]),
        places,
        number,
        tuple(record for _, record in ranked[::-1][:SHOWN]),
        tuple(record for _, record in ranked[:SHOWN]),
        2 * scenarios,
    )


def landing_chart(match: Match) -> Markup:
    """Scatter of the games' ends in points of ten; the area of a circle is the number of games."""
    # Places are rounded to half a point of ten, so that circles do not overlap.
    places, which = np.unique(np.round(match.places * 2) / 2, axis=0, return_inverse=True)
    number = np.bincount(which.reshape(-1), weights=match.games_at).astype(np.int64)
    # 18 of each margin are room for circles at the edges.
    axes = Axes(360, 360, TEN, TEN, left=58, top=26, right=26, bottom=58, from_left=23, from_below=33)
    x, y = axes.x, axes.y
    most = max(int(number.max(initial=1)), 1)
    first, second = (name if len(name) <= 24 else f"{name[:23]}…" for name in match.names)
    frame = (
        *axes.columns(range(0, 11, 2)),
        *axes.rows(range(0, 11, 2)),
        axes.bottom_title(first),
        axes.left_title(second),
    )
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


def arena_page(
    menu: OccupantMenu,
    values: Mapping[str, str],
    data_dir: Path | None,
    match: Match | None = None,
    why: str = "",
    link: Callable[[GameRecord], str] = str,
) -> Markup:
    """The page: the form with ``values`` by field, and the match, whose games are linked by ``link``."""
    chosen = {field: values.get(field, usual) for field, usual in DEFAULT_PAIR.items()}
    chosen |= {field: DEFAULT_PAIR[field] for field, key in chosen.items() if key not in menu.candidates}
    sizes = {str(size): f"{size:,} scenarios, {2 * size:,} games" for size in SIZES}
    values = {"source": "lewis/train", "size": str(SIZES[1]), "seed": "0", **values, **chosen}
    page = render("arena", "page", menu.groups, source_choices(data_dir), sizes, values, why)
    if match is None:
        return page
    games = {
        heading: [(title(record), link(record)) for record in records]
        for heading, records in (("Most of the joint score", match.best), ("Least of it", match.worst))
    }
    return page + render("arena", "match", match, landing_chart(match), games)


def match_of(menu: OccupantMenu, values: Mapping[str, str], data_dir: Path | None) -> Match:
    """Play the match of a posted form. Raises one of :data:`league.web.occupants.CHOICE_ERRORS`."""
    first, second = (
        menu.candidate(values.get(field, ""), values.get(f"{field}_typed", "")) for field in ("one", "other")
    )
    known = {rules for rules in (rules_of(first), rules_of(second)) if rules is not None}
    if len(known) > 1:
        raise ValueError("these two come from leagues that are played by different rules")
    (player, player_name), (partner, partner_name) = make_partner(first), make_partner(second)
    size = parse_whole_number("how many", values.get("size", ""), 1, max(SIZES))
    if player.traits.remote or partner.traits.remote:
        size = min(size, MAX_REMOTE)
    until = time.monotonic() + MATCH_SECONDS
    return play_match(
        (WithDeadline(player, until), WithDeadline(partner, until)),
        (player_name, partner_name),
        make_source(values.get("source", ""), data_dir),
        known.pop() if known else Rules(),
        scenarios=size,
        seed=parse_whole_number("seed", values.get("seed", ""), 0, 2**63 - 1),
    )
