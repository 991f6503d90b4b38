"""Who may come in, and with how much: what every request and socket passes before a page sees it.

A page acts on this machine for whoever holds its socket. So a request that another site sent is refused, a socket may
speak only for the window that it was opened by, and windows, messages and waiting have bounds. On an address that
others reach, or where it is asked for, a key stands in the address that the person is given; a cookie keeps it.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from nicegui import Client, core
from socketio import exceptions  # type: ignore[import-untyped]
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from league.web.origin import Refusal, foreign

WINDOWS = 32  # that are connected at once
PAGES = 96  # made and not yet forgotten: one that nobody connects to lasts a minute
LONGEST_MESSAGE = 64 * 1024  # bytes that a browser says at once
BURST, PACE = 300, 60  # messages of one socket: at once, and a second in the long run
SAID = ("ack", "event", "handshake", "javascript_response", "log")  # the messages that a page's script sends
EVENT = re.compile("42[0-9]{0,9}")  # opens a message; with a number it asks for an answer, as a prefetched page does
SHORTEST = 16  # characters of a packet that says nothing: a ping, a pong, hello, good-bye
SLOWEST = 20.0  # seconds until a browser has taken what it is sent
KEY = "key"  # of the query, and part of the cookie's name
STATIC = ("/static/", "/_nicegui/", "/favicon.ico")  # files, which make no page


class Door:
    """Lets in who may come; ``key`` is what must be known, ``None`` where nothing must."""

    def __init__(self, inner: ASGIApp, key: str | None = None) -> None:
        self._inner, self._key = inner, key
        self._windows = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._inner(scope, receive, send)
            return
        headers = Headers(scope=scope)
        socket = scope["type"] == "websocket"
        refusal = foreign(headers) or (None if socket else _unusual(scope))
        if refusal is None and not self._knows_key(scope, headers):
            if not socket and self._brings_key(scope):
                await self._kept_key(scope)(scope, receive, send)
                return
            refusal = Refusal(403, "this page needs the address with the key that was printed when it was started")
        refusal = refusal or self._full(scope)
        if refusal is not None:
            await _refuse(refusal, scope, receive, send)
        elif socket:
            await self._connected(scope, receive, send)
        else:
            await self._inner(scope, receive, send)

    def _knows_key(self, scope: Scope, headers: Headers) -> bool:
        if self._key is None:
            return True
        try:
            kept = SimpleCookie(headers.get("cookie", "")).get(_cookie(scope))
        except CookieError:
            return False
        return kept is not None and _same(kept.value, self._key)

    def _brings_key(self, scope: Scope) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get(KEY, [""])[0]
        return self._key is not None and _same(given, self._key)

    def _kept_key(self, scope: Scope) -> Response:
        """The same page, or the first where more was asked; the key goes into a cookie that no script reads."""
        asked = parse_qs(scope["query_string"].decode("latin-1"))
        rest = str(scope["path"]) if len(asked) == 1 else "/"
        answer = RedirectResponse(rest if not rest.startswith("//") else "/", 303)
        assert self._key is not None
        # Not strict: whoever follows the printed address out of a mail is to be let in at once. A socket that another
        # site's page opens is refused by its Origin, whatever cookies come with it.
        answer.set_cookie(_cookie(scope), self._key, httponly=True, samesite="lax", path="/")
        return answer

    def _full(self, scope: Scope) -> Refusal | None:
        if scope["type"] == "websocket":
            many = self._windows >= WINDOWS
        else:
            many = len(Client.instances) >= PAGES and not scope["path"].startswith(STATIC)
        return (
            Refusal(503, f"{WINDOWS} windows are open already; close one, or try again in a minute") if many else None
        )

    async def _connected(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a socket within its bounds; whoever breaks one is cut off."""
        clock = asyncio.get_running_loop().time
        left, last = float(BURST), clock()

        async def heard() -> Message:
            nonlocal left, last
            message = await receive()
            if message["type"] == "websocket.receive":
                now = clock()
                left, last = min(BURST, left + (now - last) * PACE) - 1, now
                text = message.get("text")
                if left < 0 or not is_of_a_page(text):
                    return {"type": "websocket.disconnect", "code": 1008}
            return message

        async def said(message: Message) -> None:
            await asyncio.wait_for(send(message), SLOWEST)

        self._windows += 1
        try:
            await self._inner(scope, heard, said)
        except (TimeoutError, ValueError):  # too slow a reader, or what is no message at all
            pass
        finally:
            self._windows -= 1


def is_of_a_page(text: str | None) -> bool:
    """Whether a message is one that our pages send: plain text, an Engine.IO packet, at most a named object in it."""
    if text is None:
        return False
    event = EVENT.match(text)
    if event is None:
        return text.startswith(("2", "3", "40", "41")) and len(text) <= SHORTEST and "/" not in text
    try:
        said = json.loads(text[event.end() :])
    except (ValueError, RecursionError):
        return False
    return isinstance(said, list) and len(said) == 2 and said[0] in SAID and isinstance(said[1], dict)


def keep_to_own_windows() -> None:
    """Have every socket's messages heard only by the window that it belongs to; malformed ones are passed over."""
    handlers: dict[str, Any] = core.sio.handlers["/"]
    for name in ("event", "javascript_response", "ack"):
        core.sio.on(name, _own(handlers[name]))
    core.sio.on("handshake", _well_formed(handlers["handshake"]))
    core.sio.on("connect", _welcome(handlers["connect"]))
    handlers.pop("log")  # nobody's browser writes to this terminal


def _own(handle: Any) -> Any:
    def heard(sid: str, *said: Any) -> None:
        message = said[0] if len(said) == 1 else None
        if not isinstance(message, dict) or message.get("client_id") not in core.sio.rooms(sid):
            return
        try:
            handle(sid, message)
        except (AttributeError, KeyError, TypeError, ValueError):  # no browser of ours writes so
            return

    return heard


def _well_formed(handle: Any) -> Any:
    async def heard(sid: str, *said: Any) -> bool:
        try:
            return bool(await handle(sid, *said))
        except (AttributeError, KeyError, TypeError, ValueError):
            return False

    return heard


def _welcome(handle: Any) -> Any:
    async def heard(sid: str, environ: dict[str, Any], _auth: object = None) -> None:
        try:
            await handle(sid, environ)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise exceptions.ConnectionRefusedError("no window of this page") from None

    return heard


def _unusual(scope: Scope) -> Refusal | None:
    if scope["method"] not in ("GET", "HEAD"):
        return Refusal(405, "pages are only read")
    if scope["path"].startswith("/_nicegui_ws/"):
        return Refusal(400, "this page speaks through a WebSocket")
    return None


async def _refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": refusal.why})
        return
    await PlainTextResponse(f"{refusal.why}\n", refusal.status)(scope, receive, send)


def _cookie(scope: Scope) -> str:
    """One a port: browsers keep cookies by host."""
    return f"dond_{KEY}_{(scope.get('server') or ('', 0))[1]}"


def _same(given: str, key: str) -> bool:
    return secrets.compare_digest(given.encode(), key.encode())
