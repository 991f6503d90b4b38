"""Requests that failed: the value that describes one, the service's words for display, and warnings to the user.

A failure is a value that is counted (:mod:`partners.llm.client`), which alone would be silent. So the first failure of
each kind is a warning (:class:`Notice`). A service that has never answered and refuses every request for good is a
mistake in the settings: that is a :class:`SetupError`.
"""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import dataclass
from typing import Any

from dond_marl.errors import Notice
from partners.llm.client import Failure, SetupError
from partners.llm.service import ServiceSettings

REFUSED_FOR_GOOD = 3  # queries refused with one status, before any reply
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
    sent: bool = True  # whether the service may have worked on it, and may charge for that
    wait_s: float | None = None  # seconds that the service wants us to wait (Retry-After); None: unspecified
    status: int | None = None  # HTTP status, if there was an answer
    words: str = ""  # the service's message, one line without the key

    @property
    def fault(self) -> bool:
        """Whether the service failed, as opposed to this one request."""
        return self.failure not in (Failure.REFUSED, Failure.BUDGET)

    @property
    def details(self) -> str:
        """The status and the service's message, as far as they are known."""
        return (f" ({self.status})" if self.status is not None else "") + (f": {self.words}" if self.words else "")


class FailureNotices:
    """Collects the failures of one service, and warns of the first of each kind. Only :meth:`warn` is thread-safe."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.answered = False  # whether any query got a reply
        self._settings = settings
        self._service = f"the model {settings.name!a} at {settings.url}"
        self._refusals: dict[int | None, int] = {}  # queries by status
        self._last_error, self._repeats = "", 0  # the newest message with status 500, and how often in a row
        self._kinds: set[tuple[Failure, int | None]] = set()
        self._pending: list[str] = []

    def add_request(self, failed: RequestFailure) -> None:
        """Count a failed request. Raises :class:`SetupError` if all requests so far failed with the same error 500."""
        if failed.status != 500:
            self._last_error, self._repeats = "", 0
            return
        self._repeats = self._repeats + 1 if failed.words == self._last_error else 1
        self._last_error = failed.words
        if not self.answered and self._repeats >= self._settings.breaker_after:
            self._stop(failed, f"answered each of {self._repeats} requests in a row with the same error")

    def add_query(self, failed: RequestFailure) -> None:
        """Count a query without a reply. Raises :class:`SetupError` if all queries so far were refused for good."""
        if failed.failure not in _MESSAGES:
            return
        if failed.failure is Failure.REFUSED:
            times = self._refusals[failed.status] = self._refusals.get(failed.status, 0) + 1
            if not self.answered and times >= REFUSED_FOR_GOOD:
                self._stop(failed, f"refused each of the first {times} requests")
        kind = failed.failure, failed.status
        if kind not in self._kinds:
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

    def _stop(self, failed: RequestFailure, event: str) -> None:
        raise SetupError(
            f"{self._service} {event}{failed.details}; more requests cannot succeed: correct what it "
            "names, or check model, base_url, structure, extra and max_tokens; dond llm-check shows one request"
        )


def first_words(body: str, key: str) -> str:
    """The beginning of an error's ``body`` (its message, if it is JSON that has one), without ``key``."""
    return one_line(_error_message(parse_json(body)) or _TAGS.sub(" ", body[:4096]), key)


def one_line(text: str, key: str) -> str:
    """``text`` as at most one printable line, with ``key`` replaced; empty if nothing is left."""
    text = text[:65_536].replace(key, "[key]") if key else text[:65_536]
    words = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return words if len(words) <= _MAX_WORDS else f"{words[: _MAX_WORDS - 1]}\u2026"


def duration_text(seconds: float) -> str:
    """A duration in hours, minutes or seconds, whichever is readable."""
    for unit, name in ((3600, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} seconds"


def parse_json(body: str) -> Any:
    """The JSON document in ``body``, ``None`` if it is not JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _error_message(document: Any) -> str:
    """The message of an error as OpenAI, Groq, llama.cpp, vLLM, FastAPI and Ollama write it; empty without one."""
    for place in ("error", "message", "detail", "msg"):
        if isinstance(document, dict) and place in document:
            inner = document[place]
            return inner if isinstance(inner, str) else _error_message(inner)
    if isinstance(document, list) and document:
        return _error_message(document[0])
    return ""
