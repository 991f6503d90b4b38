"""The play page: sessions of games between a visitor and a partner, and their HTTP handlers.

A session lives in memory under a random address, so that reloading the page or opening it again loses nothing while
the server runs. Each page is a function of the session; an act changes the session and leads back to its address. The
partner answers in a thread of its own.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from markupsafe import Markup
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from dond.table.game import describe_act, ending_text, turns_left, warning
from dond.table.session import Sitting, TableSession, write_down
from dond.table.typed_lines import MAX_CHARACTERS, Reading, read_line
from dond.web import bargaining_table as board
from dond.web.after_game import GameAddress, analysis_panel, result
from dond.web.bargaining_table import TableReply
from dond.web.frame import as_sentence, document, one_sentence, render
from dond.web.guard import cookie_name, form_fields, whole_number
from dond.web.occupants import CHOICE_ERRORS, Desk, GameChoice, OccupantMenu, make_expert, setup_page, sitting_of
from dond.web.server import in_background, wait_for_change
from dond_marl.errors import error_line
from dond_marl.game import Action, Triple
from dond_marl.records.transcript import as_message
from dond_marl.rollout import OccupantError
from partners.human import View

MAX_SESSIONS = 64  # in memory; the one that was used least recently goes first
EXAMPLES = "I take the hats, you get the rest · deal · one more ball · same as before · 50/50 · bye"
SCRIPTS = ("table.js", "tour.js")


class PlaySession:
    """The games of one visitor against one partner; the partner's thread and requests may use it at the same time."""

    def __init__(self, sitting: Sitting, pause: float) -> None:
        self.table = TableSession(sitting)
        self.version = 0  # grows with each change of the page
        self.lock = threading.RLock()
        self._pause = pause  # seconds before an act of the partner is shown
        self._is_left = False
        self._open_table()

    @property
    def view(self) -> View | None:
        """The game on the person's turn, once its hint is ready."""
        return None if self.thinking or self.failure else self.table.view

    @property
    def is_running(self) -> bool:
        """Whether the game goes on: it has neither ended nor failed."""
        return not (self.table.is_over or self.failure)

    def deal_next(self, number: int, *, swap: bool = False) -> None:
        """Begin game ``number`` after the end of the last one; ``swap``: its items with the seats exchanged.

        Does nothing if that game is already dealt, as after a second click.
        """
        with self.lock:
            if number == self.table.number + 1 and self.table.is_over:
                self.table.begin(number, swap=swap)
                self._open_table()

    def play(self, action: Action, words: str | None, message: str) -> None:
        """Play a legal act of the person; ``words``: the sentence that was typed for it."""
        with self.lock:
            self.table.play(action, words, as_message(message, self.table.sitting.rules.message_length))
            if action.act_type.is_offer:
                self.split = action.oA
            self._go_on()

    def leave(self) -> None:
        """End the current game without a record."""
        with self.lock:
            self._is_left = True

    def _open_table(self) -> None:
        self.failure = ""  # why the game cannot go on
        self.recorded, self.write_error = 0, ""  # the record's number in its file, from 1; why it was not written
        self.split = board.initial_split(board.view_before_turn(self.table.game.state, self.table.seat))
        self._go_on()

    def _go_on(self) -> None:
        """Record a finished game; otherwise let the partner act, or make the hint, in a thread."""
        self.thinking = not self.table.is_over
        self.version += 1
        if self.thinking:
            threading.Thread(target=self._answer, args=(self.table.number,), name="partner", daemon=True).start()
        else:
            self._write_record()

    def _answer(self, number: int) -> None:
        turn, failure = None, ""
        is_partners_turn = self.table.view is None
        try:
            turn = self.table.next_turn()
        except OccupantError as error:
            failure = str(error)
        except Exception as error:  # noqa: BLE001  # any error must reach the waiting page
            failure = error_line(error)
        if is_partners_turn and turn is not None:
            time.sleep(self._pause)
        with self.lock:
            if self._is_left or self.table.number != number:
                return
            self.failure, self.thinking = failure, False
            if turn is not None:
                self.table.proceed(turn)
            if self.table.is_over:
                self._write_record()
            elif self.table.view is not None:
                self.split = board.initial_split(self.table.view)
            self.version += 1

    def _write_record(self) -> None:
        book = self.table.sitting.book
        try:
            self.recorded = write_down(self.table.played[-1][0], book)
        except OSError as error:
            self.write_error = f"{book}: {error.strerror}; the game is not recorded"
        except ValueError as error:  # a name that the system takes for no path
            self.write_error = f"{error_line(error)}; the game is not recorded"


