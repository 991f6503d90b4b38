"""The pages of a study as an ASGI application: every page is a function of where the participant is.

A form is sent, an event is written, and the browser is led back to ``/``; so that loading a page anew, going back, a
second window and a restart of the server change nothing. What says who a participant is, a token that its browser
keeps, is stored as SHA-256 alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from dond_marl.errors import InputError, error_line
from dond_marl.game import Act, Triple
from league.web.study import views
from league.web.study.door import ENTER, Door, cookie_name, fields
from league.web.study.frame import OWN_FILES, SHARED, SHARED_FILES, STATIC, document
from league.web.study.hall import Hall, OutOfPlace, Unanswered
from league.web.study.journal import JournalError
from league.web.study.progress import OVER, Participant
from league.web.study.settings import PERSON
from league.web.study.table import action_of, doubtful, line_of, result_page, table_page

TICK = 1.0  # seconds between two looks at who waits
POLL, LONGEST = 0.25, 20.0  # seconds between two looks for a change, and until a browser asks again
KEPT = 60 * 60 * 24 * 30  # seconds that a browser keeps a participant's token
NOT_KEPT = "The study cannot go on just now. What you did before is kept: load this page again in a minute.\n"
HOSTS = ["127.0.0.1", "localhost", "[::1]"]


def application(hall: Hall, password: str | None = None, loopback: str | None = "127.0.0.1") -> Starlette:
    """The pages of a study. ``loopback``: the address, where this machine's own browser alone reaches it."""
    pages = _Pages(hall)
    posts: dict[str, Callable[[Request, dict[str, str]], Response]] = {
        "/agree": pages.agree,
        "/read": partial(pages.step, hall.read),
        "/check": pages.check,
        "/on": partial(pages.step, hall.go_on),
        "/act": pages.act,
        "/answers": pages.answers,
        "/leave": pages.leave,
    }
    middleware = []
    if loopback is not None:  # a name that somebody else's DNS points here is refused
        own = f"[{loopback}]" if ":" in loopback else loopback
        middleware.append(Middleware(TrustedHostMiddleware, allowed_hosts=[*HOSTS, own]))
    middleware.append(Middleware(Door, title=hall.config.study.title, password=password))
    routes = [
        Route("/", pages.here),
        Route("/changed", pages.changed),
        Route("/static/{name}", _static),
        *(Route(path, _posted(pages, serve), methods=["POST"]) for path, serve in posts.items()),
        # What a form left in the address bar, and a password that is sent twice.
        *(Route(path, _led_back, methods=["GET", "POST"]) for path in (*posts, ENTER)),
    ]
    return Starlette(routes=routes, middleware=middleware, lifespan=pages.lifespan)


