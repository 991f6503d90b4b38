"""The claims in an utterance: how many of which items the speaker or the listener would get.

Tags are read from left to right. Items belong to the person last named before them ("I will give *you* the hats"); a
verb of parting reverses the owner ("*I* can part with the hats"); "for me" or "to you" sets it for the items just
named. Statements ("the hats are worthless") and questions ("do you want both hats?") claim nothing. The pool and the
earlier utterances are not used here; see :mod:`dond_marl.dialogues.annotator`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from dond_marl.dialogues.words import tags

ME, YOU, BOTH_SIDES, NO_ONE = 0, 1, 2, 3  # owners: the speaker, the listener, each of the two, no person named
EVERYTHING, REST, ONE_OF_EACH = 3, 4, 5  # kinds after the item types 0..2: whole pool, remaining items, one of each
ALL, OTHER_ONES, HALF, BARE, BOTH = -1, -2, -3, -4, -5  # amounts that need the pool: see _AMOUNTS and _ITEMS


class Mention(NamedTuple):
    """A claim that ``owner`` would get ``amount`` of ``kind``."""

    owner: int  # ME, YOU or NO_ONE
    kind: int  # an item type 0..2, or EVERYTHING, REST, ONE_OF_EACH
    amount: int  # how many, or one of the amounts that need the pool
    sentence: int  # the sentence of the utterance, from 0


class Claims(NamedTuple):
    """The claims of one utterance, in order, and the reasons why it is unclear."""

    mentions: tuple[Mention, ...]
    doubts: tuple[tuple[int, str], ...]  # a sentence, and why it cannot be read
    names_items: bool  # whether items are mentioned at all, even in a question
    suggests: bool  # "how about" a list, which may be for either side


_AMOUNTS = {
    "no": 0, "zero": 0, "a": 1, "an": 1, "one": 1, "single": 1, "two": 2, "couple": 2, "three": 3, "four": 4, "five": 5,
    "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "all": ALL, "every": ALL, "both": BOTH, "half": HALF,
    "REMAINING": OTHER_ONES,
}  # fmt: skip
_ITEMS = {
    "BOOK": (0, BARE),
    "BOOKS": (0, ALL),
    "HAT": (1, BARE),
    "HATS": (1, ALL),
    "BALL": (2, BARE),
    "BALLS": (2, ALL),
}
_WHOLES = {"EVERYTHING": EVERYTHING, "REST": REST, "RESTBUT": REST, "EACH": ONE_OF_EACH, "NOTHING": EVERYTHING}
_PERSONS = {"I": ME, "ME": ME, "mine": ME, "YOU": YOU, "yours": YOU, "BOTHSIDES": BOTH_SIDES}
_VAGUE = {
    "more", "another", "extra", "either", "some", "few", "several", "least", "atleast", "most", "additional", "unless",
    "switch", "reverse", "opposite", "INSTEAD",
}  # fmt: skip
_LOOSE = {"one", "two", "three", "four", "both", "1", "2", "3", "4", "them", "those", "items", "item", "things"}
_CLAUSE = {"COMMA", "but", "so", "because", "since", "then", "if", "though", "although", "cause"}
_BEFORE_COMMANDS = {"STOP", "COMMA", "just", "then", "ok", "okay", "and"}
_SUGGESTS = re.compile(r"\b(?:how|what) ?'?(?:a?bout|bot)\b")


def claims(text: str) -> Claims:
    """The claims of one utterance."""
    reader = _Reader()
    words = tags(text)
    if words[:1] in (["and"], ["plus"]) or "add" in words:
        reader.doubt("adds to what was said")
    for i, word in enumerate(words):
        reader.read(word, words[i - 1] if i else "STOP", words[i + 1 : i + 3])
    reader.close_sentence("STOP")
    mentions, doubts = tuple(reader.mentions), tuple(reader.doubts)
    return Claims(mentions, doubts, reader.names_items, bool(_SUGGESTS.search(text.lower())))


class _Reader:
    """The state of reading one utterance: owner and amount of the next items, and whether they are claimed at all."""

    def __init__(self) -> None:
        self.mentions: list[Mention] = []
        self.doubts: list[tuple[int, str]] = []
        self.names_items = False
        self._sentence = 0
        self._mentions: list[Mention] = []  # of this sentence
        self._unclear: list[str] = []  # in this clause
        self._clause = 0  # where in the sentence's mentions those of this clause begin
        self._group = 0  # where those of the person last named begin
        self._begin_sentence(NO_ONE)

    def _begin_sentence(self, owner: int) -> None:
        self._owner = owner
        self._giving = self._negated = self._asking = self._stating = self._alternative = False
        self._amount: int | None = None  # already read, for the next items
        self._loose = ""  # a number or a "them" still without its items

    def doubt(self, reason: str) -> None:
        self._unclear.append(reason)

    def read(self, word: str, before: str, after: list[str]) -> None:
        if word in _ITEMS:
            self._item(*_ITEMS[word])
        elif word in _WHOLES:
            self._whole_pool(word)
        elif word in _AMOUNTS or word.isdigit():
            self._count(word, after)
        elif word in _PERSONS:
            self._person(word, before)
        elif word == "GIVE":
            self._giving = True
            if self._owner == NO_ONE:  # the listener gives in "give me the hats", the speaker in "not giving up ..."
                self._owner = ME if self._negated else YOU
        elif word == "SPLIT":
            self._close_clause()
            self._owner, self._amount, self._loose, self._giving = BOTH_SIDES, HALF, "split", False
        elif word in ("FOR", "for"):
            self._trade(word, after)
        elif word == "each":
            self._read_each()
        elif word == "STOP":
            self.close_sentence(after[0] if after else "STOP")
        elif word in _CLAUSE:
            self._close_clause()
            self._amount = None
        else:
            self._flag(word, before)

    def _flag(self, word: str, before: str) -> None:
        if word == "NOT":
            self._negated = True
        elif word == "ASK":
            self._asking = True
        elif word == "INFO":
            self._stating = True
        elif word == "or":
            self._alternative = bool(self._mentions or self.mentions or self._amount is not None)
        elif word in _VAGUE:
            self.doubt(f"{word.lower()!r} names no number")
        elif word in _LOOSE:
            self._loose = self._loose or word
        elif word in ("take", "keep") and self._owner == NO_ONE and before in _BEFORE_COMMANDS:
            self._owner = YOU  # a command

    def _person(self, word: str, before: str) -> None:
        person = _PERSONS[word]
        if (before in ("for", "to", "with") and person != BOTH_SIDES) or word in ("mine", "yours"):
            start = self._group if self._owner == NO_ONE else max(self._group, self._clause)
            if self._mentions and self._mentions[-1].kind == REST:
                start = len(self._mentions) - 1  # "I need two books, the rest to you"
            if start < len(self._mentions):  # "two books for me"
                self._mentions[start:] = [mention._replace(owner=person) for mention in self._mentions[start:]]
                self._owner, self._giving, self._group = NO_ONE, False, len(self._mentions)
                return
            if before == "with" or self._owner != NO_ONE:
                return
        if word == "I" or (word == "YOU" and not self._giving and before != "let"):
            self._close_clause()
        self._owner, self._amount, self._giving, self._group = person, None, False, len(self._mentions)

    def _holder(self) -> int:
        """The owner of the next items: a verb of parting reverses it, unless it is negated."""
        turned = self._giving and not self._negated and self._owner in (ME, YOU)
        return 1 - self._owner if turned else self._owner

    def _item(self, kind: int, without_number: int) -> None:
        self.names_items = True
        amount = without_number if self._amount is None else self._amount
        if amount == 0 and self._owner == NO_ONE:
            self.doubt("none without a person")
        self._add(kind, amount)

    def _whole_pool(self, word: str) -> None:
        self.names_items = True
        if word == "EACH":
            self._add(ONE_OF_EACH, 1)
        elif self._amount == HALF:
            self.doubt("half of what is left")
        else:
            self._add(_WHOLES[word], 0 if word == "NOTHING" else ALL)
        if word == "RESTBUT":  # the following items are the other side's
            self._loose = "but"
            holder = self._holder()
            self._owner, self._giving = 1 - holder if holder in (ME, YOU) else NO_ONE, False
            self._group = len(self._mentions)

    def _add(self, kind: int, amount: int) -> None:
        if self._alternative:
            self.doubt("alternatives")
        if not (amount == HALF and self._owner == BOTH_SIDES):  # "split the hats and books" halves both
            self._amount = None
        self._loose = ""
        if self._asking or (self._negated and not self._giving):
            return
        holder = self._holder()
        owners = (ME, YOU) if holder == BOTH_SIDES else (holder,)
        self._mentions += [Mention(owner, kind, amount, self._sentence) for owner in owners]

    def _count(self, word: str, after: list[str]) -> None:
        if word == "no" and not (after and after[0] in _ITEMS):
            return
        if after[:1] in (["/"], ["INFO"]):  # points
            self._stating = True
            return
        self._amount = int(word) if word.isdigit() else _AMOUNTS[word]
        if word in _LOOSE:
            self._loose = word

    def _trade(self, word: str, after: list[str]) -> None:
        """Read a trade such as "The hats *for* the balls": the items after "for" are the other side's."""
        named = any(w in _ITEMS or w in _WHOLES or w in _AMOUNTS or w.isdigit() for w in after)
        person = bool(after) and after[0] in ("ME", "YOU")
        if self._group == len(self._mentions) or not (word == "FOR" or named) or person:
            return
        if self._owner not in (ME, YOU):
            self.doubt("a trade of whose items")
            return
        self._owner, self._giving, self._group = 1 - self._holder(), False, len(self._mentions)

    def _read_each(self) -> None:
        """Read "each", as in "Two hats *each*": the other side gets as many."""
        if self._mentions and self._owner != BOTH_SIDES and self._mentions[-1].owner in (ME, YOU):
            last = self._mentions[-1]
            self._mentions.append(last._replace(owner=1 - last.owner))

    def _close_clause(self) -> None:
        if self._loose and not self._asking:
            self.doubt(f"{self._loose!r} of what")
        if self._stating:
            del self._mentions[self._clause :]
            self._group = min(self._group, len(self._mentions))
        else:
            self.doubts += [(self._sentence, reason) for reason in self._unclear]
        self._unclear, self._clause = [], len(self._mentions)
        self._negated = self._asking = self._stating = False
        self._loose = ""

    def close_sentence(self, following: str) -> None:
        """End a sentence; one that begins with "and" continues with the same person."""
        self._close_clause()
        self.mentions += self._mentions
        self._mentions, self._clause, self._group = [], 0, 0
        self._begin_sentence(self._owner if following in ("and", "plus") else NO_ONE)
        self._sentence += 1
