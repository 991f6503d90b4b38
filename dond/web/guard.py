"""Access guard of all served pages: an ASGI middleware that checks host, origin, method and secret of each request.

The pages act on this machine, so three things are refused before a page sees them: requests that another site's page
sent (``Origin``, ``Sec-Fetch-Site``), requests under a foreign host name (DNS rebinding; only on loopback addresses),
and, where a secret is set, requests without its cookie. A secret is given once, in the address (``?key=``) or in a
form; the cookie that then stands for it is drawn anew at every start, so that no secret is stored anywhere.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from time import monotonic
from typing import NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

from starlette.applications import Starlette
from starlette.datastructures import FormData, Headers
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dond.web.background import Busy
from dond.web.frame import STATIC, document, one_sentence, render
from dond_marl.errors import DondError

MIN_PASSWORD = 12  # characters of a secret that a person chooses
MAX_WRONG, WITHIN = 20, 60.0  # wrong secrets of all visitors together, in so many seconds
MAX_BODY = 64 * 1024  # bytes of a form
MAX_FIELDS = 1000  # of a form
KEY = "key"  # query parameter that holds the secret
ENTER = "/enter"  # address of the form that takes the secret
FRAGMENTS = ("/policy", "/analysis", "/panels", "/best", "/changed")  # ends of addresses that our pages fetch from
PUBLIC = "/static/"  # files without a secret: style, scripts and drawings
HOSTS = ("127.0.0.1", "localhost", "[::1]")
# Nothing is loaded from, or sent to, another server: the browser enforces it.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # without a referrer, browsers send forms with Origin: null
}


class Secret(NamedTuple):
    """What a visitor must know. ``in_address``: ``?key=`` is accepted, as for a key that was printed with a link."""

    value: str
    title: str  # of the form that asks for it
    in_address: bool = False


def guarded_site(
    title: str,
    routes: Sequence[Route],
    lifespan: Callable[[Starlette], AbstractAsyncContextManager[None]],
    *,
    secret: Secret | None = None,
    loopback: str | None = None,
    navigation: bool = False,
) -> Starlette:
    """An application with the static files, one page for unknown addresses and refusals, and the guard before it.

    ``title``: name of the site; ``loopback``: the address that is served, if only this machine reaches it;
    ``navigation``: whether pages of errors link to the pages of ``dond web``.
    """

    async def show_problem(_: Request, error: Exception) -> Response:
        if isinstance(error, Busy):
            return PlainTextResponse(f"{error}\n", 503)
        why, status = (one_sentence(error), 409) if isinstance(error, DondError) else ("There is no such page.", 404)
        content = render("forms", "problem", why)
        return HTMLResponse(document(title, "Not here", content, navigation=navigation), status)

    stack = [Middleware(Guard, secret=secret)]
    if loopback is not None:
        own = f"[{loopback}]" if ":" in loopback else loopback
        stack.insert(0, Middleware(TrustedHostMiddleware, allowed_hosts=[*HOSTS, own]))
    return Starlette(
        routes=[*routes, Mount("/static", StaticFiles(directory=STATIC))],
        middleware=stack,
        lifespan=lifespan,
        exception_handlers={404: show_problem, DondError: show_problem, Busy: show_problem},
    )


class Guard:
    """The middleware itself; :func:`guarded_site` adds the check of host names."""

    def __init__(self, app: ASGIApp, secret: Secret | None = None) -> None:
        self._app, self._secret = app, secret
        self._cookie = secrets.token_urlsafe(24)
        self._wrong: deque[float] = deque()  # times of wrong secrets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            answer = await self._answer(scope, receive)
            await (answer or self._app)(scope, receive, _with_headers(scope, send))

    async def _answer(self, scope: Scope, receive: Receive) -> Response | None:
        """The response to a request that must not reach the pages; ``None`` for one that may."""
        if _is_of_another_site(Headers(scope=scope), scope["path"]):
            return PlainTextResponse("another site may not use this page\n", 403)
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("pages take GET, HEAD and POST only\n", 405)
        if self._secret is None or scope["path"].startswith(PUBLIC):
            return None
        cookie = HTTPConnection(scope).cookies.get(cookie_name(scope, "guard"), "")
        if _equal(cookie, self._cookie):
            return None
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if self._secret.in_address and KEY in query:
            rest = {name: values[0] for name, values in query.items() if name != KEY}
            return self._try(query[KEY][0], scope, f"{scope['path']}?{urlencode(rest)}" if rest else scope["path"])
        if scope["method"] == "POST" and scope["path"] == ENTER:
            return self._try(str((await form_fields(Request(scope, receive))).get("password", "")), scope, "/")
        return self._ask("", 401)

    def _try(self, given: str, scope: Scope, target: str) -> Response:
        """Set the cookie and lead to ``target`` if ``given`` is the secret; count it otherwise."""
        assert self._secret is not None
        now = monotonic()
        while self._wrong and now - self._wrong[0] > WITHIN:
            self._wrong.popleft()
        if len(self._wrong) >= MAX_WRONG:
            return self._ask("Too many wrong attempts; try again in a minute.", 429)
        if not _equal(given, self._secret.value):
            self._wrong.append(now)
            return self._ask("This is not the right one.", 403)
        answer = RedirectResponse(target if not target.startswith("//") else "/", 303)
        # Lax, not strict: the printed address must work from a mail. POST requests of other sites fail by Origin.
        answer.set_cookie(cookie_name(scope, "guard"), self._cookie, httponly=True, samesite="lax", path="/")
        return answer

    def _ask(self, why: str, status: int) -> Response:
        assert self._secret is not None
        title = self._secret.title
        return HTMLResponse(document("Deal or no deal", title, render("guard", "enter", title, why)), status)


def _is_of_another_site(headers: Headers, path: str) -> bool:
    """Whether another site's page sent the request; false for our own pages, typed addresses and links to pages."""
    origin, host = headers.get("origin"), headers.get("host", "")
    if origin is not None and _host_of(origin) != host:
        return True
    if headers.get("sec-fetch-site", "none") not in ("cross-site", "same-site"):
        return False
    # A link that is followed is allowed; a picture, a script or a frame is not.
    use = headers.get("sec-fetch-mode", "navigate"), headers.get("sec-fetch-dest", "document")
    return use != ("navigate", "document") or path.endswith(FRAGMENTS)


