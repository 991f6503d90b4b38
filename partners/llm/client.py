"""The protocol of language model clients: queries, replies, failures, and repeated queries.

A *client* answers many prompts at once: ``complete(queries) -> replies``, one each, in order. A failure of the service
is a value, not an exception, so that one row's time-out does not affect others. Only errors that the user must correct,
a wrong key or an unknown model, are exceptions. Each query has its legal acts, to constrain the model.
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
    """A prompt for a language model."""

    prompt: str
    legal: Legal  # the legal replies
    sample: int = 0  # number of the sample among independent replies to one prompt


class Failure(StrEnum):
    """Why there is no reply. An illegal reply of the model is no failure: the reader refuses it."""

    TIMEOUT = "timeout"
    CONNECTION = "connection"  # refused, reset, or closed in mid-answer
    RATE_LIMIT = "rate_limit"  # 429
    SERVER = "server"  # 408, 409, 498 and 5xx
    GARBLED = "garbled"  # status 200 without a completion, such as a proxy's page
    REFUSED = "refused"  # any other 4xx: the same request would fail again
    PAUSED = "paused"  # not sent: the service is left alone after many failures
    BUDGET = "budget"  # not sent: the budget does not cover it


class Usage(NamedTuple):
    """Tokens of a query and its reply."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class ModelReply(NamedTuple):
    """The result of one query: the model's text, which may be empty, or a failure."""

    text: str = ""
    finished: bool = True  # False: cut off at the limit of tokens
    failure: Failure | None = None
    usage: Usage = Usage()


class SetupError(HinterError):
    """An error that no retry can fix: a missing or refused key, an unknown model. One line with the remedy."""


@runtime_checkable
class Client(Protocol):
    """The protocol of clients."""

    @property
    def remote(self) -> bool:
        """Whether a service answers, so that replies may differ from call to call."""
        ...

    @property
    def identity(self) -> Mapping[str, object]:
        """The model and all parameters that shape its replies, as JSON values; no key, no address."""
        ...

    @property
    def tally(self) -> Counter[str]:
        """Counts since its creation, by names of its own; tallies add up with ``+``."""
        ...

    def complete(self, queries: Sequence[Query]) -> list[ModelReply]:
        """One reply per query, in order; a reply does not depend on the other queries. Raises :class:`SetupError`."""
        ...


def query_all(
    client: Client,
    queries: Sequence[Query],
    read: Callable[[Query, ModelReply], Result],
    correct: Callable[[str, Result], str | None],
    *,
    re_asks: int,
    tally: Counter[str],
    samples: int = 1,
) -> list[Result]:
    """The results of ``read`` for the reply to each query, in order; equal queries are sent once.

    If ``correct`` returns another prompt for a result, that prompt is sent instead, up to ``re_asks`` times, counted in
    ``tally`` as ``re_asked``. Its sample number is beyond the ``samples`` in use, so that a cache can tell it from a
    first query. Raises the client's exceptions.
    """
    results: dict[int, Result] = {}
    pending = dict(enumerate(queries))
    for attempt in range(1, re_asks + 2):
        distinct = list(dict.fromkeys(pending.values()))
        replies = dict(zip(distinct, client.complete(distinct), strict=True))
        results |= {row: read(query, replies[query]) for row, query in pending.items()}
        prompts = {row: correct(queries[row].prompt, results[row]) for row in pending}
        pending = {
            row: Query(prompt, queries[row].legal, queries[row].sample + attempt * samples)
            for row, prompt in prompts.items()
            if prompt is not None
        }
        if not pending or attempt > re_asks:
            break
        tally["re_asked"] += len(pending)
    return [results[row] for row in range(len(queries))]
