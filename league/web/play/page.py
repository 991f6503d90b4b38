"""A person plays: choose a partner, sort the items, talk, and see where the deal landed."""

from __future__ import annotations

import asyncio
from urllib.parse import quote

from nicegui import background_tasks, context, ui

from dond_marl.game import Act, Action, State, apply
from dond_marl.records.record import GameRecord, replay
from dond_marl.scenarios.sources import Scenarios
from league.display.session import Sitting
from league.display.svg.frontier import ending_text
from league.web.elements import Tag, button, html, show
from league.web.frame import Desk
from league.web.occupants import MISTAKES, People
from league.web.play.actions import KEYS, Actions
from league.web.play.board import Board
from league.web.play.live_game import Asked, Broken, Ended, Event, LiveGame, best_response_score
from league.web.play.result import pips, result
from league.web.play.setup_form import SetupForm, Wish, sitting_of
from league.web.play.view import first_split, headline, talk_lines, time_left
from partners.human import View

SHORTCUTS = """(event) => {
  if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  const digit = /^Digit([123])$/.exec(event.code);
  if (digit) emit((event.shiftKey ? "-" : "+") + digit[1]);
  else if (/^[apide]$/.test(event.key) && !event.shiftKey) emit(event.key);
  else return;
  event.preventDefault();
}"""


