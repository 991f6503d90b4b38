"""A small real HTTP server on the loopback address that stands in for a language model's service."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
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
    """An HTTP answer; ``cut``: the connection closes after so many bytes of the body.

    In real seconds: ``delay`` before it begins, ``trickle`` between two bytes of it.
    """

    status: int = 200
    body: str | bytes = ""
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    delay: float = 0.0
    trickle: float = 0.0


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
    """Serves ``answer(heard, number)`` (number: of the request, from 0) in a thread of its own, until closed.

    ``slots``: how many requests it works on at a time, the others waiting, also those whose client has gone.
    """

    def __init__(
        self, answer: Callable[[Heard, int], Page], *, slots: int = 1000, tls: ssl.SSLContext | None = None
    ) -> None:
        self.answer = answer
        self._tls, self._slots = tls, asyncio.Semaphore(slots)
        self.heard: list[Heard] = []
        self.most_at_once = self._now = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()
        self.port = self._server.sockets[0].getsockname()[1]

    @property
    def url(self) -> str:
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self.port}/v1"

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _start(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1000, ssl=self._tls)

    async def _stop(self) -> None:
        self._server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        heard = Heard(head[0].split(" ")[1], headers, json.loads(body))
        self.heard.append(heard)
        page = self.answer(heard, len(self.heard) - 1)
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        async with self._slots:
            if page.delay:
                await asyncio.sleep(page.delay)
        self._now -= 1
        payload = page.body.encode() if isinstance(page.body, str) else page.body
        lines = [f"HTTP/1.1 {page.status} told", f"content-length: {len(payload)}"]
        lines += [f"{name}: {value}" for name, value in page.headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        for byte in payload if page.trickle else b"":
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(page.trickle)
        writer.write(b"" if page.trickle else payload[: page.cut])
        await writer.drain()
        return page.cut is None


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
