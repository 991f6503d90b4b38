"""The play page: sessions of games between a visitor and a partner, and their HTTP handlers.

A session lives in memory under a random address, so that reloading the page or opening it again loses nothing while
the server runs. Each page is a function of the session; an act changes the session and leads back to its address.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from markupsafe import Markup
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from dond.table.game import describe_act, ending_text, turns_left, warning
from dond.table.sentences import AmbiguousLine, Misread
from dond.table.session import Sitting
from dond.table.typed_lines import MAX_CHARACTERS, ReadAct, TableCommand, read_line
from dond.web import bargaining_table as board
from dond.web.after_game import GameAddress, analysis_panel, best_response_line, result
from dond.web.background import in_background, wait_for_change
from dond.web.frame import as_sentence, document, one_sentence, render
from dond.web.guard import cookie_name, form_fields, whole_number
from dond.web.live_game import Event, GameBroken, GameEnded, LiveGame, PersonsTurn, best_response_score
from dond.web.occupants import CHOICE_ERRORS, Desk, GameChoice, OccupantMenu, make_expert, setup_page, sitting_of
from dond_marl.game import Action, State, Triple, apply
from dond_marl.records.record import GameRecord, replay
from dond_marl.records.transcript import as_message
from dond_marl.scenarios.sources import Scenarios
from partners.human import View

MAX_SESSIONS = 64  # in memory; the one that was used least recently goes first
EXAMPLES = "I take the hats, you get the rest · deal · one more ball · same as before · 50/50 · bye"
SCRIPTS = ("table.js", "tour.js")


class PlaySession:
    """The games of one visitor against one partner; game threads and requests may use it at the same time."""

    def __init__(self, sitting: Sitting, pause: float) -> None:
        self.sitting = sitting
        self.version = 0  # grows with each change of the page
        self.played: list[tuple[GameRecord, int]] = []  # finished games with the person's seat
        self.lock = threading.RLock()
        self._pause = pause
        self._begin(0, sitting.seat_of(0))

    @property
    def view(self) -> View | None:
        """The game on the person's turn."""
        return self.event.view if isinstance(self.event, PersonsTurn) else None

    @property
    def is_running(self) -> bool:
        """Whether the game goes on: it has neither ended nor broken."""
        return not isinstance(self.event, GameEnded | GameBroken)

    def deal_next(self, number: int, *, swap: bool = False) -> None:
        """Begin game ``number`` after the end of the last one; ``swap``: its items with the seats exchanged.

        Does nothing if that game is already dealt, as after a second click.
        """
        with self.lock:
            if number == self.number + 1 and isinstance(self.event, GameEnded):
                if swap:
                    self._begin(number, 1 - self.game.seat, self.game.scenarios)
                else:
                    self._begin(number, self.sitting.seat_of(number))

    def _begin(self, number: int, seat: int, scenarios: Scenarios | None = None) -> None:
        self.number = number  # of the current game, from 0
        self.event: Event | None = None  # latest report of the game; None while the partner thinks
        self.typed: dict[int, str] = {}  # the person's sentences by turn
        game = self.game = LiveGame(self.sitting, number, seat, lambda event: self._on_event(game, event), scenarios)
        self.state = State(game.scenarios.scenario(0), self.sitting.rules)
        before = board.view_before_turn(self.state.scenario, seat, self.sitting.rules)
        self.split = board.initial_split(before)  # on the table
        self.version += 1
        game.start()

    def play(self, action: Action, words: str | None, message: str) -> None:
        """Play a legal act of the person; ``words``: the sentence that was typed for it."""
        view = self.view
        assert view is not None
        text = as_message(message, view.state.rules.message_length)
        state = apply(view.state, action, text)
        if words:
            self.typed[len(view.state.history)] = words
        self.state = state
        self.split = action.oA if action.act_type.is_offer else self.split
        self.event = None
        self.version += 1
        self.game.play(action, words, text)

    def _on_event(self, game: LiveGame, event: Event) -> None:
        """Take in an event of a game, in its thread; acts of the partner are shown after the pause."""
        state = self.state
        if isinstance(event, PersonsTurn | GameEnded):
            state = event.view.state if isinstance(event, PersonsTurn) else replay(event.record)
            if any(turn % 2 != game.seat for turn in range(len(self.state.history), len(state.history))):
                time.sleep(self._pause)
        with self.lock:
            if self.game is not game:
                return
            self.event, self.state = event, state
            if isinstance(event, PersonsTurn):
                self.split = board.initial_split(event.view)
            elif isinstance(event, GameEnded):
                self.played.append((event.record, game.seat))
            self.version += 1