def session_page(session: PlaySession, address: str, book: str, reply: TableReply) -> Markup:
    """The content of a session's page: the table on the person's turn, while they wait, or the result."""
    table, view = session.table, session.view
    seat, partner, state = table.seat, table.sitting.short_name, table.game.state_known_to(table.seat)
    hidden: dict[str, object] = {"number": table.number, "turn": len(state.history)}
    if session.failure:
        heading, hand = "The game cannot go on.", render("forms", "problem", session.failure)
    elif table.is_over:
        heading = " ".join(ending_text(state, seat))
        recorded = GameAddress(str(table.sitting.book), str(session.recorded)) if session.recorded else None
        note = session.write_error or f"Recorded in {book}, seed {table.sitting.seed}."
        shown = result(table.played, partner) + render("play", "stranger", table.dealt.name, table.sitting.rules)
        hand = render("play", "closing", shown, address, table.number, recorded, note, bool(session.write_error))
    elif view is not None:
        split = session.split if reply.split is None else reply.split
        turn = board.turn_form(
            view, split, f"{address}/act", hidden, messages=True, reason=reply.reason, part="content"
        )
        advice = "" if table.hint is None else f"{describe_act(table.hint.action, state)}{table.hint.sureness}"
        hidden["unread"] = reply.unread
        heading = board.headline(view)
        hand = render("play", "hand", table.hint, advice, turn, reply, address, hidden, MAX_CHARACTERS)
    else:
        heading = _waiting_headline(session)
        before = board.view_before_turn(state, seat)
        hand = board.turn_form(before, session.split, f"{address}/act", hidden, playing=False)
    leave = [render("play", "leave_button")] if session.is_running else []
    section = board.game_section(
        state,
        seat,
        hand,
        partner=partner,
        heading=heading,
        facts=(f"with {partner}", "you open" if seat == 0 else "they open", turns_left(state), *leave),
        typed=table.game.words,
        thinking=session.is_running and view is None,
    )
    return section + render("play", "leave_form", address)


def _waiting_headline(session: PlaySession) -> str:
    if session.table.game.state.history:
        return "They are thinking …"
    return "The items are dealt." if session.table.seat == 0 else "They open, and are thinking …"


