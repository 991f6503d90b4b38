"""Two occupants meet over many scenarios: who gets what, how often they agree, and where their games end."""

from __future__ import annotations

import time
from functools import partial

from dond_marl.game import Rules
from dond_marl.records.record import GameRecord
from league.web.arena.view import MOST_REMOTE, SIZES, Match, figures_table, landing_chart, meet
from league.web.aside import LONGEST_MATCH, Hurried, aside
from league.web.elements import Tag, button, html, in_a_sentence, select, text_input
from league.web.frame import Desk
from league.web.occupants import MISTAKES, WRITTEN, People, rules_of, seat, source, source_choices
from league.web.play.setup_form import whole_number
from league.web.replay.stepper import Stepper
from league.web.replay.view import title


class ArenaPage:
    """One browser window's arena; ``named``: the members of ``run`` that are chosen at first, where they are known."""

    def __init__(self, desk: Desk, people: People, run: str = "", named: tuple[str, str] = ("", "")) -> None:
        self._desk, self._people = desk, people
        usual = ("expert", "heuristic")
        self._keys = [self._people.key_of(run, name) or key for name, key in zip(named, usual, strict=True)]
        self._written = ["", ""]
        self._source, self._size, self._seed = "lewis/train", str(SIZES[1]), "0"
        Tag("h1", "Arena")
        Tag("p", "Two occupants play the same scenarios twice, each opening once.", "quiet")
        with Tag("form", classes="panel choose arena-form") as form:
            with Tag("div", classes="fields two"):
                for place, which in enumerate(("One", "The other")):
                    self._chooser(place, which)
            with Tag("div", classes="fields"):
                select(
                    "Items and values", source_choices(desk.data_dir), self._source, partial(setattr, self, "_source")
                )
                sizes = {str(size): f"{size:,} scenarios, {2 * size:,} games" for size in SIZES}
                select("How many", sizes, self._size, partial(setattr, self, "_size"))
                text_input("Seed", self._seed, partial(setattr, self, "_seed"), inputmode="numeric")
            self._go = Tag("button", "Let them meet", "button primary large", type="submit")
            self._problem = Tag("p", "", "problem", role="alert")
        form.on("submit.prevent", lambda _: self._meet(), args=[])
        self._place = Tag("div", classes="met", aria_live="polite")

    def _chooser(self, place: int, which: str) -> None:
        with Tag("div", classes="who-plays"):
            select(which, self._people.listed, self._keys[place], lambda key: self._choose(place, key))
            example = {"placeholder": "boulware(exponent=2)", "spellcheck": "false"}
            text_input(f"{which}: name and parameters", "", lambda text: self._write(place, text), **example)

    def _choose(self, place: int, key: str) -> None:
        if self._people.knows(key):
            self._keys[place] = key

    def _write(self, place: int, text: str) -> None:
        self._written[place] = text
        if text.strip():
            self._keys[place] = WRITTEN

    async def _meet(self) -> None:
        self._problem.say("")
        self._go.set(disabled=True).say("They are playing …")
        try:
            match = await aside(self._played)
        except MISTAKES as mistake:
            self._problem.say(in_a_sentence(mistake))
            return
        finally:
            self._go.set(disabled=False).say("Let them meet")
        self._show(match)

    def _played(self) -> Match:
        whom = [self._people.candidate(key, text) for key, text in zip(self._keys, self._written, strict=True)]
        (first, one), (second, other) = seat(whom[0]), seat(whom[1])
        until = time.monotonic() + LONGEST_MATCH
        known = {rules for rules in map(rules_of, whom) if rules is not None}
        if len(known) > 1:
            raise ValueError("these two come from leagues that are played by different rules")
        size = whole_number("how many", self._size, 1, max(SIZES))
        if first.traits.remote or second.traits.remote:
            size = min(size, MOST_REMOTE)
        return meet(
            (Hurried(first, until), Hurried(second, until)),
            (one, other),
            source(self._source, self._desk.data_dir),
            known.pop() if known else Rules(),
            scenarios=size,
            seed=whole_number("seed", self._seed, 0, 2**63 - 1),
        )

    def _show(self, match: Match) -> None:
        self._place.clear()
        with self._place:
            with Tag("div", classes="two-panels"):
                with Tag("section", classes="panel"):
                    html(figures_table(match), "scroll", tabindex=0, role="region", aria_label="Figures")
                with Tag("section", classes="panel"):
                    Tag("h2", "Where games ended")
                    html(landing_chart(match))
                    Tag("p", "A circle's area is the number of games; red is no deal.", "quiet")
            with Tag("section", classes="panel"):
                Tag("h2", "Look at one")
                with Tag("div", classes="two-lists"):
                    for heading, games in (("Most of what there was", match.best), ("Least of it", match.worst)):
                        with Tag("div"):
                            Tag("h3", heading)
                            with Tag("ul", classes="games"):
                                for record in games:
                                    with Tag("li"):
                                        button(title(record), partial(self._look_at, record), "link")
                self._shown = Tag("div", classes="looked-at")

    def _look_at(self, record: GameRecord) -> None:
        self._shown.clear()
        with self._shown:
            Stepper(record, self._people)
