"""OpenAI's chat completion over HTTP, which Groq, vLLM, llama.cpp and ``transformers serve`` share.

A request can carry the legal acts as a JSON schema: the open acts, and the splits of this pool (oA counts for offers
only). A server that lacks a mode of structured output refuses it, or ignores it silently, so a mode is probed by a
request whose answer cannot be right by chance: a greeting, under a schema that allows a single act. Services differ in
what they leave out of an answer: only what is needed is read. Some repeat the key in an error: it is removed from what
is quoted.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

from partners.llm.client import Failure, ModelReply, Query, SetupError, Usage
from partners.llm.prompt import SYSTEM_SAY
from partners.llm.remote.failures import RequestFailure, first_words, one_line, parse_json
from partners.llm.reply import KEYS, MESSAGE_KEY, Legal, LegalReply, read_reply
from partners.llm.service import TOKEN_LIMITS, ServiceSettings, Structure

if TYPE_CHECKING:
    import httpx

STRUCTURES: tuple[Structure, ...] = (  # modes of structured output, the strictest first
    "json_schema",  # OpenAI, Groq, vLLM, llama.cpp, Ollama, LM Studio
    "json_object_schema",  # llama.cpp's older mode, llama-cpp-python
    "json_object",  # any JSON object
    "text",
)
PROBE = Query("Say hello. (If you were told to answer in JSON, answer in JSON.)", Legal((1, 0, 0), (3,)))
_MAX_SPLITS = 250  # in a schema; services refuse very large ones, and pools of up to 5 of each type stay below
_TEMPLATE_TOKENS = 512  # the most that a service's chat template adds
_TRANSIENT = (408, 409, 498)  # besides 429 and 5xx; 498 is Groq's "no capacity now"
_MAX_TEXT = 65_536  # characters of a reply; the reader refuses far shorter ones
_TEXT_PARTS = (None, "text", "input_text", "output_text")  # kinds of parts of a content
_BAD_REPLIES = ("json_validate_failed", "tool_use_failed", "output_parse_failed")  # Groq's codes, status 400
_SCHEMA_WORDS = (  # in the error of a server that lacks a mode, whatever status it gives
    "response_format", "json_schema", "json_object", "schema", "grammar", "guided", "structured", "input should be",
    "validation", "unsupported", "not supported", "extra_forbidden", "extra inputs",
)  # fmt: skip
_HELP = {
    401: "the service refused the key in {key} (401): check it, or make a new one, and set it again",
    402: "the service wants to be paid (402): add credit to the account of the key in {key}",
    403: "the key in {key} may not use {model!r} (403): allow it in the service's console, or name another model",
    404: "the service has no model {model!r}, or nothing is served at this address (404): check model and base_url",
}


def request_body(settings: ServiceSettings, query: Query, structure: Structure | None = None) -> dict[str, Any]:
    """The JSON of a request in this mode, by default ``settings.structure_mode``; null in ``extra`` removes a field."""
    body: dict[str, Any] = {
        "model": settings.name,
        "messages": [
            {"role": "system", "content": settings.system + (SYSTEM_SAY if query.legal.say else "")},
            {"role": "user", "content": query.prompt},
        ],
        "temperature": settings.temperature,
        TOKEN_LIMITS[settings.groq]: settings.max_tokens,
        "seed": query.sample,
        **settings.request_fields,
        **structure_fields(structure or settings.structure_mode, legal_schema(query.legal)),
    }
    return {name: value for name, value in body.items() if value is not None}


def structure_fields(structure: Structure, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request that demand an answer of ``schema`` in this mode."""
    fields: dict[str, dict[str, Any]] = {
        "json_schema": {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "act", "strict": True, "schema": schema},
            }
        },
        "json_object_schema": {"response_format": {"type": "json_object", "schema": schema}},
        "json_object": {"response_format": {"type": "json_object"}},
        "text": {},
    }
    return fields[structure]


def legal_schema(legal: Legal) -> dict[str, Any]:
    """The JSON schema of the legal replies; of well-formed ones where the splits of the pool are too many to list."""
    if prod(count + 1 for count in legal.counts) <= _MAX_SPLITS:
        splits = Legal(legal.counts, (0,))
        oA: dict[str, Any] = {"enum": [list(action.oA) for action in splits.actions()]}
    else:
        count = {"type": "integer", "enum": list(range(max(legal.counts) + 1))}
        oA = {"type": "array", "items": count, "minItems": 3, "maxItems": 3}
    message_field = {MESSAGE_KEY: {"type": "string", "maxLength": legal.say}} if legal.say else {}
    return {
        "type": "object",
        "properties": {
            "act_type": {"type": "integer", "enum": list(legal.acts)},
            "oA": oA,
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            **message_field,
        },
        "required": [*KEYS, *message_field],
        "additionalProperties": False,
    }


