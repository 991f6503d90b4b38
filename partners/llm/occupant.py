"""A remote language model by name: ``llm(model="openai/gpt-oss-20b")``, with its budget and its cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from partners.llm.budget import Budget, Limits, Price
from partners.llm.cache import CachedClient, CacheError, Mode, ReplyCache
from partners.llm.client import Client
from partners.llm.groq_client import RemoteClient
from partners.llm.partner import Fallback, LLMPartner
from partners.llm.prompt import HISTORY_CAP, load_template
from partners.llm.request import GROQ_MODEL, RemoteSettings, Structure


def llm(
    provider: str = "groq",
    model: str = GROQ_MODEL,
    base_url: str | None = None,
    key_env: str | None = None,
    prompt_path: str | None = None,
    history_cap: int = HISTORY_CAP,
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
) -> LLMPartner:
    """A language model that is asked over the network what it would say.

    Source: specification, section 2. ``provider``: ``groq``, with the key in ``$GROQ_API_KEY``, or ``openai`` for any
    server that speaks OpenAI's protocol at ``base_url`` (up to its ``/v1``), with a key in ``$key_env`` if it needs
    one. ``max_requests``, ``max_total_tokens``, ``max_usd`` (needs both prices, in dollars per million tokens) and
    ``max_seconds``: what may be spent; then the ``fallback`` plays. ``cache``: the file that answers are recorded in,
    or replayed from. The others are those of :class:`LLMPartner` and :class:`RemoteSettings`. No request is sent
    before the first turn.
    """
    if (provider == "groq") != (base_url is None) or provider not in ("groq", "openai"):
        raise ValueError(f"provider must be 'groq', or 'openai' with a base_url; got {provider!r} with {base_url!r}")
    if max_usd is not None and (prompt_price is None or completion_price is None):
        raise ValueError("max_usd needs prompt_price and completion_price, in US dollars per million tokens")
    settings = RemoteSettings(
        model=model,
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
    return LLMPartner(
        client, load_template(prompt_path), history_cap=history_cap, re_asks=re_asks, fallback=fallback, samples=samples
    )


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
