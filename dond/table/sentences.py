"""A sentence that a person types at the table, read as a dialogue act.

Three stages, each giving up to the next: signs and slang are normalised to plain words, whole phrases of the table
("50/50", "same as before", "bye") are matched by patterns, and everything else is read by the dialogue annotator,
:mod:`dond_marl.dialogues.annotator`, which was written for, and measured on, the published dialogues. A line with two
possible readings is returned as :class:`AmbiguousLine` and never resolved by a guess: "no way" must not end the game
without a confirmation. Only English is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from dond_marl.dialogues.annotator import ActReading, TalkState, read_utterance
from dond_marl.dialogues.clauses import claims
from dond_marl.dialogues.words import tags
from dond_marl.game import ITEMS, Act, Action, Triple, rest
from dond_marl.records.transcript import describe_items
from league.tables.figures import count_noun
from partners.human import View


class Misread(NamedTuple):
    """A line that gives no legal act. ``unread``: nothing was found in it; otherwise what it says cannot be played."""

    why: str
    unread: bool = False


class AmbiguousLine(NamedTuple):
    """A line with several readings: the question ``why``, and the legal acts to choose from, the mildest first."""

    why: str
    actions: tuple[Action, ...]


Meaning = Action | AmbiguousLine | Misread
NOTHING_TO_AGREE_TO = "there is no offer to say yes to"
ENGLISH = "only English is read for now"
_EVEN = re.compile(
    r"(?:(?:how|what) about |let'?s |can |we (?:(?:can|could|should) )?|i (?:say|propose|suggest|want) |go |do |an? )*"
    r"(?:(?:split|share|divide)(?: it| them| everything| all| things| the (?:pile|items|lot))?(?: all| up)? ?"
    r"(?:evenly|equally|fairly|in half|down the middle|even|equal|50 ?[/:-]? ?50|fifty[ -]?fifty)"
    r"|50 ?[/:-]? ?50|fifty[ -]?fifty|half (?:and|&) half|half (?:of )?each|(?:even|equal) split"
    r"|(?:i take |you take |half for me,? )?half(?: of (?:it|everything|all))?|(?:meet )?in the middle"
    r"|meet (?:me )?half ?way)"
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
    r"(?:swap|switch|trade places|(?:do )?the (?:other way (?:a?round)|reverse|opposite)|reverse(?: it| that)?)"
    r"(?: it| that)?"
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
    r"|(?:do ?n'?t be|(?:you|that)(?:'?re|'?s| are| is))(?: being)?(?: too| so| really)? (?:greedy|unfair|unreasonable)"
)


_MORE_OF_WHAT = re.compile(
    r"(?:i(?:'?d| would)? (?:want|need|like|deserve)|give me|offer me|(?:can|could) i (?:have|get))"
    r"(?: a (?:bit|little)| some| much)? more"
)


def _more_of_what(_: View) -> Meaning:
    return Misread("it does not say more of what; name the items")


def _even_split(view: View) -> Meaning:
    odd = [f"{item}s" for item, count in zip(ITEMS, view.counts, strict=True) if count % 2]
    if odd:
        return Misread(f"the {' and the '.join(odd)} cannot be halved; say who gets how many")
    books, hats, balls = (count // 2 for count in view.counts)
    return Action(Act.PROPOSE, (books, hats, balls))


def _repeat(view: View) -> Meaning:
    if view.mine is None:
        return Misread("you have made no offer yet; say what you want to keep")
    return Action(Act.INSIST, view.mine)


def leave(view: View) -> Meaning:
    """The act of leaving: DISAGREE where it ends the game, END otherwise."""
    return Action(Act.DISAGREE if view.state.rules.disagree == "ends" else Act.END)


def _let_them_choose(view: View) -> Meaning:
    agree = Action(Act.AGREE)
    if view.rule_against(agree) is not None:
        return Misread("it is your turn to say what you want to keep")
    return AmbiguousLine("That leaves it to them. Do you accept their offer?", (agree,))


def _swap(view: View) -> Meaning:
    if view.theirs is None:
        return Misread("they have asked for nothing yet that could be swapped")
    return Action(Act.PROPOSE, view.theirs)


def _take_all(view: View) -> Meaning:
    return Action(Act.INSIST if view.mine == view.counts else Act.PROPOSE, view.counts)


def _give_all(_: View) -> Meaning:
    return Action(Act.PROPOSE, (0, 0, 0))


def refuse(view: View) -> Meaning:
    """The act of a "no". Where it would end the game, it is ambiguous: a repeated offer may be meant."""
    no = Action(Act.DISAGREE)
    if view.state.rules.disagree != "ends":
        return no
    if view.mine is None:
        return AmbiguousLine("A no ends this game, with nothing for both. To go on, say what you want instead.", (no,))
    return AmbiguousLine(
        "A no ends this game, with nothing for both. Do you want to repeat your last offer instead?",
        (Action(Act.PROPOSE, view.mine), no),
    )


def _accept(view: View) -> Meaning:
    agree = Action(Act.AGREE)
    return Misread(NOTHING_TO_AGREE_TO) if view.rule_against(agree) else agree


PHRASES: tuple[tuple[re.Pattern[str], Callable[[View], Meaning]], ...] = (
    (_EVEN, _even_split),
    (_YES, _accept),
    (_NO, refuse),
    (_AGAIN, _repeat),
    (_LEAVING, leave),
    (_OPEN, _let_them_choose),
    (_SWAPPED, _swap),
    (_ALL_MINE, _take_all),
    (_ALL_YOURS, _give_all),
    (_MORE_OF_WHAT, _more_of_what),
)


# Normalisation

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
    r"^(?:(?:well|so|u[hm]+|hmm+|hey|then|and|but|just|come on)[ ,.!]+"
    r"|(?:no|nope|ok(?:ay)?|fine|sorry|(?:i )?(?:can'?t|cannot) (?:do|accept|take) (?:that|it|this))[,.!]+ *)+"
)
_TRAILING = re.compile(r"(?:[ ,]+(?:please|pls|plz|lol|haha|then|man|mate|bro|thanks?|thx|dude|instead))*[\s.!?,]*$")

_ITEM = r"(?:books?|hats?|balls?)"
_EXCEPT = r"(?:but|except(?: for)?|apart from|other than)"
_ALL_ARE = r"(?:it'?s |it is )?(?:all|everything)(?: of (?:it|them))?(?:'?s| is| are)?"
_ITEMS = rf"(?:the |any |all )?{_ITEM}(?:(?:,| and| or|, and) (?:the )?{_ITEM})*"
_WORTHLESS = (
    r"(?:(?:are|is) (?:really |quite )?(?:worth(?:less| nothing| 0| zero)|useless|no use|of no (?:use|value|interest))"
    r"|(?:do ?n'?t|does ?n'?t|do not) matter|means? nothing)"
)
WORTHLESS_TO_THEM = re.compile(rf"{_WORTHLESS} (?:to|for) (?:you|u|them)\b")
# Patterns and their replacement in the annotator's words, applied in this order.
_REWRITES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b(?:at least|at most|at the (?:very )?least|a minimum of|no less than)\b"), ""),
    (re.compile(r"\bhatz\b"), "hats"),
    (re.compile(r"[,. ]+or (?:it'?s )?(?:no deal|nothing|else|i'?m out|i (?:walk|leave))[\s.!]*$"), ""),
    *(  # "all yours except the hats"
        (re.compile(pattern), rf"{owner} everything except \1")
        for owner, words in (("you can have", "(?:yours?|for you)"), ("i keep", "(?:mine|for me)"))
        for pattern in (
            rf"\b{_ALL_ARE} {words},? {_EXCEPT} (.*{_ITEM})",
            rf"\b{_EXCEPT} ({_ITEMS}),? {_ALL_ARE} {words}\b",
            rf"\b(?:all|everything) {_EXCEPT} ({_ITEMS}) (?:is|are) {words}\b",
            rf"^{words},? (?:except(?: for)?|apart from|other than) (.*{_ITEM})",
        )
    ),
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
# Items without a recipient: the speaker wants them.
_REQUEST = re.compile(
    rf"(?:(?:maybe|perhaps|just|only|(?:how|what) about) )*"
    rf"(?:(?:{_LIST})(?:(?: *, *(?:and )?| and | plus | with | *\+ *| )(?:{_LIST}))*"
    rf"|everything (?:but|except)(?: for)? (?:the )?{_ITEM}(?: and (?:the )?{_ITEM})?)"
)


def normalise(text: str) -> str:
    """``text`` in lower case, with emoji of items, thumbs and waves replaced by words."""
    line = text.translate(_VARIANTS).lower().translate(_QUOTES)
    for item, signs in _SIGNS.items():
        line = re.sub(rf"(\d\s*)?((?:[{signs}]\s*)+)", partial(_sign_as_word, item), line)
    for words, signs in _SPOKEN_SIGNS.items():
        line = re.sub(rf"(?:[{signs}]\s*)+", words, line)
    return line.strip()


def strip_politeness(line: str) -> str:
    """Remove greetings, hesitation and politeness at both ends of a line."""
    return _TRAILING.sub("", _LEADING.sub("", line, count=1) or line)


def phrase_as_claims(line: str) -> str:
    """Rewrite lists ("me: hats, you: rest") and remarks on worthless items as claims in the annotator's words."""
    for pattern, claim in _REWRITES:
        line = pattern.sub(claim, line)
    line = line.strip()
    request = strip_politeness(line)
    return f"i want {request}" if _REQUEST.fullmatch(request) else line


