"""A person plays: choose a partner, sort the items, talk, and see where the deal landed."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

from nicegui import background_tasks, context, ui

from dond_marl.game import Act, Action, State, apply
from dond_marl.records.record import GameRecord, replay
from dond_marl.records.transcript import as_message
from dond_marl.scenarios.sources import Scenarios
from league.display.game import protocol
from league.display.session import Sitting
from league.display.svg.frontier import ending_text
from league.web.aside import Busy, aside
from league.web.elements import Tag, button, html, in_a_sentence, show
from league.web.frame import Desk, asset
from league.web.occupants import MISTAKES, People
from league.web.play.actions import KEYS, Actions
from league.web.play.board import Board
from league.web.play.closing import Next, closing
from league.web.play.daily import Daily, daily_panel
from league.web.play.live_game import Asked, Broken, Ended, Event, LiveGame, Working
from league.web.play.result import pips
from league.web.play.setup_form import SetupForm, Wish, sitting_of
from league.web.play.talk import Talk
from league.web.play.view import first_split, headline, time_left, waiting_view
from partners.human import View

# Escape is heard while a line is typed, too. T puts the focus on that line.
SHORTCUTS = """(event) => {
  if (event.key === "Escape") { emit("escape"); return; }
  if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  const digit = /^Digit([123])$/.exec(event.code);
  if (digit) emit((event.shiftKey ? "-" : "+") + digit[1]);
  else if (/^[apide]$/.test(event.key) && !event.shiftKey) emit(event.key);
  else if (event.key === "t" && !event.shiftKey) document.querySelector(".say input")?.focus();
  else return;
  event.preventDefault();
}"""
# A game is lost when its window is loaded anew or closed, so the browser asks first while one is going on.
ASK_BEFORE_LOSS = "window.onbeforeunload = (event) => event.preventDefault()"
LOSE_FREELY = "window.onbeforeunload = null"


class PlayPage:
    """One browser window's table; ``asked_for``: the run, and the member of it, that are chosen at first."""

    def __init__(self, desk: Desk, people: People, asked_for: tuple[str, str] = ("", "")) -> None:
        self._desk, self._people, self._asked_for = desk, people, asked_for
        self._game: LiveGame | None = None
        self._sitting: Sitting | None = None
        self._number = 0
        self._daily: Daily | None = None  # the deal of the day, where that is what is played
        self._played: list[tuple[GameRecord, int]] = []
        self._board: Board | None = None
        self._open_view: View | None = None  # of the turn that waits for the person
        for script in ("daily.js", "tour.js"):
            ui.add_head_html(f'<script src="{asset(script)}" defer></script>')
        with Tag("div", classes="stage") as self._place:
            self._setup = self._form()
        context.client.on_delete(self._leave)

    def _form(self) -> SetupForm:
        daily_panel(self._begin_daily)
        return SetupForm(self._people, self._begin, self._desk.data_dir, self._people.key_of(*self._asked_for))

    async def _begin_daily(self, daily: Daily) -> None:
        await self._begin(daily.wish, daily)

    async def _begin(self, wish: Wish, daily: Daily | None = None) -> None:
        setup = self._setup
        if setup.waits:  # a second submit, while the partner of the first gets ready
            return
        setup.complain("")
        setup.wait(True)
        try:
            whom = self._people.candidate(wish.partner, wish.written)
            sitting = await aside(sitting_of, replace(wish), whom, self._desk.book, self._desk.data_dir)
        except MISTAKES as mistake:
            setup.complain(in_a_sentence(mistake))
            return
        finally:
            setup.wait(False)
        if self._place.is_deleted:  # the window was closed meanwhile
            return
        self._sitting, self._number, self._played, self._daily = sitting, 0, [], daily
        self._deal(sitting.seat_of(0))

    def _deal(self, seat: int, scenarios: Scenarios | None = None) -> None:
        sitting = self._sitting
        assert sitting is not None
        self._leave()  # a game that a second click has begun
        events: asyncio.Queue[Event] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def hear(event: Event) -> None:  # in the game's own thread
            with suppress(RuntimeError):  # the pages have stopped
                loop.call_soon_threadsafe(events.put_nowait, event)

        game = LiveGame(sitting, self._number, seat, hear, scenarios)
        self._game, self._events, self._board, self._open_view = game, events, None, None
        self._typed: dict[int, str] = {}  # the person's own words, by turn
        self._lay_out(sitting, game)
        game.start()
        background_tasks.create(self._follow(game, events), name="a person's game")

    def _lay_out(self, sitting: Sitting, game: LiveGame) -> None:
        """Show the table at once, whoever opens and however long that takes."""
        seat, view = game.seat, waiting_view(game.scenarios.scenario(0), game.seat, sitting.rules)
        told = protocol(sitting.rules)
        self._place.clear()
        with self._place, Tag("section", classes="game", tabindex="-1", aria_label="The game") as self._section:
            with Tag("header", classes="status"):
                opens = "The items are dealt." if seat == 0 else "They open, and are thinking …"
                self._headline = Tag("h1", opens, aria_live="polite")
                with Tag("p", classes="facts"):
                    Tag("span", f"with {sitting.name}")
                    Tag("span", "you open" if seat == 0 else "they open")
                    acts = time_left(view.state) if told else f"{sitting.rules.max_turns} acts in all"
                    self._time = Tag("span", acts, title="An act is one thing that either of you says.")
                    button("Leave", self._leave_table, "link")
                if told:
                    Tag("p", told, "protocol quiet")
                self._pips = html(classes="pips", aria_hidden="true")
                self._working = Tag("p", "", "working", hidden=True, role="status")
            self._talk = Talk(seat, sitting.name)
            with Tag("div", classes="hand") as self._hand:
                with Tag("div", classes="table"):
                    self._board = Board(view, self._moved)
                self._board.lay(first_split(view))
                self._board.freeze(True)
                length = sitting.rules.message_length
                self._actions = Actions(self._say, self._lay, self._leave_table, length)
                self._actions.preview(view, self._board.kept)
                ui.run_javascript(f"scrollTo(0, 0); {ASK_BEFORE_LOSS}; startTour()")
                keys = "Keys: 1 2 3 take a book, hat or ball, with Shift give one; T to type; letters as shown."
                Tag("p", keys, "keys quiet")
        self._talk.think(seat == 1)
        self._section.on("keydown", lambda event: self._key(str(event.args)), js_handler=SHORTCUTS)

    async def _follow(self, game: LiveGame, events: asyncio.Queue[Event]) -> None:
        while self._game is game:
            event = await events.get()
            if self._game is not game:
                return
            with self._place:
                if isinstance(event, Working):
                    self._working.say(f"{event.what[0].upper()}{event.what[1:]}.").set(hidden=False)
                    self._headline.say("They are getting ready …")
                    continue
                self._working.set(hidden=True)
                if isinstance(event, Asked):
                    await self._asked(game, event)
                elif isinstance(event, Ended):
                    await self._ended(game, event)
                    return
                elif isinstance(event, Broken):
                    ui.run_javascript(LOSE_FREELY)
                    self._talk.think(False)
                    self._headline.say("The game cannot go on.")
                    Tag("p", event.why, "problem", role="alert").move(self._hand)
                    return

    async def _asked(self, game: LiveGame, event: Asked) -> None:
        view = event.view
        await self._reveal(view.state)
        if self._game is not game:
            return
        assert self._board is not None
        self._board.view = view
        self._board.lay(first_split(view))
        self._board.freeze(False)
        self._headline.say(headline(view))
        self._actions.ask(view, self._board.kept, event.hint)
        self._show_time(view.state)
        self._open_view = view
        self._hold_focus()

    async def _reveal(self, state: State) -> None:
        """Show the acts since, with a pause before each of the partner's."""
        seat = self._game.seat if self._game else 0
        while self._talk.shown < len(state.history):
            if self._talk.shown % 2 != seat and self._desk.pause:
                self._talk.think(True)
                await asyncio.sleep(self._desk.pause)
            self._talk.think(False)
            self._talk.show(state, self._talk.shown + 1, self._typed)

    async def _ended(self, game: LiveGame, event: Ended) -> None:
        record = event.record
        state = replay(record)
        await self._reveal(state)
        if self._game is not game or self._sitting is None:
            return
        if state.rules.secret_claims:
            self._talk.tell_claims(state, self._typed)
        self._played.append((record, game.seat))
        self._show_time(state)
        self._hand.clear()
        with self._hand:
            following = Next(self._again, lambda: self._again(game), self._leave_table)
            closing(event, game, self._played, self._desk.book, following, self._daily if self._number == 0 else None)
        self._headline.say(" ".join(ending_text(state, game.seat)))
        ui.run_javascript(LOSE_FREELY)

    def _again(self, game: LiveGame | None = None) -> None:
        """Another game; after ``game``, the same items with the seats exchanged."""
        self._number += 1
        if game is None:
            assert self._sitting is not None
            self._deal(self._sitting.seat_of(self._number))
        else:
            self._deal(1 - game.seat, game.scenarios)

    def _say(self, action: Action, words: str | None) -> None:
        """Play a legal act of the person, and keep what they typed for it.

        It is shown at once, the answer when the game has gone on.
        """
        game, view = self._game, self._open_view
        if game is None or view is None:
            return
        self._open_view = None
        self._actions.rest()
        if self._board is not None:
            if action.act_type.is_offer:
                self._board.lay(action.oA)
            self._board.freeze(True)
        self._headline.say("They are thinking …")
        message = as_message(self._actions.taken(), view.state.rules.message_length)
        state = apply(view.state, action, message)
        known = replace(state, outcome=None) if state.rules.secret_claims else state  # their claim is not seen yet
        if words:
            self._typed[len(view.state.history)] = words
        self._talk.show(known, self._talk.shown + 1, self._typed)
        self._talk.think(not state.over)
        self._show_time(state)
        self._take_focus()
        game.say(action, words, message)

    def _take_focus(self) -> None:
        """Give the game the focus: what had it, a button or the line, is done with, and its keys are heard again."""
        self._section.run_method("focus", {"preventScroll": True})

    def _hold_focus(self) -> None:
        """Give the game the focus where nothing has it: its keys work only with the focus inside it."""
        section = f"document.getElementById('{self._section.html_id}')"
        ui.run_javascript(f"if (document.activeElement === document.body) {section}?.focus({{preventScroll: true}})")

    def _lay(self, kept: tuple[int, int, int]) -> None:
        if self._board is not None:
            self._board.lay(kept)
            self._actions.show(self._board.kept)

    def _moved(self) -> None:
        if self._board is not None:
            self._actions.show(self._board.kept)

    def _key(self, key: str) -> None:
        if key == "escape":
            self._actions.refuse()
            return
        if key[:1] in "+-" and key[1:] in ("1", "2", "3") and self._board is not None and self._open_view is not None:
            self._board.shift(int(key[1]) - 1, 1 if key[0] == "+" else -1)
        for act, letter in KEYS.items():
            if letter == key:
                self._actions.press(Act(act))

    def _show_time(self, state: State) -> None:
        self._time.say("the talk is over" if state.over else time_left(state))
        show(self._pips, pips(state, self._game.seat if self._game else 0))

    def _leave_table(self) -> None:
        self._leave()
        ui.run_javascript(LOSE_FREELY)
        background_tasks.create(self._choose_anew(), name="another partner")

    async def _choose_anew(self) -> None:
        """Show the form again, with whoever has joined a league since."""
        with suppress(Busy):  # whoever was known still is
            self._people = await aside(self._desk.people)
        if self._place.is_deleted or self._game is not None or self._setup.waits:  # a game begins already
            return
        self._place.clear()
        with self._place:
            self._setup = self._form()

    def _leave(self) -> None:
        game, self._game = self._game, None
        if game is not None:
            game.leave()
            self._events.put_nowait(Broken("left"))  # nobody shows it; who follows the game ends
