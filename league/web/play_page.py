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
from dataclasses import replace
from typing import NamedTuple

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from dond_marl.game import Act, Action, State, Triple, apply
from dond_marl.records.record import GameRecord, replay
from dond_marl.records.transcript import as_message
from dond_marl.scenarios.sources import Scenarios
from league.display.game import ending_text, warning
from league.display.sentences import AmbiguousLine, Misread
from league.display.session import Sitting
from league.display.svg.markup import Markup
from league.display.typed_lines import MAX_CHARACTERS, ReadAct, TableCommand, read_line
from league.web.after_game import GameAddress, analysis_panel, best_response_line, result
from league.web.background import in_background, wait_for_change
from league.web.bargaining_table import (
    KEEP,
    Answer,
    Question,
    act_answer,
    action_of,
    describe_hint,
    describe_reading,
    describe_unread,
    game_section,
    headline,
    initial_split,
    keep_fields,
    posted_split,
    really,
    turn_form,
    turns_left,
    view_before_turn,
)
from league.web.frame import document, one_sentence, render
from league.web.guard import form_fields, whole_number
from league.web.live_game import (
    Event,
    GameBroken,
    GameEnded,
    Hint,
    LiveGame,
    PartnerWorking,
    PersonsTurn,
    best_response_score,
)
from league.web.occupants import CHOICE_ERRORS, Desk, OccupantMenu, make_expert
from league.web.play_setup import GameChoice, setup_page, sitting_of
from partners.human import View

MAX_SESSIONS = 64  # in memory; the one that was used least recently goes first
EXAMPLES = "I take the hats, you get the rest · deal · one more ball · same as before · 50/50 · bye"
SCRIPTS = ("items.js", "table.js", "tour.js")


class PlaySession:
    """The games of one visitor against one partner; game threads and requests may use it at the same time."""

    def __init__(self, sitting: Sitting, pause: float) -> None:
        self.sitting = sitting
        self.version = 0  # grows with each change of the page
        self.number = -1  # of the current game, from 0
        self.played: list[tuple[GameRecord, int]] = []  # finished games with the person's seat
        self.lock = threading.RLock()
        self._pause = pause
        self._game: LiveGame | None = None
        self.deal_next(0)

    @property
    def game(self) -> LiveGame:
        """The current game."""
        assert self._game is not None
        return self._game

    def deal_next(self, number: int, *, swap: bool = False) -> None:
        """Begin game ``number``; ``swap``: the items of the last game with the seats exchanged.

        Does nothing if that game is already dealt, as after a second click.
        """
        with self.lock:
            if number != self.number + 1:
                return
            if swap and self._game is not None:
                self._begin(number, 1 - self._game.seat, self._game.scenarios)
            else:
                self._begin(number, self.sitting.seat_of(number), None)

    def _begin(self, number: int, seat: int, scenarios: Scenarios | None) -> None:
        self.leave()
        self.number = number
        self.view: View | None = None  # on the person's turn
        self.hint: Hint | None = None
        self.ended: GameEnded | None = None
        self.broken = self.working = ""  # reason of a broken game; task of a partner that gets ready
        self.typed: dict[int, str] = {}  # the person's sentences by turn
        game = LiveGame(self.sitting, number, seat, lambda event: self._on_event(game, event), scenarios)
        self._game = game
        self.before = view_before_turn(game.scenarios.scenario(0), seat, self.sitting.rules)
        self.split = initial_split(self.before)  # split on the table
        self.state = State(game.scenarios.scenario(0), self.sitting.rules)
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
        # With secret claims the outcome would reveal the partner's claim before it is shown.
        self.state = replace(state, outcome=None) if state.rules.secret_claims else state
        self.split = action.oA if action.act_type.is_offer else self.split
        self.view = self.hint = None
        self.version += 1
        self.game.play(action, words, text)

    def leave(self) -> None:
        """End the current game without a record."""
        if self._game is not None:
            self._game.leave()

    def _on_event(self, game: LiveGame, event: Event) -> None:
        """Take in an event of a game, in its thread; acts of the partner are shown after the pause."""
        if isinstance(event, PersonsTurn | GameEnded):
            state = event.view.state if isinstance(event, PersonsTurn) else replay(event.record)
            partner_acted = any(turn % 2 != game.seat for turn in range(len(self.state.history), len(state.history)))
            if self._pause and partner_acted:
                time.sleep(self._pause)
        with self.lock:
            if self._game is not game:
                return
            self.working = event.task if isinstance(event, PartnerWorking) else ""
            if isinstance(event, PersonsTurn):
                self.view, self.hint, self.state = event.view, event.hint, event.view.state
                self.split = initial_split(event.view)
            elif isinstance(event, GameEnded):
                self.ended, self.state = event, replay(event.record)
                self.played.append((event.record, game.seat))
            elif isinstance(event, GameBroken):
                self.broken = event.reason
            self.version += 1


