"""When each request may be sent: concurrency, rates per minute, and the pauses that a service needs."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass

from partners.llm.client import Failure, ModelReply
from partners.llm.remote.failures import RequestFailure
from partners.llm.service import ServiceSettings

_MINUTE = 60.0  # seconds; services count their rates per minute
_REST_S, _MAX_REST_S = 30.0, 300.0  # the first rest after repeated failures; it doubles up to the second


class Clock:
    """The source of time for everything that waits."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass(slots=True, eq=False)
class Ticket:
    """Permission to send one request; ``tokens`` is the worst case until the real number is known."""

    number: int  # of all requests, from 1
    at: float
    tokens: int


class Limiter:
    """Admits the requests to one service; belongs to one event loop.

    Concurrency (``async with limiter``, one block per query): one query at first, twice as many after every round of
    replies within half of the timeout, at most ``settings.in_flight``; half as many after a failure. So a server that
    works on one request at a time is not flooded until its replies time out.

    Rates: at most ``requests_per_minute`` and ``tokens_per_minute`` in any 60 seconds; one request above the limit of
    tokens is sent when there was no other for a minute.

    Pauses: a Retry-After delays all requests. After ``breaker_after`` failures in a row (requests that fail together
    count once) nothing is sent for 30 s, then 60 s, up to 300 s; then a single request tries.
    """

    def __init__(self, settings: ServiceSettings, clock: Clock) -> None:
        self._settings, self._clock = settings, clock
        self.concurrency = 1
        self._busy, self._free = 0, asyncio.Condition()
        self._quick = 0  # replies within half of the timeout since the concurrency changed
        self._queue = asyncio.Lock()  # first come, first served
        self._window: deque[Ticket] = deque()  # requests of the last minute, oldest first
        self._count = 0  # of requests
        self._resume_at = clock.monotonic()  # end of the current pause
        self._failures = 0  # in a row
        self._last_failed = 0  # number of the newest request when the last failure was counted

    async def __aenter__(self) -> None:
        async with self._free:
            await self._free.wait_for(lambda: self._busy < self.concurrency)
            self._busy += 1

    async def __aexit__(self, *_: object) -> None:
        self._busy -= 1
        async with self._free:
            self._free.notify(max(self.concurrency - self._busy, 0))

    async def admit(self, tokens: int, patience_s: float, deadline: float | None = None) -> Ticket | Failure:
        """Wait until a request of ``tokens`` may be sent.

        ``RATE_LIMIT`` if a rate would take longer than ``patience_s``; ``PAUSED`` if a pause would last beyond the
        ``deadline`` (by default ``settings.total_s`` from this request's turn), or the service rests after failures.
        """
        end = self._clock.monotonic() + patience_s
        async with self._queue:
            while True:
                time = self._clock.monotonic()
                pause, wait = self._resume_at - time, self._rate_wait(tokens)
                last = time + self._settings.total_s if deadline is None else deadline
                if pause > 0 and (self.rest_s > 0 or time + pause > last):
                    return Failure.PAUSED
                if wait > 0 and time + wait > end:
                    return Failure.RATE_LIMIT
                if pause <= 0 and wait <= 0:
                    break
                await self._clock.sleep(max(pause, wait))
            self._count += 1
            ticket = Ticket(self._count, time, tokens)
            self._window.append(ticket)
            return ticket

    def record(self, ticket: Ticket, answer: ModelReply | RequestFailure | None, tokens: int) -> None:
        """Learn from the result of a request (``None``: it was not sent or was cancelled), which took ``tokens``."""
        time = self._clock.monotonic()
        ticket.tokens = tokens
        is_news = ticket.number > self._last_failed  # it was sent after the last failure was counted
        if answer is None:
            if ticket in self._window:
                self._window.remove(ticket)
        elif isinstance(answer, RequestFailure) and answer.fault:
            if is_news:
                self._failures += 1
                self._last_failed = self._count
                self.concurrency, self._quick = 1 if self.rest_s else max(1, self.concurrency // 2), 0
            self._resume_at = max(self._resume_at, time + max(answer.wait_s or 0.0, self.rest_s))
        elif is_news:
            self._failures = 0
            if isinstance(answer, ModelReply):
                self._quick = self._quick + 1 if time - ticket.at <= self._settings.timeout_s / 2 else 0
            if self._quick >= self.concurrency:
                self.concurrency, self._quick = min(2 * self.concurrency, self._settings.in_flight), 0

    @property
    def rest_s(self) -> float:
        """Seconds that the service rests after the failures in a row so far, 0 below ``breaker_after``."""
        beyond = self._failures - self._settings.breaker_after
        return 0.0 if beyond < 0 else min(_REST_S * 2.0 ** min(beyond, 30), _MAX_REST_S)

    def _rate_wait(self, tokens: int) -> float:
        """Seconds until the own rates allow a request of ``tokens``."""
        time, settings = self._clock.monotonic(), self._settings
        while self._window and self._window[0].at + _MINUTE <= time:
            self._window.popleft()
        if not self._window:
            return 0.0
        most_requests, most_tokens = settings.requests_per_minute, settings.tokens_per_minute
        is_full = most_requests is not None and len(self._window) >= most_requests
        if most_tokens is not None:
            is_full |= sum(ticket.tokens for ticket in self._window) + tokens > most_tokens
        return self._window[0].at + _MINUTE - time if is_full else 0.0