class TableReply(NamedTuple):
    """The server's reply to a sentence or a button that played no act."""

    why: str = ""  # message
    question: board.Question | None = None
    split: Triple | None = None  # split to show
    line: str = ""  # sentence in the field
    focus: bool = False  # put the focus on it
    unread: int = 0  # sentences in a row that were not understood


def session_page(session: PlaySession, address: str, book: str, reply: TableReply) -> Markup:
    """The content of a session's page: the table on the person's turn, while they wait, or the result."""
    game, state, partner, working = session.game, session.state, session.sitting.short_name, ""
    hidden: dict[str, object] = {"number": session.number, "turn": len(state.history)}
    match session.event:
        case GameEnded() as ended:
            heading = " ".join(ending_text(state, game.seat))
            recorded = GameAddress(str(session.sitting.book), str(ended.number)) if ended.number else None
            note = ended.write_error or f"Recorded in {book}, seed {session.sitting.seed}."
            shown = result(session.played, partner)
            failed = bool(ended.write_error)
            described = render("play", "stranger", game.sitting.name, session.sitting.rules)
            hand = render("play", "closing", shown + described, address, session.number, recorded, note, failed)
        case GameBroken(reason):
            heading, hand = "The game cannot go on.", render("forms", "problem", reason)
        case PersonsTurn(view, hint):
            split = session.split if reply.split is None else reply.split
            turn = board.turn_form(view, split, f"{address}/act", hidden, messages=True, why=reply.why, part="content")
            advice = "" if hint is None else f"{describe_act(hint.action, state)}{hint.sureness}"
            hidden["unread"] = reply.unread
            heading = board.headline(view)
            hand = render("play", "hand", hint, advice, turn, reply, address, hidden, MAX_CHARACTERS)
        case event:
            before = board.view_before_turn(state.scenario, game.seat, state.rules)
            heading, working = _waiting_headline(session), as_sentence(event.task) if event else ""
            hand = board.turn_form(before, session.split, f"{address}/act", hidden, playing=False)
    leave = render("play", "leave_button")
    section = board.game_section(
        state,
        game.seat,
        hand,
        partner=partner,
        heading=heading,
        facts=(f"with {partner}", "you open" if game.seat == 0 else "they open", turns_left(state), leave),
        typed=session.typed,
        thinking=session.is_running and session.view is None,
        working=working,
    )
    return section + render("play", "leave_form", address)


