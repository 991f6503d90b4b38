"""When requests may go out: rests that a service needs, one trial after each, and rates that it allows.

Both belong to one client and are used from its event loop alone.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from partners.llm.client import Clock, Failure, Reply, RetryPolicy

_MINUTE = 60.0  # seconds; services count their rates per minute


@dataclass(frozen=True, slots=True)
class Trouble:
    """A request that brought no reply."""

    failure: Failure
    retry: bool = True  # whether another try may do better
    everyone: bool = False  # whether all requests should wait, not this one alone
    sent: bool = True  # whether the service may have worked on it, and may charge for that
    wait_s: float | None = None  # what the service asks for (Retry-After), in seconds


class Gate:
    """Lets requests through to a service: freely while it answers, one alone at first and after trouble.

    The very first request goes alone, so that a refused key costs one request and not one per game. A failure counts
    once for all requests that were in flight when it came: thirty connections that break together are one piece of
    evidence, not thirty.
    """

    def __init__(self, policy: RetryPolicy, clock: Clock) -> None:
        self._policy, self._clock = policy, clock
        self._alone = asyncio.Lock()
        self._free = False  # whether the service has answered since the last trouble
        self._failures = 0  # in a row
        self._resume_at = clock.now()
        self._sent = 0  # requests so far; they are numbered by it
        self._seen = 0  # the newest request when trouble was last seen

    @property
    def rest_left(self) -> float:
        """Seconds for which nothing will be sent, 0 if requests may go out."""
        return max(0.0, self._resume_at - self._clock.now())

    def shut(self, deadline: float) -> bool:
        """Whether nothing will go out before ``deadline``, or the service is left alone after many failures."""
        left = self.rest_left
        return left > 0 and (self._policy.rest(self._failures) > 0 or self._clock.now() + left > deadline)

    async def through(self, send: Callable[[], Awaitable[Reply | Trouble]], deadline: float) -> Reply | Trouble | None:
        """What ``send`` brings, once it may go out; ``None`` if it may not: see :meth:`shut`.

        A :class:`Trouble` that everyone should wait for must say how long.
        """
        if not self._free:
            async with self._alone:
                if not await self._rested(deadline):
                    return None
                if not self._free:
                    return await self._send(send)
        return await self._send(send)

    async def _rested(self, deadline: float) -> bool:
        while (left := self.rest_left) > 0:
            if self.shut(deadline):
                return False
            await self._clock.sleep(left)
        return self._clock.now() < deadline

    async def _send(self, send: Callable[[], Awaitable[Reply | Trouble]]) -> Reply | Trouble:
        self._sent += 1
        number = self._sent
        answer = await send()
        news = number > self._seen  # it went out after the last trouble was seen
        if isinstance(answer, Trouble) and answer.retry:
            if news:
                self._failures += 1
                self._seen = self._sent
            if answer.everyone or self._failures > 1:  # a single stray error holds up nobody but its own ask
                self._free = False
            wait = max(answer.wait_s or 0.0 if answer.everyone else 0.0, self._policy.rest(self._failures))
            self._resume_at = max(self._resume_at, self._clock.now() + wait)
        elif news and (isinstance(answer, Reply) or answer.failure is Failure.REFUSED):  # the service is there
            self._free, self._failures = True, 0
        return answer


class Pace:
    """Keeps any minute below so many requests and tokens; ``None`` for no limit.

    One request that alone has more tokens than the limit goes out when nothing else went out for a minute.
    """

    def __init__(self, clock: Clock, requests: int | None, tokens: int | None) -> None:
        self._clock, self._requests, self._tokens = clock, requests, tokens
        self._last: deque[Paced] = deque()  # those of the last minute, oldest first
        self._turn = asyncio.Lock()  # first come, first served

    async def take(self, tokens: int, patience: float) -> Paced | None:
        """Wait until a request of ``tokens`` may go out; ``None``, at once, if that takes longer than ``patience``."""
        end = self._clock.now() + patience
        async with self._turn:
            while (wait := self._wait(tokens)) > 0:
                if self._clock.now() + wait > end:
                    return None
                await self._clock.sleep(wait)
            paced = Paced(self._clock.now(), tokens)
            self._last.append(paced)
            return paced

    def give_back(self, paced: Paced) -> None:
        """Forget a request that was not sent after all."""
        if paced in self._last:
            self._last.remove(paced)

    def _wait(self, tokens: int) -> float:
        now = self._clock.now()
        while self._last and self._last[0].at + _MINUTE <= now:
            self._last.popleft()
        if not self._last:
            return 0.0
        full = self._requests is not None and len(self._last) >= self._requests
        if self._tokens is not None:
            full |= sum(paced.tokens for paced in self._last) + tokens > self._tokens
        return self._last[0].at + _MINUTE - now if full else 0.0


@dataclass(slots=True, eq=False)
class Paced:
    """A request of the last minute; ``tokens`` becomes what it really took once that is known."""

    at: float
    tokens: int