class TableReply(NamedTuple):
    """The server's reply to a sentence or a button that played no act."""

    why: str = ""  # message
    question: Question | None = None
    split: Triple | None = None  # split to show
    line: str = ""  # sentence in the field
    focus: bool = False  # put the focus on it
    unread: int = 0  # sentences in a row that were not understood


def session_page(session: PlaySession, address: str, book: str, reply: TableReply) -> Markup:
    """The content of a session's page: the table on the person's turn, while they wait, or the result."""
    game, view, state, ended = session.game, session.view, session.state, session.ended
    opener = "you open" if game.seat == 0 else "they open"
    facts = (f"with {session.sitting.short_name}", opener, turns_left(state), render("play", "leave_button"))
    if ended is not None:
        heading, hand = " ".join(ending_text(state, game.seat)), _closing(session, ended, address, book)
    elif session.broken:
        heading, hand = "The game cannot go on.", render("forms", "problem", session.broken)
    elif view is not None:
        heading, hand = headline(view), _hand(session, view, address, reply)
    else:
        heading, hidden = _waiting_headline(session), _turn_fields(session)
        hand = turn_form(session.before, session.split, f"{address}/act", hidden, playing=False)
    section = game_section(
        state,
        game.seat,
        hand,
        partner=session.sitting.short_name,
        heading=heading,
        facts=facts,
        typed=session.typed,
        thinking=view is None and ended is None and not session.broken,
        working=f"{session.working[0].upper()}{session.working[1:]}." if session.working else "",
    )
    return section + render("play", "leave_form", address)


def _waiting_headline(session: PlaySession) -> str:
    if session.working:
        return "They are getting ready …"
    if session.state.history:
        return "They are thinking …"
    return "The items are dealt." if session.game.seat == 0 else "They open, and are thinking …"


def _turn_fields(session: PlaySession) -> dict[str, object]:
    """The form fields that name the current turn."""
    return {"number": session.number, "turn": len(session.state.history)}


def _hand(session: PlaySession, view: View, address: str, reply: TableReply) -> Markup:
    """Hint, form of the turn, question and line for a sentence."""
    hidden, hint = _turn_fields(session), session.hint
    split = session.split if reply.split is None else reply.split
    turn = turn_form(view, split, f"{address}/act", hidden, messages=True, why=reply.why, part="content")
    lay = ",".join(map(str, hint.action.oA)) if hint and hint.action.act_type.is_offer else ""
    words = describe_hint(hint, view) if hint else ""
    hidden["unread"] = reply.unread
    return render(
        "play", "hand", words, lay, turn, reply.question, address, hidden, reply.line, reply.focus, MAX_CHARACTERS
    )