def is_enforced(structure: Structure, text: str) -> bool:
    """Whether the answer to :data:`PROBE` shows that the server has this mode; JSON mode promises any object."""
    if structure == "json_object":
        return isinstance(parse_json(text), dict)
    return isinstance(read_reply(text, PROBE.legal), LegalReply)


def max_prompt_tokens(body: Mapping[str, Any]) -> int:
    """An upper bound of the tokens of a request: no tokenizer makes more than one of a byte."""
    return len(json.dumps(body).encode()) + _TEMPLATE_TOKENS


def read_answer(answer: httpx.Response, settings: ServiceSettings, *, secret: str) -> ModelReply | RequestFailure:
    """The meaning of ``answer``. Raises :class:`SetupError`.

    ``secret`` is the key, which is removed from the text of errors.
    """
    status, words = answer.status_code, first_words(answer.text, secret)
    if 200 <= status < 300:
        reply = _completion(answer.text)
        return reply if isinstance(reply, ModelReply) else replace(reply, status=status, words=words)
    if status in _HELP:
        key = f"${settings.key_variable}" if settings.key_variable else "key_env"
        message = _HELP[status].format(model=settings.name, key=key)
        raise SetupError(message + (f"; its message: {words}" if words else ""))
    error = _get(parse_json(answer.text), "error")
    text = _get(error, "failed_generation")
    if text is not None or _get(error, "code") in _BAD_REPLIES:  # the model's own reply, which the service refused
        return ModelReply(_text(text), finished="max completion tokens" not in str(_get(error, "message")))
    # llama-cpp-python answers 500 where others answer 422: the request will never do
    is_bad_request = status == 500 and any(word in words.lower() for word in _SCHEMA_WORDS)
    if (status in _TRANSIENT or status == 429 or status >= 500) and not is_bad_request:
        failure = Failure.RATE_LIMIT if status == 429 else Failure.SERVER
        return RequestFailure(failure, wait_s=retry_after(answer.headers), status=status, words=words)
    if 300 <= status < 400:
        words = f"it redirects to {one_line(answer.headers.get('location', ''), secret)}, which is not followed"
    return RequestFailure(Failure.REFUSED, retry=False, status=status, words=words, field=_get(error, "param"))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait that a service demands (RFC 9110, section 10.2.3); ``None`` without a demand, or for a date."""
    try:
        seconds = float(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _completion(body: str) -> ModelReply | RequestFailure:
    document = parse_json(body)
    choice = _get(document, "choices", 0)
    message = _get(choice, "message")
    if not isinstance(message, dict):
        return RequestFailure(Failure.GARBLED)
    prompt, completion = (_get(document, "usage", name) for name in ("prompt_tokens", "completion_tokens"))
    is_counted = type(prompt) is int and type(completion) is int and min(prompt, completion) >= 0
    call = _get(message, "tool_calls", 0, "function") or message.get("function_call")
    # Where the content is empty, some servers put the text elsewhere.
    content, *alternatives = map(message.get, ("content", "refusal", "reasoning_content", "reasoning"))
    return ModelReply(
        next(filter(str.strip, map(_text, (content, _get(call, "arguments"), *alternatives))), ""),
        finished=choice.get("finish_reason") not in ("length", "max_tokens"),
        usage=Usage(prompt, completion) if is_counted else Usage(),
    )


def content_text(content: object) -> str:
    """The text in a message's content, a text or a list of parts; empty where it is null or no text."""
    if isinstance(content, list):
        texts = [_get(part, "text") for part in content if _get(part, "type") in _TEXT_PARTS]
        content = "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _text(content: object) -> str:
    """The text of a reply, storable; of an object its JSON."""
    content = json.dumps(content) if content and isinstance(content, dict) else content
    return content_text(content)[:_MAX_TEXT].encode("utf-8", "replace").decode()  # JSON can hold halves of characters


def _get(document: Any, *path: str | int) -> Any:
    """The value at ``path`` in a JSON document, ``None`` if there is none."""
    for step in path:
        try:
            document = document[step]
        except (KeyError, IndexError, TypeError):
            return None
    return document
