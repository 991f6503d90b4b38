"""When requests may go out: the waits between attempts, the rests that a service needs, the rates that it allows."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from partners.llm.client import Failure, ModelReply
from partners.parameters import check_number, check_share, check_whole_number

_MINUTE = 60.0  # seconds; services count their rates per minute


class Clock(Protocol):
    """The source of time for everything here that waits."""

    def now(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        ...

    def wall(self) -> float:
        """Seconds since 1970, as HTTP dates count."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When to try again, and when to leave a service alone; times in seconds. Raises ``ValueError``.

    Each of at most ``max_attempts`` requests of an ask may take ``timeout_s``, all of them with the waits between them
    ``deadline_s`` (counted from when the ask first has a free slot). A request that took too long is not sent again:
    the service may still work on it, and would then work on both. The wait after attempt n is ``first_wait_s`` times
    2 to the n - 1, at most ``longest_wait_s``, less up to ``jitter`` of it so that many do not come back together; a
    wait that the service asks for (Retry-After) is kept to exactly, and if the deadline comes first, the ask fails at
    once. After ``breaker_after`` failures in a row the service rests for ``rest_s``, twice as long after each further
    one up to ``longest_rest_s``: asks fail at once meanwhile, then one request tries alone.
    """

    max_attempts: int = 4
    timeout_s: float = 60.0
    deadline_s: float = 120.0
    first_wait_s: float = 0.5
    longest_wait_s: float = 8.0
    jitter: float = 0.25
    breaker_after: int = 5
    rest_s: float = 30.0
    longest_rest_s: float = 300.0

    def __post_init__(self) -> None:
        check_whole_number("max_attempts", self.max_attempts, 1, 100)
        check_whole_number("breaker_after", self.breaker_after, 1, 1000)
        for name in ("timeout_s", "deadline_s"):
            check_number(name, getattr(self, name), 0, above=True)
        for name in ("first_wait_s", "longest_wait_s", "rest_s", "longest_rest_s"):
            check_number(name, getattr(self, name), 0)
        check_share("jitter", self.jitter)

    def wait(self, attempt: int, share: float) -> float:
        """Seconds to wait after failed attempt number ``attempt``, from 1; ``share`` in [0, 1) of the jitter."""
        full = min(self.first_wait_s * 2.0 ** (attempt - 1), self.longest_wait_s)
        return full * (1 - self.jitter * share)

    def rest(self, failures: int) -> float:
        """Seconds that the service rests after ``failures`` in a row, 0 below ``breaker_after``."""
        beyond = failures - self.breaker_after
        return 0.0 if beyond < 0 else min(self.rest_s * 2.0 ** min(beyond, 30), self.longest_rest_s)


@dataclass(frozen=True, slots=True)
class RequestFailure:
    """A request that brought no reply."""

    failure: Failure
    retry: bool = True  # whether another try may do better
    everyone: bool = False  # whether all requests should wait, not this one alone
    sent: bool = True  # whether the service may have worked on it, and may charge for that
    wait_s: float | None = None  # seconds to wait before another try
    asked: bool = True  # whether the service asks for that wait (Retry-After), not the policy
    status: int | None = None  # of HTTP, where there was an answer
    words: str = ""  # the service's first words about it, one line without the key

    @property
    def fault(self) -> bool:
        """Whether it speaks against the service, not against this one request."""
        return self.failure not in (Failure.REFUSED, Failure.BUDGET)


class Gate:
    """Lets requests through to a service: freely while it answers, one alone at first and after trouble.

    A failure counts once for all requests that were in flight when it came.
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

    async def through(
        self, send: Callable[[], Awaitable[ModelReply | RequestFailure]], deadline: float
    ) -> ModelReply | RequestFailure | None:
        """The result of ``send``, once it may go out; ``None`` if it may not: see :meth:`shut`.

        A :class:`Trouble` that everyone should wait for must have ``wait_s``.
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

    async def _send(self, send: Callable[[], Awaitable[ModelReply | RequestFailure]]) -> ModelReply | RequestFailure:
        self._sent += 1
        number = self._sent
        answer = await send()
        news = number > self._seen  # it went out after the last trouble was seen
        if isinstance(answer, RequestFailure) and answer.fault:
            if news:
                self._failures += 1
                self._seen = self._sent
            if answer.everyone or self._failures > 1:  # a single stray error holds up its own ask alone
                self._free = False
            wait = max(answer.wait_s or 0.0 if answer.everyone else 0.0, self._policy.rest(self._failures))
            self._resume_at = max(self._resume_at, self._clock.now() + wait)
        elif news and (isinstance(answer, ModelReply) or answer.failure is Failure.REFUSED):  # the service is there
            self._free, self._failures = True, 0
        return answer


class RateLimits(NamedTuple):
    """What a service says is left of its rates, and in how many seconds they are whole again; ``None``: not said."""

    requests: int | None = None
    requests_reset_s: float | None = None
    tokens: int | None = None
    tokens_reset_s: float | None = None


class Pace:
    """Keeps every minute to at most so many requests and tokens (``None`` for no limit), and to what the service says.

    A single request with more tokens than the limit goes out when no other went out for a minute. What the service says
    is left is heeded for a minute at most: a longer wait it must ask for itself.
    """

    def __init__(self, clock: Clock, requests: int | None, tokens: int | None) -> None:
        self._clock, self._requests, self._tokens = clock, requests, tokens
        self._last: deque[Paced] = deque()  # those of the last minute, oldest first
        self._turn = asyncio.Lock()  # first come, first served
        self._told: dict[str, tuple[float, float]] = {}  # what is left of a rate, and until when that holds
        self._usual = 0.0  # tokens of the newest answer

    async def take(self, tokens: int, patience: float) -> Paced | None:
        """Wait until a request of ``tokens`` may go out; ``None`` if that takes longer than ``patience`` seconds.

        Requests wait in turn: it may be known only once those before it have gone out, then without a further wait.
        """
        end = self._clock.now() + patience
        async with self._turn:
            while (wait := max(self._wait(tokens), self._told_wait(tokens))) > 0:
                if self._clock.now() + wait > end:
                    return None
                await self._clock.sleep(wait)
            paced = Paced(self._clock.now(), tokens)
            self._last.append(paced)
            self._spend(tokens)
            return paced

    def give_back(self, paced: Paced) -> None:
        if paced in self._last:
            self._last.remove(paced)

    def heed(self, rates: RateLimits, tokens: int, in_flight: int) -> None:
        """What an answer said that took ``tokens`` (0: not known), while ``in_flight`` others were under way."""
        self._usual = tokens or self._usual
        said = (
            ("requests", rates.requests, rates.requests_reset_s, 1.0),
            ("tokens", rates.tokens, rates.tokens_reset_s, self._usual),
        )
        for name, left, reset_s, each in said:
            if left is not None and reset_s is not None:
                self._told[name] = left - in_flight * each, self._clock.now() + reset_s

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

    def _told_wait(self, tokens: int) -> float:
        """Seconds until what the service said is left is enough for one more request; 0 if longer than a minute."""
        waits = [0.0]
        for name, need in (("requests", 1.0), ("tokens", self._usual or tokens)):
            left, until = self._told.get(name, (need, 0.0))
            wait = until - self._clock.now()
            if left < need and wait <= _MINUTE:
                waits.append(wait)
        return max(waits)

    def _spend(self, tokens: int) -> None:
        for name, each in (("requests", 1.0), ("tokens", self._usual or tokens)):
            if name in self._told:
                left, until = self._told[name]
                self._told[name] = left - each, until


@dataclass(slots=True, eq=False)
class Paced:
    """A request of the last minute; ``tokens`` becomes what it really took once that is known."""

    at: float
    tokens: int
