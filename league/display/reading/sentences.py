"""A sentence that a person types at the table, read as an act: by phrases of the table first, then by the annotator.

:mod:`dond_marl.dialogues.annotator` was written for, and measured on, what people wrote to each other. A person at the
table also says "50/50?", "same as before" or "bye", and uses signs for items; and a "no way" must not end the game
unasked. What may mean two things is asked, never guessed. English alone is read.
"""

from __future__ import annotations

import re

from dond_marl.dialogues.annotator import Reading, Said, read
from dond_marl.dialogues.clauses import claims
from dond_marl.dialogues.words import tags
from dond_marl.game import ITEMS, Act, Action, Triple, rest
from dond_marl.records.transcript import in_words
from league.display.reading.phrases import (
    ENGLISH,
    NOTHING_TO_AGREE_TO,
    PHRASES,
    Meaning,
    Mistake,
    Question,
    leave,
    refused,
)
from league.display.reading.plain_words import WORTHLESS_TO_THEM, as_claims, bare, in_plain_words
from partners.human import View

_THREE = re.compile(r"(?:(?:i (?:want|keep|take)|give me) )?(\d)[ ,/:-]+(\d)[ ,/:-]+(\d)")  # books, hats, balls
_ASKING = re.compile(r"(?:what(?!'?s? (?:about|if))|which|why|who|when|where|do (?:you|u)|are (?:you|u))\b")
_A_QUESTION = re.compile(r"(?:do|did|will|would|can|could|shall|should|are|is|does) (?:you|u|we|it|that|this)\b")
_IF = re.compile(r"\b(?:if|unless|provided)\b")
_BOTH = re.compile(rf"\bboth (?:of )?(?:the |these |those |your |my )?({'|'.join(ITEMS)})s?\b")
NO_ANSWERS = "they answer offers, not questions; say what you want to keep"
_RATHER = re.compile(r"\b(?:rather|prefer)\b.*\b(?:than|over)\b|\bprefer (?!to\b).*\bto\b(?! (?:you|u)\b)")
_OR_LEAVE_IT = re.compile(r"[\s,.;:!-]*\btake it or leave it\b[\s.!]*")
_NEEDLESS = re.compile(
    r"(?<!you )\b(?:i )?(?:really )?(?:do ?n'?t|do not|have no|'?ve no|have got no)(?: really| even)? "
    r"(?:need|want|care (?:for|about)|use for|interest in|like|value)(?: any(?: of)?)?\b"
    r"(?! (?:only|just|to|that|this|it|more|you|your|less))"
)
_MORE = re.compile(
    r"\b(?:more|another|extra|additional|add(?:ing)?|throw in)\b|^(?:plus|and|also)\b"
    r"|^(?:yes|ok(?:ay)?|deal|sure|fine|good|i (?:accept|agree))\b.*\balso\b"
)
_ADD = re.compile(r"\b(?:add|throw in)\b")
_LESS = re.compile(r"\b(?:less|fewer)\b")
_NEGATED = re.compile(r"n't\b|\b(?:not|never|dont|wont)\b")
_TOO = re.compile(r"\b(?:too|as well|also)[\s.!?]*$")
_TO_YOU = re.compile(
    r"\b(?:you|u)(?: can| could| may| will|'?ll)? (?:have|get|take|keep)\b|\b(?:for|to|giv(?:e|ing)) (?:you|u)\b"
)
_WHOLE_SPLITS = {
    "REST", "RESTBUT", "REMAINING", "EVERYTHING", "NOTHING", "EACH", "SPLIT", "NOT", "INFO", "ASK", "FOR", "or", "no",
    "less", "fewer", "STOP",
}  # fmt: skip
_NUMBERS = {"a": 1, "an": 1, "another": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_BETWEEN = {"more", "extra", "additional", "other", "of", "the", "single"}  # a number and its item
_KINDS = {"BOOK": 0, "BOOKS": 0, "HAT": 1, "HATS": 1, "BALL": 2, "BALLS": 2}
_REASONS = {
    "no act": f"neither a split nor a yes or no was found in it ({ENGLISH})",
    "speaks of items and claims none": "it speaks of items, but not of who gets them",
    "adds to what was said": "it adds to something; say the whole split",
    "a list for nobody named": "it does not say who gets them",
    "alternatives": "it names more than one split; name one",
    "a yes to no act that was read": NOTHING_TO_AGREE_TO,
    "a no to no act that was read": "there is no offer to say no to",
    "half of an odd number": "an odd number cannot be halved",
    "does not add up": "it does not add up to what is on the table",
    "the rest of what": "it does not say of what the rest is",
    "the rest for both": "it gives the rest to both",
    "none for whom": "it does not say for whom there is none",
    "a trade of whose items": "it does not say whose items are traded",
}


def meaning_of(text: str, view: View) -> Meaning:
    """What the person means by ``text`` in the game of ``view``; the act that it comes to may be illegal."""
    line = in_plain_words(text)
    meant = _meant(line, view)
    return _doubted(meant, line, view) if isinstance(meant, Action) else meant


def _meant(line: str, view: View) -> Meaning:
    if not any(c.isascii() and c.isalnum() for c in line):
        return Mistake(ENGLISH, unread=True)
    for phrase, meaning in PHRASES:
        if phrase.fullmatch(bare(line)):
            return meaning(view)
    if numbers := _THREE.fullmatch(bare(line)):
        books, hats, balls = map(int, numbers.groups())
        return Action(Act.PROPOSE, (books, hats, balls))
    last = _OR_LEAVE_IT.sub(" ", line)
    added = _added(line, view)
    if added is not None:
        return added
    if WORTHLESS_TO_THEM.search(last):
        return Mistake("it says what items are worth to them, not who gets what", unread=True)
    act = _annotated(as_claims(last), view)
    if isinstance(act, Mistake) and _ASKING.match(bare(line)):
        return Mistake(NO_ANSWERS, unread=True)
    if last != line and isinstance(act, Action) and act.act_type is Act.PROPOSE:
        return Action(Act.INSIST, act.oA)
    return act


def _doubted(meant: Action, line: str, view: View) -> Meaning:
    """A reading that the sentence itself speaks against is asked about."""
    if meant.act_type is Act.AGREE and (line.endswith("?") or _A_QUESTION.match(bare(line))):
        if view.rule_against(meant) is not None:
            return Mistake(NO_ANSWERS, unread=True)
        return Question(
            "That is a question, and no agreement: they answer offers. Do you accept their offer?", (meant,)
        )
    if meant.act_type is Act.AGREE and _IF.search(line) and view.rule_against(meant) is None:
        return Question("That names a condition. Do you accept their offer as it is?", (meant,))
    not_two = [(kind, view.counts[kind]) for kind in map(_kind, _BOTH.findall(line)) if view.counts[kind] not in (0, 2)]
    if meant.act_type.is_offer and not_two and view.rule_against(meant) is None:
        there = " and ".join(f"only 1 {ITEMS[kind]}" if n == 1 else f"{n} {ITEMS[kind]}s" for kind, n in not_two)
        are = "is" if not_two[0][1] == 1 else "are"
        return Question(f'There {are} {there} on the table, so "both" is not clear. Is this what you mean?', (meant,))
    return meant


def _kind(item: str) -> int:
    return ITEMS.index(item)


def _annotated(line: str, view: View) -> Meaning:
    if _RATHER.search(line):
        return Mistake("it says what you like better, not who gets what", unread=True)
    if _LESS.search(line):
        return Mistake("it takes something away; say the whole split", unread=True)
    reading = _read(line, view)
    if reading.action is None or reading.action.act_type is Act.DISAGREE:  # "I don't need the books" is an offer
        offered = _NEEDLESS.sub("you can have", line)
        offered = line if offered == line else offered.replace(" or ", " and ")
        again = _read(offered, view) if offered != line else reading
        if again.action is not None and again.action.act_type.is_offer:
            return again.action
    if reading.action is None:
        return Mistake(_reason(reading.why, line, view), unread=True)
    if reading.action.act_type is Act.DISAGREE:
        return leave(view) if "walk away" in line and not _NEGATED.search(line) else refused(view)
    return reading.action


def _read(line: str, view: View) -> Reading:
    history = view.state.history
    return read(line, view.counts, Said(view.mine, view.theirs, history[-1].act_type if history else None))


def _reason(why: str, line: str, view: View) -> str:
    if why == "one type is nobody's":
        named = {mention.kind for mention in claims(line).mentions}
        unsaid = [f"{item}s" for kind, item in enumerate(ITEMS) if kind not in named and view.counts[kind]]
        return f"it does not say who gets the {' and the '.join(unsaid)}" if unsaid else "it leaves something unsaid"
    if why == "more than there is":
        return f"there are only {in_words(view.counts)} on the table"
    return _REASONS.get(why, f"it is not clear: {why}")


def _added(line: str, view: View) -> Meaning | None:
    """The offer of "one more hat" or "a hat too": what is on offer and that; ``None`` where nothing is added so."""
    history, words = view.state.history, tags(line)
    answers_an_offer = bool(history) and history[-1].act_type.is_offer
    more, too = bool(_MORE.search(line)), bool(_TOO.search(line))
    named = (
        _named(words, view.counts, plain=too or bool(_ADD.search(line))) if answers_an_offer and (more or too) else None
    )
    while words and words[-1] == "STOP":
        words.pop()
    if named is None or _WHOLE_SPLITS & set(words):
        return None
    gives = bool(_TO_YOU.search(line))
    base = view.mine if gives else rest(view.counts, view.theirs or (0, 0, 0))
    if base is None:
        return None
    kept = tuple(held - n if gives else held + n for held, n in zip(base, named, strict=True))
    wanted = kept[0], kept[1], kept[2]
    if not all(0 <= n <= count for n, count in zip(wanted, view.counts, strict=True)):
        return Mistake(f"there are only {in_words(view.counts)} on the table", unread=True)
    offer = Action(Act.PROPOSE, wanted)
    whole = _read(line, view).action
    if too and sum(n > 0 for n in named) > 1 and whole is not None and whole.act_type.is_offer and whole.oA != wanted:
        return Question("Besides what they offer you, or instead of it?", (offer, whole))
    return offer


def _named(words: list[str], counts: Triple, *, plain: bool) -> Triple | None:
    """How many of each type are named, ``None`` if none; ``plain``: also those without a number, all or one."""
    named, amount = [0, 0, 0], 0
    for word in words:
        if word in _KINDS:
            kind = _KINDS[word]
            number = amount or ((counts[kind] if word.endswith("S") else 1) if plain else 0)
            if not number:
                return None
            named[kind], amount = named[kind] + number, 0
        elif word in _NUMBERS or word.isdigit():
            amount = _NUMBERS[word] if word in _NUMBERS else int(word)
        elif word not in _BETWEEN:
            amount = 0
    return (named[0], named[1], named[2]) if any(named) else None
