"""What talking partners say of their values, and how that is read: one sentence, in one grammar.

``My values: book 4, hat 1, ball 2.`` A message is read as a claim about values if it holds the word *value*, *values*
or *worth* and, in this order, *book*, *hat* and *ball* (or their plurals), each followed by its number, 0..10. Anything
else claims nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from dond_marl.game import ITEMS, MAX_VALUE, Triple
from dond_marl.seats import Bools, Int8s, Texts, Turns

_ABOUT = re.compile(r"\b(?:values?|worth)\b", re.IGNORECASE)
_NUMBERS = re.compile(r"\D{0,20}".join(rf"\b{item}s?\b[^\d,;.]{{0,20}}(\d{{1,2}})\b" for item in ITEMS), re.IGNORECASE)


def said(values: Triple) -> str:
    """The sentence that claims ``values``."""
    return f"My values: {', '.join(f'{item} {value}' for item, value in zip(ITEMS, values, strict=True))}."


def sentences(turns: Turns, values: Int8s) -> Texts | None:
    """The sentence of each row of ``values[B, 3]``, ``[B]``, ``None`` where none may pass or none is short enough."""
    if not turns.rules.message_length:
        return None
    spoken = np.empty(len(values), dtype=np.object_)
    for row, (a, b, c) in enumerate(values.tolist()):
        sentence = said((a, b, c))
        spoken[row] = sentence if len(sentence) <= turns.rules.message_length else ""
    return spoken


@lru_cache(maxsize=4096)
def claimed(message: str) -> Triple | None:
    """The values that ``message`` claims, ``None`` if it claims none."""
    found = _NUMBERS.search(message) if _ABOUT.search(message) else None
    if found is None:
        return None
    a, b, c = map(int, found.groups())
    return (a, b, c) if max(a, b, c) <= MAX_VALUE else None


def told(turns: Turns) -> tuple[Int8s, Bools]:
    """The values that each row's partner claimed last, ``[B, 3]``, and where it claimed any that are worth anything."""
    values, known = np.zeros((turns.size, 3), dtype=np.int8), np.zeros(turns.size, dtype=bool)
    if turns.history.talk:
        theirs = turns.history.messages[:, 1 - turns.seat :: 2]
        for row, messages in enumerate(theirs.tolist()):
            for message in reversed(messages):
                claim = claimed(message) if message else None
                if claim is not None:
                    values[row], known[row] = claim, bool(np.dot(claim, turns.counts[row].astype(np.int64)))
                    break
    return values, known
