"""The scores page: a person's results against each partner, from the file of their recorded games."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from dond_marl.records.record import GameRecord
from dond_marl.scenarios.sources import pack
from dond_marl.statistics import Estimate, mean_over_scenarios, scenario_groups
from league.display.charts import ChartPoint
from league.display.session import points_of_ten
from league.web.frame import render
from league.web.recorded import display_names, is_person, read_records

CONFIDENCE = 0.95
MAX_CURVE = 60  # points of a curve


class PartnerScore(NamedTuple):
    """Results of a person's games against one partner, oldest first."""

    partner: str
    advised: bool
    mine: Estimate  # points of ten
    theirs: float  # points of ten
    deals: int
    best: float  # points of ten of the best game
    curve: tuple[ChartPoint, ...]  # by number of games, the mean of all until then


def scores_of(records: Sequence[GameRecord]) -> list[PartnerScore]:
    """Results by partner, most games first; games with hints apart. Games need exactly one person to count."""
    games: dict[tuple[str, bool], list[tuple[GameRecord, int]]] = {}
    for record in records:
        people = [seat for seat in (0, 1) if is_person(record.occupants[seat])]
        if len(people) == 1:
            seat = people[0]
            key = display_names(record)[1 - seat], record.occupants[seat] != "human"
            games.setdefault(key, []).append((record, seat))
    found = [_score(partner, advised, played) for (partner, advised), played in games.items()]
    return sorted(found, key=lambda score: -score.mine.n)


def _score(partner: str, advised: bool, played: list[tuple[GameRecord, int]]) -> PartnerScore:
    mine = np.array([points_of_ten(record, seat) for record, seat in played])
    theirs = [points_of_ten(record, 1 - seat) for record, seat in played]
    groups = scenario_groups(pack([record.scenario for record, _ in played]))
    after = np.unique(np.linspace(1, len(played), min(len(played), MAX_CURVE)).round().astype(int)).tolist()
    curve = tuple(ChartPoint(n, mean_over_scenarios(mine[:n], groups[:n], CONFIDENCE)) for n in after)
    deals = sum(record.outcome.deal for record, _ in played)
    return PartnerScore(partner, advised, curve[-1].value, sum(theirs) / len(theirs), deals, float(mine.max()), curve)


def scores_page(book: Path) -> Markup:
    """The page of the games in ``book``. Raises :class:`~dond_marl.records.record.RecordError`, ``OSError``."""
    records = read_records(book)[0] if book.is_file() else []
    return render("scores", "page", score_overview(records), book)


def score_overview(records: Sequence[GameRecord]) -> Markup:
    """A card for each partner, with mean figures and the curve of the running mean; a sentence for no game."""
    return render("scores", "overview", scores_of(records), CONFIDENCE)
