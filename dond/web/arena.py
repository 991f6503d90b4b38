"""The arena page: a match of two occupants on the same scenarios in both seats, with figures and intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from dond.web.frame import render
from dond.web.occupants import (
    OccupantMenu,
    make_partner,
    make_source,
    parse_whole_number,
    rules_of,
    source_choices,
)
from dond.web.recorded import name_occupants, title
from dond_marl.game import SEATS, Rules
from dond_marl.records.record import GameRecord, records_of
from dond_marl.records.transcript import describe_items
from dond_marl.rollout import Noise
from dond_marl.scenarios.sources import ScenarioSource
from dond_marl.seats import Partner
from dond_marl.statistics import Estimate
from league.evaluation.matches import BOTH, Terms, play
from league.figures.measures import NUMBER, PlayedFigures, score_pairs
from partners.scripted.generated import describe_spec, nickname

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
    figures: tuple[PlayedFigures, PlayedFigures]  # of the first and of the second, over both seats
    ahead: Estimate  # points of ten of the first minus those of the second
    opening: tuple[Estimate, Estimate]  # own points of each as the opener
    answering: tuple[Estimate, Estimate]
    # Points of ten of the first and of the second, and the number of games that end there.
    places: tuple[tuple[float, float, int], ...]
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
    """Play ``scenarios`` scenarios in both seat orders. Raises as :func:`league.evaluation.matches.play` does.

    Games in which an occupant was not reached enter no figure.
    """
    terms = Terms(source, source.block(seed, 0, scenarios), rules, seed, CONFIDENCE)
    first, second = occupants
    games = play(terms, names[0], (first, first), names[1], second)
    line, other = games.line(names[0], terms), games._replace(games=games.games[::-1]).line(names[1], terms)
    ranked_games: list[tuple[float, GameRecord]] = []
    for order, measured in enumerate(games.measures()):
        exported = records_of(games.games[order], names if order == 0 else names[::-1], source=source.label, seed=seed)
        exported = name_occupants(exported, Noise(seed, (order,), scenarios))
        ranked_games += zip(np.nan_to_num(measured["welfare"], nan=1.0).tolist(), exported, strict=True)
    ranked = [record for _, record in sorted(ranked_games, key=lambda game: game[0])]
    # Places are rounded to half a point of ten, so that circles do not overlap.
    places, number = score_pairs(np.round(np.concatenate(line.outcomes) * 2) / 2)
    points, partner_points = (line.tally[:, NUMBER[figure]].pooled() for figure in ("points", "left"))
    return Match(
        names,
        source.label,
        seed,
        (line.figures[BOTH], other.figures[BOTH]),
        (points - partner_points).mean(CONFIDENCE),
        (line.figures[SEATS[0]].points, other.figures[SEATS[0]].points),
        (line.figures[SEATS[1]].points, other.figures[SEATS[1]].points),
        tuple(sorted(zip(*places.T.tolist(), number.tolist(), strict=True), key=lambda spot: -spot[2])),
        tuple(ranked[::-1][:SHOWN]),
        tuple(ranked[:SHOWN]),
        2 * scenarios,
    )


def arena_page(
    menu: OccupantMenu,
    values: Mapping[str, str],
    data_dir: Path | None,
    match: Match | None = None,
    reason: str = "",
    link: Callable[[GameRecord], str] = str,
) -> Markup:
    """The page: the form with ``values`` by field, and the match, whose games are linked by ``link``."""
    chosen = {field: values.get(field, "") or usual for field, usual in DEFAULT_PAIR.items()}
    chosen = {field: menu.names.get(key, key) for field, key in chosen.items()}
    sizes = {str(size): f"{size:,} scenarios, {2 * size:,} games" for size in SIZES}
    values = {"source": "lewis/test", "size": str(SIZES[1]), "seed": "0", **values, **chosen}
    page = render("arena", "page", list(menu.names.values()), source_choices(data_dir), sizes, values, reason)
    if match is None:
        return page
    games = {
        heading: [(f"{title(record)}; {describe_items(record.scenario.counts)}", link(record)) for record in records]
        for heading, records in (("Least left on the table", match.best), ("Most left on the table", match.worst))
    }
    called = {name: nickname(name) or name for name in match.names}
    programs = {words: describe_spec(name) for name, words in called.items()}
    shown = match._replace(names=(called[match.names[0]], called[match.names[1]]))
    return page + render("arena", "match", shown, games, programs)


def match_of(menu: OccupantMenu, values: Mapping[str, str], data_dir: Path | None) -> Match:
    """Play the match of a posted form. Raises one of :data:`dond.web.occupants.CHOICE_ERRORS`."""
    first, second = (menu.candidate(values.get(field, "") or usual) for field, usual in DEFAULT_PAIR.items())
    rule_sets = {rules for rules in (rules_of(first), rules_of(second)) if rules is not None}
    if len(rule_sets) > 1:
        raise ValueError("these two come from leagues that are played by different rules")
    (player, player_name), (partner, partner_name) = make_partner(first), make_partner(second)
    size = parse_whole_number("how many", values.get("size", ""), 1, max(SIZES))
    if player.traits.remote or partner.traits.remote:
        size = min(size, MAX_REMOTE)
    return play_match(
        (player, partner),
        (player_name, partner_name),
        make_source(values.get("source", ""), data_dir),
        rule_sets.pop() if rule_sets else Rules(),
        scenarios=size,
        seed=parse_whole_number("seed", values.get("seed", ""), 0, 2**63 - 1),
    )