def _sign_as_word(item: str, found: re.Match[str]) -> str:
    number, shown = found[1], len(re.sub(r"\s", "", found[2]))
    if number:
        return f" {number.strip()} {item}s "
    return f" {item} " if shown == 1 else f" {shown} {item}s "


# Reading

_THREE = re.compile(r"(?:(?:i (?:want|keep|take)|give me) )?(\d)[ ,/:-]+(\d)[ ,/:-]+(\d)")  # books, hats, balls
_ASKING = re.compile(r"(?:what(?!'?s? (?:about|if))|which|why|who|when|where|do (?:you|u)|are (?:you|u))\b")
_A_QUESTION = re.compile(r"(?:do|did|will|would|can|could|shall|should|are|is|does) (?:you|u|we|it|that|this)\b")
_IF = re.compile(r"\b(?:if|unless|provided)\b")
_BOTH = re.compile(rf"\bboth (?:of )?(?:the |these |those |your |my )?({'|'.join(ITEMS)})s?\b")
NO_ANSWERS = "they answer offers, not questions; say what you want to keep"
_RATHER = re.compile(r"\b(?:rather|prefer)\b.*\b(?:than|over)\b|\bprefer (?!to\b).*\bto\b(?! (?:you|u)\b)")
_OR_LEAVE_IT = re.compile(r"[\s,.;:!-]*\btake it or leave it\b[\s.!]*")
_NEEDLESS = re.compile(
    r"(?<!you )\b(?:i(?: am|'?m)? )?(?:really )?(?:do ?n'?t|do not|have no|'?ve no|have got no|not)(?: really| even)? "
    r"(?:need|want|care (?:for|about)|use for|interest(?:ed)? in|like|value)(?: any(?: of)?)?\b"
    r"(?! (?:only|just|to|that|this|it|more|you|your|less))"
)
_REST_IS_OPEN = re.compile(
    r"\b(?:the )?(?:rest|others?|remainder)(?: of (?:it|them))?(?: is|'?s| are)?,? "
    r"(?:negotiable|open|flexible|undecided|(?:is )?(?:up to you|up for (?:discussion|grabs|debate))"
    r"|(?:we|you) (?:can |could )?(?:discuss|talk|negotiate|decide|choose)|to be (?:discussed|decided|negotiated))\b"
    # "I really need the ball" is no offer of everything else.
    rf"|^i (?:(?:really|absolutely|definitely|badly) (?:need|want)|(?:must|have to) have) {_LIST}"
    rf"(?:(?:,| and|, and) {_LIST})*[\s.!]*$"
)
_MORE = re.compile(
    r"\b(?:more|another|extra|additional|add(?:ing)?|throw in)\b|^(?:plus|and|also)\b"
    r"|^(?:yes|ok(?:ay)?|deal|sure|fine|good|i (?:accept|agree))\b.*\balso\b"
)
_ADD = re.compile(r"\b(?:add|throw in)\b")
_INSTEAD = re.compile(r"(.*)\binstead of\b(.*)")
_IF_ADDED = re.compile(r"(.*)\bif (?:you|u) (?:also )?(?:add|throw in|include)\b(.*)")
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
_REASONS = {  # by the annotator's reasons
    "speaks of items and claims none": "it speaks of items, but not of who gets them",
    "adds to what was said": "it adds to something; say the whole split",
    "a list without a person": "it does not say who gets them",
    "alternatives": "it names more than one split; name one",
    "a yes to no act that was read": NOTHING_TO_AGREE_TO,
    "a no to no act that was read": "there is no offer to say no to",
    "half of an odd number": "an odd number cannot be halved",
    "does not add up": "it does not add up to what is on the table",
    "the rest of what": "it does not say of what the rest is",
    "the rest for both": "it gives the rest to both",
    "none without a person": "it does not say which side gets none",
    "a trade of whose items": "it does not say which items are traded",
}