def _closing(session: PlaySession, ended: GameEnded, address: str, book: str) -> Markup:
    """The result of a game, what to do next, its links, and its analysis."""
    recorded = GameAddress(str(session.sitting.book), str(ended.number)) if ended.number else None
    shown = result(session.played, session.sitting.short_name)
    note = ended.write_error or f"Recorded in {book}, seed {session.sitting.seed}."
    return render("play", "closing", shown, address, session.number, recorded, note, bool(ended.write_error))


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
        """The form; ``run`` and ``member`` choose a league's member."""
        menu = await in_background(self._desk.menu)
        key = menu.key_of(request.query_params.get("run", ""), request.query_params.get("member", ""))
        return self._setup_page(menu, GameChoice(other=key or ""))

    async def deal(self, request: Request) -> Response:
        """Begin a session with the posted choice."""
        choice = GameChoice.from_fields(await form_fields(request))
        menu = await in_background(self._desk.menu)
        try:
            candidate = choice.candidate(menu)
            sitting = await in_background(sitting_of, choice, candidate, self._desk.book, self._desk.data_dir)
        except CHOICE_ERRORS as error:
            return self._setup_page(menu, choice, one_sentence(error))
        token = secrets.token_urlsafe(16)
        self._sessions[token] = PlaySession(sitting, self._desk.pause)
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)[1].leave()
        return _see(token)

    async def game(self, request: Request) -> Response:
        """The page of a session; the form where there is none, as after a restart."""
        session = self._session(request)
        return RedirectResponse("/", 303) if session is None else self._page(session, request)

    async def back(self, request: Request) -> Response:
        return _see(request.path_params["token"])

    async def poll(self, request: Request) -> Response:
        """Wait until the page of a session differs from ``version``."""
        session = self._session(request)
        seen = request.query_params.get("version", "")
        changed = session is None or await wait_for_change(lambda: session.version, seen, request)
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
        if session is not None and session.ended is not None and number is not None:
            session.deal_next(number, swap="swap" in values)
        return _see(request.path_params["token"])

    async def leave(self, request: Request) -> Response:
        """End a session; its current game is not recorded."""
        session = self._sessions.pop(request.path_params["token"], None)
        if session is not None:
            session.leave()
        return RedirectResponse("/", 303)

    async def best(self, request: Request) -> Response:
        """The score of the best response in the person's seat, where it is known exactly."""
        session = self._session(request)
        if session is None or session.number != request.path_params["number"]:
            return HTMLResponse("")
        score = await in_background(best_response_score, session.game)
        return HTMLResponse("" if score is None else best_response_line(session.sitting.short_name, score))

    async def analysis(self, request: Request) -> Response:
        """The analysis of the person's acts in the last game."""
        session = self._session(request)
        if session is None or session.ended is None or session.number != request.path_params["number"]:
            return HTMLResponse("")
        record, seat, partner = session.ended.record, session.game.seat, session.sitting.partner
        return HTMLResponse(await in_background(lambda: analysis_panel(record, seat, partner, make_expert(), "your")))

    def _session(self, request: Request) -> PlaySession | None:
        token = request.path_params["token"]
        if token in self._sessions:
            self._sessions.move_to_end(token)
        return self._sessions.get(token)

    def _page(self, session: PlaySession, request: Request, reply: TableReply = TableReply()) -> Response:  # noqa: B008  # frozen
        address = f"/game/{request.path_params['token']}"
        with session.lock:
            content = session_page(session, address, str(self._desk.book), reply)
            waits = session.view is None and session.ended is None and not session.broken
            follow = f"{address}/changed?version={session.version}" if waits else None
        return HTMLResponse(_document(content, follow))

    def _setup_page(self, menu: OccupantMenu, choice: GameChoice, why: str = "") -> Response:
        return HTMLResponse(_document(setup_page(menu, choice, self._desk.data_dir, why)))


def _document(content: Markup, follow: str | None = None) -> str:
    return document("Deal or no deal", "Play", content, scripts=SCRIPTS, navigation=True, follow=follow)


