"""OpenAI's chat completion over HTTP, which Groq, vLLM, llama.cpp and ``transformers serve`` share.

Where the server supports it, the legal acts go along as a JSON schema (:mod:`.forms`): an act that is open, and a split
of this pool, as oA counts for offers alone. Services differ in what they leave out of an answer, so that only what is
needed is read. Some repeat the key in an error: it is left out of what is quoted.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from partners.llm.client import Failure, ModelReply, Query, SetupError, Usage
from partners.llm.prompt import SYSTEM_SAY
from partners.llm.remote.forms import form_fields, is_about_form, legal_schema
from partners.llm.remote.retry import RateLimits, RequestFailure
from partners.llm.remote.words import first_words, one_line
from partners.llm.service import ServiceSettings, Structure

if TYPE_CHECKING:
    import httpx

_TEMPLATE_TOKENS = 512  # the most that a service's chat template adds to what is sent
_PASSING = (408, 409, 498)  # besides 429 and 5xx; 498 is Groq's "no capacity now"
_MOST_TEXT = 65_536  # characters kept of a reply; the reader refuses far shorter ones
_OVERLOAD = (429, 498, 503)  # what another request would get too
_UNITS = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "": 1.0}  # in seconds
_SPAN_PART = re.compile(r"(\d+(?:\.\d*)?)(ms|[dhms]|)", re.ASCII)
_WHOLE = re.compile(r"\d{1,15}", re.ASCII)


def request_body(settings: ServiceSettings, ask: Query, form: Structure | None = None) -> dict[str, Any]:
    """The JSON that asks for one reply in this form, by default the one that is known."""
    body: dict[str, Any] = {
        "model": settings.name,
        "messages": [
            {"role": "system", "content": settings.system + (SYSTEM_SAY if ask.legal.say else "")},
            {"role": "user", "content": ask.prompt},
        ],
        "temperature": settings.temperature,
        # OpenAI's name since 2024, and Groq's; other servers know the older one alone.
        "max_completion_tokens" if settings.groq else "max_tokens": settings.max_tokens,
        "seed": ask.sample,
        **settings.request_fields,
        **form_fields(form or settings.structure_mode, legal_schema(ask.legal)),
    }
    return {name: value for name, value in body.items() if value is not None}  # null in ``extra`` takes a field away


def most_prompt_tokens(body: Mapping[str, Any]) -> int:
    """The most tokens that ``body`` can be: no tokenizer makes more than one of a byte."""
    return len(json.dumps(body).encode()) + _TEMPLATE_TOKENS


def read_answer(
    answer: httpx.Response, *, model: str, key: str, secret: str, wall_s: float
) -> ModelReply | RequestFailure:
    """What ``answer`` means, received at ``wall_s`` (seconds since 1970). Raises :class:`SetupError`.

    ``model`` and ``key`` (where the key is from) are for the message of an error; ``secret``, the key itself, is left
    out of it.
    """
    status = answer.status_code
    if 200 <= status < 300:
        read = _completion(answer.text)
        return (
            read
            if isinstance(read, ModelReply)
            else replace(read, status=status, words=first_words(answer.text, secret))
        )
    words = first_words(answer.text, secret)
    if status in _HELP:
        raise SetupError(_HELP[status].format(model=model, key=key) + (f"; it says: {words}" if words else ""))
    if status == 400:
        rejected = _rejected_generation(answer.text)
        if rejected is not None:
            return ModelReply(rejected)  # the model's own bad line, which the service's schema check stopped
    wait = retry_after(answer.headers, wall_s)
    bad_request = status == 500 and is_about_form(words)  # what llama-cpp-python says where others say 422
    if (status in _PASSING or status == 429 or status >= 500) and not bad_request:
        failure = Failure.RATE_LIMIT if status == 429 else Failure.SERVER
        everyone = status in _OVERLOAD or wait is not None
        return RequestFailure(failure, everyone=everyone, wait_s=wait, status=status, words=words)
    if 300 <= status < 400:
        words = f"it sends on to {one_line(answer.headers.get('location', ''), secret)}, which is not followed"
    return RequestFailure(Failure.REFUSED, retry=False, status=status, words=words)


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


def rates(headers: Mapping[str, str]) -> RateLimits:
    """What the ``x-ratelimit-*`` headers say, as OpenAI and Groq write them (``2m59.56s``, ``7.66s``, ``20ms``)."""
    said = []
    for name in ("requests", "tokens"):
        left = headers.get(f"x-ratelimit-remaining-{name}", "")
        said.append(
            (int(left) if _WHOLE.fullmatch(left) else None, _span(headers.get(f"x-ratelimit-reset-{name}", "")))
        )
    return RateLimits(*said[0], *said[1])


def _span(text: str) -> float | None:
    """A span such as ``1h2m3.5s`` in seconds; ``None`` for anything else."""
    parts = _SPAN_PART.findall(text[:40])
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def _date(text: str | None) -> float | None:
    """An HTTP date as seconds since 1970."""
    if text is None:
        return None
    try:
        date = parsedate_to_datetime(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _completion(body: str) -> ModelReply | RequestFailure:
    document = _json(body)
    choice = _at(document, "choices", 0)
    message = _at(choice, "message")
    if not isinstance(message, dict):
        return RequestFailure(Failure.GARBLED)
    prompt, completion = (_at(document, "usage", name) for name in ("prompt_tokens", "completion_tokens"))
    counted = type(prompt) is int and type(completion) is int and min(prompt, completion) >= 0
    return ModelReply(
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
