"""The deal of the day: the same items and the same partner for everybody, and a streak that the browser keeps.

Items, partner and seat follow from the date alone, in universal time, so that pages on two machines deal the same. How
many days in a row somebody has played is kept by their own browser, and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import NamedTuple

from nicegui import ui

from dond_marl.randomness import generator
from dond_marl.records.record import GameRecord
from league.web.elements import Tag, button
from league.web.play.setup_form import Wish

PARTNERS = ("heuristic", "prosocial", "boulware", "nice_tit_for_tat", "conceder", "linear", "stubborn", "expert")
STREAK = "daily-streak"  # the class of what the script fills


class Daily(NamedTuple):
    """The deal of one day."""

    day: date
    partner: str
    seed: int

    @property
    def wish(self) -> Wish:
        """What is asked for on the form to be dealt it."""
        return Wish(partner=self.partner, seed=str(self.seed))

    @property
    def name(self) -> str:
        return f"{self.day.day} {self.day:%B %Y}"


def daily_of(day: date) -> Daily:
    """The deal of that day."""
    seed = int(f"{day:%Y%m%d}")
    return Daily(day, PARTNERS[int(generator(seed, "partner of the day").integers(len(PARTNERS)))], seed)


def today() -> Daily:
    """The deal of this day, in universal time."""
    return daily_of(datetime.now(UTC).date())


def daily_panel(begin: Callable[[Daily], object]) -> None:
    """Where the deal of the day is begun, with the streak so far."""
    deal = today()
    with Tag("section", classes="panel daily", aria_label="Deal of the day"):
        with Tag("div"):
            Tag("h2", f"Deal of the day, {deal.name}")
            Tag("p", f"The same items and the same partner for everybody: {_spoken(deal.partner)}.", "quiet")
            Tag("p", "", f"{STREAK} quiet")
        button("Play today's deal", lambda: begin(deal), "button")
    ui.run_javascript(f"showStreak({json.dumps(str(deal.day))})")


def done(deal: Daily, record: GameRecord, seat: int) -> None:
    """Count the day in the browser's streak, and show it; only a day's first game counts."""
    Tag("p", "", f"{STREAK} panel", role="status")
    score, whole = record.outcome.scores[seat], record.scenario.pool_value(seat)
    ui.run_javascript(f"countDay({json.dumps(str(deal.day))}, {score}, {whole})")


def _spoken(partner: str) -> str:
    return partner.replace("_", " ")