class PlayPages:
    """The handlers of the play page over the folders of ``desk``."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._sessions: OrderedDict[str, PlaySession] = OrderedDict()

    def routes(self) -> list[Route]:
        """The addresses of the play page."""
        game = "/game/{token}"
        return [
            Route("/", self.setup),
            Route("/deal", self.deal, methods=["POST"]),
            Route(game, self.game),
            Route(f"{game}/changed", self.poll),
            Route(f"{game}/act", self.act, methods=["POST"]),
            Route(f"{game}/say", self.play_sentence, methods=["POST"]),
            Route(f"{game}/next", self.next_game, methods=["POST"]),
            Route(f"{game}/leave", self.leave, methods=["POST"]),
            Route(f"{game}/{{number:int}}/analysis", self.analysis),
            # An address that a form left in the browser.
            Route(f"{game}/{{rest:path}}", self.back),
        ]

    async def setup(self, request: Request) -> Response:
        """The visitor's running game, else the form; ``run`` and ``member`` choose a league's member in the form."""
        token = self._running(request)
        if not request.query_params and token:
            return _see(token)
        menu = await in_background(self._desk.menu)
        key = menu.key_of(request.query_params.get("run", ""), request.query_params.get("member", ""))
        choice = GameChoice(typed=menu.names.get(key or "", ""))
        return self._setup_page(menu, choice, lost="lost" in request.query_params)

    async def deal(self, request: Request) -> Response:
        """Begin a session with the posted choice."""
        choice = GameChoice.from_fields(await form_fields(request))
        menu = await in_background(self._desk.menu)
        try:
            candidate = menu.candidate(choice.partner, choice.typed)
            sitting = await in_background(sitting_of, choice, candidate, self._desk.book, self._desk.data_dir)
        except CHOICE_ERRORS as error:
            return self._setup_page(menu, choice, one_sentence(error))
        token = secrets.token_urlsafe(16)
        self._sessions[token] = PlaySession(sitting, self._desk.pause)
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)[1].leave()
        answer = _see(token)
        answer.set_cookie(_cookie(request), token, httponly=True, samesite="lax", path="/")
        return answer

    async def game(self, request: Request) -> Response:
        """The page of a session; the form with a note where there is none, as after a restart."""
        session = self._session(request)
        if session is not None:
            return self._page(session, request)
        return RedirectResponse("/" if self._running(request) else "/?lost=1", 303)

    async def back(self, request: Request) -> Response:
        return _see(request.path_params["token"])

    async def poll(self, request: Request) -> Response:
        """Wait until the page of a session differs from ``version``."""
        session = self._session(request)
        changed = session is None or await wait_for_change(lambda: session.version, request)
        return JSONResponse({"changed": changed})

    async def act(self, request: Request) -> Response:
        """Play a posted act; a second question first if it may leave the person with nothing."""
        return await self._take_turn(request, _play_act)

    async def play_sentence(self, request: Request) -> Response:
        """Read a posted sentence: play it if it is a command, else ask whether it was read as it was meant."""
        return await self._take_turn(request, _play_sentence)

    async def _take_turn(self, request: Request, play: Callable[..., TableReply | None]) -> Response:
        """The reply of ``play`` to a form of the current turn; without one, or for an older form, the current page."""
        values, session = await form_fields(request), self._session(request)
        token = request.path_params["token"]
        if session is not None:
            with session.lock:
                turn = str(session.table.number), str(len(session.table.game.state.history))
                if session.view is not None and (values.get("number"), values.get("turn")) == turn:
                    reply = play(session, session.view, values, f"/game/{token}")
                    if reply is not None:
                        return self._page(session, request, reply)
        return _see(token)

    async def next_game(self, request: Request) -> Response:
        """Begin the next game of a session."""
        values, session = await form_fields(request), self._session(request)
        number = whole_number(values.get("number"), 9)
        if session is not None and number is not None:
            session.deal_next(number, swap="swap" in values)
        return _see(request.path_params["token"])

    async def leave(self, request: Request) -> Response:
        """End a session; its current game is not recorded."""
        session = self._sessions.pop(request.path_params["token"], None)
        if session is not None:
            session.leave()
        return RedirectResponse("/", 303)

    async def analysis(self, request: Request) -> Response:
        """The exact best response's score and the analysis of the person's acts; nothing for another game."""
        session = self._session(request)
        if session is None or session.table.number != request.path_params["number"] or not session.table.is_over:
            return HTMLResponse("")
        return HTMLResponse(await in_background(_analysis_of, session.table))

    def _running(self, request: Request) -> str:
        """The token of the browser's running game; empty for none."""
        token = request.cookies.get(_cookie(request), "")
        return token if token in self._sessions and self._sessions[token].is_running else ""

    def _session(self, request: Request) -> PlaySession | None:
        token = request.path_params["token"]
        if token in self._sessions:
            self._sessions.move_to_end(token)
        return self._sessions.get(token)

    def _page(self, session: PlaySession, request: Request, reply: TableReply = TableReply()) -> Response:  # noqa: B008  # frozen
        address = f"/game/{request.path_params['token']}"
        with session.lock:
            content = session_page(session, address, str(self._desk.book), reply)
            waits = session.is_running and session.view is None
            follow = f"{address}/changed?version={session.version}" if waits else None
        return HTMLResponse(_document(content, follow))

    def _setup_page(self, menu: OccupantMenu, choice: GameChoice, reason: str = "", *, lost: bool = False) -> Response:
        return HTMLResponse(_document(setup_page(menu, choice, self._desk.data_dir, reason, lost=lost)))


