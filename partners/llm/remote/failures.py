"""Requests that failed: the value that describes one, the service's words for display, and warnings to the user.

A failure is a value that is counted (:mod:`partners.llm.client`), which alone would be silent. So the first failure of
each kind is a warning (:class:`Notice`). A service that has never answered and refuses every request for good is a
mistake in the settings: that is a :class:`SetupError`.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

from dond_marl.errors import Notice
from partners.llm.client import Failure, SetupError
from partners.llm.service import ServiceSettings

REFUSED_FOR_GOOD = 3
_MAX_WORDS = 160  # characters of a service's message
_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^>]{0,200}>", re.DOTALL | re.IGNORECASE)
_MESSAGES = {
    Failure.TIMEOUT: "it did not answer within {timeout_s:g} seconds (timeout_s). The request is not sent again: the "
    "server may still work on it. A slower server needs a longer timeout_s",
    Failure.CONNECTION: "it cannot be reached{details}",
    Failure.RATE_LIMIT: "it allows no more requests{wait}{details}",
    Failure.SERVER: "it failed{details}",
    Failure.GARBLED: "its answer is no completion{details}",
    Failure.REFUSED: "it refused a request{details}; that request is not sent again",
}


@dataclass(frozen=True, slots=True)
class RequestFailure:
    """A request without a reply."""

    failure: Failure
    retry: bool = True  # whether another attempt may succeed
    wait_s: float | None = None  # seconds that the service wants us to wait (Retry-After); None: unspecified
    status: int | None = None  # HTTP status, if there was an answer
    words: str = ""  # the service's message, one line without the key
    field: object = None  # the field of the request that the service refused, if it names one

    @property
    def fault(self) -> bool:
        """Whether the service failed, as opposed to this one request."""
        return self.failure is not Failure.REFUSED

    @property
    def details(self) -> str:
        """The status and the service's message, as far as they are known."""
        return (f" ({self.status})" if self.status is not None else "") + (f": {self.words}" if self.words else "")


class FailureNotices:
    """The failures of one service: warns of the first of each kind, and ends a run that no repetition can save.

    Only :meth:`warn` is thread-safe.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.has_reply = False  # whether any query got a reply
        self._settings = settings
        origin = f"at {settings.url}" if settings.call is None else "of provider python"
        self._service = f"the model {settings.name!a} {origin}"
        self._lasting: Counter[tuple[int | None, str]] = Counter()  # refusals by status, errors 500 by message too
        self._kinds: set[tuple[Failure, int | None]] = set()
        self._pending: list[str] = []

    def add_request(self, failed: RequestFailure) -> None:
        """Count a request without a reply; raises :class:`SetupError` if none got one and many failed the same way.

        That are :data:`REFUSED_FOR_GOOD` requests refused with one status, or ``breaker_after`` errors 500 of one text.
        """
        is_refused = failed.failure is Failure.REFUSED
        if self.has_reply or not (is_refused or failed.status == 500):
            return
        key = failed.status, "" if is_refused else failed.words
        times = self._lasting[key] = self._lasting[key] + 1
        if times >= (REFUSED_FOR_GOOD if is_refused else self._settings.breaker_after):
            event = "refused" if is_refused else "failed with the same error on"
            advice = "what it names, or check model, base_url, structure, extra and max_tokens (dond llm-check)"
            raise SetupError(
                f"{self._service} {event} the first {times} requests{failed.details}; more cannot succeed: correct "
                f"{advice if self._settings.call is None else 'the function'}"
            )

    def add_query(self, failed: RequestFailure) -> None:
        """Note a query without a reply for :meth:`warn`, if it is the first of its kind."""
        kind = failed.failure, failed.status
        if failed.failure not in _MESSAGES or kind in self._kinds:
            return
        self._kinds.add(kind)
        wait = "" if failed.wait_s is None else f" for {duration_text(failed.wait_s)}"
        message = _MESSAGES[failed.failure].format(
            timeout_s=self._settings.timeout_s, wait=wait, details=failed.details
        )
        counted = f"This is reported once, and counted as failed_{failed.failure}"
        self._pending.append(f"{self._service}: {message}. {counted}")

    def warn(self) -> None:
        """Issue the new warnings."""
        while self._pending:
            warnings.warn(self._pending.pop(0), Notice, stacklevel=3)


def first_words(body: str, key: str) -> str:
    """The beginning of an error's ``body`` (its message, if it is JSON that has one), without ``key``."""
    return one_line(_error_message(parse_json(body)) or _TAGS.sub(" ", body[:4096]), key)


def one_line(text: str, key: str) -> str:
    """``text`` as at most one printable line, with ``key`` replaced; empty if nothing is left."""
    text = text[:65_536].replace(key, "[key]") if key else text[:65_536]
    words = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return words if len(words) <= _MAX_WORDS else f"{words[: _MAX_WORDS - 1]}\u2026"


def duration_text(seconds: float) -> str:
    """A duration in seconds, minutes, hours or days: ``90 seconds``, ``1 hour``."""
    for limit, unit, name in ((120, 1, "seconds"), (7200, 60, "minutes"), (172_800, 3600, "hours")):
        if seconds < limit:
            number = round(seconds / unit)
            return f"{number} {name.removesuffix('s') if number == 1 else name}"
    return f"{seconds / 86_400:.0f} days"


def parse_json(body: str) -> Any:
    """The JSON document in ``body``, ``None`` if it is not JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _error_message(document: Any) -> str:
    """The message of an error as OpenAI, Groq, llama.cpp, vLLM, FastAPI and Ollama write it; empty without one."""
    for key in ("error", "message", "detail", "msg"):
        if isinstance(document, dict) and key in document:
            inner = document[key]
            return inner if isinstance(inner, str) else _error_message(inner)
    if isinstance(document, list) and document:
        return _error_message(document[0])
    return ""
