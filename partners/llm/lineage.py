"""Whom a language model learned from: the teacher and the games of one distilled here; of others, nobody knows.

What it is called holds whatever changes its replies, and no place or address: the same on every machine.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dond_marl.occupants import spec_name
from partners.llm.local.model import fingerprint
from partners.llm.prompt import load_template
from partners.llm.service import GROQ_MODEL, resolve_provider
from partners.llm.student.recipe import CARD, Recipe
from partners.provenance import UNKNOWN_PAST, Ancestry, OccupantProvenance, read_past

HEARD = (
    "history_cap", "re_asks", "fallback", "samples", "reading", "temperature", "max_tokens", "structure", "extra",
    "revision",
)  # fmt: skip


def lineage_of(factory: Callable[..., Any]) -> Callable[[Mapping[str, Any]], OccupantProvenance]:
    """What says of the parameters of ``factory``, the occupant ``llm``, which model that is and whom it met."""

    def lineage(given: Mapping[str, Any]) -> OccupantProvenance:
        defaults = {name: parameter.default for name, parameter in inspect.signature(factory).parameters.items()}
        asked = {**defaults, **given}
        provider, template = resolve_provider(asked["provider"]), load_template(asked["prompt_path"], asked["prompt"])
        name, past = str(asked["model"] or GROQ_MODEL), UNKNOWN_PAST
        if provider == "hf" and asked["model"] is None:
            recipe = Recipe()
            name, past = f"distilled {recipe.digest(template)}", recipe.ancestry()
        elif provider == "hf":
            name, past = _folder(name)
            if asked["adapter"] is not None:  # whom the adapter learned from, its folder does not say to all
                name, past = f"{name} with {fingerprint(asked['adapter'])[:16]}", UNKNOWN_PAST
        prompt = hashlib.sha256(template.text.encode()).hexdigest()
        says: dict[str, object] = {"kind": "llm", "provider": provider, "model": name, "prompt_sha256": prompt}
        if asked["sorted_items"]:
            says["sorted_items"] = True
        return OccupantProvenance(spec_name({**says, **{key: asked[key] for key in HEARD}}), past)

    return lineage


def _folder(model: str) -> tuple[str, Ancestry]:
    """The name of a model in a folder, and its past; of a model that was not distilled here, that is not known."""
    folder = Path(model).expanduser()
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
        return f"distilled {card['name']}", read_past(card)
    except (OSError, ValueError, KeyError, TypeError):
        return folder.name if folder.exists() else model, UNKNOWN_PAST
