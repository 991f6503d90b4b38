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
from partners.llm.cache import CachedClient
from partners.llm.client import Client, ModelReply, Query
from partners.llm.partner import LLMPartner, LocalLLMPartner, QueryResult
from partners.llm.prompt import sort_by_value
from partners.llm.remote.client import RemoteClient
from partners.llm.reply import LegalReply, Reading, Reason, legal_rows, read_reply
from partners.scripted.time_based import Boulware


class TriedPosition(NamedTuple):
    """One position, and what came of asking about it."""

    turns: Turns  # one row
    reply: ModelReply
    result: QueryResult
    seconds: float
    status: int | None  # of HTTP; None for a model on this machine, and without an answer


class CheckSummary(NamedTuple):
    """What all positions came to; ``nan`` where no reply came."""

    tried: int
    legal: int
    seconds: float  # of the median reply
    prompt_tokens: float  # of the mean reply
    reply_tokens: float


def client_of(partner: LLMPartner) -> Client:
    """Its client, without the cache before it: a check asks."""
    return partner.client.client if isinstance(partner.client, CachedClient) else partner.client


def positions(number: int) -> list[Turns]:
    """``number`` positions of held-out scenarios, one row each: answers to an opening offer and openings, by turns."""
    scenarios = open_source("lewis", split="test").block(0, 0, number)
    table = GameBatch(scenarios)
    openings = table.turns()
    table.step(Boulware().act(openings))
    answers = table.turns()
    return [(openings if row % 2 else answers).rows(np.array([row])) for row in range(number)]


def try_positions(partner: LLMPartner, number: int) -> Iterator[TriedPosition]:
    """Ask about one position after another. Raises what the client raises."""
    client = client_of(partner)
    for turns in positions(number):
        ask = _query(partner, turns)
        before = client.last_request if isinstance(client, RemoteClient) else None
        began = time.monotonic()
        (reply,) = client.complete([ask])
        seconds = time.monotonic() - began
        latest = client.last_request if isinstance(client, RemoteClient) else None
        latest = None if latest is before else latest  # nothing was sent
        status = None if latest is None else latest.status
        yield TriedPosition(
            turns, reply, partner.read(ask, reply), seconds if latest is None else latest.seconds, status
        )


class Pace(NamedTuple):
    """What a model on this machine takes, in CPU seconds of this process on one thread."""

    load_s: float  # reading the weights
    alone_s: float  # a decision, asked one at a time
    together_s: float  # a decision, in batches
    memory_mb: float  # the most that the process had taken by then (2^20 bytes), Python and its libraries included


class UnconstrainedReplies(NamedTuple):
    """What a model writes where nothing holds it to the legal acts, read as a service's replies are."""

    strict: Estimate  # share of legal acts among the replies, with Wilson's interval
    lenient: Estimate
    refused: dict[str, int]  # replies that are not legal to the strict reader, by why
    examples: tuple[str, ...]  # the first replies


def measure_pace(partner: LocalLLMPartner, number: int) -> Pace:
    """Load the model, then ask about ``number`` positions, an eighth of them one at a time; none is asked twice."""
    import resource  # of POSIX alone

    local, began = partner.local, time.process_time()
    local.load()
    loaded = time.process_time() - began
    asks = list(dict.fromkeys(_query(partner, turns) for turns in positions(number)))
    local.complete(asks[:2])  # reads what all prompts begin with
    alone, rest = asks[2 : 2 + max(number // 8, 1)], asks[2 + max(number // 8, 1) :]
    began = time.process_time()
    for ask in alone:
        local.complete([ask])
    between = time.process_time()
    local.complete(rest)
    ended = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Pace(loaded, (between - began) / len(alone), (ended - between) / max(len(rest), 1), peak)


def unconstrained_replies(partner: LocalLLMPartner, number: int) -> UnconstrainedReplies:
    """Let the model write what it likes about ``number`` positions. Raises :class:`SetupError`."""
    asks = [_query(partner, turns) for turns in positions(number)]
    replies = partner.local.complete_unconstrained(asks)

    def read(reading: Reading) -> list[LegalReply | Reason]:
        return [
            read_reply(reply.text, ask.legal, finished=reply.finished, reading=reading)
            for ask, reply in zip(asks, replies, strict=True)
        ]

    strict, lenient = read("strict"), read("lenient")
    legal, more = (
        share_of_trials(sum(isinstance(result, LegalReply) for result in results), len(results))
        for results in (strict, lenient)
    )
    refused = Counter(str(result) for result in strict if isinstance(result, Reason))
    return UnconstrainedReplies(legal, more, dict(refused), tuple(reply.text for reply in replies[:3]))


def _query(partner: LLMPartner, turns: Turns) -> Query:
    told = sort_by_value(turns)[0] if partner.sorted_items else turns
    (prompt,), (legal,) = partner.template.render(told, partner.history_cap), legal_rows(told)
    return Query(prompt, legal)


def summarise(tried: list[TriedPosition]) -> CheckSummary:
    """What the positions came to."""
    answered = [one for one in tried if one.reply.failure is None]
    usage = [one.reply.usage for one in answered]
    return CheckSummary(
        len(tried),
        sum(isinstance(one.result, LegalReply) for one in tried),
        median([one.seconds for one in answered] or [np.nan]),
        mean([used.prompt_tokens for used in usage] or [np.nan]),
        mean([used.completion_tokens for used in usage] or [np.nan]),
    )
