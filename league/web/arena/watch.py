"""Pick two members of a league and watch them play: a game of the league's own kind, step by step."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from nicegui import ui

from dond_marl.records.record import GameRecord, records_of
from dond_marl.rollout import rollout
from league.web.aside import LONGEST_MATCH, Busy, Hurried, aside
from league.web.elements import Tag, in_a_sentence, select
from league.web.league.follower import Follower
from league.web.occupants import MISTAKES, People
from league.web.replay.stepper import Stepper


def watched(run: Path, names: tuple[str, str], seed: int) -> GameRecord:
    """One game of two members as they are now, the first opening, by the rules and on the scenarios of their league.

    Raises one of :data:`league.web.occupants.MISTAKES`.
    """
    with Follower(run) as follower:
        game = follower.game()
        until = time.monotonic() + LONGEST_MATCH
        first, second = (Hurried(follower.seat(name), until) for name in names)
    source = game.open_source()
    games = rollout(
        (first, second),
        source.block(seed, 0, 1),
        game.rules(),
        seed=seed,
        index=(0,),
        prior=source.prior,
        reveal_partner_utilities=game.reveal_partner_utilities,
        illegal=game.illegal or "raise",
    )
    return records_of(games, names, source=source.label, seed=seed)[0]


class Watch:
    """The form, and the game below it. ``people`` says who can be asked what they think; it is slow."""

    def __init__(self, people: Callable[[], People]) -> None:
        self._people = people
        self._run: Path | None = None
        self._names: tuple[str, ...] = ()
        self._chosen = [0, 0]
        with Tag("section", classes="panel watch", hidden=True) as self._whole:
            Tag("h2", "Watch two members play")
            with Tag("form", classes="watch-form") as form:
                self._menus = Tag("div", classes="fields two")
                self._go = Tag("button", "Watch a game", "button", type="submit")
                self._problem = Tag("p", "", "problem", role="alert")
            form.on("submit.prevent", lambda _: self._watch(), args=[])
            self._place = Tag("div", classes="looked-at")

    def offer(self, run: Path, names: tuple[str, ...]) -> None:
        """Let members of a run be picked, the best first; what was picked and shown stays while they are the same."""
        self._whole.set(hidden=not names)
        if (run, names) == (self._run, self._names) or not names:
            return
        kept = [self._names[number] for number in self._chosen] if self._run == run and self._names else names[:2]
        if self._run != run:
            self._place.clear()
        self._run, self._names = run, names
        self._chosen = [names.index(name) if name in names else 0 for name in (*kept, names[0])[:2]]
        listed = {str(number): name for number, name in enumerate(names)}
        self._menus.clear()
        with self._menus:
            for place, label in enumerate(("Who opens", "Who answers")):
                select(label, listed, str(self._chosen[place]), partial(self._choose, place))

    def _choose(self, place: int, key: str) -> None:
        if key.isdecimal() and int(key) < len(self._names):  # a browser may send anything
            self._chosen[place] = int(key)

    async def _watch(self) -> None:
        run = self._run
        if run is None:
            return
        self._problem.say("")
        self._go.set(disabled=True).say("They are playing …")
        one, other = (self._names[number] for number in self._chosen)
        try:
            record = await aside(watched, run, (one, other), secrets.randbits(31))
            people = await aside(self._people)
        except (*MISTAKES, Busy) as mistake:
            self._problem.say(in_a_sentence(mistake))
            return
        finally:
            self._go.set(disabled=False).say("Watch a game")
        if self._place.is_deleted or run != self._run:
            return
        self._place.clear()
        with self._place:
            Stepper(record, people, plays=True)
            ui.run_javascript("document.querySelector('.watch .stepper')?.scrollIntoView({block: 'nearest'})")
