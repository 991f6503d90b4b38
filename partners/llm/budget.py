"""What may be spent on language models: checked before every request, with the most that it could cost.

A request first reserves its worst case and is not sent if that does not fit; afterwards the reserve becomes what it
really took.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import NamedTuple, NoReturn

from partners.parameters import check_number, check_whole_number

_PICO = 10**12  # money is counted in whole millionths of a millionth of a dollar: sums of floats drift


@dataclass(frozen=True, slots=True)
class Price:
    """What tokens cost, in US dollars per million. Raises ``ValueError``."""

    prompt: float = 0.0
    completion: float = 0.0

    def __post_init__(self) -> None:
        check_number("the price of prompt tokens", self.prompt, 0)
        check_number("the price of completion tokens", self.completion, 0)

    def cost(self, prompt_tokens: int, completion_tokens: int) -> Cost:
        pico = prompt_tokens * round(self.prompt * 10**6) + completion_tokens * round(self.completion * 10**6)
        return Cost(1, prompt_tokens + completion_tokens, pico)


class Cost(NamedTuple):
    """What one or more requests take."""

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


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that may be spent, ``None`` for no limit. Raises ``ValueError``.

    ``seconds``: time in which somebody waited for a model, however many requests were in flight.
    """

    requests: int | None = None
    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name, most in (("requests", self.requests), ("tokens", self.tokens)):
            if most is not None:
                check_whole_number(f"the limit of {name}", most, 0, 10**15)
        for name, amount in (("usd", self.usd), ("seconds", self.seconds)):
            if amount is not None:
                check_number(f"the limit of {name}", amount, 0)


class Budget:
    """Limits and what is left of them; safe to use from several threads. It lives in one process."""

    def __init__(self, limits: Limits = Limits(), *, now: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self.spent = Cost()
        self._now = now
        pico_usd = None if limits.usd is None else round(limits.usd * _PICO)
        self._most = tuple(inf if most is None else most for most in (limits.requests, limits.tokens, pico_usd))
        self._reserved = Cost()
        self._waited, self._waiting, self._since = 0.0, 0, 0.0
        self._lock = threading.Lock()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a budget lives in one process: give each process a part of it, by limits of its own")

    def reserve(self, worst: Cost) -> bool:
        """Set ``worst`` aside; False, and nothing set aside, where it does not fit."""
        with self._lock:
            after = self.spent.plus(self._reserved).plus(worst)
            fits = self.seconds_left > 0 and all(amount <= most for amount, most in zip(after, self._most, strict=True))
            if fits:
                self._reserved = self._reserved.plus(worst)
            return fits

    def settle(self, worst: Cost, taken: Cost) -> None:
        """Replace what was set aside by what it really took."""
        with self._lock:
            self._reserved = self._reserved.minus(worst)
            self.spent = self.spent.plus(taken)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While somebody waits for a model: the time in this block counts as ``seconds``, once for all threads."""
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
        return self._waited + (self._now() - self._since if self._waiting else 0.0)

    @property
    def seconds_left(self) -> float:
        """Seconds that may still be waited; infinite without a limit."""
        return (inf if self.limits.seconds is None else self.limits.seconds) - self.seconds
