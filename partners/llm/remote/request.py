"""What a remote model is sent: its settings, and one ask as the body of a chat completion.

Where the model supports it, the legal acts go along as a JSON schema: an act that is open, and a split of this pool.
Every combination of the two is legal, as oA counts for offers alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal
from urllib.parse import urlsplit

from partners.llm.budget import Price
from partners.llm.client import Ask
from partners.llm.prompt import SYSTEM
from partners.llm.reply import KEYS, Legal
from partners.parameters import check_number, check_whole_number

GROQ_URL = "https://api.groq.com/openai/v1"
GROQ_KEY = "GROQ_API_KEY"
GROQ_MODEL = "openai/gpt-oss-20b"  # served in November 2026; Groq's Llama models were shut down in August
_STRICT = ("openai/gpt-oss-20b", "openai/gpt-oss-120b")  # that Groq decodes under a schema
_BRIEF = {"reasoning_effort": "low", "include_reasoning": False}  # or reasoning eats the tokens of the answer
_MOST_SPLITS = 250  # in a schema; services refuse very large ones, and pools of up to 5 of each type stay below
_TEMPLATE_TOKENS = 512  # the most that a service's chat template adds to what is sent

Structure = Literal["auto", "json_schema", "json_object", "text"]


@dataclass(frozen=True)
class RemoteSettings:
    """Which model, where, and how it is asked. Raises ``ValueError``.

    ``base_url``: of any OpenAI-compatible server, up to and including its ``/v1``; by default Groq. ``key_env``: the
    environment variable with the key, by default Groq's for Groq and none for other servers, so that no key goes to a
    server that it was not made for. ``temperature``: of sampling, 0 for the likeliest answer. ``max_tokens``: of one
    answer, reasoning included. ``structure``: how the shape of answers is enforced, by default what the model is known
    to support. ``extra``: further fields of the request, by default those that keep a reasoning model brief.
    ``in_flight``: requests at a time. ``price``: for a budget in money.
    """

    model: str = GROQ_MODEL
    base_url: str | None = None
    key_env: str | None = None
    temperature: float = 0.0
    max_tokens: int = 1024
    structure: Structure = "auto"
    extra: Mapping[str, Any] | None = None
    in_flight: int = 32
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    price: Price = field(default_factory=Price)

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or not self.model.strip():
            raise ValueError(f"model must be the name of a model, such as {GROQ_MODEL}; got {self.model!r}")
        if self.base_url is not None:
            _check_url(self.base_url)
        if self.key_env is not None and not re.fullmatch(r"[A-Za-z_]\w*", self.key_env):
            # A key given in place of a name must not be shown.
            raise ValueError("key_env must be the name of an environment variable, not the key itself")
        check_number("temperature", self.temperature, 0, 2)
        check_whole_number("max_tokens", self.max_tokens, 16, 100_000)
        check_whole_number("in_flight", self.in_flight, 1, 1000)
        for name in ("requests_per_minute", "tokens_per_minute"):
            if getattr(self, name) is not None:
                check_whole_number(name, getattr(self, name), 1, 10**9)
        if self.structure not in ("auto", "json_schema", "json_object", "text"):
            raise ValueError(f"structure must be auto, json_schema, json_object or text; got {self.structure!r}")

    @property
    def groq(self) -> bool:
        """Whether Groq itself is asked."""
        return self.base_url is None

    @property
    def url(self) -> str:
        """Where requests go."""
        return GROQ_URL if self.base_url is None else self.base_url

    @property
    def key_variable(self) -> str | None:
        """The environment variable that holds the key, ``None`` for a server that needs none."""
        return self.key_env if self.key_env is not None or not self.groq else GROQ_KEY

    def identity(self) -> dict[str, object]:
        """What shapes the answers: everything that is sent but the prompt, the legal acts and the sample."""
        return {
            "model": self.model,
            "system": SYSTEM,
            "structure": self._structure(),
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "extra": dict(self._extra()),
        }

    def body(self, ask: Ask) -> dict[str, Any]:
        """The request of ``ask``."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": ask.prompt}],
            "temperature": self.temperature,
            # OpenAI's name since 2024, and Groq's; other servers know the older one alone.
            "max_completion_tokens" if self.groq else "max_tokens": self.max_tokens,
            "seed": ask.sample,
            **self._extra(),
        }
        structure = self._structure()
        if structure == "json_schema":
            shape = {"name": "act", "strict": True, "schema": legal_schema(ask.legal)}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        elif structure == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    def most_prompt_tokens(self, body: Mapping[str, Any]) -> int:
        """The most tokens that ``body`` can be: no tokenizer makes more than one of a byte."""
        return len(json.dumps(body).encode()) + _TEMPLATE_TOKENS

    def _structure(self) -> Structure:
        if self.structure != "auto":
            return self.structure
        if not self.groq:
            return "text"  # servers differ; the reader is strict in any case
        return "json_schema" if self.model in _STRICT else "json_object"

    def _extra(self) -> Mapping[str, Any]:
        if self.extra is not None:
            return self.extra
        return _BRIEF if self.groq and self.model in _STRICT else {}


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


def _check_url(url: str) -> None:
    told = "base_url must be an http or https address such as http://127.0.0.1:8000/v1"
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises where that is no number
    except (ValueError, AttributeError):
        raise ValueError(told) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(told)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ValueError(f"{told}, without a user, a query or a fragment; keys belong into the environment")