async def form_fields(request: Request) -> FormData:
    """The fields of a posted form; empty if it is larger than ``MAX_BODY``, has too many fields, or breaks off."""
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > MAX_BODY:
                return FormData()
        read = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except (ClientDisconnect, ValueError):  # ValueError: more than MAX_FIELDS
        return FormData()
    return FormData([(name, value) for name, values in read.items() for value in values])


def whole_number(text: object, digits: int = 3) -> int | None:
    """The number in a field of at most ``digits`` digits; ``None`` for anything else."""
    field = str(text)
    return int(field) if field.isascii() and field.isdigit() and len(field) <= digits else None


def cookie_name(scope: Scope, purpose: str) -> str:
    """The name of a cookie: one for each port, as browsers share cookies between the ports of a host."""
    return f"dond_{purpose}_{(scope.get('server') or ('', 0))[1]}"


def _host_of(address: str) -> str | None:
    try:
        return urlsplit(address).netloc
    except ValueError:  # such as of "http://["
        return None


def _equal(given: str, expected: str) -> bool:
    """Compare secrets in constant time."""
    return secrets.compare_digest(given.encode(), expected.encode())


def _with_headers(scope: Scope, send: Send) -> Send:
    """Add the headers that restrict what a browser may do with an answer; only static files may be cached."""
    headers = HEADERS if scope["path"].startswith(PUBLIC) else {**HEADERS, "cache-control": "no-store"}
    added = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *added]
        await send(message)

    return send_with_headers
