"""The forms in which servers take a JSON schema, and how one is asked which of them it has.

OpenAI's form is the commonest; llama.cpp and vLLM had forms of their own before it, and still do. A server that does
not know a form refuses it, or ignores it without a word, so that an answer proves nothing unless it could not have come
about otherwise: the probe asks for a greeting under a schema that leaves a single act.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from typing import Any

from partners.llm.client import Query
from partners.llm.reply import KEYS, SAY, Legal, LegalReply, read_reply
from partners.llm.service import Structure

SCHEMAS: tuple[Structure, ...] = (
    "json_schema",  # OpenAI, Groq, vLLM, llama.cpp, Ollama, LM Studio
    "json_object_schema",  # llama.cpp's older form, llama-cpp-python
    "json_schema_field",  # llama.cpp
    "structured_outputs",  # vLLM since 0.10
    "guided_json",  # vLLM before that
)
STRUCTURES: tuple[Structure, ...] = (*SCHEMAS, "json_object", "text")  # the most that may be enforced first
PROBE = Query("Say hello. (If you were told to answer in JSON, answer in JSON.)", Legal((1, 0, 0), (3,)))
_MOST_SPLITS = 250  # in a schema; services refuse very large ones, and pools of up to 5 of each type stay below
_FORM_WORDS = (  # in the words of a server that does not know a form, whatever status it gives that
    "response_format", "json_schema", "json_object", "schema", "grammar", "guided", "structured", "input should be",
    "validation", "unsupported", "not supported", "extra_forbidden", "extra inputs",
)  # fmt: skip


def form_fields(form: Structure, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request that ask for an answer of ``schema`` in this form."""
    fields: dict[str, dict[str, Any]] = {
        "json_schema": {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "act", "strict": True, "schema": schema},
            }
        },
        "json_object_schema": {"response_format": {"type": "json_object", "schema": schema}},
        "json_schema_field": {"json_schema": schema},
        "structured_outputs": {"structured_outputs": {"json": schema}},
        "guided_json": {"guided_json": schema},
        "json_object": {"response_format": {"type": "json_object"}},
        "text": {},
    }
    return fields[form]


def legal_schema(legal: Legal) -> dict[str, Any]:
    """The JSON schema of the legal replies; of well-formed ones where the splits of the pool are too many to list."""
    if prod(count + 1 for count in legal.counts) <= _MOST_SPLITS:
        splits = Legal(legal.counts, (0,))
        oA: dict[str, Any] = {"enum": [list(action.oA) for action in splits.actions()]}
    else:
        whole = {"type": "integer", "enum": list(range(max(legal.counts) + 1))}
        oA = {"type": "array", "items": whole, "minItems": 3, "maxItems": 3}
    talk = {SAY: {"type": "string", "maxLength": legal.say}} if legal.say else {}
    return {
        "type": "object",
        "properties": {
            "act_type": {"type": "integer", "enum": list(legal.acts)},
            "oA": oA,
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            **talk,
        },
        "required": [*KEYS, *talk],
        "additionalProperties": False,
    }


def is_enforced(form: Structure, text: str) -> bool:
    """Whether the answer to :data:`PROBE` shows that the form is kept; JSON mode promises some object alone."""
    if form != "json_object":
        return isinstance(read_reply(text, PROBE.legal), LegalReply)
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def is_about_form(words: str) -> bool:
    """Whether a server's error is about the shape of the request."""
    said = words.lower()
    return any(word in said for word in _FORM_WORDS)
