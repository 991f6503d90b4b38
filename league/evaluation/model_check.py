"""One language model, tried on a few positions: what it replies, how that is read, and what it takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import mean, median
from typing import NamedTuple

import numpy as np

from dond_marl.batch import Table
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Turns
from partners.llm.cache import CachedClient
from partners.llm.client import Ask, Client, Reply
from partners.llm.partner import LLMPartner, Result
from partners.llm.remote.client import RemoteClient
from partners.llm.reply import LegalReply, legal_rows
from partners.scripted.time_based import Boulware


class Tried(NamedTuple):
    """One position, and what came of asking about it."""

    turns: Turns  # one row
    reply: Reply
    result: Result
    seconds: float
    status: int | None  # of HTTP; None for a model on this machine, and without an answer


class Summary(NamedTuple):
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
    table = Table(scenarios)
    openings = table.turns()
    table.step(Boulware().act(openings))
    answers = table.turns()
    return [(openings if row % 2 else answers).rows(np.array([row])) for row in range(number)]


def try_positions(partner: LLMPartner, number: int) -> Iterator[Tried]:
    """Ask about one position after another. Raises what the client raises."""
    client = client_of(partner)
    for turns in positions(number):
        (prompt,), (legal,) = partner.template.render(turns, partner.history_cap), legal_rows(turns)
        ask = Ask(prompt, legal)
        before = client.latest if isinstance(client, RemoteClient) else None
        began = time.monotonic()
        (reply,) = client.complete([ask])
        seconds = time.monotonic() - began
        latest = client.latest if isinstance(client, RemoteClient) else None
        latest = None if latest is before else latest  # nothing was sent
        status = None if latest is None else latest.status
        yield Tried(turns, reply, partner.read(ask, reply), seconds if latest is None else latest.seconds, status)


def summary(tried: list[Tried]) -> Summary:
    """What the positions came to."""
    answered = [one for one in tried if one.reply.failure is None]
    usage = [one.reply.usage for one in answered]
    return Summary(
        len(tried),
        sum(isinstance(one.result, LegalReply) for one in tried),
        median([one.seconds for one in answered] or [np.nan]),
        mean([used.prompt_tokens for used in usage] or [np.nan]),
        mean([used.completion_tokens for used in usage] or [np.nan]),
    )
