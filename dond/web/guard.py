"""Access guard of all served pages: a middleware that checks host, origin, method and secret of each request.

The pages act on this machine, so three things are refused before a page sees them: requests that another site's page
sent (``Origin``, ``Sec-Fetch-Site``), requests under a foreign host name (DNS rebinding; only on loopback addresses),
and, where a secret is set, requests without its cookie. A secret is given once, in the address (``?key=``) or in a
form; the cookie that then stands for it is drawn anew at every start, so that no secret is stored anywhere. Slow and
numerous clients are a proxy's business: the pages are for one person and a few guests.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.datastructures import FormData, Headers
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from dond.web.frame import STATIC, document, one_sentence, render
from dond_marl.errors import DondError

MIN_PASSWORD = 12  # characters of a secret that a person chooses
MAX_BODY = 64 * 1024  # bytes of a form
KEY = "key"  # query parameter that holds the secret
ENTER = "/enter"  # address of the form that takes the secret
PUBLIC = "/static/"  # files without a secret: style, scripts and drawings; only these may be cached
HOSTS = ("127.0.0.1", "localhost", "[::1]")
HEADERS = {
    # Nothing is loaded from, or sent to, another server: the browser enforces it.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # without a referrer, browsers send forms with Origin: null
}


ErrorHandler = Callable[[Request, Exception], Awaitable[Response]]


class Secret(NamedTuple):
    """The password or key of the pages. ``in_address``: ``?key=`` is accepted, as for a key printed with a link."""

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
    handlers: Mapping[type[Exception], ErrorHandler] | None = None,
) -> Starlette:
    """An application with the static files, one page for unknown addresses and refusals, and the guard before it.

    ``title``: name of the site; ``loopback``: the address that is served, if only this machine reaches it;
    ``navigation``: whether pages of errors link to the pages of ``dond web``; ``handlers``: answers to further errors.
    """

    async def show_problem(_: Request, error: Exception) -> Response:
        text, status = (one_sentence(error), 409) if isinstance(error, DondError) else ("There is no such page.", 404)
        content = render("forms", "problem", text)
        return HTMLResponse(document(title, "Not here", content, navigation=navigation), status)

    stack = [Middleware(Guard, secret=secret)]
    if loopback is not None:
        host = f"[{loopback}]" if ":" in loopback else loopback
        stack.insert(0, Middleware(TrustedHostMiddleware, allowed_hosts=[*HOSTS, host]))
    return Starlette(
        routes=[*routes, Mount("/static", StaticFiles(directory=STATIC))],
        middleware=stack,
        lifespan=lifespan,
        exception_handlers={404: show_problem, DondError: show_problem, **(handlers or {})},
    )


class Guard(BaseHTTPMiddleware):
    """The middleware itself; :func:`guarded_site` adds the check of host names."""

    def __init__(self, app: ASGIApp, secret: Secret | None = None) -> None:
        super().__init__(app)
        self._secret, self._cookie = secret, secrets.token_urlsafe(24)

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """The answer to a request, with the headers that restrict what a browser may do with it."""
        answer = await self._refusal(request) or await call_next(request)
        answer.headers.update(HEADERS)
        if not request.url.path.startswith(PUBLIC):
            answer.headers["cache-control"] = "no-store"
        return answer

    async def _refusal(self, request: Request) -> Response | None:
        """The response to a request that must not reach the pages; ``None`` for one that may."""
        path, secret = request.url.path, self._secret
        if _is_of_another_site(request.headers):
            return PlainTextResponse("another site may not use this page\n", 403)
        if request.method not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("pages take GET, HEAD and POST only\n", 405)
        cookie = request.cookies.get(cookie_name(request, "guard"), "")
        if secret is None or path.startswith(PUBLIC) or _equal(cookie, self._cookie):
            return None
        if secret.in_address and KEY in request.query_params:
            target = request.url.remove_query_params(KEY)
            return self._enter(secret, request.query_params[KEY], request, f"{path}?{target.query}".rstrip("?"))
        if request.method == "POST" and path == ENTER:
            return self._enter(secret, str((await form_fields(request)).get("password", "")), request, "/")
        return _ask(secret, "", 401)

    def _enter(self, secret: Secret, typed: str, request: Request, target: str) -> Response:
        """Set the cookie and lead to ``target`` if ``given`` is the secret; ask again otherwise."""
        if not _equal(typed, secret.value):
            return _ask(secret, "This is not the right one.", 403)
        answer = RedirectResponse(target if not target.startswith("//") else "/", 303)
        # Lax, not strict: the printed address must work from a mail. POST requests of other sites fail by Origin.
        answer.set_cookie(cookie_name(request, "guard"), self._cookie, httponly=True, samesite="lax", path="/")
        return answer


def _ask(secret: Secret, reason: str, status: int) -> Response:
    content = render("guard", "enter", secret.title, reason)
    return HTMLResponse(document("Deal or no deal", secret.title, content), status)


def _is_of_another_site(headers: Headers) -> bool:
    """Whether another site's page sent or embeds the request; a link that is followed is allowed."""
    origin, host = headers.get("origin"), headers.get("host", "")
    if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
        return True
    is_foreign = headers.get("sec-fetch-site") in ("cross-site", "same-site")
    return is_foreign and headers.get("sec-fetch-dest") != "document"


async def form_fields(request: Request) -> FormData:
    """The fields of a posted form; empty if it is larger than ``MAX_BODY`` or breaks off."""
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > MAX_BODY:
                return FormData()
    except ClientDisconnect:
        return FormData()
    return FormData([*parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)])


def whole_number(text: object, digits: int = 3) -> int | None:
    """The number in a field of at most ``digits`` digits; ``None`` for anything else."""
    field = str(text)
    return int(field) if field.isascii() and field.isdigit() and len(field) <= digits else None


def cookie_name(request: Request, purpose: str) -> str:
    """The name of a cookie: one for each port, as browsers share cookies between the ports of a host."""
    return f"dond_{purpose}_{(request.scope.get('server') or ('', 0))[1]}"


def _equal(typed: str, expected: str) -> bool:
    """Compare secrets in constant time."""
    return secrets.compare_digest(typed.encode(), expected.encode())
