"""The page of a league: how it stands, looked up again every second while it runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nicegui import ui

from league.display.svg.markup import Markup
from league.web.aside import Busy, aside
from league.web.elements import Tag, html, in_a_sentence, select, show
from league.web.league.follower import Leagues, Picture, RunViewError
from league.web.league.view import curriculum, curves, heat_map, ladder, lineage, summary

EVERY = 1.0  # seconds
PARTS: dict[str, Callable[[Picture], Markup]] = {
    "Now": summary,
    "Ladder": ladder,
    "Learning": curves,
    "Curriculum": curriculum,
    "Cross-play": heat_map,
    "Lineage": lineage,
}


class LeaguePage:
    """One browser window's view of the leagues, which begins with the run ``first`` where it is known.

    ``offer`` is told of every run that is shown and of its members, the best first; of none before it has begun.
    """

    def __init__(self, leagues: Leagues, first: Path | None, offer: Callable[[Path, tuple[str, ...]], None]) -> None:
        self._offer = offer
        self._leagues = leagues
        self._picture: Picture | None = None
        self._seen = False  # whether the run, begun or not, was looked at
        runs = leagues.known()
        self._runs = {str(number): run for number, run in enumerate(runs)}
        self._run = first if first in runs else runs[0] if runs else None
        with Tag("div", classes="heading"):
            Tag("h1", "League")
            if len(runs) > 1:
                now = next(key for key, run in self._runs.items() if run == self._run)
                select("Run", {key: str(run) for key, run in self._runs.items()}, now, self._choose)
        self._problem = Tag("p", "", "problem", role="alert")
        if self._run is None:
            Tag("p", "No league has been played here yet. Start one with: make league", "panel empty")
            return
        self._waiting = Tag("p", f"Reading {self._run} …", "panel empty")
        self._places = {}
        with Tag("div", classes="grid-of-panels", hidden=True) as self._grid:
            for name in PARTS:
                with Tag("section", classes=f"panel {name.lower()}"):
                    Tag("h2", name)
                    # What is wide may be scrolled, by keyboard too.
                    self._places[name] = html(classes="scroll", tabindex=0, role="region", aria_label=name)
        ui.timer(EVERY, self._look)

    def _choose(self, key: str) -> None:
        if key in self._runs:
            self._run, self._picture, self._seen = self._runs[key], None, False
            self._problem.say("")
            self._waiting.say(f"Reading {self._run} …").set(hidden=False)
            self._grid.set(hidden=True)

    async def _look(self) -> None:
        run = self._run
        assert run is not None
        try:
            picture = await aside(self._leagues.look, run)
            if run != self._run or (self._seen and picture is self._picture):
                return
            parts = await aside(_parts, picture)
        except (RunViewError, Busy) as error:
            self._problem.say(in_a_sentence(error))
            self._waiting.set(hidden=True)
            self._seen = False  # so that the next look, if it is a good one, takes this back
            return
        if run != self._run:
            return
        self._problem.say("")
        self._picture, self._seen = picture, True
        self._waiting.say(f"{run} has not begun yet.")
        self._waiting.set(hidden=picture is not None)
        self._grid.set(hidden=picture is None)
        for name, markup in parts.items():
            show(self._places[name], markup)
        self._offer(run, () if picture is None else tuple(row.member for row in picture.standings))


def _parts(picture: Picture | None) -> dict[str, Markup]:
    return {} if picture is None else {name: draw(picture) for name, draw in PARTS.items()}
