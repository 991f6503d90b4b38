"""How a person has done against each partner, game by game, out of the file that their games are written to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dond_marl.records.record import GameRecord
from dond_marl.scenarios.sources import pack
from dond_marl.statistics import TEN, Estimate, mean_over_scenarios, scenario_groups
from league.display.session import points_of_ten
from league.display.svg.axes import Axes
from league.display.svg.markup import Markup, counted, element, joined, svg
from league.tables.figures import format_number, with_margin
from league.web.replay.view import called, is_person

CONFIDENCE = 0.95
MOST_POINTS = 60  # of a curve


class Score(NamedTuple):
    """One person's games against one partner, oldest first."""

    partner: str
    advised: bool
    mine: Estimate  # points of ten
    theirs: float  # points of ten
    deals: int
    best: float  # points of ten of the best game
    curve: tuple[tuple[int, Estimate], ...]  # after so many games, the mean of all until then


def scores_of(records: Sequence[GameRecord]) -> list[Score]:
    """Whoever was played most first; advised games apart, games between two people or two others left out."""
    games: dict[tuple[str, bool], list[tuple[GameRecord, int]]] = {}
    for record in records:
        people = [seat for seat in (0, 1) if is_person(record.occupants[seat])]
        if len(people) == 1:
            seat = people[0]
            who = called(record)[1 - seat], record.occupants[seat] != "human"
            games.setdefault(who, []).append((record, seat))
    found = [_score(partner, advised, played) for (partner, advised), played in games.items()]
    return sorted(found, key=lambda score: -score.mine.n)


def _score(partner: str, advised: bool, played: list[tuple[GameRecord, int]]) -> Score:
    mine = np.array([points_of_ten(record, seat) for record, seat in played])
    theirs = [points_of_ten(record, 1 - seat) for record, seat in played]
    groups = scenario_groups(pack([record.scenario for record, _ in played]))
    after = np.unique(np.linspace(1, len(played), min(len(played), MOST_POINTS)).round().astype(int)).tolist()
    curve = tuple((n, mean_over_scenarios(mine[:n], groups[:n], CONFIDENCE)) for n in after)
    deals = sum(record.outcome.deal for record, _ in played)
    return Score(partner, advised, curve[-1][1], sum(theirs) / len(theirs), deals, float(mine.max()), curve)


def scores_drawn(scores: Sequence[Score]) -> Markup:
    """A card for every partner: the mean so far, and how it came to be."""
    return element("ul", *(_card(score) for score in scores), class_="score-cards")


def _card(score: Score) -> Markup:
    name = f"{score.partner}, advised" if score.advised else score.partner
    facts = (
        ("your points of ten", with_margin(score.mine)),
        ("theirs", format_number(score.theirs)),
        ("deals", f"{score.deals} of {score.mine.n}"),
        ("your best game", format_number(score.best)),
    )
    figures = [element("div", element("dt", term), element("dd", what)) for term, what in facts]
    heading = element("h2", element("span", name, class_="name"))
    number = element("p", counted(score.mine.n, "game"), class_="quiet")
    return element("li", heading, number, element("dl", *figures, class_="facts-row"), _curve(score), class_="panel")


def _curve(score: Score) -> Markup | None:
    """The mean of all games until then, with its interval where there is one."""
    if len(score.curve) < 2:
        return None
    longest = score.curve[-1][0]
    axes = Axes(360, 190, longest, TEN)
    x, y = axes.x, axes.y
    sure = [(n, mean) for n, mean in score.curve if not math.isnan(mean.low)]
    above = [f"{x(n):.1f},{y(min(mean.high, TEN)):.1f}" for n, mean in sure]
    below = [f"{x(n):.1f},{y(max(mean.low, 0)):.1f}" for n, mean in reversed(sure)]
    line = " ".join(f"{x(n):.1f},{y(mean.mean):.1f}" for n, mean in score.curve)
    step = max(longest // 5, 1)
    parts = [*axes.rows(range(0, 11, 5)), *axes.columns(range(0, longest + 1, step), lines=False), axes.below("games")]
    if sure:
        parts.append(element("path", class_="band hue0", d=f"M{'L'.join([*above, *below])}Z"))
    parts.append(element("polyline", class_="line hue0", points=line))
    label = f"Mean points of ten against {score.partner} after each of {longest} games, now {with_margin(score.mine)}"
    return svg(axes.width, axes.height, label, *parts, class_="chart")


def overall(scores: Sequence[Score]) -> str:
    """All games in a sentence."""
    games = sum(score.mine.n for score in scores)
    return f"{counted(games, 'game')} against {counted(len(scores), 'partner')}."


def scores_page(records: Sequence[GameRecord]) -> Markup:
    """The whole page's content."""
    scores = scores_of(records)
    if not scores:
        return element("p", "No game of yours is recorded yet. Play one, and your score will be here.", class_="empty")
    about = (
        f"{overall(scores)} Points of ten: what you got, as tenths of what everything was worth to you. "
        f"± and band: {CONFIDENCE:.0%} interval over scenarios; the line is the mean of all games until then."
    )
    return joined((element("p", about, class_="quiet"), scores_drawn(scores)))
