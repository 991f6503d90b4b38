"""A line that a person types at the table: a short command such as ``p 1 0 2``, or a sentence.

A command is played as it stands. A sentence may be misread, so its reading is confirmed before it is played; an
ambiguous sentence gives a question, and an illegal or unreadable line a message. The terminal and the page share this.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from dond.table.sentences import AmbiguousLine, Misread, read_sentence
from dond_marl.game import ITEMS, Act, Action, Rules
from dond_marl.records.transcript import describe_items
from partners.human import View

HELP = (
    "p 1 0 2: propose to keep 1 book, 0 hats, 2 balls · i 1 0 2: insist on it (i: on what you last asked for) · "
    "a: agree · d: disagree{walks} · e: end the talk, latest claims count · q: quit · ?: help · or say it in a sentence"
)
MAX_CHARACTERS = 300  # characters of a sentence; turns of the published dialogues have at most about 120
_WORDS = {
    **dict.fromkeys(("a", "agree"), Act.AGREE),
    **dict.fromkeys(("d", "disagree"), Act.DISAGREE),
    **dict.fromkeys(("e", "end"), Act.END),
}
_OFFERS = {"p": Act.PROPOSE, "propose": Act.PROPOSE, "i": Act.INSIST, "insist": Act.INSIST}
_NUMBERS = re.compile(r"[-+]?\d{1,6}([\s,]+[-+]?\d{1,6})*,?", re.ASCII)


class TableCommand(Enum):
    """A command that is not a dialogue act."""

    HELP = "help"
    LEAVE = "leave"


class ReadAct(NamedTuple):
    """A legal act of a typed line. ``sure``: it was a command; the reading of a sentence must be confirmed."""

    action: Action
    sure: bool


def read_line(line: str, view: View) -> ReadAct | TableCommand | AmbiguousLine | Misread:
    """Read a typed line in the game of ``view``. Acts of the result, those of a question too, are legal."""
    text = line.strip()
    word, _, tail = text.lower().partition(" ")
    if word in ("?", "h", "help") and not tail:
        return TableCommand.HELP
    if word in ("q", "quit", "exit") and not tail:
        return TableCommand.LEAVE
    if not text:
        return Misread("type an act, or ? for help")
    action = _command(word, tail.strip(), view)
    if action is None and len(text) > MAX_CHARACTERS:
        return Misread(f"that is too long to read: at most {MAX_CHARACTERS} characters")
    reading = read_sentence(text, view) if action is None else action
    if not isinstance(reading, Action):
        return reading
    rule = view.rule_against(reading)
    if rule is None:
        return ReadAct(reading, sure=action is not None)
    if reading.act_type.is_offer:
        everything = " ".join(map(str, view.counts))
        rule = f"there are {describe_items(view.counts)} on the table; keep from p 0 0 0 up to p {everything}"
    return Misread(f"not legal: {rule}")


def help_line(rules: Rules) -> str:
    """One line of help that lists the commands under ``rules``."""
    return HELP.format(walks=" and walk away" if rules.disagree == "ends" else " with the offer")


def _command(word: str, tail: str, view: View) -> Action | Misread | None:
    """The act of a short command; ``None`` for a sentence ("i take the hats" is one, "i 0 2 0" is not)."""
    if not tail and word in _WORDS:
        return Action(_WORDS[word])
    if word not in _OFFERS:
        return None
    if not tail and word in ("i", "insist") and view.mine is not None:
        return Action(Act.INSIST, view.mine)
    split = re.split(r"[\s,]+", tail.strip(",")) if _NUMBERS.fullmatch(tail) else []
    numbers = [int(number) for number in split if number]
    if len(numbers) == len(ITEMS):
        return Action(_OFFERS[word], (numbers[0], numbers[1], numbers[2]))
    if tail and not numbers and word != "p":
        return None
    return Misread(f"{word} takes three numbers, what you keep of books, hats and balls: {word} 1 0 2")
