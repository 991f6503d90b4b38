"""What a person at the table types: a short command, or a sentence that is read as an act.

A command is meant as it stands. A sentence is read by :mod:`.sentences`, which may misread it: its
reading has to be confirmed before it is played, and what may mean two things is asked. Anything else, and what breaks
a rule, is answered with a line that says what is wrong.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from dond_marl.game import ITEMS, Act, Action, Rules
from dond_marl.records.transcript import in_words
from league.display.reading.phrases import Mistake, Question
from league.display.reading.sentences import meaning_of
from partners.human import View

HELP = (
    "p 1 0 2: propose to keep 1 book, 0 hats, 2 balls · i 1 0 2: insist on it (i: on what you last asked for) · "
    "a: agree · d: disagree{walks} · e: end the talk, latest claims count · q: quit · ?: help · or say it in a sentence"
)
UNBOUND = (
    "p 1 0 2: suggest to keep 1 book, 0 hats, 2 balls, or claim that in the end · i 1 0 2: the same, with more "
    "weight · a: say yes, or claim what they last left you · d: say no, or claim nothing · e: suggest nothing, or "
    "claim what you last suggested · q: quit · ?: help · or say it in a sentence"
)
LONGEST = 300  # characters of a sentence; nobody said more than 120 or so in one turn of the published dialogues
_WORDS = {
    **dict.fromkeys(("a", "agree"), Act.AGREE),
    **dict.fromkeys(("d", "disagree"), Act.DISAGREE),
    **dict.fromkeys(("e", "end"), Act.END),
}
_OFFERS = {"p": Act.PROPOSE, "propose": Act.PROPOSE, "i": Act.INSIST, "insist": Act.INSIST}
_NUMBERS = re.compile(r"[-+]?\d{1,6}([\s,]+[-+]?\d{1,6})*,?", re.ASCII)


class Wish(Enum):
    """A command that is no act."""

    HELP = "help"
    LEAVE = "leave"


class Meant(NamedTuple):
    """A legal act; ``sure``: typed as a command, not read from a sentence."""

    action: Action
    sure: bool


def understood(line: str, view: View) -> Meant | Wish | Question | Mistake:
    """What the person means by ``line`` in the game of ``view``; a question's acts are legal."""
    text = line.strip()
    word, _, tail = text.lower().partition(" ")
    if word in ("?", "h", "help") and not tail:
        return Wish.HELP
    if word in ("q", "quit", "exit") and not tail:
        return Wish.LEAVE
    if not text:
        return Mistake("type an act, or ? for help")
    action = _command(word, tail.strip(), view)
    if action is None and len(text) > LONGEST:
        return Mistake(f"that is too long to read: at most {LONGEST} characters")
    meant = meaning_of(text, view) if action is None else action
    if not isinstance(meant, Action):
        return meant
    rule = view.rule_against(meant)
    if rule is None:
        return Meant(meant, sure=action is not None)
    if meant.act_type.is_offer:
        everything = " ".join(map(str, view.counts))
        rule = f"there are {in_words(view.counts)} on the table; keep from p 0 0 0 up to p {everything}"
    return Mistake(f"not legal: {rule}")


def help_line(rules: Rules) -> str:
    """All commands under these rules, in one line."""
    if rules.secret_claims:
        return UNBOUND
    return HELP.format(walks=" and walk away" if rules.disagree == "ends" else " with the offer")


def _command(word: str, tail: str, view: View) -> Action | Mistake | None:
    """The act of a short command, ``None`` where it is none: "i take the hats" is a sentence, "i 0 2 0" is not."""
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
    return Mistake(f"{word} takes three numbers, what you keep of books, hats and balls: {word} 1 0 2")
