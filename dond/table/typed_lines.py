"""A line that a person types at the table: a short command such as ``p 1 0 2``, or a sentence.

A command is played as it stands. A sentence may be misread, so its reading is confirmed before it is played; an
ambiguous sentence gives a question, and an illegal or unreadable line a reason. The terminal and the page share this.
"""

from __future__ import annotations

import re

from dond.table.sentences import Reading, act_reading, read_sentence, refusal
from dond_marl.game import ITEMS, Act, Rules
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


def read_line(line: str, view: View) -> Reading:
    """Read a typed line in the game of ``view``. All acts of the result are legal."""
    text = line.strip()
    word, _, tail = text.lower().partition(" ")
    if word in ("?", "h", "help") and not tail:
        return Reading(command="help")
    if word in ("q", "quit", "exit") and not tail:
        return Reading(command="leave")
    if not text:
        return refusal("type an act, or ? for help")
    command = _command(word, tail.strip(), view)
    if command is None and len(text) > MAX_CHARACTERS:
        return refusal(f"that is too long to read: at most {MAX_CHARACTERS} characters")
    reading = read_sentence(text, view) if command is None else command
    rules = [(action, rule) for action in reading.actions if (rule := view.rule_against(action)) is not None]
    if not rules:
        return reading
    action, rule = rules[0]
    if action.act_type.is_offer:
        everything = " ".join(map(str, view.counts))
        rule = f"there are {describe_items(view.counts)} on the table; keep from p 0 0 0 up to p {everything}"
    return refusal(f"not legal: {rule}")


def help_line(rules: Rules) -> str:
    """One line of help that lists the commands under ``rules``."""
    return HELP.format(walks=" and walk away" if rules.disagree == "ends" else " with the offer")


def _command(word: str, tail: str, view: View) -> Reading | None:
    """The reading of a short command; ``None`` for a sentence ("i take the hats" is one, "i 0 2 0" is not)."""
    if not tail and word in _WORDS:
        return act_reading(_WORDS[word], sure=True)
    if word not in _OFFERS:
        return None
    if not tail and word in ("i", "insist") and view.mine is not None:
        return act_reading(Act.INSIST, view.mine, sure=True)
    split = re.split(r"[\s,]+", tail.strip(",")) if _NUMBERS.fullmatch(tail) else []
    numbers = [int(number) for number in split if number]
    if len(numbers) == len(ITEMS):
        return act_reading(_OFFERS[word], (numbers[0], numbers[1], numbers[2]), sure=True)
    if tail and not numbers and word != "p":
        return None
    return refusal(f"{word} takes three numbers, what you keep of books, hats and balls: {word} 1 0 2")
