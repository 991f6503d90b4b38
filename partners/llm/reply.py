"""Parser of a language model's reply: one legal act, or the reason of a refusal.

A reply is one JSON object with the keys ``act_type``, ``oA`` and ``confidence`` and nothing else. White space is free
as in JSON: servers in JSON mode write the object over several lines. No intent is guessed from prose. A confidence
outside 0..1 is clipped and counted: legality does not depend on it, and some servers' schemas do not enforce it. In
games with messages a fourth key, ``say``, may hold a text; it is reduced to the allowed length and characters
(:mod:`dond_marl.records.transcript`), and counted if that changes it. The standard JSON parser accepts NaN and
duplicate keys and fails on deep nesting and very long texts, so such texts are refused before it runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import product
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np

from dond_marl.game import MAX_COUNT, Act, Action, Triple
from dond_marl.records.transcript import as_message
from dond_marl.seats import Turns

Reading = Literal["strict", "lenient"]
KEYS = ("act_type", "oA", "confidence")
MESSAGE_KEY = "say"  # the key of a message, in games that have them
LONGEST = 4096  # characters; a legal line has less than 100, and this bounds the parsing time
FENCE, THINKING, CLIPPED = "let_pass_fence", "let_pass_thinking", "confidence_clipped"  # names in tallies
TRIMMED = "say_trimmed"  # a name in tallies
_SPACE = " \t\r\n"  # white space in JSON
_AROUND = _SPACE + "\ufeff"  # that and a byte-order mark, which lenient reading takes for such
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?')  # in JSON; the last may be cut off
_FENCE, _START, _END = "```", "<think>", "</think>"
# The beginning of an object, perhaps in a fence. No JSON text has it after a tag in a string: quotes are escaped there.
_OBJECT = re.compile(r'\s*(?:```(?:json)?\s*)?\{\s*"\w', re.IGNORECASE)


class Reason(StrEnum):
    """Why a reply was refused."""

    EMPTY = "empty"
    TRUNCATED = "truncated"  # cut off inside its object
    UNPARSABLE = "unparsable"  # no JSON object, or text around it
    WRONG_KEYS = "wrong_keys"  # a missing, unknown or duplicate key
    WRONG_TYPE = "wrong_type"  # a boolean, text or fraction for a whole number; not three of them
    OUT_OF_RANGE = "out_of_range"  # a value that no act or count has in any game
    ILLEGAL = "illegal"  # well formed, but illegal in this position


class Legal(NamedTuple):
    """The legal acts of the seat to move."""

    counts: Triple  # the pool: the maximum of oA
    acts: tuple[int, ...]  # the numbers of the open acts, ascending
    say: int = 0  # maximum length of a message; 0: no messages

    def actions(self) -> Iterator[Action]:
        """Every legal action, in the order of :func:`dond_marl.game.legal_actions`."""
        first, second, third = (range(count + 1) for count in self.counts)
        for act in map(Act, self.acts):
            if act.is_offer:
                yield from (Action(act, oA) for oA in product(first, second, third))
            else:
                yield Action(act)


class LegalReply(NamedTuple):
    """A legal reply."""

    action: Action  # oA is zeros unless the act is an offer
    confidence: float  # in 0..1
    notes: tuple[str, ...] = ()  # names of what was removed around it, and clipped
    say: str = ""  # the message


def legal_rows(turns: Turns) -> list[Legal]:
    """The legal acts of each row's seat, ``[B]``."""
    masks = [tuple(np.flatnonzero(mask).tolist()) for mask in turns.act_mask]
    limit = turns.rules.message_length
    return [Legal((a, b, c), acts, limit) for (a, b, c), acts in zip(turns.counts.tolist(), masks, strict=True)]


def reply_line(action: Action, confidence: float, message: str = "") -> str:
    """``action`` as a one-line reply for :func:`read_reply`, with a message, if any."""
    line = dict(zip(KEYS, (int(action.act_type), list(action.oA), confidence), strict=True))
    return json.dumps({**line, MESSAGE_KEY: message} if message else line)


