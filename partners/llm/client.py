"""How language models are asked: the contract that every client keeps, what can go wrong, and when to try again.

A *client* answers many prompts at once: ``complete(asks) -> replies``, one each, in order. A service that fails is a
value, not an exception: one row's time-out is no other row's business. Only what a person must mend, a wrong key or an
unknown model, is an exception, and it stops everything at once.

Each ask carries what is legal here, so that a client that can constrain its model (a token trie, a schema with the
legal acts enumerated) never needs to understand the game; one that knows its model's exact probabilities writes them
into the line that it answers, as the confidence.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol, runtime_checkable

from hints.providers import HinterError
from partners.llm.reply import Legal
from partners.parameters import check_number, check_share, check_whole_number


class Ask(NamedTuple):
    """One question."""

    prompt: str
    legal: Legal  # what may be answered
    sample: int = 0  # which of several independent answers to the same prompt


class Failure(StrEnum):
    """Why there is no reply. What the model itself said wrongly is no failure: the reader refuses that."""

    TIMEOUT = "timeout"
    CONNECTION = "connection"  # refused, reset, or closed in mid-answer
    RATE_LIMIT = "rate_limit"  # 429
    SERVER = "server"  # 408, 409, 498 and 5xx
    GARBLED = "garbled"  # a success without a completion in it, such as a proxy's page
    REFUSED = "refused"  # any other 4xx: this request will never do
    PAUSED = "paused"  # not sent: the service is given a rest
    BUDGET = "budget"  # not sent: the budget does not cover it


class Usage(NamedTuple):
    """What a reply took, in tokens."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class Reply(NamedTuple):
    """The answer to one ask: a text of the model, empty if it said nothing, or a failure."""

    text: str = ""
    finished: bool = True  # False: cut off at the limit of tokens
    failure: Failure | None = None
    usage: Usage = Usage()


class SetupError(HinterError):
    """What no retry mends: a missing or refused key, an unknown model. One line that says what to do."""


@runtime_checkable
class Client(Protocol):
    """Anything that answers prompts."""

    @property
    def remote(self) -> bool:
        """Whether it asks a service: the answers may differ from one time to the next."""
        ...

    @property
    def identity(self) -> Mapping[str, object]:
        """The model and every parameter that shapes its answers, as JSON values; no key, no address."""
        ...

    @property
    def tally(self) -> Counter[str]:
        """Counts since it was made, by names of its own; tallies add up with ``+``."""
        ...

    def complete(self, asks: Sequence[Ask]) -> list[Reply]:
        """One reply per ask, in order; a reply does not depend on the other asks. Raises :class:`SetupError`."""
        ...


class Clock(Protocol):
    """Time, handed to whoever waits."""

    def now(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        ...

    def wall(self) -> float:
        """Seconds since 1970, as HTTP dates count."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return ``seconds`` later."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Seconds since some fixed moment."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since 1970."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Return ``seconds`` later."""
        await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When to try again, and when to leave a service alone; times in seconds. Raises ``ValueError``.

    Each of at most ``max_attempts`` requests of an ask may take ``timeout_s``, all of them with the waits between them
    ``deadline_s`` (counted from when the ask first has a free slot). The wait after attempt n is ``first_wait_s`` times
    2 to the n - 1, at most ``longest_wait_s``, less up to ``jitter`` of it so that many do not come back together; a
    wait that the service asks for (Retry-After) is kept to exactly, and if the deadline comes first, the ask fails at
    once. After ``breaker_after`` failures in a row the service rests for ``rest_s``, twice as long after each further
    one up to ``longest_rest_s``: asks fail at once meanwhile, then one request tries alone.
    """

    max_attempts: int = 4
    timeout_s: float = 30.0
    deadline_s: float = 60.0
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
        """Seconds that the service rests after ``failures`` in a row, 0 while that are not enough."""
        beyond = failures - self.breaker_after
        return 0.0 if beyond < 0 else min(self.rest_s * 2.0 ** min(beyond, 30), self.longest_rest_s)