class PlayPage:
    """One browser window's table."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._game: LiveGame | None = None
        self._sitting: Sitting | None = None
        self._number = 0
        self._played: list[tuple[GameRecord, int]] = []
        self._board: Board | None = None
        self._open_view: View | None = None  # of the turn that waits for the person
        with Tag("div", classes="stage") as self._place:
            self._setup = self._form()
        context.client.on_delete(self._leave)

    def _form(self) -> SetupForm:
        self._people = People(self._desk.runs())
        return SetupForm(self._people, self._begin)

    async def _begin(self, wish: Wish) -> None:
        self._setup.complain("")
        loop = asyncio.get_running_loop()
        try:
            whom = self._people.candidate(wish.partner, wish.written)
            sitting = await loop.run_in_executor(None, sitting_of, wish, whom, self._desk.book, self._desk.data_dir)
        except MISTAKES as mistake:
            self._setup.complain(f"{mistake}.")
            return
        self._sitting, self._number, self._played = sitting, 0, []
        self._deal(sitting.seat_of(0))

    def _deal(self, seat: int, scenarios: Scenarios | None = None) -> None:
        sitting = self._sitting
        assert sitting is not None
        events: asyncio.Queue[Event] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def hear(event: Event) -> None:  # in the game's own thread
            loop.call_soon_threadsafe(events.put_nowait, event)

        game = LiveGame(sitting, self._number, seat, hear, scenarios)
        self._game, self._board, self._open_view = game, None, None
        self._lay_out(sitting, seat)
        game.start()
        background_tasks.create(self._follow(game, events), name="a person's game")

    def _lay_out(self, sitting: Sitting, seat: int) -> None:
        self._place.clear()
        with self._place, Tag("section", classes="game", tabindex="-1", aria_label="The game") as self._section:
            with Tag("header", classes="status"):
                self._headline = Tag("h1", "The items are dealt.", aria_live="polite")
                with Tag("p", classes="facts"):
                    Tag("span", f"with {sitting.name}")
                    Tag("span", "you open" if seat == 0 else "they open")
                    self._time = Tag("span", f"{sitting.rules.max_turns} acts in all")
                    button("Leave", self._leave_table, "link")
                self._pips = html(classes="pips", aria_hidden="true")
            self._talk = Talk(seat, sitting.name)
            with Tag("div", classes="hand") as self._hand:
                self._table = Tag("div", classes="table")
                self._actions = Actions(self._say, self._lay, self._leave_table)
                self._actions.rest()
                ui.run_javascript("scrollTo(0, 0)")
                Tag("p", "Keys: 1 2 3 take a book, hat or ball, with Shift give one; letters as shown.", "keys quiet")
        self._section.on("keydown", lambda event: self._key(str(event.args)), js_handler=SHORTCUTS)

    async def _follow(self, game: LiveGame, events: asyncio.Queue[Event]) -> None:
        while self._game is game:
            event = await events.get()
            if self._game is not game:
                return
            with self._place:
                if isinstance(event, Asked):
                    await self._asked(game, event)
                elif isinstance(event, Ended):
                    await self._ended(game, event)
                    return
                elif isinstance(event, Broken):
                    self._headline.say("The game cannot go on.")
                    Tag("p", event.why, "problem", role="alert").move(self._hand)
                    return

    async def _asked(self, game: LiveGame, event: Asked) -> None:
        view = event.view
        await self._reveal(view.state)
        if self._game is not game:
            return
        if self._board is None:
            with self._table:
                self._board = Board(view, self._moved)
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
            self._talk.show(state, self._talk.shown + 1)

    async def _ended(self, game: LiveGame, event: Ended) -> None:
        record = event.record
        state = replay(record)
        await self._reveal(state)
        if self._game is not game or self._sitting is None:
            return
        self._played.append((record, game.seat))
        self._show_time(state)
        self._hand.clear()
        with self._hand:
            html(result(self._played, self._sitting.name), "result")
            with Tag("div", classes="next"):
                again = button("Next game", self._again, "button primary large")
                button("Swap sides", lambda: self._again(game), "button large")
                button("Somebody else", self._leave_table, "button large")
                Tag("a", "Step through it", "button large", href=f"/replay?file={quote(str(self._desk.book))}")
            note = event.unwritten or f"Recorded in {self._desk.book}, seed {self._sitting.seed}."
            Tag("p", note, "problem" if event.unwritten else "quiet")
            self._best = Tag("p", "", "quiet")
        self._headline.say(" ".join(ending_text(state, game.seat)))
        again.run_method("focus", {"preventScroll": True})
        ui.run_javascript("scrollTo({top: 0, behavior: 'smooth'})")
        best = await asyncio.get_running_loop().run_in_executor(None, best_response_score, game)
        if best is not None and self._game is game:
            self._best.say(f"The best response to {game.sitting.name}, which knows how it answers, gets {best} here.")

    def _again(self, game: LiveGame | None = None) -> None:
        """Another game; after ``game``, the same items with the seats exchanged."""
        self._number += 1
        if game is None:
            assert self._sitting is not None
            self._deal(self._sitting.seat_of(self._number))
        else:
            self._deal(1 - game.seat, game.scenarios)

    def _say(self, action: Action) -> None:
        """Play a legal act of the person: it is shown at once, the answer when the game has gone on."""
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
        state = apply(view.state, action)
        self._talk.show(state, self._talk.shown + 1)
        self._show_time(state)
        game.say(action)

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
        if key[0] in "+-" and key[1:] in ("1", "2", "3") and self._board is not None and self._open_view is not None:
            self._board.shift(int(key[1]) - 1, 1 if key[0] == "+" else -1)
        for act, letter in KEYS.items():
            if letter == key:
                self._actions.press(Act(act))

    def _show_time(self, state: State) -> None:
        self._time.say("the talk is over" if state.over else time_left(state))
        show(self._pips, pips(state, self._game.seat if self._game else 0))

    def _leave_table(self) -> None:
        self._leave()
        self._place.clear()
        with self._place:
            self._setup = self._form()

    def _leave(self) -> None:
        game, self._game = self._game, None
        if game is not None:
            game.leave()


class Talk:
    """The conversation of one game, for the person in ``seat``."""

    def __init__(self, seat: int, partner: str) -> None:
        self._seat, self._partner = seat, partner
        self.shown = 0  # acts
        with Tag("section", classes="talk", aria_label="What was said"):
            # A log: read out as it grows.
            with Tag("div", classes="log", role="log", tabindex="0", aria_label="Conversation") as self._log:
                self._lines = Tag("ol", classes="lines")
            self._thinking = Tag("p", "", "thinking", hidden=True)
            with self._thinking:
                Tag("span", f"{partner} is thinking", "quiet")
                for _ in range(3):
                    Tag("i", aria_hidden="true")

    def show(self, state: State, until: int | None = None) -> None:
        """Show the first ``until`` acts, or all; those that are there already stay."""
        lines = talk_lines(state, self._seat)[self.shown : until]
        for line in lines:
            with self._lines, Tag("li", classes="me" if line.mine else "they"):
                Tag("span", "You" if line.mine else self._partner, "who")
                Tag("p", line.text)
                if line.note:
                    Tag("small", line.note)
        self.shown += len(lines)
        if lines:
            log = f"document.getElementById('{self._log.html_id}')"
            ui.run_javascript(f"const log = {log}; if (log) log.scrollTop = 1e6")

    def think(self, thinking: bool) -> None:
        self._thinking.set(hidden=not thinking)