def read_sentence(text: str, view: View) -> Meaning:
    """Read ``text`` as an act of the person in the game of ``view``. The act is not checked against the rules."""
    line = normalise(text)
    reading = _first_reading(line, view)
    return _check_doubt(reading, line, view) if isinstance(reading, Action) else reading


def _first_reading(line: str, view: View) -> Meaning:
    if not any(c.isascii() and c.isalnum() for c in line):
        return Misread(ENGLISH, unread=True)
    for phrase, meaning in PHRASES:
        if phrase.fullmatch(strip_politeness(line)):
            return meaning(view)
    if numbers := _THREE.fullmatch(strip_politeness(line)):
        books, hats, balls = map(int, numbers.groups())
        return Action(Act.PROPOSE, (books, hats, balls))
    last = _OR_LEAVE_IT.sub(" ", line)
    added = _addition(line, view)
    if added is not None:
        return added
    if WORTHLESS_TO_THEM.search(last):
        return Misread("it says what items are worth to them, not who gets what")
    act = _annotator_reading(phrase_as_claims(last), view)
    if isinstance(act, Misread) and _ASKING.match(strip_politeness(line)):
        return Misread(NO_ANSWERS)
    if last != line and isinstance(act, Action) and act.act_type is Act.PROPOSE:
        return Action(Act.INSIST, act.oA)
    return act


