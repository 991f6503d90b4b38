"""What may be spent on language models: checked before every request, with the most that it could cost.

A request first reserves its worst case and is not sent if that does not fit; afterwards the reserve becomes what it
really took. So a limit is never passed, however many requests are in flight. Budgets nest: a match within a task within
a run; a request must fit into all of them.
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

_ENDLESS = 10**30  # more than anything adds up to
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
        """What one request with so many tokens costs."""
        pico = prompt_tokens * round(self.prompt * 10**6) + completion_tokens * round(self.completion * 10**6)
        return Cost(1, prompt_tokens + completion_tokens, pico)


class Cost(NamedTuple):
    """What one or more requests take."""

    requests: int = 0
    tokens: int = 0
    pico_usd: int = 0  # millionths of a millionth of a US dollar

    @property
    def usd(self) -> float:
        """In US dollars."""
        return self.pico_usd / _PICO

    def plus(self, other: Cost) -> Cost:
        """Both together."""
        return Cost(self.requests + other.requests, self.tokens + other.tokens, self.pico_usd + other.pico_usd)

    def minus(self, other: Cost) -> Cost:
        """This without the other."""
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
    """Limits and what is left of them; safe to use from several threads. It lives in one process.

    ``within``: the larger budget that this one is a part of. ``refused`` counts requests that did not fit.
    """

    def __init__(
        self, limits: Limits = Limits(), *, within: Budget | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.limits, self.within = limits, within
        self.spent = Cost()
        self.refused = 0
        self._now = now
        self._most = Cost(
            _ENDLESS if limits.requests is None else limits.requests,
            _ENDLESS if limits.tokens is None else limits.tokens,
            _ENDLESS if limits.usd is None else round(limits.usd * _PICO),
        )
        self._reserved = Cost()
        self._waited, self._waiting, self._since = 0.0, 0, 0.0
        self._lock: threading.Lock = (
            threading.Lock() if within is None else within._lock
        )  # one for the family: all or nothing

    def __reduce__(self) -> NoReturn:
        """Two copies would each spend the whole."""
        raise TypeError("a budget lives in one process: give each process a part of it, by limits of its own")

    def reserve(self, worst: Cost) -> bool:
        """Set ``worst`` aside here and in every larger budget; False, and nothing set aside, where it does not fit."""
        with self._lock:
            family = list(self._family())
            fits = all(budget._fits(worst) for budget in family)
            for budget in family:
                if fits:
                    budget._reserved = budget._reserved.plus(worst)
                else:
                    budget.refused += 1
            return fits

    def settle(self, worst: Cost, taken: Cost) -> None:
        """Replace what was set aside by what it really took."""
        with self._lock:
            for budget in self._family():
                budget._reserved = budget._reserved.minus(worst)
                budget.spent = budget.spent.plus(taken)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While somebody waits for a model: what runs within counts as ``seconds``."""
        with self._lock:
            for budget in self._family():
                if budget._waiting == 0:
                    budget._since = budget._now()
                budget._waiting += 1
        try:
            yield
        finally:
            with self._lock:
                for budget in self._family():
                    budget._waiting -= 1
                    if budget._waiting == 0:
                        budget._waited += budget._now() - budget._since

    @property
    def seconds(self) -> float:
        """Seconds waited so far."""
        return self._waited + (self._now() - self._since if self._waiting else 0.0)

    @property
    def seconds_left(self) -> float:
        """Seconds that may still be waited, here and in every larger budget."""
        return min(
            inf if budget.limits.seconds is None else budget.limits.seconds - budget.seconds
            for budget in self._family()
        )

    def _family(self) -> Iterator[Budget]:
        budget: Budget | None = self
        while budget is not None:
            yield budget
            budget = budget.within

    def _fits(self, worst: Cost) -> bool:
        if self.limits.seconds is not None and self.seconds >= self.limits.seconds:
            return False
        after = self.spent.plus(self._reserved).plus(worst)
        return all(amount <= most for amount, most in zip(after, self._most, strict=True))
