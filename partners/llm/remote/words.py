"""What a service says, as words for a person: one line, without keys and without characters that steer a terminal."""

from __future__ import annotations

import json
import re
from typing import Any

_MOST = 160  # characters of a service's words
_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^>]{0,200}>", re.DOTALL | re.IGNORECASE)


def first_words(body: str, key: str) -> str:
    """The first words of an error's ``body`` (its message, where it is JSON that has one), ``key`` left out of them."""
    return one_line(_message(_json(body)) or _TAGS.sub(" ", body[:4096]), key)


def one_line(text: str, key: str) -> str:
    """``text`` as at most a line, ``key`` left out; empty if nothing is left."""
    text = text[:65_536].replace(key, "[key]") if key else text[:65_536]
    words = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return words if len(words) <= _MOST else f"{words[: _MOST - 1]}\u2026"


def duration_text(seconds: float) -> str:
    """A time in the unit that a person would say it in."""
    for unit, name in ((3600, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} seconds"


def _message(document: Any) -> str:
    """The message of an error as OpenAI, Groq, llama.cpp, vLLM, FastAPI and Ollama write it; empty without one."""
    for place in ("error", "message", "detail", "msg"):
        if isinstance(document, dict) and place in document:
            inner = document[place]
            return inner if isinstance(inner, str) else _message(inner)
    if isinstance(document, list) and document:
        return _message(document[0])
    return ""


def _json(body: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
