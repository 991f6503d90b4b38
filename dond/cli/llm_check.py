r"""Query a language model on a few positions, and show its raw replies, how they are parsed, and their cost.

A server is also probed for its modes of structured output. With --config, estimate the requests of
a league and their time at this model's speed.

examples:
  dond llm-check "llm(provider=hf)"              # the small model of this package
  dond llm-check "llm(provider=hf, model=HuggingFaceTB/SmolLM2-135M-Instruct, download=True, prompt=brief)"
  dond llm-check "llm(provider=groq)" --prompts 5 --config configs/league_llm.yaml
  dond llm-check "llm(provider=openai, base_url='http://127.0.0.1:8000/v1', \
      model=NAME)"
  dond llm-check "llm(provider=openai, base_url='http://127.0.0.1:8000/v1', \
      model=NAME, prompt=short, reading=lenient)"
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

import click
import numpy as np

from dond.cli.shell import RUN_ERROR, Command, config_option, integer, print_line, print_next
from dond_marl.batch import GameBatch
from dond_marl.errors import InputError
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Turns
from league.settings.read import Config, load_config
from partners.llm.cache import uncached_client
from partners.llm.client import Failure, ModelReply
from partners.llm.partner import LLMPartner, LocalLLMPartner, QueryResult
from partners.llm.remote.chat import STRUCTURES
from partners.llm.remote.client import RemoteClient
from partners.llm.remote.failures import duration_text
from partners.llm.reply import LegalReply
from partners.llm.service import ServiceSettings
from partners.scripted.time_based import Boulware

MAX_SHOWN = 2000  # characters of a raw reply


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
        mean([tokens.prompt_tokens for tokens in usage] or [np.nan]),
        mean([tokens.completion_tokens for tokens in usage] or [np.nan]),
    )


@click.command("llm-check", cls=Command, help=__doc__, interrupted="nothing was written")
@click.argument("spec", metavar="OCCUPANT")
@click.option("--prompts", type=integer(1, 1000), default=1, metavar="N", help="number of positions (1)")
@config_option("league_llm.yaml", help="estimate the cost of this league")
def command(spec: str, prompts: int, config_path: Path | None) -> int:
    """Check a language model; the exit code is 1 if no reply is a legal act."""
    partner = seat_occupant(spec)
    if not isinstance(partner, LLMPartner):
        raise InputError(
            f"{spec} is no language model: give one, such as llm or llm(provider=groq); see dond catalogue"
        )
    config = None if config_path is None else load_config(config_path)
    client = uncached_client(partner.client)
    remote = client if isinstance(client, RemoteClient) else None
    tried: list[TriedPosition] = []
    with _warnings_as_lines(), nullcontext() if remote is None else closing(remote):
        if remote is not None:
            _print_server(remote)
        elif isinstance(partner, LocalLLMPartner):
            partner.local.load()
            print_line(f"a model on this machine: {partner.local.settings.model}; it can write nothing but legal lines")
        for position in try_positions(partner, prompts):
            tried.append(position)
            _print_position(len(tried), prompts, position)
    total = summarise(tried)
    print_line(_summary_line(total), style="bold")
    if config is not None:
        settings = ServiceSettings(in_flight=1) if remote is None else remote.settings
        print_line(_league_cost(config_path, config, total, settings))
    if not total.legal:
        print_line(
            "next: see the replies; reading=lenient and prompt=short help with models that do not follow the format"
        )
        return RUN_ERROR
    print_next("evaluate", "--member", spec, "--against", "heuristic", "--sample", 20)
    return 0


def _print_server(client: RemoteClient) -> None:
    settings = client.settings
    if settings.call is not None:
        print_line(f"the function {settings.call}")
        return
    print_line(f"{settings.name} at {settings.url}, structure {settings.structure}")
    best = client.probe_structures()
    mode_in_use = best if settings.probes_structure else settings.structure_mode
    for mode in STRUCTURES:
        if mode in client.probe_results or mode == mode_in_use:
            result = client.probe_results.get(mode, "needs no support")
            print_line(f"  {mode:20}{result}{'; used' if mode == mode_in_use else ''}")


def _print_position(number: int, total: int, tried: TriedPosition) -> None:
    turns = tried.turns
    pool, values = (",".join(map(str, row[0].tolist())) for row in (turns.counts, turns.my_utilities))
    offer = ",".join(map(str, turns.last_partner_offer_for_me[0].tolist()))
    state = f"offered {offer}" if turns.turns_taken else "to open"
    print_line(f"position {number} of {total}: pool {pool}, own values {values}, {state}")
    status = "" if tried.status is None else f"HTTP status {tried.status}, "
    prompt, reply_tokens = tried.reply.usage
    print_line(f"  {status}{tried.seconds:.2f} s, {prompt:,} tokens of prompt and {reply_tokens:,} of reply")
    if tried.reply.failure is None:
        more = len(tried.reply.text) - MAX_SHOWN
        print_line(f"  reply: {tried.reply.text[:MAX_SHOWN]!a}{f' and {more:,} more' if more > 0 else ''}")
    print_line(f"  verdict: {_verdict(tried)}")


def _verdict(tried: TriedPosition) -> str:
    if isinstance(tried.result, Failure):
        return f"no reply ({tried.result})"
    if not isinstance(tried.result, LegalReply):
        return f"refused ({tried.result})"
    act, oA = tried.result.action
    keeps = f", keeps {','.join(map(str, oA))}" if act.is_offer else ""
    notes = f" ({', '.join(name.replace('_', ' ') for name in tried.result.notes)})" if tried.result.notes else ""
    return f"legal: {act.name}{keeps}, confidence {tried.result.confidence:.2f}{notes}"


def _summary_line(total: CheckSummary) -> str:
    if math.isnan(total.seconds):
        return f"{total.legal} of {total.tried} replies are legal acts: there was no reply"
    return (
        f"{total.legal} of {total.tried} replies are legal acts; {total.seconds:.2f} s, "
        f"{total.prompt_tokens:,.0f} tokens of prompt and {total.reply_tokens:,.0f} of reply each"
    )


def _league_cost(path: Path | None, config: Config, total: CheckSummary, settings: ServiceSettings) -> str:
    from league.rounds.dry_run import estimate  # loads PyTorch

    queries = [questions for questions in estimate(config)[0].queries if questions.to_model]
    expected, most = sum(questions.expected for questions in queries), sum(questions.bound for questions in queries)
    if not expected:
        return f"{path} has no language model as a player or hinter"
    line = f"{path} has about {expected:,} queries, at most {max(expected, most):,}"
    if math.isnan(total.seconds):
        return line
    seconds, tokens = expected * total.seconds, expected * (total.prompt_tokens + total.reply_tokens)
    dollars = expected * settings.cost(round(total.prompt_tokens), round(total.reply_tokens)).usd
    many = settings.in_flight
    at_once = "" if many == 1 else f", or {duration_text(seconds / many)} if {many} at a time take no longer"
    paid = f", {dollars:,.2f} US dollars" if dollars else ""
    return f"{line}; the former are {tokens:,.0f} tokens{paid}, {duration_text(seconds)} one after the other{at_once}"


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("always", RuntimeWarning)
        warnings.showwarning = lambda message, *_, **__: print_line(f"  {message}", style="yellow")
        yield
