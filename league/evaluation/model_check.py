"""One language model, tried on a few positions: what it replies, how that is read, and what it takes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from statistics import mean, median
from typing import NamedTuple

import numpy as np

from dond_marl.batch import GameBatch
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Turns
from dond_marl.statistics import Estimate, share_of_trials
from partners.llm.cache import uncached_client
from partners.llm.client import ModelReply, Query
from partners.llm.partner import LLMPartner, LocalLLMPartner, QueryResult
from partners.llm.prompt import sort_by_value
from partners.llm.remote.client import RemoteClient
from partners.llm.reply import LegalReply, Reading, Reason, legal_rows, read_reply
from partners.scripted.time_based import Boulware


class TriedPosition(NamedTuple):
    """One position, with the model's reply to it."""

    turns: Turns  # one row
    reply: ModelReply
    result: QueryResult
    seconds: float
    status: int | None  # of HTTP; None for a model on this machine, and without an answer


class CheckSummary(NamedTuple):
    """The summary of all positions; ``nan`` where no reply came."""

    tried: int
    legal: int
    seconds: float  # of the median reply
    prompt_tokens: float  # of the mean reply
    reply_tokens: float


def positions(number: int) -> list[Turns]:
    """``number`` positions of held-out scenarios, one row each: answers to an opening and openings in turn."""
    scenarios = open_source("lewis", split="test").block(0, 0, number)
    table = GameBatch(scenarios)
    openings = table.turns()
    table.step(Boulware().act(openings))
    answers = table.turns()
    return [(openings if row % 2 else answers).rows(np.array([row])) for row in range(number)]


def try_positions(partner: LLMPartner, number: int) -> Iterator[TriedPosition]:
    """Query the model about one position after another. Raises what the client raises."""
    client = uncached_client(partner.client)  # a check sends every query
    for turns in positions(number):
        query = _query(partner, turns)
        began = time.monotonic()
        (reply,) = client.complete([query])
        seconds = time.monotonic() - began
        status = client.last_status if isinstance(client, RemoteClient) else None
        yield TriedPosition(turns, reply, partner.read(query, reply), seconds, status)


class Pace(NamedTuple):
    """The speed of a model on this machine, in CPU seconds of this process on one thread."""

    load_s: float  # reading the weights
    alone_s: float  # per decision, one at a time
    together_s: float  # per decision, in batches
    memory_mb: float  # peak memory of the process (2^20 bytes), Python and its libraries included


class UnconstrainedReplies(NamedTuple):
    """Unconstrained replies of a model, read as a service's replies are."""

    strict: Estimate  # share of legal acts among the replies, with Wilson's interval
    lenient: Estimate
    refused: dict[str, int]  # illegal replies of the strict reader, by reason
    examples: tuple[str, ...]  # the first replies


def measure_pace(partner: LocalLLMPartner, number: int) -> Pace:
    """Load the model, then query ``number`` distinct positions, an eighth of them one at a time."""
    import resource  # of POSIX alone

    local, began = partner.local, time.process_time()
    local.load()
    loaded = time.process_time() - began
    queries = list(dict.fromkeys(_query(partner, turns) for turns in positions(number)))
    local.complete(queries[:2])  # reads what all prompts begin with
    alone, rest = queries[2 : 2 + max(number // 8, 1)], queries[2 + max(number // 8, 1) :]
    began = time.process_time()
    for query in alone:
        local.complete([query])
    between = time.process_time()
    local.complete(rest)
    ended = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Pace(loaded, (between - began) / len(alone), (ended - between) / max(len(rest), 1), peak)


def unconstrained_replies(partner: LocalLLMPartner, number: int) -> UnconstrainedReplies:
    """Generate unconstrained replies to ``number`` positions. Raises :class:`SetupError`."""
    queries = [_query(partner, turns) for turns in positions(number)]
    replies = partner.local.complete_unconstrained(queries)

    def read(reading: Reading) -> list[LegalReply | Reason]:
        return [
            read_reply(reply.text, query.legal, finished=reply.finished, reading=reading)
            for query, reply in zip(queries, replies, strict=True)
        ]

    strict, lenient = read("strict"), read("lenient")
    legal, more = (
        share_of_trials(sum(isinstance(result, LegalReply) for result in results), len(results))
        for results in (strict, lenient)
    )
    refused = Counter(str(result) for result in strict if isinstance(result, Reason))
    return UnconstrainedReplies(legal, more, dict(refused), tuple(reply.text for reply in replies[:3]))


def _query(partner: LLMPartner, turns: Turns) -> Query:
    shown = sort_by_value(turns)[0] if partner.sorted_items else turns
    (prompt,), (legal,) = partner.template.render(shown, partner.history_cap), legal_rows(shown)
    return Query(prompt, legal)


def summarise(tried: list[TriedPosition]) -> CheckSummary:
    """The summary of tried positions."""
    replied = [trial for trial in tried if trial.reply.failure is None]
    usage = [trial.reply.usage for trial in replied]
    return CheckSummary(
        len(tried),
        sum(isinstance(trial.result, LegalReply) for trial in tried),
        median([trial.seconds for trial in replied] or [np.nan]),
        mean([used.prompt_tokens for used in usage] or [np.nan]),
        mean([used.completion_tokens for used in usage] or [np.nan]),
    )
