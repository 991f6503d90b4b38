"""One language model, tried on a few positions: what it replies, how that is read, and what it takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import mean, median
from typing import NamedTuple

import numpy as np

from dond_marl.batch import GameBatch
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Turns
from partners.llm.cache import uncached_client
from partners.llm.client import ModelReply
from partners.llm.partner import LLMPartner, QueryResult
from partners.llm.remote.client import RemoteClient
from partners.llm.reply import LegalReply
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
        ((query,), _) = partner.queries(turns)
        began = time.monotonic()
        (reply,) = client.complete([query])
        seconds = time.monotonic() - began
        status = client.last_status if isinstance(client, RemoteClient) else None
        yield TriedPosition(turns, reply, partner.read(query, reply), seconds, status)


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