def _check_doubt(reading: Action, line: str, view: View) -> Meaning:
    """Turn a reading into a question where the sentence contradicts it: a question mark, a condition, "both" of one."""
    agrees, legal = reading.act_type is Act.AGREE, view.rule_against(reading) is None
    asks = line.endswith("?") or _A_QUESTION.match(strip_politeness(line))
    if agrees and asks and not legal:
        return Misread(NO_ANSWERS)
    if agrees and legal and (asks or _IF.search(line)):
        return AmbiguousLine("They answer offers, not questions or conditions. Do you accept theirs?", (reading,))
    not_two = [
        (kind, view.counts[kind]) for kind in map(_item_index, _BOTH.findall(line)) if view.counts[kind] not in (0, 2)
    ]
    if reading.act_type.is_offer and not_two and legal:
        there = ", ".join(count_noun(n, ITEMS[kind]) for kind, n in not_two)
        return AmbiguousLine(f'Of these there are {there}, so "both" is not clear. Is this what you mean?', (reading,))
    return reading


def _item_index(item: str) -> int:
    return ITEMS.index(item)


def _annotator_reading(line: str, view: View) -> Meaning:
    if _RATHER.search(line):
        return Misread("it says what you like better, not who gets what")
    if _LESS.search(line):
        return Misread("it takes something away; say the whole split")
    if _REST_IS_OPEN.search(line):
        return Misread("it leaves the rest open; say who gets that too")
    reading = _annotate(line, view)
    if reading.action is None or reading.action.act_type is Act.DISAGREE:  # "I don't need the books" is an offer
        offered = _NEEDLESS.sub("you can have", line)
        offered = line if offered == line else offered.replace(" or ", " and ")
        again = _annotate(offered, view) if offered != line else reading
        if again.action is not None and again.action.act_type.is_offer:
            return again.action
    if reading.action is None:
        return _explain(reading.reason, line, view)
    if reading.action.act_type is Act.DISAGREE:
        return leave(view) if "walk away" in line and not _NEGATED.search(line) else refuse(view)
    return reading.action


