r"""Ask a language model about a few positions, and show its raw replies, how they are read, and what they cost.

A server is also asked which forms of structured output it supports and which rate limits it has. With --config,
estimate how many requests a league would make and how long they would take at this model's speed. With --free, a model
on this machine writes what it likes: how much of that is a legal act.

examples:
  dond llm-check "llm(provider=hf)"              # the project's own small model
  dond llm-check "llm(provider=hf, model=smollm2, prompt=brief)" --free 200 --json m.json
  dond llm-check "llm(provider=groq)" --prompts 5 --config configs/league_llm.yaml
  dond llm-check "llm(provider=openai, base_url='http://127.0.0.1:8000/v1', \
      model=NAME)"
  dond llm-check "llm(provider=openai, base_url='http://127.0.0.1:8000/v1', \
      model=NAME, prompt=short, reading=lenient)"
"""

from __future__ import annotations

import json
import math
import shlex
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path

import click

from dond_marl.errors import InputError
from dond_marl.occupants import seat_occupant
from dond_marl.records.files import write_atomically
from league.cli.shell import FILE, RUN_ERROR, Command, config_option, say, whole
from league.evaluation.model_check import Summary, Tried, client_of, free_words, pace, summary, try_positions
from league.settings.read import Config, load_config
from partners.llm.client import Failure
from partners.llm.partner import LLMPartner, LocalLLMPartner
from partners.llm.remote.chat import STRUCTURES
from partners.llm.remote.client import RemoteClient
from partners.llm.remote.failures import duration_text
from partners.llm.remote.limiter import RateLimits
from partners.llm.reply import LegalReply
from partners.llm.service import ServiceSettings

SHOWN = 2000  # characters of a raw reply
LEAST_FREE = 6  # some are asked before the clock, some alone, and the rest together


@click.command("llm-check", cls=Command, help=__doc__, interrupted="nothing was written")
@click.argument("spec", metavar="OCCUPANT")
@click.option("--prompts", type=whole(1, 1000), default=1, metavar="N", help="positions to ask about (1)")
@click.option(
    "--free",
    type=whole(LEAST_FREE, 10_000),
    metavar="N",
    help="of a local model: N replies that nothing holds, and its pace",
)
@click.option("--json", "json_path", type=FILE, metavar="FILE", help="with --free: write what was measured")
@config_option("league_llm.yaml", help="a league whose cost is estimated")
def command(spec: str, prompts: int, free: int | None, json_path: Path | None, config_path: Path | None) -> int:
    """Check a language model; the exit code is 1 where no reply was a legal act."""
    partner = seat_occupant(spec)
    if json_path is not None and free is None:
        raise InputError("--json writes what --free N measures: give both")
    if free is not None:
        return _free(spec, partner, free, json_path)
    if not isinstance(partner, LLMPartner):
        raise InputError(
            f"{spec} is no language model: give one, such as llm or llm(provider=groq); see dond catalogue"
        )
    config = None if config_path is None else load_config(config_path)
    client = client_of(partner)
    with closing(client) if isinstance(client, RemoteClient) else nullcontext():
        return _checked(spec, partner, client, prompts, config, config_path)


def _free(spec: str, partner: object, number: int, json_path: Path | None) -> int:
    """Measure a local model's pace, and what it writes where nothing holds it."""
    if not isinstance(partner, LocalLLMPartner):
        raise InputError(f"--free is for a model on this machine, such as llm(provider=hf); got {spec}")
    import torch

    if json_path is not None:
        json_path.parent.mkdir(parents=True, exist_ok=True)  # before the measurement, not after it
    torch.set_num_threads(1)
    took = pace(partner, number)
    said = free_words(partner, number)
    for shown in said.examples:
        say(f"  reply: {shown!a}")
    for reader, share in (("strict", said.strict), ("lenient", said.lenient)):
        say(
            f"{share.mean:.1%} [{share.low:.1%}, {share.high:.1%}] of {share.n:,} replies that nothing holds are legal "
            f"acts to the {reader} reader"
        )
    refused = ", ".join(f"{why} {times:,}" for why, times in sorted(said.refused.items()))
    say(f"refused: {refused or 'none'}")
    say(
        f"one thread: {took.load_s:.1f} CPU s to load, {took.alone_s:.2f} a decision alone, {took.together_s:.2f} in "
        f"batches of {partner.local.settings.batch}; at most {took.memory_mb:,.0f} MB"
    )
    if json_path is not None:
        shares = {"strict": said.strict._asdict(), "lenient": said.lenient._asdict()}
        free = {**shares, "refused": said.refused, "examples": said.examples}
        found = {"member": spec, "positions": number, "free": free, "pace": took._asdict()}
        write_atomically(json_path, json.dumps(found, indent=1) + "\n")
    return 0


