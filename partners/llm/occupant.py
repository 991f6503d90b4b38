"""A language model by name: ``llm``, ``llm(provider=hf)``, ``llm(provider=groq, model="openai/gpt-oss-20b")``."""

from __future__ import annotations

from functools import partial
from typing import Any

from partners.llm.cache import Mode
from partners.llm.lineage import lineage_of
from partners.llm.local.client import LocalClient, LocalSettings
from partners.llm.local.client import Dtype
from partners.llm.partner import Fallback, LLMPartner, LocalLLMPartner
from partners.llm.prompt import HISTORY_CAP, Shipped, load_template, openings
from partners.llm.remote.client import RemoteClient
from partners.llm.reply import Reading
from partners.llm.service import Provider, ServiceSettings, Structure
from partners.llm.student.own_model import own_model_folder, trained_history_cap
from partners.llm.student.recipe import Recipe
from partners.provenance import declare_provenance

OWN = "the project's own"  # in place of a folder


def llm(
    provider: Provider = "auto",
    model: str | None = None,
    base_url: str | None = None,
    key_env: str | None = None,
    prompt: Shipped = "full",
    prompt_path: str | None = None,
    history_cap: int | None = None,
    re_asks: int = 1,
    fallback: Fallback = "greedy",
    samples: int = 1,
    reading: Reading = "strict",
    temperature: float = 0.0,
    max_tokens: int = 1024,
    structure: Structure = "auto",
    extra: dict[str, Any] | None = None,
    in_flight: int = 32,
    timeout_s: float = 60.0,
    deadline_s: float | None = None,
    max_attempts: int = 4,
    breaker_after: int = 5,
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
    dtype: Dtype = "auto",
    memory_mb: int = 1024,
    adapter: str | None = None,
    sorted_items: bool = False,
) -> LLMPartner:
    """A language model that is asked what it would say: a service, or a model on this machine.

    Source: this project.

    ``provider``: ``groq``, with the key in ``$GROQ_API_KEY``, which goes to ``base_url``, a gateway, if one is given;
    ``openai`` for any server that speaks OpenAI's protocol at ``base_url`` (up to its ``/v1``), with a key in
    ``$key_env`` if it needs one; ``hf`` for the Hugging Face model in the folder or GGUF file ``model``, by default the
    project's own, which is made on first use (see :mod:`partners.llm.student.own_model`); ``auto`` for ``groq`` if
    there is a key, otherwise the project's own model. ``prompt``: ``full``, or ``short`` for less than half of it,
    without worked examples, or ``brief`` for about half of that, without the history; ``prompt_path``: a file with
    another. ``history_cap``: acts of the history in the prompt, by default as many as the model was made for.
    ``cache``: the file that answers are recorded in, or replayed from.

    Once what may be spent on a service is spent, the ``fallback`` plays. ``batch``, ``device``, ``download``,
    ``revision``, ``dtype``, ``memory_mb`` and ``adapter`` are those of
    :class:`partners.llm.local.client.LocalSettings`, the others those of :class:`LLMPartner` and
    :class:`partners.llm.service.ServiceSettings`. Nothing is sent, and no model is read, before the first turn.
    """
    service = ServiceSettings(
        provider, model, base_url, key_env, temperature, max_tokens, structure, extra, in_flight, requests_per_minute,
        tokens_per_minute, max_requests, max_total_tokens, max_usd, max_seconds, prompt_price, completion_price,
        cache, cache_mode, timeout_s=timeout_s, deadline_s=deadline_s, max_attempts=max_attempts,
        breaker_after=breaker_after,
    )  # fmt: skip
    template = load_template(prompt_path, prompt)
    if adapter is not None and (model is None or not service.local):
        raise ValueError(
            "an adapter belongs to the model that it was trained on: llm(provider=hf, model=..., adapter=...)"
        )
    if not service.local:
        cap = HISTORY_CAP if history_cap is None else history_cap
        remote = service.with_cache(RemoteClient(service))
        return LLMPartner(
            remote, template, history_cap=cap, re_asks=re_asks, fallback=fallback, samples=samples, reading=reading,
            sorted_items=sorted_items,
        )  # fmt: skip
    if model is None:
        recipe = Recipe()
        settings = LocalSettings(OWN, temperature, batch, device=device, dtype=dtype, memory_mb=memory_mb)
        find, made_for = partial(own_model_folder, recipe, template), recipe.prompt_history()
        local = LocalClient(settings, find, openings(template))
    else:
        settings = LocalSettings(
            model, temperature, batch, device=device, download=download, revision=revision, dtype=dtype,
            memory_mb=memory_mb, adapter=adapter,
        )  # fmt: skip
        local, made_for = LocalClient(settings, openings=openings(template)), trained_history_cap(model)
    cap = made_for if history_cap is None else history_cap
    return LocalLLMPartner(
        service.with_cache(local), local, template, history_cap=cap, fallback=fallback, samples=samples,
        sorted_items=sorted_items,
    )  # fmt: skip


declare_provenance(lineage_of(llm))(llm)
