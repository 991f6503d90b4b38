"""How many requests are in flight: more while the service answers no slower for it, up to a stated number.

A service that answers one request at a time makes the others wait, and their time-outs run meanwhile. So it begins with
one request and doubles: if the median reply then takes half as long again as before, the requests wait for each other,
and the number goes back. Source: the slow start and back-off of TCP (RFC 5681), with delay as the sign (TCP Vegas).
"""

from __future__ import annotations

import asyncio
from collections import deque
from statistics import median

_SAMPLES = 3  # replies with every slot taken before a number is judged; as many as the number where that is more
_SLOWER = 1.5  # times the median before: doubling what is in flight then gains less than a third
_NOISE_S = 0.01  # seconds that say nothing
_HOLD, _REST = 16, 64  # replies before more are tried again: after a number that was too many, after a failure
_SHARE = 0.8  # of the time-out that a reply may take with twice as many in flight


class Slots:
    """At most ``limit`` holders at a time (``async with``), first come, first served; ``limit`` is 1..``most``."""

    def __init__(self, most: int, timeout_s: float) -> None:
        self.limit = 1
        self._most, self._timeout_s = most, timeout_s
        self._held, self._waiting = 0, deque[asyncio.Future[None]]()
        self.flying = 0  # requests under way
        self._proven = 1  # the largest limit at which replies were no slower
        self._before = 0.0  # seconds of the median reply at half the limit
        self._seconds: list[float] = []  # of replies at this limit
        self._hold = 0

    async def __aenter__(self) -> None:
        if self._held < self.limit and not self._waiting:
            self._held += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn in self._waiting:
                self._waiting.remove(turn)
            elif not turn.cancelled():  # its turn came at the same moment
                self._release()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._release()

    def depart(self) -> int | None:
        """A request goes out: the limit if every slot is in use by it, which makes its time a sample of that limit."""
        self.flying += 1
        return self.limit if self.flying >= self.limit else None

    def arrive(self, limit: int | None, seconds: float, *, good: bool) -> None:
        """What came of the request that :meth:`depart` gave ``limit`` for, after ``seconds``."""
        self.flying -= 1
        if not good:
            self._set(max(1, self.limit // 2), hold=_REST)
        elif limit == self.limit:
            self._seconds.append(seconds)
            self._hold = max(0, self._hold - 1)
            if len(self._seconds) >= max(_SAMPLES, self.limit):
                self._judge(median(self._seconds))

    def _judge(self, seconds: float) -> None:
        self._seconds.clear()
        if self.limit > self._proven and seconds > _SLOWER * self._before + _NOISE_S:
            self._set(self._proven, hold=_HOLD)
            return
        self._proven, self._before = self.limit, seconds
        if not self._hold and self.limit < self._most and 2 * seconds <= _SHARE * self._timeout_s:
            self._set(min(2 * self.limit, self._most), proven=self.limit)

    def _set(self, limit: int, *, proven: int | None = None, hold: int = 0) -> None:
        self.limit, self._proven, self._hold = limit, limit if proven is None else proven, hold
        self._seconds.clear()
        self._wake()

    def _release(self) -> None:
        self._held -= 1
        self._wake()

    def _wake(self) -> None:
        while self._waiting and self._held < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self._held += 1
                turn.set_result(None)