def _analysis_of(table: TableSession) -> Markup:
    best, (record, seat) = table.best_response(), table.played[-1]
    line = Markup("")
    if best is not None:
        line = render("play", "best_response", table.sitting.short_name, best.outcome.scores[seat])
    return line + analysis_panel(record, seat, table.dealt.partner, make_expert(), "your")


def _document(content: Markup, follow: str | None = None) -> str:
    return document("Deal or no deal", "Play", content, scripts=SCRIPTS, navigation=True, follow=follow)


def _see(token: str) -> Response:
    return RedirectResponse(f"/game/{token}", 303)


def _cookie(request: Request) -> str:
    """The cookie that holds the token of a browser's latest session."""
    return cookie_name(request, "game")


def _play_act(session: PlaySession, view: View, values: FormData, address: str) -> TableReply | None:
    """Play the posted act; the reply if it is not played."""
    read = board.read_turn(values, view, f"{address}/act", _turn_fields(values), address)
    if isinstance(read, TableReply):
        return read
    session.play(read, _text(values, "words").strip() or None, _text(values, "message"))
    return None


def _play_sentence(session: PlaySession, view: View, values: FormData, address: str) -> TableReply | None:
    """Play the posted sentence if it is a sure command; the reply otherwise."""
    line = _text(values, "words")
    split = board.posted_split(values, view.counts) if board.KEEP in values or "laid" in values else None
    if "drop" in values:  # No, to a question about the sentence
        return TableReply(split=split, line=line, focus=True)
    reading = read_line(line, view)
    if reading.sure and reading.actions and not warning(reading.actions[0], view):
        session.play(reading.actions[0], None, _text(values, "message"))
        return None
    return _reply_to(line, reading, view, values, address, session.split if split is None else split)


def _reply_to(line: str, reading: Reading, view: View, values: FormData, address: str, split: Triple) -> TableReply:
    """The reply to a typed line that is not played at once; ``split``: the split on the table."""
    fields, actions = _turn_fields(values), reading.actions

    def ask(text: str, *answers: board.Answer, safe: bool, shown: Triple = split) -> TableReply:
        back = {**fields, **board.keep_fields(split), "laid": 1, "words": line, "drop": 1}
        style = "button small no" if safe else "button small primary no"
        no = board.Answer("No", f"{address}/say", back, style, focus=not safe)
        return TableReply(question=board.Question(text, (*answers, no), safe), split=shown, line=line)

    def answer(label: str, action: Action, words: str, *, focus: bool) -> board.Answer:
        return board.act_answer(label, f"{address}/act", action, {**fields, "words": words}, focus=focus)

    if not line.strip():
        return TableReply("Type a sentence first, or use the buttons.", split=split)
    if reading.command == "help":
        return TableReply(f"You can say, for example: {EXAMPLES}.", split=split)
    if reading.command == "leave":
        leave = board.Answer("Leave the table", f"{address}/leave", {})
        return ask("Leave this game? It will not be recorded.", leave, safe=False)
    if reading.unread:
        times = (whole_number(_text(values, "unread")) or 0) + 1
        reason = board.describe_unread(line.strip(), reading.text, times)
        return TableReply(reason, split=split, line=line, unread=times)
    if not actions:
        return TableReply(as_sentence(reading.text), split=split, line=line)
    risk = warning(actions[0], view)
    if reading.text:
        safe = len(actions) > 1 and not risk
        labels = [board.describe_reading(action, view) for action in actions]
        answers = [
            answer(label, action, line, focus=safe and action == actions[0])
            for label, action in zip(labels, actions, strict=True)
        ]
        return ask(reading.text, *answers, safe=safe)
    question = f"Read as {board.describe_reading(actions[0], view)}.{f' {risk} Really?' if risk else ''}"
    label = "Yes, really" if risk else "Yes, say that"
    yes = answer(label, actions[0], "" if reading.sure else line, focus=not risk)
    return ask(question, yes, safe=not risk, shown=actions[0].oA if actions[0].act_type.is_offer else split)


def _turn_fields(values: FormData) -> dict[str, object]:
    """The fields that name the turn, and the message that is sent with its act."""
    return {name: str(values[name]) for name in ("number", "turn", "message") if name in values}


def _text(values: FormData, name: str) -> str:
    """A field, empty if it is missing."""
    return str(values.get(name, ""))
