"""The served pages of a study. Every page is a function of the participant's phase.

A form is posted, an event is written, and the browser is led back to ``/``, so that reloading, going back, a second
window and a restart of the server change nothing. A token in a cookie identifies the participant; its SHA-256 alone is
stored.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from dond.study.journal import JOURNAL, Journal, JournalError, is_study, read_journal
from dond.study.progress import FINAL_PHASES, Participant, StudyTable
from dond.study.running_study import NotAccepted, OutOfPlace, RunningStudy, completion_code
from dond.study.settings import PERSON, StudyConfig
from dond.table.game import ending_text, turns_left
from dond.web import bargaining_table as board
from dond.web.bargaining_table import TableReply
from dond.web.frame import as_sentence, document, render
from dond.web.guard import (
    ENTER,
    MIN_PASSWORD,
    ErrorHandler,
    Secret,
    cookie_name,
    form_fields,
    guarded_site,
    whole_number,
)
from dond.web.server import HOST, address_of, is_loopback, serve, wait_for_change
from dond_marl.errors import InputError, error_line
from dond_marl.files import user_path
from dond_marl.records.files import write_durably
from league.ledger.run_directory import SETTINGS, RunDirectory
from league.settings.read import dump, parse_stored

TICK = 1.0  # seconds between two looks at waiting participants
COOKIE_SECONDS = 60 * 60 * 24 * 30  # for which a browser keeps a participant's token
NOT_STORED = "The study cannot go on just now. What you did before is stored: load this page again in a minute.\n"
SCRIPTS = ("table.js",)
PARTNER = "Your partner"  # name of the other side, which reveals nothing
HEADLINES = {  # of the pages of all phases but the games
    "consent": "Consent",
    "instructions": "How it works",
    "check": "A few questions",
    "ready": "Ready",
    "waiting": "Waiting",
    "questions": "Last questions",
    "done": "Done",
    "excluded": "The end",
    "withdrawn": "The end",
}
Handler = Callable[[Request, FormData, Participant], Response | None]  # None: lead to the current page


def serve_study(config: StudyConfig, host: str, port: int, password: str | None, report: Callable[[str], None]) -> None:
    """Serve a study from its folder until stopped; an earlier run of the same settings continues.

    ``config``: settings, with the folder in ``output_dir``. ``password``: of at least ``MIN_PASSWORD`` characters; it
    and texts without placeholders are required on a ``host`` that others reach. ``report`` receives lines for the
    terminal.

    Raises :class:`InputError` for a folder of another study or a missing password or text, and
    :class:`~dond_marl.errors.RunFailure` if the address or the journal cannot be used.
    """
    alone = is_loopback(host)
    if not alone and config.templates_left:
        texts = ", texts.".join(config.templates_left)
        raise InputError(
            f"texts.{texts} still hold [REPLACE ...]: write them before others reach the study, the consent text first"
        )
    if not alone and password is None:
        raise InputError("an address that others reach needs a password")
    if password is not None and len(password) < MIN_PASSWORD:
        raise InputError(f"a password of the study has at least {MIN_PASSWORD} characters; got {len(password)}")
    folder = user_path(config.output_dir)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with RunDirectory(folder):
        _check_settings(folder, config)
        journal = Journal(folder / JOURNAL)
        try:
            study = RunningStudy(config, journal, report=report)
            if not (folder / SETTINGS).is_file():  # written once all occupants could be made, before any event
                write_durably(folder / SETTINGS, dump(config).encode())
            study.start()
            participants = len(study.progress.participants)
            continued = f", continued with {participants} participants" if participants else ""
            where = " on this machine" if alone else ""
            report(
                f"open {address_of(host, port)}/ in a browser{where}: the study of {folder}{continued}; Ctrl-C stops it"
            )
            if not alone:
                report(
                    "others reach it with the password; there is no TLS, so use a tunnel or proxy on untrusted networks"
                )
            serve(application(study, password, host if alone else None), host, port)
        finally:
            journal.close()


def _check_settings(folder: Path, config: StudyConfig) -> None:
    """Refuse a folder that holds a study with other settings. Raises :class:`InputError`."""
    stored = folder / SETTINGS
    if stored.is_file():
        before = parse_stored(stored, StudyConfig)
        keys = [key for key in StudyConfig.model_fields if key != "output_dir"]  # a folder may be moved
        changed = [key for key in keys if getattr(before, key) != getattr(config, key)]
        if changed:
            raise InputError(
                f"{folder} is a study with other settings of {', '.join(changed)} ({stored}): give the new one "
                "another folder with --set output_dir=FOLDER, or continue with the earlier settings"
            )
    elif is_study(folder) and read_journal(folder):
        raise InputError(f"{folder} holds a study's journal without its {SETTINGS}: restore it from a copy")


def application(study: RunningStudy, password: str | None = None, loopback: str | None = HOST) -> Starlette:
    """The pages of a study. ``loopback``: the served address, if only this machine reaches it."""
    pages = _StudyPages(study)
    posts: dict[str, Handler] = {
        "/read": partial(pages.step, study.finish_instructions),
        "/check": pages.check,
        "/on": partial(pages.step, study.go_on),
        "/act": pages.act,
        "/answers": pages.answers,
        "/leave": pages.leave,
    }
    secret = None if password is None else Secret(password, "Password of the study")
    routes = [
        Route("/", pages.current),
        Route("/changed", pages.poll),
        Route("/agree", pages.agree, methods=["POST"]),
        *(Route(path, pages.handler(serve), methods=["POST"]) for path, serve in posts.items()),
        # An address that a form left in the browser, and a password that is sent twice.
        *(Route(path, _back, methods=["GET", "POST"]) for path in (*posts, "/agree", ENTER)),
    ]

    async def report_unwritten(_: Request, error: Exception) -> Response:
        study.report(str(error))
        return PlainTextResponse(NOT_STORED, 503)

    handlers: dict[type[Exception], ErrorHandler] = {JournalError: report_unwritten}
    title = study.config.study.title
    return guarded_site(title, routes, pages.lifespan, secret=secret, loopback=loopback, handlers=handlers)


class _StudyPages:
    """The handlers, by address."""

    def __init__(self, study: RunningStudy) -> None:
        self._study = study

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        ticking = asyncio.create_task(self._tick())
        yield
        ticking.cancel()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            try:
                await run_in_threadpool(self._study.tick)
            except Exception as error:  # noqa: BLE001  # such as a full disk: the next tick tries again
                self._study.report(error_line(error))

    def handler(self, serve: Handler) -> Callable[[Request], object]:
        """The handler of a participant's form; it leads to the current page, or shows why the form was not accepted."""

        async def handle(request: Request) -> Response:
            values, participant = await form_fields(request), self._participant(request)
            answer = None
            try:
                if participant is not None:
                    answer = await run_in_threadpool(serve, request, values, participant)
            except NotAccepted as error:
                return await run_in_threadpool(self._page, request, values, as_sentence(str(error)))
            except OutOfPlace:  # a form that fits no longer
                pass
            return answer or _see_root()

        return handle

    async def current(self, request: Request) -> Response:
        """The page of the participant's phase."""
        return await run_in_threadpool(self._page, request)

    async def poll(self, request: Request) -> Response:
        """Wait until the participant's page differs from ``version``."""
        participant = self._participant(request)
        changed = participant is None or await wait_for_change(lambda: participant.version, request)
        return JSONResponse({"changed": changed})

    async def agree(self, request: Request) -> Response:
        """Consent: a new participant, identified by a cookie."""
        return await run_in_threadpool(self._agree, request, await form_fields(request))

    def _agree(self, request: Request, values: FormData) -> Response:
        if self._participant(request) is not None:
            return _see_root()
        if values.get("agree") != "yes":
            return self._consent("Please tick the box if you want to take part.")
        token = secrets.token_urlsafe(24)
        try:
            self._study.agree(self._study.arrive(token))
        except OutOfPlace as error:
            return self._consent(as_sentence(str(error)))
        answer = _see_root()
        answer.set_cookie(_cookie(request), token, max_age=COOKIE_SECONDS, httponly=True, samesite="lax", path="/")
        return answer

    def step(self, step: Callable[[Participant], None], _: Request, __: FormData, participant: Participant) -> None:
        """Take a step without further fields."""
        step(participant)

    def check(self, _: Request, values: FormData, participant: Participant) -> None:
        questions = range(len(self._study.config.check))
        self._study.check(participant, [whole_number(values.get(f"q{i}")) or 0 for i in questions])

    def act(self, _: Request, values: FormData, participant: Participant) -> Response | None:
        """Play an act; a second question first if it may leave the participant with nothing."""
        table, posted = self._study.look(participant), (values.get("table"), values.get("turn"))
        if table is None or posted != (str(table.number), str(len(table.acts))):
            return None  # played already, in another window or by a second press
        seat = table.seat_of(participant.number)
        view = table.game.view(seat)
        if view is None:
            return None
        read = board.read_turn(values, view, "/act", _hidden_fields(table), "/")
        if isinstance(read, TableReply):
            content = game_page(self._study.config, table, seat, read)
            follow = participant.version if table.partner == PERSON and read.question is None else None
            return self._show(game_headline(table, seat), content, participant, follow)
        milliseconds = whole_number(values.get("browser"), 9)
        browser = None if milliseconds is None else milliseconds / 1000
        self._study.act(participant, table.number, len(table.acts), read, browser)
        self._study.answer_for_partner(table)
        return None

    def answers(self, request: Request, values: FormData, participant: Participant) -> None:
        self._study.answer(participant, values, request.cookies[_cookie(request)])

    def leave(self, _: Request, values: FormData, participant: Participant) -> Response | None:
        if "sure" not in values and participant.phase not in FINAL_PHASES:
            return self._show("Stop taking part?", render("study", "leave"))
        self._study.withdraw(participant)
        return None

    def _participant(self, request: Request) -> Participant | None:
        token = request.cookies.get(_cookie(request))
        return None if token is None else self._study.find(token)

    def _page(self, request: Request, values: FormData | None = None, reason: str = "") -> Response:
        """The page of the participant's phase; ``values`` were posted and not accepted because of ``reason``."""
        config, participant, posted = self._study.config, self._participant(request), values or FormData()
        if participant is None:
            return self._consent()
        table = self._study.look(participant)
        if participant.phase == "table" and table is not None:
            self._study.answer_for_partner(table)  # if a restart, or the opening, left the turn to it
        version, phase = participant.version, participant.phase  # read first, so that later changes are followed
        table = self._study.look(participant)
        if phase not in ("table", "result"):
            answers = defaultdict(str, {name: str(value) for name, value in posted.items()})
            code = completion_code(request.cookies[_cookie(request)])
            content = render("study", phase, config, participant, answers, code, reason)
            return self._show(HEADLINES[phase], content, participant, version if phase == "waiting" else None)
        if table is None:  # the last game was left a moment ago
            return _see_root()
        seat = table.seat_of(participant.number)
        if phase == "result":
            return self._show("The result", result_page(config, table, seat, participant.number), participant)
        follow = None if table.to_move == participant.number and table.partner != PERSON else version
        return self._show(game_headline(table, seat), game_page(config, table, seat), participant, follow)

    def _consent(self, reason: str = "") -> Response:
        return self._show(HEADLINES["consent"], render("study", "consent", self._study.config, None, {}, "", reason))

    def _show(
        self, headline: str, content: Markup, participant: Participant | None = None, version: int | None = None
    ) -> Response:
        """A page; ``version``: the state from which a change is followed."""
        config, where, foot = self._study.config, "", None
        if participant is not None and participant.phase not in FINAL_PHASES:
            foot = render("study", "foot")
            if participant.phase in ("ready", "waiting", "table", "result"):
                completed = participant.game - (participant.phase == "result")
                where = f"Game {min(completed + 1, config.games_each)} of {config.games_each}"
        follow = None if version is None else f"/changed?version={version}"
        title = config.study.title
        return HTMLResponse(document(title, headline, content, scripts=SCRIPTS, where=where, foot=foot, follow=follow))