def _see(token: str) -> Response:
    return RedirectResponse(f"/game/{token}", 303)


class PostedTurn(NamedTuple):
    """A form of the current turn."""

    session: PlaySession
    view: View
    values: FormData
    address: str  # of the session

    @property
    def hidden(self) -> dict[str, object]:
        """The fields that name the turn, and the message that is sent with its act."""
        return {name: str(self.values[name]) for name in ("number", "turn", "message") if name in self.values}

    @property
    def split(self) -> Triple | None:
        """The split on the table; ``None`` if the fields are no items of the pool."""
        return posted_split(self.values.getlist(KEEP), self.view.counts)

    def text(self, name: str) -> str:
        """A field, empty if it is missing."""
        return str(self.values.get(name, ""))


def _play_act(turn: PostedTurn) -> TableReply | None:
    """Play the posted act; the reply if it is not played."""
    values, view, split = turn.values, turn.view, turn.split
    if values.get("act") not in Act.__members__ or split is None:
        return TableReply("Sort the items, then press a button.")
    action = action_of(Act[turn.text("act")], split)
    rule = view.rule_against(action)
    if rule is not None:
        return TableReply(f"Not legal: {rule}.", split=split)
    if "sure" not in values and warning(action, view):
        question = really(view, action, f"{turn.address}/act", turn.hidden, turn.address)
        return TableReply(question=question, split=split)
    turn.session.play(action, turn.text("words").strip() or None, turn.text("message"))
    return None


def _play_sentence(turn: PostedTurn) -> TableReply | None:
    """Play the posted sentence if it is a sure command; the reply otherwise."""
    view, line = turn.view, turn.text("words")
    split = turn.split if KEEP in turn.values or "laid" in turn.values else None
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
    view, address, hidden = turn.view, turn.address, turn.hidden

    def ask(text: str, *answers: Answer, safe: bool, shown: Triple = split) -> TableReply:
        back = {**hidden, **keep_fields(split), "laid": 1, "words": line, "drop": 1}
        style = "button small no" if safe else "button small primary no"
        no = Answer("No", f"{address}/say", back, style, focus=not safe)
        return TableReply(question=Question(text, (*answers, no), safe), split=shown, line=line)

    def answer(label: str, action: Action, words: str, *, focus: bool) -> Answer:
        return act_answer(label, f"{address}/act", action, {**hidden, "words": words}, focus=focus)

    if not line.strip():
        return TableReply("Type a sentence first, or use the buttons.", split=split)
    if command is TableCommand.HELP:
        return TableReply(f"You can say, for example: {EXAMPLES}.", split=split)
    if command is TableCommand.LEAVE:
        leave = Answer("Leave the table", f"{address}/leave", {})
        return ask("Leave this game? It will not be recorded.", leave, safe=False)
    if isinstance(command, AmbiguousLine):
        safe = len(command.actions) > 1 and not warning(command.actions[0], view)
        answers = [
            answer(describe_reading(action, view), action, line, focus=safe and place == 0)
            for place, action in enumerate(command.actions)
        ]
        return ask(command.why, *answers, safe=safe)
    if isinstance(command, ReadAct):
        action, risk = command.action, warning(command.action, view)
        question = f"Read as {describe_reading(action, view)}.{f' {risk} Really?' if risk else ''}"
        label = "Yes, really" if risk else "Yes, say that"
        yes = answer(label, action, "" if command.sure else line, focus=not risk)
        return ask(question, yes, safe=not risk, shown=action.oA if action.act_type.is_offer else split)
    if isinstance(command, Misread) and command.unread:
        times = (whole_number(turn.text("unread")) or 0) + 1
        return TableReply(describe_unread(line.strip(), command.why, times), split=split, line=line, unread=times)
    why = command.why if isinstance(command, Misread) else "it is not clear"
    return TableReply(f"{why[0].upper()}{why[1:]}.", split=split, line=line)