def _annotate(line: str, view: View) -> ActReading:
    history = view.state.history
    return read_utterance(
        line, view.counts, TalkState(view.mine, view.theirs, history[-1].act_type if history else None)
    )


def _explain(why: str, line: str, view: View) -> Misread:
    if why == "one type has no owner":
        named = {mention.kind for mention in claims(line).mentions}
        unsaid = [f"{item}s" for kind, item in enumerate(ITEMS) if kind not in named and view.counts[kind]]
        return Misread(
            f"it does not say who gets the {' and the '.join(unsaid)}" if unsaid else "it leaves something unsaid"
        )
    if why == "more than there is":
        return Misread(f"there are only {describe_items(view.counts)} on the table")
    if why == "no act":
        return Misread(f"neither a split nor a yes or no was found in it ({ENGLISH})", unread=True)
    return Misread(_REASONS[why]) if why in _REASONS else Misread("it is not clear who gets what", unread=True)


def _addition(line: str, view: View) -> Meaning | None:
    """The offer of "one more hat" or "a hat too": the partner's offer plus the named items; ``None`` without any."""
    history, words = view.state.history, tags(line)
    answers_an_offer = bool(history) and history[-1].act_type.is_offer
    if exchanged := _INSTEAD.fullmatch(line):
        return _exchange(exchanged[1], exchanged[2], view) if answers_an_offer else None
    if added := _IF_ADDED.fullmatch(line):
        both = [_count_items(tags(part), view.counts, plain=True) for part in added.groups()]
        if both[0] is not None and both[1] is not None:
            return _request(view, both[0], both[1])
    more, too = bool(_MORE.search(line)), bool(_TOO.search(line))
    named = (
        _count_items(words, view.counts, plain=too or bool(_ADD.search(line)))
        if answers_an_offer and (more or too)
        else None
    )
    while words and words[-1] == "STOP":
        words.pop()
    if named is None or _WHOLE_SPLITS & set(words):
        return None
    gives = bool(_TO_YOU.search(line))
    base = view.mine if gives else rest(view.counts, view.theirs or (0, 0, 0))
    if base is None:
        return None
    offer = _request(view, base, named, sign=-1 if gives else 1)
    whole = _annotate(line, view).action
    is_other = isinstance(offer, Action) and whole is not None and whole.act_type.is_offer and whole.oA != offer.oA
    if too and sum(n > 0 for n in named) > 1 and is_other and isinstance(offer, Action) and whole is not None:
        return AmbiguousLine("Besides what they offer you, or instead of it?", (offer, whole))
    return offer


def _request(view: View, base: Triple, named: Triple, *, sign: int = 1) -> Action | Misread:
    """The offer to keep ``base`` and ``named`` (``sign`` -1: without them); a message where there are not so many."""
    books, hats, balls = (number + sign * n for number, n in zip(base, named, strict=True))
    if not all(0 <= n <= count for n, count in zip((books, hats, balls), view.counts, strict=True)):
        return Misread(f"there are only {describe_items(view.counts)} on the table")
    return Action(Act.PROPOSE, (books, hats, balls))


def _exchange(gained: str, lost: str, view: View) -> Meaning | None:
    """The offer of "the hats instead of the balls": what they leave the person, with the one for the other."""
    left = rest(view.counts, view.theirs or (0, 0, 0))
    more, less = (_count_items(tags(part), view.counts, plain=True) for part in (gained, lost))
    if more is None or less is None or _TO_YOU.search(gained):
        return None
    without = _request(view, left, (min(less[0], left[0]), min(less[1], left[1]), min(less[2], left[2])), sign=-1)
    return _request(view, without.oA, more) if isinstance(without, Action) else without


def _count_items(words: list[str], counts: Triple, *, plain: bool) -> Triple | None:
    """Count the items of each type in annotator tags; ``None`` if there are none.

    ``plain``: items without a number count too, all of a plural and one of a singular.
    """
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