async def _back(_: Request) -> Response:
    return _see_root()


def _see_root() -> RedirectResponse:
    return RedirectResponse("/", 303)


def _cookie(request: Request) -> str:
    return cookie_name(request, "participant")


def game_headline(table: StudyTable, seat: int) -> str:
    """The state of the game in one line."""
    view = table.game.view(seat)
    return f"{PARTNER} is thinking …" if view is None else board.headline(view)


def _hidden_fields(table: StudyTable) -> dict[str, object]:
    """The fields that name a turn; a script fills in the browser's time."""
    return {"table": table.number, "turn": len(table.acts), "browser": ""}


def game_page(config: StudyConfig, table: StudyTable, seat: int, reply: TableReply = TableReply()) -> Markup:  # noqa: B008  # frozen
    """The table for the participant in ``seat``, with the reply to a form that played no act."""
    state, view = table.game.state_known_to(seat), table.game.view(seat)
    facts = ["you open" if seat == 0 else f"{PARTNER.lower()} opens", turns_left(state)]
    if table.partner == PERSON:
        facts.append(f"{config.study.turn:.0f} seconds for an act")
    shown = board.view_before_turn(state, seat) if view is None else view
    split = board.initial_split(shown) if reply.split is None else reply.split
    turn = board.turn_form(shown, split, "/act", _hidden_fields(table), playing=view is not None, reason=reply.reason)
    return board.game_section(
        state,
        seat,
        render("table", "confirmation", reply.question, None) + turn,
        partner=PARTNER,
        heading=game_headline(table, seat),
        facts=facts,
        thinking=view is None,
    )


def result_page(config: StudyConfig, table: StudyTable, seat: int, participant: int) -> Markup:
    """The end of a game; whose points are shown is a setting."""
    ending = ending_text(table.state, seat) if table.end == "finished" else None
    spoken = board.conversation(table.game.state_known_to(seat), seat, PARTNER)
    subject = "You have" if table.blame == participant else f"{PARTNER} has"
    return render("study", "result", config.study, table, seat, ending, spoken, PARTNER, subject)
