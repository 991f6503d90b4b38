"""When each request may be sent: concurrency, rates per minute, and the pauses that a service needs."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

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

    def wall(self) -> float:
        """Seconds since 1970, as HTTP dates count."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class RateLimits(NamedTuple):
    """The rates that a service reports: what is left, and the seconds until all is back; ``None``: unreported."""

    requests: int | None = None
    requests_reset_s: float | None = None
    tokens: int | None = None
    tokens_reset_s: float | None = None


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
    tokens is sent when there was no other for a minute. If a reply's headers report an exhausted rate, requests wait
    until it resets, a minute at most.

    Pauses: a Retry-After delays all requests. After ``breaker_after`` failures in a row (requests that fail together
    count once) nothing is sent for 30 s, then 60 s, up to 300 s; then a single request tries.
    """

    def __init__(self, settings: ServiceSettings, clock: Clock) -> None:
        self._settings, self._clock = settings, clock
        self.concurrency = 1
        self._slots, self._surplus = asyncio.Semaphore(1), 0  # surplus: slots to withdraw when they are released
        self._quick = 0  # replies within half of the timeout since the concurrency changed
        self._queue = asyncio.Lock()  # first come, first served
        self._window: deque[Ticket] = deque()  # requests of the last minute, oldest first
        self._count, self._in_flight = 0, 0
        self._usual_tokens = 0  # of the newest reply
        self._reset_at = clock.monotonic()  # when an exhausted rate is back
        self._resume_at = clock.monotonic()  # end of the current pause
        self._failures = 0  # in a row
        self._last_failed = 0  # number of the newest request when the last failure was counted

    async def __aenter__(self) -> None:
        await self._slots.acquire()

    async def __aexit__(self, *_: object) -> None:
        if self._surplus:
            self._surplus -= 1
        else:
            self._slots.release()

    async def admit(self, tokens: int, patience_s: float, deadline: float | None = None) -> Ticket | Failure:
        """Wait until a request of ``tokens`` may be sent.

        ``RATE_LIMIT`` if a rate would take longer than ``patience_s``; ``PAUSED`` if a pause would last beyond the
        ``deadline`` (by default ``settings.total_s`` from this request's turn), or the service rests after failures.
        """
        end = self._clock.monotonic() + patience_s
        async with self._queue:
            while True:
                now = self._clock.monotonic()
                pause, wait = self._resume_at - now, self._rate_wait(tokens)
                last = now + self._settings.total_s if deadline is None else deadline
                if pause > 0 and (self.rest_s > 0 or now + pause > last):
                    return Failure.PAUSED
                if wait > 0 and now + wait > end:
                    return Failure.RATE_LIMIT
                if pause <= 0 and wait <= 0:
                    break
                await self._clock.sleep(max(pause, wait))
            self._count += 1
            self._in_flight += 1
            ticket = Ticket(self._count, now, tokens)
            self._window.append(ticket)
            return ticket

    def record(
        self, ticket: Ticket, answer: ModelReply | RequestFailure | None, tokens: int, rates: RateLimits | None = None
    ) -> None:
        """Learn from the result of a request (``None``: it was not sent or was cancelled), which took ``tokens``."""
        now = self._clock.monotonic()
        self._in_flight -= 1
        ticket.tokens = tokens
        if answer is None or (isinstance(answer, RequestFailure) and answer.failure is Failure.BUDGET):
            if ticket in self._window:
                self._window.remove(ticket)
            return
        self._await_reset(rates or RateLimits(), sum(answer.usage) if isinstance(answer, ModelReply) else 0)
        is_news = ticket.number > self._last_failed  # it was sent after the last failure was counted
        if isinstance(answer, RequestFailure) and answer.fault:
            if is_news:
                self._failures += 1
                self._last_failed = self._count
                self._set_concurrency(1 if self.rest_s else max(1, self.concurrency // 2))
            self._resume_at = max(self._resume_at, now + max(answer.wait_s or 0.0, self.rest_s))
        elif is_news:
            self._failures = 0
            if isinstance(answer, ModelReply):
                self._quick = self._quick + 1 if now - ticket.at <= self._settings.timeout_s / 2 else 0
            if self._quick >= self.concurrency:
                self._set_concurrency(min(2 * self.concurrency, self._settings.in_flight))

    @property
    def rest_s(self) -> float:
        """Seconds that the service rests after the failures in a row so far, 0 below ``breaker_after``."""
        beyond = self._failures - self._settings.breaker_after
        return 0.0 if beyond < 0 else min(_REST_S * 2.0 ** min(beyond, 30), _MAX_REST_S)

    def _await_reset(self, rates: RateLimits, tokens: int) -> None:
        """Wait for a rate to reset if it is not enough for the requests in flight and one more."""
        self._usual_tokens = tokens or self._usual_tokens
        for left, reset_s, need in (
            (rates.requests, rates.requests_reset_s, 1),
            (rates.tokens, rates.tokens_reset_s, self._usual_tokens),
        ):
            if left is not None and reset_s is not None and reset_s <= _MINUTE and left < need * (self._in_flight + 1):
                self._reset_at = max(self._reset_at, self._clock.monotonic() + reset_s)

    def _rate_wait(self, tokens: int) -> float:
        """Seconds until the rates allow a request of ``tokens``."""
        now, settings = self._clock.monotonic(), self._settings
        while self._window and self._window[0].at + _MINUTE <= now:
            self._window.popleft()
        wait = self._reset_at - now
        if self._window:
            most_requests, most_tokens = settings.requests_per_minute, settings.tokens_per_minute
            full = most_requests is not None and len(self._window) >= most_requests
            if most_tokens is not None:
                full |= sum(ticket.tokens for ticket in self._window) + tokens > most_tokens
            wait = max(wait, self._window[0].at + _MINUTE - now) if full else wait
        return max(wait, 0.0)

    def _set_concurrency(self, concurrency: int) -> None:
        more, self.concurrency, self._quick = concurrency - self.concurrency, concurrency, 0
        if more < 0:
            self._surplus -= more
            return
        reused = min(more, self._surplus)
        self._surplus -= reused
        for _ in range(more - reused):
            self._slots.release()
