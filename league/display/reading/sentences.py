"""A sentence that a person types at the table, read as an act: by phrases of the table first, then by the annotator.

:mod:`dond_marl.dialogues.annotator` was written for, and measured on, what people wrote to each other. A person at the
table also says "50/50?", "same as before" or "bye", and uses signs for items; and a "no way" must not end the game
unasked. What may mean two things is asked, never guessed. English alone is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from dond_marl.dialogues.annotator import Reading, Said, read
from dond_marl.dialogues.clauses import claims
from dond_marl.dialogues.words import tags
from dond_marl.game import ITEMS, Act, Action, Triple, rest
from dond_marl.records.transcript import in_words
from league.display.reading.plain_words import WORTHLESS_TO_THEM, as_claims, bare, in_plain_words
from partners.human import View


class Mistake(NamedTuple):
    """Why a line cannot be played; ``unread``: it was not understood, rather than against the rules."""

    why: str
    unread: bool = False


class Question(NamedTuple):
    """What a sentence leaves open, and the legal acts that it may mean, the mildest first."""

    why: str
    actions: tuple[Action, ...]


Meaning = Action | Question | Mistake
ENGLISH = "only English is read for now"
_EVEN = re.compile(
    r"(?:(?:how|what) about |let'?s |can we |we (?:can|could|should) |i (?:say|propose|suggest|want) |go |do |an? )*"
    r"(?:(?:split|share|divide)(?: it| them| everything| all| things| the (?:pile|items|lot))?(?: all| up)? ?"
    r"(?:evenly|equally|fairly|in half|down the middle|even|equal|50 ?[/:-]? ?50|fifty[ -]?fifty)"
    r"|50 ?[/:-]? ?50|fifty[ -]?fifty|half (?:and|&) half|half (?:of )?each|(?:even|equal) split"
    r"|(?:i take |you take |half for me,? )?half(?: of (?:it|everything|all))?|(?:meet )?in the middle)"
)
_AGAIN = re.compile(
    r"(?:the )?same(?: (?:thing|offer|deal|split|proposal|again|as (?:before|earlier|last time|my last(?: offer)?)))*"
    r"|(?:like |as )?(?:before|again|i (?:already )?said(?: before| already)?)"
    r"|(?:my|the) (?:last |first )?(?:offer|claim|proposal)(?: still)? (?:stands|is (?:the same|final|unchanged))"
    r"|i (?:will |'?ll )?(?:repeat|stand by|stick (?:to|with)|hold to|keep to)"
    r" (?:(?:my|the)(?: last| first)? (?:offer|claim|proposal|split)|that|it)"
    r"|(?:(?:this|that|it)(?: i|')?s )?my (?:last|final|best) offer|(?:last|final) offer|i insist|take it or leave it"
    r"|i (?:wo ?n'?t|will not|am not going to) (?:budge|move|change (?:my mind|it)|give in)|i'?m not budging"
)
_LEAVING = re.compile(
    r"(?:good ?)?bye+(?: bye)?|see (?:you|ya|u)(?: later)?|cya|farewell"
    r"|i(?:'?m| am)? (?:out|done|finished|off|gone|leaving|quitting|walking(?: away| out)?)"
    r"|i (?:quit|leave|give up|(?:will |'?ll |am going to )?(?:walk (?:away|out)|leave))|(?:no deal[,. ]+)?i walk away"
)
_OPEN = re.compile(
    r"(?:whatever|anything|as)(?: you (?:want|like|wish|say|prefer))?|(?:it'?s )?up to you|you (?:decide|choose|pick)"
    r"|(?:it'?s )?your (?:choice|call)|i surrender|you win|have it your way"
    r"|i (?:really )?(?:do ?n'?t|do not) (?:care|mind)"
)
_SWAPPED = re.compile(
    r"(?:(?:how|what) about |let'?s |shall |can |could |should )*(?:we |i )?"
    r"(?:swap|switch|trade places|(?:do )?the other way (?:a?round)|reverse(?: it| that)?)(?: it| that)?"
)
_IT_IS = r"(?:(?:it|they|that)(?:'?s|'?re| is| are) |it )?"
_ALL = r"all(?: of (?:it|them))?(?: is| are)?"
_ALL_MINE = re.compile(
    rf"(?:i want )?{_IT_IS}{_ALL} (?:for me|mine)|(?:gimme|give me|i want|i take|i'?ll take) (?:it )?{_ALL}"
)
_ALL_YOURS = re.compile(rf"{_IT_IS}{_ALL} (?:for you|yours)|(?:zero|nothing|none|0) for me")
_YES = re.compile(
    r"let'?s do (?:it|that|this)|i (?:can|could) live with (?:it|that|this)|that (?:will|would|'?ll) do"
    r"|(?:i(?:'?ll| will) )?take (?:it|that|the deal|your offer)|good enough|why not|i'?m in|no objections?"
)
_NO = re.compile(
    r"(?:absolutely|definitely|certainly|of course|surely|maybe|rather) not|(?:hell|god|oh) no"
    r"|forget (?:it|that|about it)"
    r"|(?:that'?s |it'?s |this is |way )*(?:too (?:little|low|few|much)|not enough)"
    r"|you(?:'?re| are)? (?:asking|want)(?: for)? (?:way )?too much|(?:please )?be (?:fair|reasonable|serious)"
    r"|(?:please )?(?:make|give)(?: me)? a (?:better|fairer|new|different) (?:offer|deal)"
    r"|(?:you can |can you |could you )?(?:do|try) (?:better|harder|again)(?: than that)?|you'?re (?:kidding|joking)"
)
_THREE = re.compile(r"(?:(?:i (?:want|keep|take)|give me) )?(\d)[ ,/:-]+(\d)[ ,/:-]+(\d)")  # books, hats, balls
_ASKING = re.compile(r"(?:what(?!'?s? (?:about|if))|which|why|who|when|where|do (?:you|u)|are (?:you|u))\b")
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
    "a yes to no act that was read": "there is no offer to say yes to",
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
    if not any(c.isascii() and c.isalnum() for c in line):
        return Mistake(ENGLISH, unread=True)
    for phrase, meaning in _PHRASES:
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
        return Mistake("they answer offers, not questions; say what you want to keep", unread=True)
    if last != line and isinstance(act, Action) and act.act_type is Act.PROPOSE:
        return Action(Act.INSIST, act.oA)
    return act


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
        return _leave(view) if "walk away" in line and not _NEGATED.search(line) else _refused(view)
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


def _even(view: View) -> Meaning:
    odd = [f"{item}s" for item, count in zip(ITEMS, view.counts, strict=True) if count % 2]
    if odd:
        return Mistake(f"the {' and the '.join(odd)} cannot be halved; say who gets how many", unread=True)
    books, hats, balls = (count // 2 for count in view.counts)
    return Action(Act.PROPOSE, (books, hats, balls))


def _again(view: View) -> Meaning:
    if view.mine is None:
        return Mistake("you have made no offer yet; say what you want to keep", unread=True)
    return Action(Act.INSIST, view.mine)


def _leave(view: View) -> Meaning:
    return Action(Act.DISAGREE if view.state.rules.disagree == "ends" else Act.END)


def _open(view: View) -> Meaning:
    agree = Action(Act.AGREE)
    if view.rule_against(agree) is not None:
        return Mistake("it is your turn to say what you want to keep", unread=True)
    return Question("That leaves it to them. Do you accept their offer?", (agree,))


def _swapped(view: View) -> Meaning:
    if view.theirs is None:
        return Mistake("they have asked for nothing yet that could be swapped", unread=True)
    return Action(Act.PROPOSE, view.theirs)


def _everything(view: View) -> Meaning:
    return Action(Act.INSIST if view.mine == view.counts else Act.PROPOSE, view.counts)


def _nothing(_: View) -> Meaning:
    return Action(Act.PROPOSE, (0, 0, 0))


def _refused(view: View) -> Meaning:
    """A no: where it would end the game, it may rather ask for another offer."""
    no = Action(Act.DISAGREE)
    if view.state.rules.disagree != "ends":
        return no
    if view.mine is None:
        return Question("A no ends this game, with nothing for both. To go on, say what you want instead.", (no,))
    return Question(
        "A no ends this game, with nothing for both. Do you want to repeat your last offer instead?",
        (Action(Act.PROPOSE, view.mine), no),
    )


def _yes(view: View) -> Meaning:
    agree = Action(Act.AGREE)
    return Mistake(_REASONS["a yes to no act that was read"], unread=True) if view.rule_against(agree) else agree


_PHRASES: tuple[tuple[re.Pattern[str], Callable[[View], Meaning]], ...] = (
    (_EVEN, _even),
    (_YES, _yes),
    (_NO, _refused),
    (_AGAIN, _again),
    (_LEAVING, _leave),
    (_OPEN, _open),
    (_SWAPPED, _swapped),
    (_ALL_MINE, _everything),
    (_ALL_YOURS, _nothing),
)


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