def _checked(
    spec: str, partner: LLMPartner, client: object, prompts: int, config: Config | None, config_path: Path | None
) -> int:
    """Ask, and say what came of it; the exit code."""
    with _told_as_lines():
        if isinstance(client, RemoteClient):
            _server(client)
        elif isinstance(partner, LocalLLMPartner):
            partner.local.load()
            say(f"a model on this machine: {partner.local.settings.model}; it can write nothing but legal lines")
        tried = []
        for number, one in enumerate(try_positions(partner, prompts), start=1):
            _position(number, prompts, one)
            tried.append(one)
    found = summary(tried)
    in_flight = client.settings.in_flight if isinstance(client, RemoteClient) else 1
    price = client.settings if isinstance(client, RemoteClient) else ServiceSettings()
    say(_in_short(found), style="bold")
    if config is not None:
        say(_cost(config_path, config, found, price, in_flight))
    if not found.legal:
        say("next: mend what the replies show; reading=lenient and prompt=short are for models that stray")
        return RUN_ERROR
    say(f"next: dond evaluate --member {shlex.quote(spec)} --against heuristic --sample 20")
    return 0


def _server(client: RemoteClient) -> None:
    """Say where the server is, which forms of structured output it has, and the rates that it told."""
    settings = client.settings
    say(f"{settings.name} at {settings.url}, structure {settings.structure}")
    best = client.probe_structures()
    used = best if settings.probes_structure else settings.structure_mode
    for form in STRUCTURES:
        if form in client.probe_results or form == used:
            said = client.probe_results.get(form, "needs nothing of the server")
            say(f"  {form:20}{said}{'; used' if form == used else ''}")
    assert client.last_request is not None
    say(f"  rates told: {_rates(client.last_request.rates)}")


def _position(number: int, of: int, one: Tried) -> None:
    turns = one.turns
    pool, values = (",".join(map(str, row[0].tolist())) for row in (turns.counts, turns.my_utilities))
    offer = ",".join(map(str, turns.last_partner_offer_for_me[0].tolist()))
    said = f"offered {offer}" if turns.turns_taken else "to open"
    say(f"position {number} of {of}: pool {pool}, own values {values}, {said}")
    status = "" if one.status is None else f"HTTP status {one.status}, "
    prompt, said_tokens = one.reply.usage
    say(f"  {status}{one.seconds:.2f} s, {prompt:,} tokens of prompt and {said_tokens:,} of reply")
    if one.reply.failure is None:
        shown = ascii(one.reply.text[:SHOWN])
        say(f"  reply: {shown}{f' and {len(one.reply.text) - SHOWN:,} more' if len(one.reply.text) > SHOWN else ''}")
    say(f"  verdict: {_verdict(one)}")


def _verdict(one: Tried) -> str:
    if isinstance(one.result, Failure):
        return f"no reply ({one.result})"
    if not isinstance(one.result, LegalReply):
        return f"refused ({one.result})"
    act, oA = one.result.action
    keeps = f", keeps {','.join(map(str, oA))}" if act.is_offer else ""
    noted = f" ({', '.join(name.replace('_', ' ') for name in one.result.notes)})" if one.result.notes else ""
    return f"legal: {act.name}{keeps}, confidence {one.result.confidence:.2f}{noted}"


def _in_short(found: Summary) -> str:
    if math.isnan(found.seconds):
        return f"{found.legal} of {found.tried} replies are legal acts: none came"
    return (
        f"{found.legal} of {found.tried} replies are legal acts; {found.seconds:.2f} s, "
        f"{found.prompt_tokens:,.0f} tokens of prompt and {found.reply_tokens:,.0f} of reply each"
    )


def _cost(path: Path | None, config: Config, found: Summary, settings: ServiceSettings, in_flight: int) -> str:
    """What a league takes at this model's pace: questions, tokens, time and money."""
    from league.rounds.dry_run import estimate  # loads PyTorch

    asked = [questions for questions in estimate(config)[0].questions if questions.to_model]
    about, most = sum(questions.expected for questions in asked), sum(questions.bound for questions in asked)
    if not about:
        return f"{path} asks no language model to play or to give hints"
    said = f"{path} asks about {about:,} questions, at most {max(about, most):,}"
    if math.isnan(found.seconds):
        return said
    seconds, tokens = about * found.seconds, about * (found.prompt_tokens + found.reply_tokens)
    dollars = about * settings.price.cost(round(found.prompt_tokens), round(found.reply_tokens)).usd
    at_once = (
        "" if in_flight == 1 else f", or {duration_text(seconds / in_flight)} if {in_flight} at a time take no longer"
    )
    paid = f", {dollars:,.2f} US dollars" if dollars else ""
    return f"{said}; the former are {tokens:,.0f} tokens{paid}, {duration_text(seconds)} one after the other{at_once}"


def _rates(rates: RateLimits) -> str:
    told = []
    for name, left, reset_s in (
        ("requests", rates.requests, rates.requests_reset_s),
        ("tokens", rates.tokens, rates.tokens_reset_s),
    ):
        if left is not None:
            told.append(
                f"{left:,} {name} left" + (f", whole again in {duration_text(reset_s)}" if reset_s is not None else "")
            )
    return "; ".join(told) or "none"


@contextmanager
def _told_as_lines() -> Iterator[None]:
    """What a client warns of is a line like the others."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", RuntimeWarning)
        warnings.showwarning = lambda message, *_, **__: say(f"  {message}", style="yellow")
        yield
