"""A small real HTTP server on the loopback address that stands in for a language model's service."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
OK_LINE = '{"act_type": 0, "oA": [0, 0, 0], "confidence": 0.5}'


def without_proxy_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the proxies and the key of the user from the environment."""
    for name in (*PROXIES, "GROQ_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@dataclass
class Page:
    """An HTTP answer, after ``delay`` real seconds; ``cut``: the connection closes after so many bytes of the body."""

    status: int = 200
    body: str | bytes = ""
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    delay: float = 0.0


@dataclass
class Heard:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def prompt(self) -> str:
        return self.body["messages"][-1]["content"]


def completion(text: str | None = OK_LINE, *, finish: str = "stop", usage: tuple[int, int] | None = (100, 20)) -> Page:
    """A chat completion that says ``text``."""
    told: dict[str, Any] = {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": finish}]}
    if usage is not None:
        told["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
    return Page(body=json.dumps(told), headers={"content-type": "application/json"})


class Service:
    """Serves ``answer(heard, number)`` (number: of the request, from 0) in threads of its own, until closed."""

    def __init__(self, answer: Callable[[Heard, int], Page], *, tls: ssl.SSLContext | None = None) -> None:
        self.answer, self.tls = answer, tls
        self.heard: list[Heard] = []
        self.most_at_once = self.now = 0
        self.lock, self.closed = threading.Lock(), threading.Event()
        self._server = _Server(("127.0.0.1", 0), partial(_Handler, self))
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}/v1"

    def close(self) -> None:
        self.closed.set()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    block_on_close = False  # a client may keep its connection open
    request_queue_size = 1000

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore connections that the client has closed."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet

    def __init__(self, service: Service, *connection: Any) -> None:
        self._service = service
        super().__init__(*connection)

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        service, body = self._service, self.rfile.read(int(self.headers["content-length"]))
        heard = Heard(self.path, {name.lower(): value for name, value in self.headers.items()}, json.loads(body))
        with service.lock:
            service.heard.append(heard)
            page = service.answer(heard, len(service.heard) - 1)
            service.now += 1
            service.most_at_once = max(service.most_at_once, service.now)
        service.closed.wait(page.delay)
        with service.lock:
            service.now -= 1
        payload = page.body.encode() if isinstance(page.body, str) else page.body
        self.send_response(page.status)
        for name, value in {"content-length": str(len(payload)), **page.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload[: page.cut])
        self.close_connection = page.cut is not None


class FakeClock:
    """A clock whose time passes at once during a sleep; sleeps that overlap pass together."""

    def __init__(self) -> None:
        self.time, self.slept = 1000.0, list[float]()

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        end = self.time + seconds
        await asyncio.sleep(0)
        self.time = max(self.time, end)
