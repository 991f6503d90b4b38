"""Budgets of language models.

A request first reserves its worst case and is not sent if the budget does not cover it; afterwards the reservation is
replaced by the real cost.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import NamedTuple

_PICO = 10**12  # money is counted in whole millionths of a millionth of a dollar: sums of floats drift


class Cost(NamedTuple):
    """The cost of one or more requests."""

    requests: int = 0
    tokens: int = 0
    pico_usd: int = 0  # millionths of a millionth of a US dollar

    @property
    def usd(self) -> float:
        return self.pico_usd / _PICO

    def plus(self, other: Cost) -> Cost:
        return Cost(self.requests + other.requests, self.tokens + other.tokens, self.pico_usd + other.pico_usd)

    def minus(self, other: Cost) -> Cost:
        return Cost(self.requests - other.requests, self.tokens - other.tokens, self.pico_usd - other.pico_usd)


class Budget:
    """Counts the spending of one process against its limits, ``None`` for no limit.

    ``seconds``: wall-clock time spent waiting for models; requests in flight together count once. :meth:`waiting` is
    thread-safe; requests are reserved and settled in one event loop.
    """

    def __init__(
        self,
        *,
        requests: int | None = None,
        tokens: int | None = None,
        usd: float | None = None,
        seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.spent = Cost()
        self._now = clock
        pico_usd = None if usd is None else round(usd * _PICO)
        self._most = tuple(inf if most is None else most for most in (requests, tokens, pico_usd))
        self._most_seconds = inf if seconds is None else seconds
        self._reserved = Cost()
        self._waited, self._waiting, self._since = 0.0, 0, 0.0
        self._lock = threading.Lock()  # of the times: threads wait together

    def reserve(self, worst: Cost) -> bool:
        """Reserve ``worst``; False, with nothing reserved, if the limits do not cover it."""
        after = self.spent.plus(self._reserved).plus(worst)
        fits = self.seconds_left > 0 and all(amount <= most for amount, most in zip(after, self._most, strict=True))
        if fits:
            self._reserved = self._reserved.plus(worst)
        return fits

    def settle(self, worst: Cost, cost: Cost) -> None:
        """Replace the reservation ``worst`` by the cost ``cost``."""
        self._reserved = self._reserved.minus(worst)
        self.spent = self.spent.plus(cost)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the time in this block as ``seconds``, once for all threads that wait together."""
        with self._lock:
            if self._waiting == 0:
                self._since = self._now()
            self._waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1
                if self._waiting == 0:
                    self._waited += self._now() - self._since

    @property
    def seconds(self) -> float:
        """Seconds waited so far."""
        return self._waited + (self._now() - self._since if self._waiting else 0.0)

    @property
    def seconds_left(self) -> float:
        """Seconds that may still be waited; infinite without a limit."""
        return self._most_seconds - self.seconds
