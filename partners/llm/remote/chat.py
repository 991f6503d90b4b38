"""OpenAI's chat completion over HTTP, which Groq, vLLM, llama.cpp and ``transformers serve`` share.

Where the model supports it, the legal acts go along as a JSON schema: an act that is open, and a split of this pool,
as oA counts for offers alone. Services differ in what they leave out of an answer, so that only what is needed is read,
and no message quotes a body: some services repeat the key in it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from math import prod
from typing import TYPE_CHECKING, Any

from partners.llm.client import Ask, Failure, Reply, SetupError, Usage
from partners.llm.remote.retry import Trouble
from partners.llm.reply import KEYS, Legal
from partners.llm.service import ServiceSettings

if TYPE_CHECKING:
    import httpx

_MOST_SPLITS = 250  # in a schema; services refuse very large ones, and pools of up to 5 of each type stay below
_TEMPLATE_TOKENS = 512  # the most that a service's chat template adds to what is sent
_PASSING = (408, 409, 498)  # besides 429 and 5xx; 498 is Groq's "no capacity now"
_MOST_TEXT = 65_536  # characters kept of a reply; the reader refuses far shorter ones
_OVERLOAD = (429, 498, 503)  # what another request would get too


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


def read_answer(answer: httpx.Response, *, model: str, key: str, wall_s: float) -> Reply | Trouble:
    """What ``answer`` means, received at ``wall_s`` (seconds since 1970). Raises :class:`SetupError`.

    ``model`` and ``key`` (where the key is from, not the key itself) are for the message of an error.
    """
    status = answer.status_code
    if 200 <= status < 300:
        return _completion(answer.text)
    if status in (401, 402, 403, 404):
        raise SetupError(_HELP[status].format(model=model, key=key))
    if status == 400:
        rejected = _rejected_generation(answer.text)
        if rejected is not None:
            return Reply(rejected)  # the model's own bad line, which the service's schema check stopped
    wait = retry_after(answer.headers, wall_s)
    if status in _PASSING or status == 429 or status >= 500:
        failure = Failure.RATE_LIMIT if status == 429 else Failure.SERVER
        return Trouble(failure, everyone=status in _OVERLOAD or wait is not None, wait_s=wait)
    return Trouble(Failure.REFUSED, retry=False)


def retry_after(headers: Mapping[str, str], wall_s: float) -> float | None:
    """The seconds to wait that a service asks for, in milliseconds, seconds or as a date; ``None`` if it does not.

    Source: RFC 9110, section 10.2.3. A date is measured against the answer's own Date, so that clocks need not agree.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    until = _date(headers.get("retry-after"))
    if until is None:
        return None
    sent = _date(headers.get("date"))
    return max(0.0, until - (wall_s if sent is None else sent))


def _date(text: str | None) -> float | None:
    """An HTTP date as seconds since 1970."""
    if text is None:
        return None
    try:
        date = parsedate_to_datetime(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _completion(body: str) -> Reply | Trouble:
    document = _json(body)
    choice = _at(document, "choices", 0)
    message = _at(choice, "message")
    if not isinstance(message, dict):
        return Trouble(Failure.GARBLED)
    prompt, completion = (_at(document, "usage", name) for name in ("prompt_tokens", "completion_tokens"))
    counted = type(prompt) is int and type(completion) is int and min(prompt, completion) >= 0
    return Reply(
        _text(message.get("content")),
        finished=choice.get("finish_reason") != "length",
        usage=Usage(prompt, completion) if counted else Usage(),
    )


def _rejected_generation(body: str) -> str | None:
    """The model's reply, if that is why the request was refused (Groq's ``json_validate_failed``)."""
    error = _at(_json(body), "error")
    return _text(_at(error, "failed_generation")) if _at(error, "code") == "json_validate_failed" else None


def _text(content: object) -> str:
    """The text of a reply, storable; empty where it is null or no text."""
    if not isinstance(content, str):
        return ""
    return content[:_MOST_TEXT].encode("utf-8", "replace").decode()  # JSON can hold halves of characters


def _at(document: Any, *path: str | int) -> Any:
    """What stands there in a JSON document, ``None`` if nothing does."""
    for step in path:
        try:
            document = document[step]
        except (KeyError, IndexError, TypeError):
            return None
    return document


def _json(body: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


_HELP = {
    401: "the service refused the key in {key} (401): check it, or make a new one, and set it again",
    402: "the service wants to be paid (402): add credit to the account whose key is in {key}",
    403: "the key in {key} may not use {model!r} (403): allow it in the service's console, or name another model",
    404: "the service knows no model {model!r}, or nothing is served at this address (404): check model and base_url",
}
