"""What a service is sent: one ask as the body of a chat completion.

Where the model supports it, the legal acts go along as a JSON schema: an act that is open, and a split of this pool.
Every combination of the two is legal, as oA counts for offers alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from typing import Any

from partners.llm.client import Ask
from partners.llm.reply import KEYS, Legal
from partners.llm.service import ServiceSettings

_MOST_SPLITS = 250  # in a schema; services refuse very large ones, and pools of up to 5 of each type stay below
_TEMPLATE_TOKENS = 512  # the most that a service's chat template adds to what is sent


def request_body(settings: ServiceSettings, ask: Ask) -> dict[str, Any]:
    """The JSON that asks for one reply."""
    body: dict[str, Any] = {
        "model": settings.name,
        "messages": [{"role": "system", "content": settings.system}, {"role": "user", "content": ask.prompt}],
        "temperature": settings.temperature,
        # OpenAI's name since 2024, and Groq's; other servers know the older one alone.
        "max_completion_tokens" if settings.groq else "max_tokens": settings.max_tokens,
        "seed": ask.sample,
        **settings.more,
    }
    if settings.enforced == "json_schema":
        shape = {"name": "act", "strict": True, "schema": legal_schema(ask.legal)}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    elif settings.enforced == "json_object":
        body["response_format"] = {"type": "json_object"}
    return body


def most_prompt_tokens(body: Mapping[str, Any]) -> int:
    """The most tokens that ``body`` can be: no tokenizer makes more than one of a byte."""
    return len(json.dumps(body).encode()) + _TEMPLATE_TOKENS


def legal_schema(legal: Legal) -> dict[str, Any]:
    """The JSON schema of the legal replies; of well-formed ones where the splits of the pool are too many to list."""
    if prod(count + 1 for count in legal.counts) <= _MOST_SPLITS:
        splits = Legal(legal.counts, (0,))
        oA: dict[str, Any] = {"enum": [list(action.oA) for action in splits.actions()]}
    else:
        whole = {"type": "integer", "enum": list(range(max(legal.counts) + 1))}
        oA = {"type": "array", "items": whole, "minItems": 3, "maxItems": 3}
    return {
        "type": "object",
        "properties": {
            "act_type": {"type": "integer", "enum": list(legal.acts)},
            "oA": oA,
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        },
        "required": list(KEYS),
        "additionalProperties": False,
    }