class _Pages:
    """What is answered, by what is asked for."""

    def __init__(self, hall: Hall) -> None:
        self._hall = hall

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        ticking = asyncio.create_task(self._tick())
        yield
        ticking.cancel()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            try:
                await run_in_threadpool(self._hall.tick)
            except Exception as error:  # noqa: BLE001  # a full disk, say: the next look is another try
                self._hall.tell(error_line(error))

    async def here(self, request: Request) -> Response:
        """The page of wherever the participant is."""
        return await self.kept(self._page, request)

    async def kept(self, serve: Callable[..., Response], *given: object) -> Response:
        """What ``serve`` answers, or that nothing can be kept just now, which the terminal is told why."""
        try:
            return await run_in_threadpool(serve, *given)
        except JournalError as error:
            self._hall.tell(str(error))
            return PlainTextResponse(NOT_KEPT, 503)

    async def changed(self, request: Request) -> Response:
        """Waits until a participant's page is another one than that of ``version``, for a while."""
        who = self._who(request)
        version = request.query_params.get("version", "")
        if who is None:
            return JSONResponse({"changed": True})
        for _ in range(round(LONGEST / POLL)):
            if str(who.version) != version or await request.is_disconnected():
                break
            await asyncio.sleep(POLL)
        return JSONResponse({"changed": str(who.version) != version})

    def agree(self, request: Request, given: dict[str, str]) -> Response:
        if self._who(request) is not None:
            return _back()
        if given.get("agree") != "yes":
            return self._show(
                "Consent", views.consent(self._hall.config, "Please tick the box if you want to take part.")
            )
        token = secrets.token_urlsafe(24)
        try:
            self._hall.agree(self._hall.arrive(token))
        except OutOfPlace as error:
            return self._show("Consent", views.consent(self._hall.config, _sentence(error)))
        answer = _back()
        answer.set_cookie(_cookie(request), token, max_age=KEPT, httponly=True, samesite="lax", path="/")
        return answer

    def step(self, act: Callable[[Participant], None], request: Request, _: dict[str, str]) -> Response:
        who = self._who(request)
        if who is not None:
            act(who)
        return _back()

    def check(self, request: Request, given: dict[str, str]) -> Response:
        who = self._who(request)
        if who is None:
            return _back()
        texts = [given.get(f"q{place}", "") for place in range(len(self._hall.config.check))]
        answers = [int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0 for text in texts]
        try:
            self._hall.check(who, answers)
        except Unanswered:
            return self._page(request, given, "Please answer every question.")
        return _back()

    def act(self, request: Request, given: dict[str, str]) -> Response:
        who = self._who(request)
        table = None if who is None else self._hall.look(who)
        if (
            who is None
            or table is None
            or (given.get("table"), given.get("turn")) != (str(table.number), str(len(table.said)))
        ):
            return _back()  # it was said already, in another window or by a second press
        seat = table.seat_of(who.number)
        kept = _kept(given)
        if given.get("act") not in Act.__members__ or kept is None:
            return self._page(request, given, "Please choose what you would keep, and then what to say.")
        action = action_of(Act[given["act"]], kept)
        if table.to_move != who.number:
            return _back()
        if "sure" not in given and doubtful(table, action, seat):
            content = table_page(self._hall.config, table, seat, kept, action)
            return self._show(line_of(table, seat), content, who=who)
        try:
            self._hall.act(who, table.number, int(given["turn"]), action, _seconds(given.get("browser", "")))
        except OutOfPlace as error:
            return self._page(request, given, _sentence(error))
        self._hall.answer_for_partner(table)
        return _back()

    def answers(self, request: Request, given: dict[str, str]) -> Response:
        who = self._who(request)
        if who is None:
            return _back()
        try:
            self._hall.answer(who, given, request.cookies[_cookie(request)])
        except Unanswered:
            return self._page(request, given, "Please answer every question.")
        return _back()

    def leave(self, request: Request, given: dict[str, str]) -> Response:
        who = self._who(request)
        if who is None or who.phase in OVER:
            return _back()
        if "sure" not in given:
            return self._show("Stop taking part?", views.leave())
        self._hall.withdraw(who)
        return _back()

    def _who(self, request: Request) -> Participant | None:
        token = request.cookies.get(_cookie(request))
        return None if token is None else self._hall.find(token)

    def _page(self, request: Request, given: Mapping[str, str] | None = None, why: str = "") -> Response:
        config, who, said = self._hall.config, self._who(request), dict(given or {})
        if who is None:
            return self._show("Consent", views.consent(config))
        table = self._hall.look(who)
        if who.phase == "table" and table is not None:
            self._hall.answer_for_partner(table)  # where a restart, or its opening, left the turn to it
        version = who.version  # read first: what changes from here on is a change that the page hears of
        table = self._hall.look(who)
        if table is not None and who.phase in ("table", "result"):
            seat = table.seat_of(who.number)
            if who.phase == "result":
                return self._show("The result", result_page(config, table, seat, who.number), who=who)
            mine = table.to_move == who.number
            content = table_page(config, table, seat, _kept(said), None, why)
            waits = version if not mine or table.partner == PERSON else None
            return self._show(line_of(table, seat), content, who=who, waits=waits)
        shown = {
            "consent": lambda: self._show("Consent", views.consent(config)),
            "instructions": lambda: self._show("How it works", views.instructions(config), who=who),
            "check": lambda: self._show("A few questions", views.check(config, who, said, why), who=who),
            "ready": lambda: self._show("Ready", views.ready(config, who), who=who),
            "waiting": lambda: self._show("Waiting", views.waiting(config), who=who, waits=version),
            "questions": lambda: self._show("Last questions", views.questions(config, said, why), who=who),
            "done": lambda: self._show("Done", views.done(config, request.cookies[_cookie(request)])),
            "excluded": lambda: self._show("The end", views.over(config.texts.excluded)),
            "withdrawn": lambda: self._show("The end", views.over(config.texts.withdrawn)),
        }
        show = shown.get(who.phase)
        return _back() if show is None else show()  # seated a moment ago, say

    def _show(
        self, headline: str, content: object, who: Participant | None = None, waits: int | None = None
    ) -> Response:
        config, where = self._hall.config, ""
        if who is not None and who.phase in ("ready", "waiting", "table", "result"):
            behind = who.game - (who.phase == "result")
            where = f"Game {min(behind + 1, config.games_each)} of {config.games_each}"
        page = document(config.study.title, headline, content, where=where, waits=waits, leaves=who is not None)
        return HTMLResponse(page)


def _posted(pages: _Pages, serve: Callable[[Request, dict[str, str]], Response]) -> Callable[..., object]:
    async def served(request: Request) -> Response:
        given = await fields(request)
        try:
            return await pages.kept(serve, request, given)
        except InputError:  # it does not fit where the participant is: the page says where that is
            return _back()

    return served


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in (*OWN_FILES, *SHARED_FILES):
        return PlainTextResponse("no such file\n", 404)
    return FileResponse((STATIC if name in OWN_FILES else SHARED) / name)


async def _led_back(_: Request) -> Response:
    return _back()


def _sentence(error: OutOfPlace) -> str:
    return f"{str(error)[0].upper()}{str(error)[1:]}."


def _back() -> RedirectResponse:
    return RedirectResponse("/", 303)


def _cookie(request: Request) -> str:
    return cookie_name(request.scope, "participant")


def _kept(given: Mapping[str, str]) -> Triple | None:
    """What a form says that the participant would keep: nothing of what it does not say; ``None`` for no numbers."""
    texts = [given.get(f"keep{place}", "0") for place in range(3)]
    if not all(text.isascii() and text.isdigit() and len(text) < 3 for text in texts) or "keep0" not in given:
        return (0, 0, 0) if "sure" in given else None
    first, second, third = map(int, texts)
    return first, second, third


def _seconds(milliseconds: str) -> float | None:
    """What a browser counted; ``None`` where it said nothing that can be."""
    if not (milliseconds.isascii() and milliseconds.isdigit() and len(milliseconds) < 10):
        return None
    return int(milliseconds) / 1000