def read_reply(text: str, legal: Legal, *, finished: bool = True, reading: Reading = "strict") -> LegalReply | Reason:
    """The act in ``text``, if it is ``legal``; ``finished`` is False where the model was cut off. Raises nothing.

    A lenient ``reading`` first applies :func:`unwrap`.
    """
    line, notes = unwrap(text) if reading == "lenient" else (text.strip(_SPACE), ())
    fields = _fields(line, talks=legal.say > 0)
    if isinstance(fields, Reason):
        cut = not finished and fields in (Reason.EMPTY, Reason.UNPARSABLE)
        return Reason.TRUNCATED if cut else fields
    act, oA, confidence, message = fields
    if type(message) is not str:
        return Reason.WRONG_TYPE
    if type(act) is not int or type(oA) is not list or type(confidence) not in (int, float):
        return Reason.WRONG_TYPE  # bool is an int to isinstance
    if len(oA) != 3 or any(type(count) is not int for count in oA):
        return Reason.WRONG_TYPE
    if not (0 <= act <= Act.END and min(oA) >= 0 and max(oA) <= MAX_COUNT):
        return Reason.OUT_OF_RANGE
    if act not in legal.acts:
        return Reason.ILLEGAL
    sure = float(min(max(confidence, 0), 1))  # clipped first: no float holds a number of thousands of digits
    notes += () if sure == confidence else (CLIPPED,)
    text = as_message(message, legal.say)
    notes += () if text == message else (TRIMMED,)
    if act > Act.INSIST:
        return LegalReply(Action(Act(act)), sure, notes, text)
    if any(keep > count for keep, count in zip(oA, legal.counts, strict=True)):
        return Reason.ILLEGAL
    return LegalReply(Action(Act(act), (oA[0], oA[1], oA[2])), sure, notes, text)


def unwrap(text: str) -> tuple[str, tuple[str, ...]]:
    """``text`` without a leading ``<think>...</think>`` and a code fence around the rest; and the removed parts' names.

    The fence may be labelled ``json``, in any case; ``<think>`` may be missing, as chat templates may end with it.
    """
    line = text.strip(_AROUND)
    notes: tuple[str, ...] = ()
    thought, end, after = line.partition(_END)
    lacks_start = _START not in thought and (_OBJECT.match(after) or not line.startswith(("{", _FENCE)))
    if end and (lacks_start or line.startswith(_START)):
        line, notes = after.strip(_AROUND), (THINKING,)
    inside = line.removeprefix(_FENCE).removesuffix(_FENCE)
    if len(line) == len(inside) + 2 * len(_FENCE):
        line, notes = re.sub(r"(?i)\Ajson", "", inside).strip(_AROUND), (*notes, FENCE)
    return line, notes


def _fields(line: str, *, talks: bool) -> tuple[Any, Any, Any, Any] | Reason:
    """The values of the three keys, and of ``say`` or ``""``, of any type, out of one flat object and nothing else."""
    if not line:
        return Reason.EMPTY
    if len(line) > LONGEST or line[0] != "{":
        return Reason.UNPARSABLE
    structure = _STRING.sub("", line)
    if structure.count("{") > 1 or structure.count("[") > 1:  # the depth is known before anything recurses
        return Reason.UNPARSABLE
    try:
        pairs: list[tuple[str, Any]] = _DECODER.decode(line)
    except ValueError:
        return Reason.UNPARSABLE if "}" in structure else Reason.TRUNCATED
    fields = dict(pairs)
    if len(pairs) != len(fields) or fields.keys() - ({MESSAGE_KEY} if talks else set()) != set(KEYS):
        return Reason.WRONG_KEYS
    return fields["act_type"], fields["oA"], fields["confidence"], fields.get(MESSAGE_KEY, "")


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=list, parse_constant=_no_number)
