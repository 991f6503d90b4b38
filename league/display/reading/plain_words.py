"""A typed line in the plain words that sentences are read by: signs as words, and turns of phrase as what they mean.

The annotator of :mod:`dond_marl.dialogues` knows how people wrote to each other. At this table people also write lists
without a verb, ``me: hats, you: rest``, and say of items that they are worthless; these become claims in its words.
"""

from __future__ import annotations

import re
from functools import partial

_SIGNS = {
    "book": "\U0001f4d5\U0001f4d6\U0001f4d7\U0001f4d8\U0001f4d9\U0001f4da\U0001f4d3\U0001f4d4\U0001f4d2",
    "hat": "\U0001f3a9\U0001f452\U0001f9e2\U0001f393\U0001fa96\u26d1",
    "ball": "\u26bd\U0001f3c0\U0001f3c8\u26be\U0001f3be\U0001f3d0\U0001f94e\U0001f3c9\U0001f52e\U0001f3b1",
}
_SPOKEN_SIGNS = {
    " ok ": "\U0001f44d\U0001f44c\U0001f91d\u2705",
    " no way ": "\U0001f44e\u274c\U0001f6ab",
    " bye ": "\U0001f44b",
}
_VARIANTS = dict.fromkeys([0xFE0F, 0x200D, *range(0x1F3FB, 0x1F400)])  # skin, hair and color of a sign
_QUOTES = str.maketrans(dict.fromkeys("`\u2018\u2019\u00b4", "'"))
_LEADING = re.compile(
    r"^(?:(?:well|so|u[hm]+|hmm+|hey|then|and|but|just|come on)[ ,.!]+|(?:no|nope|ok(?:ay)?|fine|sorry)[,.!]+ *)+"
)
_TRAILING = re.compile(r"(?:[ ,]+(?:please|pls|plz|lol|haha|then|man|mate|bro|thanks?|thx|dude))*[\s.!?,]*$")

_ITEM = r"(?:books?|hats?|balls?)"
_ITEMS = rf"(?:the |any |all )?{_ITEM}(?:(?:,| and| or|, and) (?:the )?{_ITEM})*"
_WORTHLESS = (
    r"(?:(?:are|is) (?:really |quite )?(?:worth(?:less| nothing| 0| zero)|useless|no use|of no (?:use|value|interest))"
    r"|(?:do ?n'?t|does ?n'?t|do not) matter|means? nothing)"
)
WORTHLESS_TO_THEM = re.compile(rf"{_WORTHLESS} (?:to|for) (?:you|u|them)\b")
# What is said, and the same in the annotator's words; in this order.
_MEANT: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b(?:at least|at most|at the (?:very )?least|a minimum of|no less than)\b"), ""),
    (re.compile(r"\bhatz\b"), "hats"),
    (re.compile(r"[,. ]+or (?:it'?s )?(?:no deal|nothing|else|i'?m out|i (?:walk|leave))[\s.!]*$"), ""),
    (re.compile(rf"\b(?:(?:any|every)thing|all) (but|except)(?: for)? (?:the )?(?={_ITEM})"), r"everything \1 the "),
    (
        re.compile(
            rf"\b({_ITEMS}) {_WORTHLESS}(?: (?:to|for) me)?"
            r"(?:[, ]+(?:so )?(?:you can )?(?:take|have|keep) (?:them|it))?"
        ),
        r"you can have \1",
    ),
    (re.compile(rf"\b(?:no|zero|0) ({_ITEM}) for me\b"), r"you can have all \1"),
    (re.compile(r"(^|[,.;/|] *|\band )(?:me|mine|my (?:share|part)|i)(?: *[:=]| *->) *"), r"\1i keep "),
    (re.compile(r"(^|[,.;/|] *|\band )(?:you|yours?|your (?:share|part)|u)(?: *[:=]| *->) *"), r"\1you keep "),
)
_NUMBER = r"(?:\d|an?|one|two|three|four|five|both|all|the|single)"
_LIST = rf"(?:{_NUMBER}(?: of)?(?: the)? )*{_ITEM}"
# Items without a word on who gets them: whoever types them wants them.
_WANTED = re.compile(
    rf"(?:(?:maybe|perhaps|just|only|(?:how|what) about) )*"
    rf"(?:(?:{_LIST})(?:(?: *, *(?:and )?| and | plus | with | *\+ *| )(?:{_LIST}))*"
    rf"|everything (?:but|except)(?: for)? (?:the )?{_ITEM}(?: and (?:the )?{_ITEM})?)"
)


def in_plain_words(text: str) -> str:
    """``text`` in small letters, with signs for items, a thumb and a wave as words."""
    line = text.translate(_VARIANTS).lower().translate(_QUOTES)
    for item, signs in _SIGNS.items():
        line = re.sub(rf"(\d\s*)?((?:[{signs}]\s*)+)", partial(_as_word, item), line)
    for words, signs in _SPOKEN_SIGNS.items():
        line = re.sub(rf"(?:[{signs}]\s*)+", words, line)
    return line.strip()


def bare(line: str) -> str:
    """The line without what politeness and hesitation put around it."""
    return _TRAILING.sub("", _LEADING.sub("", line, count=1) or line)


def as_claims(line: str) -> str:
    """The line with its turns of phrase as claims; the line itself where it has none."""
    for said, meant in _MEANT:
        line = said.sub(meant, line)
    line = line.strip()
    wanted = bare(line)
    return f"i want {wanted}" if _WANTED.fullmatch(wanted) else line


def _as_word(item: str, found: re.Match[str]) -> str:
    number, shown = found[1], len(re.sub(r"\s", "", found[2]))
    if number:
        return f" {number.strip()} {item}s "
    return f" {item} " if shown == 1 else f" {shown} {item}s "
