"""Who may come in to a study's pages: no other site's forms, and whoever knows the password where it has one.

On this machine's own address the pages are open to whoever is logged in here. On any other a password is asked for; it
is compared in constant time, is nowhere on disk, and a cookie that no script reads stands for it until the study is
stopped.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable
from time import monotonic
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from league.web.origin import Refusal, foreign
from league.web.study.frame import HEADERS, document
from league.web.study.views import enter

SHORTEST_PASSWORD = 12  # characters
TRIES, WITHIN = 20, 60.0  # wrong passwords of everybody together, in so many seconds
MOST_BYTES = 64 * 1024  # of a form
MOST_FIELDS = 1000  # of a form
ENTER = "/enter"


class Door:
    """Lets in who may come; ``password`` ``None`` where nothing must be known."""

    def __init__(
        self, inner: ASGIApp, title: str, password: str | None = None, clock: Callable[[], float] = monotonic
    ) -> None:
        self._inner, self._title, self._password, self._clock = inner, title, password, clock
        self._cookie = secrets.token_urlsafe(24)  # made anew at every start, so that no password is kept anywhere
        self._wrong: deque[float] = deque()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        answer = await self._refusal(scope, receive)
        await (answer or self._inner)(scope, receive, _with_headers(send))

    async def _refusal(self, scope: Scope, receive: Receive) -> Response | None:
        """What is said to whoever is not let in, or comes in with the password just now."""
        refusal = foreign(Headers(scope=scope)) or _unusual(scope)
        if refusal is not None:
            return PlainTextResponse(f"{refusal.why}\n", refusal.status)
        if self._password is None or scope["path"].startswith("/static/"):
            return None
        kept = HTTPConnection(scope).cookies.get(cookie_name(scope, "door"), "")
        if _same(kept, self._cookie):
            return None
        if scope["method"] != "POST" or scope["path"] != ENTER:
            return self._asks("", 401)
        return self._try((await fields(Request(scope, receive))).get("password", ""), scope)

    def _try(self, given: str, scope: Scope) -> Response:
        now = self._clock()
        while self._wrong and now - self._wrong[0] > WITHIN:
            self._wrong.popleft()
        if len(self._wrong) >= TRIES:
            return self._asks("Too many wrong passwords; try again in a minute.", 429)
        if self._password is None or not _same(given, self._password):
            self._wrong.append(now)
            return self._asks("This is not the password.", 403)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(cookie_name(scope, "door"), self._cookie, httponly=True, samesite="lax", path="/")
        return answer

    def _asks(self, why: str, status: int) -> Response:
        return HTMLResponse(document(self._title, "A password, please", enter(why)), status)


async def fields(request: Request) -> dict[str, str]:
    """The fields of a form, the last of each name; nothing where it is too large or breaks off."""
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                return {}
        read = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except (ClientDisconnect, ValueError):  # ValueError: more fields than that
        return {}
    return {name: values[-1] for name, values in read.items()}


def cookie_name(scope: Scope, what: str) -> str:
    """One a port: browsers keep cookies by host."""
    return f"dond_study_{what}_{(scope.get('server') or ('', 0))[1]}"


def _unusual(scope: Scope) -> Refusal | None:
    if scope["method"] not in ("GET", "HEAD", "POST"):
        return Refusal(405, "pages are read, and forms are sent")
    return None


def _same(given: str, kept: str) -> bool:
    return secrets.compare_digest(given.encode(), kept.encode())


def _with_headers(send: Send) -> Send:
    added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def sends(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *added]
        await send(message)

    return sends
