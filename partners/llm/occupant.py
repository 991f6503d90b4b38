"""A language model by name: ``llm``, ``llm(provider=hf)``, ``llm(provider=groq, model="openai/gpt-oss-20b")``."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dond_marl.errors import quote, require_library
from dond_marl.files import read_text
from dond_marl.occupants import Spec, parse_spec, pin_spec
from partners.llm.local.client import LocalClient, LocalSettings
from partners.llm.local.model import SMALL_MODEL, model_path
from partners.llm.partner import Fallback, LLMPartner, LocalLLMPartner
from partners.llm.prompt import HISTORY_CAP, Shipped, load_template, openings
from partners.llm.remote.client import FunctionClient, RemoteClient
from partners.llm.reply import Reading
from partners.llm.service import (
    GROQ_MODEL,
    Provider,
    ServiceSettings,
    resolve_provider,
    select_settings,
    with_settings,
)
from partners.provenance import UNKNOWN_PAST, OccupantProvenance, declare_provenance, read_past

CARD = "distilled.json"  # in the folder of a model that imitates a partner: its teacher, games and provenance
# Parameters in an occupant's identity: those that change replies; without addresses, so it is equal on all machines.
_SHAPING = (
    "history_cap", "re_asks", "fallback", "samples", "reading", "temperature", "max_tokens", "structure", "extra",
    "revision",
)  # fmt: skip


def llm_provenance(parameters: Mapping[str, Any]) -> OccupantProvenance:
    """Provenance of ``llm`` with these parameters: teacher and games from a model's card, unknown without one."""
    defaults = {name: parameter.default for name, parameter in inspect.signature(llm).parameters.items()}
    settings = {**defaults, **parameters}
    provider = resolve_provider(settings["provider"])
    template = load_template(settings["prompt_path"], settings["prompt"])
    name, past = str(settings["model"] or settings["call"] or GROQ_MODEL), UNKNOWN_PAST
    if provider == "hf":
        folder = model_path(settings["model"] or SMALL_MODEL)
        card = read_card(folder)
        if card:
            name, past = f"distilled {card['name']}", read_past(card)
        elif folder.exists():
            name = folder.name
    prompt = _sha256(template.text)
    identity: dict[str, object] = {"provider": provider, "model": name, "prompt_sha256": prompt}
    if settings["sorted_items"]:
        identity["sorted_items"] = True
    return OccupantProvenance(Spec("llm", {**identity, **{name: settings[name] for name in _SHAPING}}).text, past)


@declare_provenance(llm_provenance)
@with_settings(ServiceSettings, LocalSettings, omit=("system",))
def llm(
    provider: Provider = "auto",
    model: str | None = None,
    base_url: str | None = None,
    call: str | None = None,
    prompt: Shipped = "full",
    prompt_path: str | None = None,
    history_cap: int | None = None,
    re_asks: int = 1,
    fallback: Fallback = "greedy",
    samples: int = 1,
    reading: Reading = "strict",
    sorted_items: bool = False,
    **settings: Any,
) -> LLMPartner:
    """A language model in a seat: of a service, or on this machine.

    Source: this project.

    ``provider``: ``groq``, with the key in ``$GROQ_API_KEY``; ``openai`` for any server of OpenAI's protocol at
    ``base_url``, its address up to ``/v1``; ``hf`` for a Hugging Face model on this machine; ``python`` for the
    function ``call`` in a file, ``'mine.py:reply'``, from a prompt to a reply; ``auto`` for ``groq`` if there is a key,
    else the small model that ships with this package (``small_model/``), which imitates the expert and reads the prompt
    ``full`` only. ``model``: its name; for ``hf`` a folder or GGUF file. ``prompt``: a shipped template: ``full``;
    ``short``, less than half of it, without worked examples; ``brief``, about half of that, without the history.
    ``prompt_path``: a file with another. ``history_cap``: acts of the history in the prompt, by default as many as the
    model was trained with. ``re_asks``, ``fallback``, ``samples``, ``reading`` and ``sorted_items``: see
    :class:`~partners.llm.partner.LLMPartner`.

    The other parameters are the fields of :class:`partners.llm.service.ServiceSettings` and, for ``hf``, of
    :class:`partners.llm.local.client.LocalSettings`. Nothing is sent, and no model is loaded, before the first turn.
    Once the budget of a service is spent, the ``fallback`` plays. Raises ``ValueError``.
    """
    if isinstance(call, str):
        call = pin_spec(parse_spec(call)).text
    service = ServiceSettings(provider, model, base_url, call=call, **select_settings(ServiceSettings, settings))
    template = load_template(prompt_path, prompt)
    options: dict[str, Any] = {
        "re_asks": re_asks, "fallback": fallback, "samples": samples, "reading": reading, "sorted_items": sorted_items,
    }  # fmt: skip
    if not service.local:
        cap = HISTORY_CAP if history_cap is None else history_cap
        client = RemoteClient(service) if call is None else FunctionClient(service)
        return LLMPartner(service.with_cache(client), template, history_cap=cap, **options)
    require_library("transformers", "a language model on this machine")
    local_settings, name = select_settings(LocalSettings, settings), model or SMALL_MODEL
    card = read_card(model_path(name))
    if model is None:
        if card["prompt_sha256"] != _sha256(template.text):
            raise ValueError(
                f"the small model of this package reads the shipped prompt (prompt=full) only; got "
                f"{quote(template.source)}: leave out prompt and prompt_path, or name another model"
            )
        local_settings |= {"download": False, "revision": None}
    local = LocalClient(LocalSettings(name, **local_settings), openings(template))
    cap = card.get("history_cap", HISTORY_CAP) if history_cap is None else history_cap
    return LocalLLMPartner(service.with_cache(local), local, template, history_cap=cap, **options)


def read_card(folder: Path) -> dict[str, Any]:
    """The card of the imitating model in ``folder``; empty for any other model."""
    try:
        card: dict[str, Any] = json.loads(read_text(folder / CARD))
    except (OSError, ValueError):
        return {}
    return card


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