def _waiting_headline(session: PlaySession) -> str:
    if session.event is not None:
        return "They are getting ready …"
    if session.state.history:
        return "They are thinking …"
    return "The items are dealt." if session.game.seat == 0 else "They open, and are thinking …"


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
            Route(f"{game}/say", self.say, methods=["POST"]),
            Route(f"{game}/next", self.next_game, methods=["POST"]),
            Route(f"{game}/leave", self.leave, methods=["POST"]),
            Route(f"{game}/{{number:int}}/best", self.best),
            Route(f"{game}/{{number:int}}/analysis", self.analysis),
            # An address that a form left in the browser.
            Route(f"{game}/{{rest:path}}", self.back),
        ]

    async def setup(self, request: Request) -> Response:
        """The visitor's running game, else the form; ``run`` and ``member`` choose a league's member in the form."""
        token = request.cookies.get(_cookie(request), "")
        if not request.query_params and token in self._sessions and self._sessions[token].is_running:
            return _see(token)
        menu = await in_background(self._desk.menu)
        key = menu.key_of(request.query_params.get("run", ""), request.query_params.get("member", ""))
        return self._setup_page(menu, GameChoice(other=key or ""))

    async def deal(self, request: Request) -> Response:
        """Begin a session with the posted choice."""
        choice = GameChoice.from_fields(await form_fields(request))
        menu = await in_background(self._desk.menu)
        try:
            candidate = menu.candidate(choice.other or choice.partner, choice.typed)
            sitting = await in_background(sitting_of, choice, candidate, self._desk.book, self._desk.data_dir)
        except CHOICE_ERRORS as error:
            return self._setup_page(menu, choice, one_sentence(error))
        token = secrets.token_urlsafe(16)
        self._sessions[token] = PlaySession(sitting, self._desk.pause)
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)[1].game.leave()
        answer = _see(token)
        answer.set_cookie(_cookie(request), token, httponly=True, samesite="lax", path="/")
        return answer

    async def game(self, request: Request) -> Response:
        """The page of a session; the form where there is none, as after a restart."""
        session = self._session(request)
        return RedirectResponse("/", 303) if session is None else self._page(session, request)

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

    async def say(self, request: Request) -> Response:
        """Read a posted sentence: play it if it is a command, else ask whether it was read as it was meant."""
        return await self._take_turn(request, _play_sentence)

    async def _take_turn(self, request: Request, play: Callable[[PostedTurn], TableReply | None]) -> Response:
        """The reply of ``play`` to a form of the current turn; without one, or for an older form, the current page."""
        values, session = await form_fields(request), self._session(request)
        token = request.path_params["token"]
        if session is not None:
            with session.lock:
                turn = str(session.number), str(len(session.state.history))
                if session.view is not None and (values.get("number"), values.get("turn")) == turn:
                    reply = play(PostedTurn(session, session.view, values, f"/game/{token}"))
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
            session.game.leave()
        return RedirectResponse("/", 303)

    async def best(self, request: Request) -> Response:
        """The score of the best response in the person's seat, where it is known exactly."""

        def line(session: PlaySession, _: GameEnded) -> str:
            score = best_response_score(session.game)
            return "" if score is None else best_response_line(session.sitting.short_name, score)

        return await self._after_game(request, line)

    async def analysis(self, request: Request) -> Response:
        """The analysis of the person's acts in the last game."""

        def panel(session: PlaySession, ended: GameEnded) -> str:
            return analysis_panel(ended.record, session.game.seat, session.game.sitting.partner, make_expert(), "your")

        return await self._after_game(request, panel)

    async def _after_game(self, request: Request, work: Callable[[PlaySession, GameEnded], str]) -> Response:
        """The markup that ``work`` makes of the session's last game; nothing if that is not the game of the address."""
        session = self._session(request)
        if session is None or session.number != request.path_params["number"]:
            return HTMLResponse("")
        ended = session.event
        return HTMLResponse(await in_background(work, session, ended) if isinstance(ended, GameEnded) else "")

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

    def _setup_page(self, menu: OccupantMenu, choice: GameChoice, why: str = "") -> Response:
        return HTMLResponse(_document(setup_page(menu, choice, self._desk.data_dir, why)))


def _document(content: Markup, follow: str | None = None) -> str:
    return document("Deal or no deal", "Play", content, scripts=SCRIPTS, navigation=True, follow=follow)


def _see(token: str) -> Response:
    return RedirectResponse(f"/game/{token}", 303)


def _cookie(request: Request) -> str:
    """The cookie that holds the token of a browser's latest session."""
    return cookie_name(request, "game")


