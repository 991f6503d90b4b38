"""How language models are asked: the contract of every client, what can go wrong, and asking again.

A *client* answers many prompts at once: ``complete(asks) -> replies``, one each, in order. A service that fails is a
value, not an exception: one row's time-out is no other row's business. Only what a person must mend, a wrong key or an
unknown model, is an exception. Each ask carries what is legal, so that a client can constrain its model to that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from hints.providers import HinterError
from partners.llm.reply import Legal

Result = TypeVar("Result")


class Query(NamedTuple):
    """One question."""

    prompt: str
    legal: Legal  # what may be answered
    sample: int = 0  # which of several independent answers to the same prompt


class Failure(StrEnum):
    """Why there is no reply. A bad reply of the model is no failure: the reader refuses it."""

    TIMEOUT = "timeout"
    CONNECTION = "connection"  # refused, reset, or closed in mid-answer
    RATE_LIMIT = "rate_limit"  # 429
    SERVER = "server"  # 408, 409, 498 and 5xx
    GARBLED = "garbled"  # a success without a completion in it, such as a proxy's page
    REFUSED = "refused"  # any other 4xx: this request will never do
    PAUSED = "paused"  # not sent: the service rests after many failures
    BUDGET = "budget"  # not sent: the budget does not cover it


class Usage(NamedTuple):
    """What a reply took, in tokens."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class ModelReply(NamedTuple):
    """The answer to one ask: the model's text, which may be empty, or a failure."""

    text: str = ""
    finished: bool = True  # False: cut off at the limit of tokens
    failure: Failure | None = None
    usage: Usage = Usage()


class SetupError(HinterError):
    """What no retry mends: a missing or refused key, an unknown model. The message is one line with the remedy."""


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

    def complete(self, asks: Sequence[Query]) -> list[ModelReply]:
        """One reply per ask, in order; a reply does not depend on the other asks. Raises :class:`SetupError`."""
        ...


def query_all(
    client: Client,
    asks: Sequence[Query],
    read: Callable[[Query, ModelReply], Result],
    reworded: Callable[[str, Result], str | None],
    *,
    re_asks: int,
    tally: Counter[str],
    samples: int = 1,
) -> list[Result]:
    """What ``read`` makes of the reply to each ask, in order; equal asks are made once.

    Where ``reworded`` has another prompt for a result, that is asked instead, up to ``re_asks`` times, counted in
    ``tally`` as ``re_asked``. It is a new sample beyond the ``samples`` in use: a cache tells it from the first ask.
    Raises what the client raises.
    """
    results: dict[int, Result] = {}
    open_asks = dict(enumerate(asks))
    for attempt in range(1, re_asks + 2):
        different = list(dict.fromkeys(open_asks.values()))
        replies = dict(zip(different, client.complete(different), strict=True))
        results |= {row: read(ask, replies[ask]) for row, ask in open_asks.items()}
        prompts = {row: reworded(asks[row].prompt, results[row]) for row in open_asks}
        open_asks = {
            row: Query(prompt, asks[row].legal, asks[row].sample + attempt * samples)
            for row, prompt in prompts.items()
            if prompt is not None
        }
        if not open_asks or attempt > re_asks:
            break
        tally["re_asked"] += len(open_asks)
    return [results[row] for row in range(len(asks))]
