"""A language model by name: ``llm``, ``llm(provider=hf)``, ``llm(provider=groq, model="openai/gpt-oss-20b")``."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from partners.llm.budget import Budget, Limits, Price
from partners.llm.cache import CachedClient, CacheError, Mode, ReplyCache
from partners.llm.client import Client
from partners.llm.local.client import LocalClient, LocalSettings
from partners.llm.local.partner import LocalLLMPartner
from partners.llm.partner import Fallback, LLMPartner
from partners.llm.prompt import HISTORY_CAP, Template, load_template
from partners.llm.remote.client import RemoteClient
from partners.llm.remote.request import GROQ_KEY, GROQ_MODEL, RemoteSettings, Structure
from partners.llm.student.own_model import local_model, told_cap
from partners.llm.student.recipe import Recipe

OWN = "the project's own"  # in place of a folder
Provider = Literal["auto", "groq", "openai", "hf"]


def llm(
    provider: Provider = "auto",
    model: str | None = None,
    base_url: str | None = None,
    key_env: str | None = None,
    prompt_path: str | None = None,
    history_cap: int | None = None,
    re_asks: int = 1,
    fallback: Fallback = "greedy",
    samples: int = 1,
    temperature: float = 0.0,
    max_tokens: int = 1024,
    structure: Structure = "auto",
    extra: dict[str, Any] | None = None,
    in_flight: int = 32,
    requests_per_minute: int | None = None,
    tokens_per_minute: int | None = None,
    max_requests: int | None = None,
    max_total_tokens: int | None = None,
    max_usd: float | None = None,
    max_seconds: float | None = None,
    prompt_price: float | None = None,
    completion_price: float | None = None,
    cache: str | None = None,
    cache_mode: Mode = "off",
    batch: int = 64,
    device: str = "cpu",
    download: bool = False,
    revision: str | None = None,
) -> LLMPartner:
    """A language model that is asked what it would say: a service, or a model on this machine.

    Source: specification, section 2. ``provider``: ``groq``, with the key in ``$GROQ_API_KEY``; ``openai`` for any
    server that speaks OpenAI's protocol at ``base_url`` (up to its ``/v1``), with a key in ``$key_env`` if it needs
    one; ``hf`` for the Hugging Face model in the folder ``model``, by default the project's own, which is made on
    first use (see :mod:`partners.llm.student.own_model`); ``auto`` for ``groq`` if there is a key, otherwise the project's
    own model. ``history_cap``: acts of the history that are told, by default as many as the model was made for.
    ``cache``: the file that answers are recorded in, or replayed from.

    Of services: ``max_requests``, ``max_total_tokens``, ``max_usd`` (needs both prices, in dollars per million tokens)
    and ``max_seconds`` say what may be spent; then the ``fallback`` plays. Of local models: ``batch``, ``device``,
    ``download`` and ``revision`` are those of :class:`partners.llm.local.client.LocalSettings`. The others are those of
    :class:`LLMPartner` and :class:`RemoteSettings`. Nothing is sent, and no model is read, before the first turn.
    """
    if provider not in get_args(Provider):
        raise ValueError(f"provider must be one of {', '.join(get_args(Provider))}; got {provider!r}")
    if (provider == "openai") != (base_url is not None):
        raise ValueError(f"provider openai needs a base_url, and no other takes one; got {provider} with {base_url!r}")
    if provider == "auto" and model is not None:
        raise ValueError(f"model {model!r} needs a provider that it is of: groq, openai or hf")
    if max_usd is not None and (prompt_price is None or completion_price is None):
        raise ValueError("max_usd needs prompt_price and completion_price, in US dollars per million tokens")
    template = load_template(prompt_path)
    if chosen(provider) == "hf":
        local, cap = _local(model, template, temperature, batch, device, download, revision)
        told = cap if history_cap is None else history_cap
        return LocalLLMPartner(
            cached(local, cache, cache_mode), local, template, history_cap=told, fallback=fallback, samples=samples
        )
    settings = RemoteSettings(
        model=GROQ_MODEL if model is None else model,
        base_url=base_url,
        key_env=key_env,
        temperature=temperature,
        max_tokens=max_tokens,
        structure=structure,
        extra=extra,
        in_flight=in_flight,
        requests_per_minute=requests_per_minute,
        tokens_per_minute=tokens_per_minute,
        price=Price(prompt_price or 0.0, completion_price or 0.0),
    )
    limits = Limits(max_requests, max_total_tokens, max_usd, max_seconds)
    client = cached(RemoteClient(settings, budget=Budget(limits)), cache, cache_mode)
    told = HISTORY_CAP if history_cap is None else history_cap
    return LLMPartner(client, template, history_cap=told, re_asks=re_asks, fallback=fallback, samples=samples)


def chosen(provider: Provider) -> Provider:
    """``provider``, and for ``auto`` the one that it is here and now."""
    if provider != "auto":
        return provider
    return "groq" if os.environ.get(GROQ_KEY) else "hf"


def _local(
    model: str | None, template: Template, temperature: float, batch: int, device: str, download: bool,
    revision: str | None,
) -> tuple[LocalClient, int]:  # fmt: skip
    """The client of a model on this machine, and how many acts of the history that model is told."""
    told: dict[str, Any] = {"temperature": temperature, "batch": batch, "device": device}
    if model is not None:
        settings = LocalSettings(model, download=download, revision=revision, **told)
        cap = told_cap(model)
        return LocalClient(settings), HISTORY_CAP if cap is None else cap
    recipe = Recipe()
    return LocalClient(LocalSettings(OWN, **told), partial(local_model, recipe, template)), recipe.told()


def cached(client: Client, path: str | Path | None, mode: Mode) -> Client:
    """``client`` behind the cache at ``path``, in mode ``off`` itself. Raises ``ValueError``, :class:`CacheError`."""
    if mode not in ("record", "replay", "off"):
        raise ValueError(f"cache_mode must be record, replay or off; got {mode!r}")
    if mode == "off":
        return client
    if path is None:
        raise ValueError(f"cache_mode {mode} needs a cache: the path of a file")
    if mode == "replay" and not Path(path).expanduser().is_file():
        raise CacheError(f"there is no cache {path} to replay; record one first")
    return CachedClient(client, ReplyCache(path, writes=mode == "record"), mode)