class PostedTurn(NamedTuple):
    """A form of the current turn."""

    session: PlaySession
    view: View
    values: FormData
    address: str  # of the session

    @property
    def fields(self) -> dict[str, object]:
        """The fields that name the turn, and the message that is sent with its act."""
        return {name: str(self.values[name]) for name in ("number", "turn", "message") if name in self.values}

    @property
    def split(self) -> Triple | None:
        """The split on the table; ``None`` if the fields are no items of the pool."""
        return board.posted_split(self.values, self.view.counts)

    def text(self, name: str) -> str:
        """A field, empty if it is missing."""
        return str(self.values.get(name, ""))

    def answer(self, label: str, action: Action, words: str, *, focus: bool) -> board.Answer:
        """The answer that plays an act, with the sentence that was typed for it."""
        return board.act_answer(label, f"{self.address}/act", action, {**self.fields, "words": words}, focus=focus)


def _play_act(turn: PostedTurn) -> TableReply | None:
    """Play the posted act; the reply if it is not played."""
    view, split, action = turn.view, turn.split, board.posted_action(turn.values, turn.view.counts)
    if action is None:
        return TableReply("Sort the items, then press a button.")
    rule = view.rule_against(action)
    if rule is not None:
        return TableReply(f"Not legal: {rule}.", split=split)
    if "sure" not in turn.values and warning(action, view):
        question = board.really(view, action, f"{turn.address}/act", turn.fields, turn.address)
        return TableReply(question=question, split=split)
    turn.session.play(action, turn.text("words").strip() or None, turn.text("message"))
    return None


def _play_sentence(turn: PostedTurn) -> TableReply | None:
    """Play the posted sentence if it is a sure command; the reply otherwise."""
    view, line = turn.view, turn.text("words")
    split = turn.split if board.KEEP in turn.values or "laid" in turn.values else None
    if "drop" in turn.values:  # No, to a question about the sentence
        return TableReply(split=split, line=line, focus=True)
    command = read_line(line, view)
    if isinstance(command, ReadAct) and command.sure and not warning(command.action, view):
        turn.session.play(command.action, None, turn.text("message"))
        return None
    return _reply_to(line, command, turn, turn.session.split if split is None else split)


def _reply_to(
    line: str, command: ReadAct | TableCommand | AmbiguousLine | Misread, turn: PostedTurn, split: Triple
) -> TableReply:
    """The reply to a typed line that is not played at once; ``split``: the split on the table."""
    view = turn.view

    def ask(text: str, *answers: board.Answer, safe: bool, shown: Triple = split) -> TableReply:
        back = {**turn.fields, **board.keep_fields(split), "laid": 1, "words": line, "drop": 1}
        style = "button small no" if safe else "button small primary no"
        no = board.Answer("No", f"{turn.address}/say", back, style, focus=not safe)
        return TableReply(question=board.Question(text, (*answers, no), safe), split=shown, line=line)

    if not line.strip():
        return TableReply("Type a sentence first, or use the buttons.", split=split)
    match command:
        case TableCommand.HELP:
            return TableReply(f"You can say, for example: {EXAMPLES}.", split=split)
        case TableCommand.LEAVE:
            leave = board.Answer("Leave the table", f"{turn.address}/leave", {})
            return ask("Leave this game? It will not be recorded.", leave, safe=False)
        case AmbiguousLine(why, actions):
            safe = len(actions) > 1 and not warning(actions[0], view)
            readings = enumerate(board.describe_reading(action, view) for action in actions)
            answers = [turn.answer(text, actions[at], line, focus=safe and at == 0) for at, text in readings]
            return ask(why, *answers, safe=safe)
        case ReadAct(action, sure):
            risk = warning(action, view)
            question = f"Read as {board.describe_reading(action, view)}.{f' {risk} Really?' if risk else ''}"
            label = "Yes, really" if risk else "Yes, say that"
            yes = turn.answer(label, action, "" if sure else line, focus=not risk)
            return ask(question, yes, safe=not risk, shown=action.oA if action.act_type.is_offer else split)
        case Misread(why, unread=True):
            times = (whole_number(turn.text("unread")) or 0) + 1
            return TableReply(board.describe_unread(line.strip(), why, times), split=split, line=line, unread=times)
        case Misread(why):
            return TableReply(as_sentence(why), split=split, line=line)
    raise AssertionError(command)
