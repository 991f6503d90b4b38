"""A line that a person types at the table: a short command such as ``p 1 0 2``, or a sentence in English.

A command is played as it stands. A sentence may be misread, so its reading is confirmed before it is played. Short
phrases of the table ("50/50", "same as before", "bye") are matched by patterns, "one more hat" and "deal if I get the
ball" change what is on offer, and everything else is read by the dialogue annotator,
:mod:`dond_marl.dialogues.annotator`, which was written for, and measured on, the published dialogues. A line with two
possible readings gives a question and is never resolved by a guess: "no way" must not end the game without a
confirmation. The terminal and the page share this.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from dond_marl.dialogues.annotator import ActReading, TalkState, read_utterance
from dond_marl.dialogues.clauses import ALL, BARE, BOTH, HALF, ME, OTHER_ONES, YOU, claims
from dond_marl.dialogues.words import Tone, tags, tone
from dond_marl.game import ITEMS, Act, Action, Rules, Triple, rest
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


class Reading(NamedTuple):
    """A typed line as it was read: an act, a question with acts to choose from, a command, or why it is none."""

    actions: tuple[Action, ...] = ()  # one act, or several with a question, the mildest first
    text: str = ""  # with acts the question, without them the reason why there is none
    sure: bool = False  # the line was a short command: its act needs no confirmation
    unread: bool = False  # no act was found in the line; otherwise the one that it names cannot be played
    command: Literal["", "help", "leave"] = ""


NOTHING_TO_AGREE_TO = "there is no offer to say yes to"
NO_ANSWERS = "they answer offers, not questions; say what you want to keep"
UNCLEAR_CHANGE = "it is not clear what is to change in the offer; say the whole split"
ENGLISH = "only English is read for now"


def act_reading(act: Act, split: Triple = (0, 0, 0), *, sure: bool = False) -> Reading:
    """The reading as one act; ``split``: the items that an offer keeps."""
    return Reading((Action(act, split),), sure=sure)


def refusal(text: str, *, unread: bool = False) -> Reading:
    """The reading without an act, for the reason ``text``."""
    return Reading(text=text, unread=unread)


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


# Phrases of the table


def _even_split(view: View) -> Reading:
    odd = [f"{item}s" for item, count in zip(ITEMS, view.counts, strict=True) if count % 2]
    if odd:
        return refusal(f"the {' and the '.join(odd)} cannot be halved; say who gets how many")
    books, hats, balls = (count // 2 for count in view.counts)
    return act_reading(Act.PROPOSE, (books, hats, balls))


def _agree(view: View) -> Reading:
    return refusal(NOTHING_TO_AGREE_TO) if view.rule_against(Action(Act.AGREE)) else act_reading(Act.AGREE)


def _refuse(view: View) -> Reading:
    """The act of a "no". Where it would end the game, it is ambiguous: a repeated offer may be meant."""
    no = Action(Act.DISAGREE)
    if view.state.rules.disagree != "ends":
        return Reading((no,))
    if view.mine is None:
        return Reading((no,), "A no ends this game, with nothing for both. To go on, say what you want instead.")
    question = "A no ends this game, with nothing for both. Do you want to repeat your last offer instead?"
    return Reading((Action(Act.PROPOSE, view.mine), no), question)


def _insist(view: View) -> Reading:
    if view.mine is None:
        return refusal("you have made no offer yet; say what you want to keep")
    return act_reading(Act.INSIST, view.mine)


def _leave(view: View) -> Reading:
    """The act of leaving: DISAGREE where it ends the game, END otherwise."""
    return act_reading(Act.DISAGREE if view.state.rules.disagree == "ends" else Act.END)


def _take_all(view: View) -> Reading:
    return act_reading(Act.INSIST if view.mine == view.counts else Act.PROPOSE, view.counts)


def _give_all(_: View) -> Reading:
    return act_reading(Act.PROPOSE, (0, 0, 0))


_OFFER = r"(?:offer|claim|proposal|split|deal)"
PHRASES: tuple[tuple[re.Pattern[str], Callable[[View], Reading]], ...] = tuple(
    (re.compile(pattern), meaning)
    for pattern, meaning in (
        (
            r"(?:let'?s |we (?:can |could )?|can we |how about )?"
            r"(?:(?:split|share|divide)(?: it| them| everything| all)? (?:evenly|equally|in half|50 ?[/-] ?50)"
            r"|50 ?[/-] ?50|fifty[ -]?fifty|half (?:(?:and|&) )?half|half each|half of (?:it|everything|all)"
            r"|(?:an? )?(?:even|equal) split|meet (?:me )?(?:in the middle|half ?way))",
            _even_split,
        ),
        (
            r"let'?s (?:do (?:it|that|this)|shake(?: on it)?)|i (?:can|could) live with (?:it|that|this)"
            r"|good enough|i'?m in"
            r"|i(?:'?ll| will) take (?:it|that|the deal|your offer)",
            _agree,
        ),
        (
            r"(?:absolutely|definitely|certainly) not|i refuse|forget it|not enough"
            r"|(?:please )?be (?:fair|reasonable)|(?:make me a|you can do) better(?: offer)?"
            r"|(?:that'?s |it'?s )?(?:too (?:little|much|greedy)|an insult|a joke"
            rf"|(?:an? )?(?:terrible|awful|bad|poor|lousy|low|ridiculous|unfair|insulting)(?: {_OFFER})?)",
            _refuse,
        ),
        (
            r"(?:the )?same (?:as (?:before|earlier|last time)|again|offer|thing)|as before|final offer"
            rf"|i insist(?: on (?:it|that|this|my (?:last |final )?{_OFFER}))?"
            rf"|take it or leave it|(?:that'?s |this is )?my (?:last|final) {_OFFER}"
            rf"|my {_OFFER} (?:stands|has ?n(?:'?t|ot) changed|is (?:final|(?:still )?the same))"
            r"|no changes?(?: from me)?"
            rf"|i(?:'?m)? (?:repeat|stand(?:ing)? by|stick(?:ing)? (?:to|with)) my {_OFFER}"
            r"|i(?:'?m not| wo ?n'?t| will not| can'?t| cannot) (?:budg(?:e|ing)|mov(?:e|ing)"
            r"|(?:go|going|accept|take|settle for) (?:(?:any )?(?:lower|less)|below)(?: than)?(?: (?:this|that))?)"
            r"|(?:that'?s|this is) (?:as low as i|the (?:least|lowest) i)(?: can| will|'?ll)? (?:go|take|accept)",
            _insist,
        ),
        (
            r"(?:ok(?:ay)? |no )?(?:good ?)?bye|see (?:you|ya)|farewell|i(?:'?m| am) (?:out|done|leaving|walking away)"
            r"(?:[, ]+bye)?|i (?:quit|leave|give up|(?:will |'?ll )?walk away)|(?:no deal,? )?i(?:'?m)? walk(?:ing)?"
            r"(?: away)?|let'?s call it off",
            _leave,
        ),
        (r"(?:it'?s |they'?re )?all (?:for me|mine)|i (?:want|take|keep) (?:it )?all(?: of (?:it|them))?", _take_all),
        (r"(?:it'?s |they'?re )?all (?:for you|yours)|nothing for me", _give_all),
    )
)
_LEADING = re.compile(
    r"^(?:(?:well|so|u[hm]+|hmm+|hey|then|and|but|just|come on)[ ,.!]+"
    r"|(?:no|nope|ok(?:ay)?|fine|sorry|forget it|(?:i )?(?:can'?t|cannot) (?:do|accept|take) (?:that|it|this))"
    r"[,.!]+ *)+"
)
_TRAILING = re.compile(r"(?:[ ,]+(?:please|pls|thanks?|then|instead))*[\s.!?,]*$")


# Sentences

_QUOTES = str.maketrans(dict.fromkeys("`\u2018\u2019\u00b4", "'"))
_THREE = re.compile(r"(?:(?:i (?:want|keep|take)|give me) )?(\d)[ ,/:-]+(\d)[ ,/:-]+(\d)")  # books, hats, balls
_OR_LEAVE_IT = re.compile(
    rf"[\s,.;:!-]*\b(?:take it or leave it|(?:and )?(?:that'?s|this is) my (?:final|last|best) {_OFFER})\b[\s.!]*"
)
_CANNOT_REFUSE = re.compile(r"\b(?:i )?(?:can'?t|cannot|could ?n'?t) (?:say no|refuse)(?: (?:to )?(?:that|it|this))?\b")
# Words of a no or of a farewell, in lines of which a yes was read.
_DOUBTFUL = re.compile(
    r"\b(?:terrible|awful|horrible|bad|poor|unfair|ridiculous|insult\w*|joke|forget|never|bye|goodbye|walk|leaving)\b"
)
_ASKING = re.compile(r"(?:what(?!'?s? (?:about|if))|which|why|who|when|where|do (?:you|u)|are (?:you|u))\b")
_A_QUESTION = re.compile(r"(?:do|did|will|would|can|could|shall|should|are|is|does) (?:you|u|we|it|that|this)\b")
_IF = re.compile(r"\b(?:if|unless|provided)\b")
_NEGATED = re.compile(r"n't\b|\b(?:not|never|dont|wont)\b")
_ITEM = r"(?:books?|hats?|balls?)"
_NUMBER = r"(?:\d|an?|one|two|three|four|five|both|all|the)"
_LIST = rf"(?:{_NUMBER}(?: of)?(?: the)? )*{_ITEM}"
_ITEMS = rf"{_LIST}(?:(?: *[,+&] *(?:and )?| and | plus ){_LIST})*"
# Items without a recipient: the speaker wants them.
_REQUEST = re.compile(
    rf"(?:maybe |just |only |(?:how|what) about )?"
    rf"(?:{_ITEMS}"
    rf"|everything (?:but|except) the {_ITEM}(?: and (?:the )?{_ITEM})?)"
)
_NEEDLESS = re.compile(rf"\bi (?:really )?(?:do ?n'?t|do not) (?:need|want)(?: any(?: of)?)? (?=(?:the )?{_ITEM})")
# Patterns and their replacement in the annotator's words.
_REWRITES = (
    (re.compile(rf"\b(?:(?:any|every)thing|all) (but|except)(?: for)? (?:the )?(?={_ITEM})"), r"everything \1 the "),
    (re.compile(r"\b(give me .{1,25} and) (?=(?:keep|take) )"), r"\1 you "),
    (re.compile(rf"\b(?:we|us|let'?s) (?:do |take |get |have |keep )*({_LIST}) each\b"), r"we both get \1"),
    (re.compile(rf"({_ITEMS}|(?:the )?rest) *(?:[:=]|->) *(me|i|you|u)\b"), r"\2 : \1"),
    (re.compile(r",? *\b(?:and )?nothing (?:else|more)\b"), ""),
    (re.compile(r"(^|[,.;/|] *|\band )(?:me|i)(?: *[:=]| *->) *"), r"\1i keep "),
    (re.compile(r"(^|[,.;/|] *|\band )(?:you|u)(?: *[:=]| *->) *"), r"\1you keep "),
)
# Sentences on items that are no offers of a whole split, with the reason.
_NO_OFFERS = (
    (
        re.compile(r"^(?:so )?(?:you|u) (?:really |still |do )?(?:want|like|need|love)\b(?!.*\b(?:i|me|mine)\b)"),
        "it says what they like, not who gets what",
    ),
    (re.compile(r"^(?:what|how) do (?:you|u) (?:think|feel)\b(?!.*\b(?:i|me|mine)\b)"), NO_ANSWERS),
    (re.compile(r"^(?:can|could|would|will) (?:you|u) (?:live|do|go|manage) without\b"), NO_ANSWERS),
    (
        re.compile(
            r"\brather (?:have|get|keep|take)\b|\b(?:rather|prefer)\b.*\b(?:than|over)\b|\bprefer (?!to\b).*\bto\b"
        ),
        "it says what you like better, not who gets what",
    ),
    (re.compile(r"\b(?:less|fewer|lower|below)\b"), "it takes something away; say the whole split"),
    (re.compile(r"\b(?:give up|drop)\b.*\b(?:to (?:get|have)|if)\b"), "it trades items; say the whole split"),
    (
        re.compile(
            r"\b(?:no deal|no way|(?:wo|ca|do|would|could)n'?t \w+(?: that| it)?|not (?:accept|agree|ok|fair)) if\b"
        ),
        "it says what you refuse; say what you want to keep",
    ),
    (re.compile(r"\b(?:add|throw in)\b"), "it adds to something; say the whole split"),
    (
        re.compile(r"\b(?:worthless|useless|means? nothing|matters?|interest)\b|\bworth (?:nothing|0|zero)\b"),
        "it says what items are worth, not who gets what",
    ),
    (
        re.compile(
            r"\byou (?:can )?(?:choose|pick|decide)\b"
            r"|\b(?:rest|others?)(?: is|'?s| are)? (?:negotiable|open|undecided|up to you)"
            rf"|\brest,? we can (?:discuss|talk)"
            rf"|^(?:no(?: way)?[,.!]* )?i (?:need|(?:really|absolutely) (?:need|want)) {_LIST}[\s.!]*$"
        ),
        "it leaves the rest open; say who gets that too",
    ),
)
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


def read_sentence(text: str, view: View) -> Reading:
    """Read ``text`` as an act of the person in the game of ``view``. The act is not checked against the rules."""
    line = _CANNOT_REFUSE.sub("i accept", text.lower().translate(_QUOTES).strip())
    if not any(c.isascii() and c.isalnum() for c in line):
        return refusal(ENGLISH, unread=True)
    reading = _first_reading(line, view)
    if reading.actions == (Action(Act.AGREE),) and _DOUBTFUL.search(line) and not claims(line).names_items:
        return refusal("it is not clear whether that is a yes or a no; say accept, or what you want to keep")
    if reading.actions == (Action(Act.AGREE),) and (
        line.endswith("?") or _IF.search(line) or _A_QUESTION.match(_without_politeness(line))
    ):
        if view.rule_against(Action(Act.AGREE)) is not None:
            return refusal(NO_ANSWERS)
        return reading._replace(text="They answer offers, not questions or conditions. Do you accept theirs?")
    return _about_their_offer(reading, line, view)


def _about_their_offer(reading: Reading, line: str, view: View) -> Reading:
    """The reading, with AGREE for an offer of the split that they offer, or for a yes that gives some items away."""
    offer, agree = reading.actions[0] if len(reading.actions) == 1 else None, Action(Act.AGREE)
    if offer is None or not offer.act_type.is_offer or view.theirs is None or view.rule_against(agree) is not None:
        return reading
    if offer.oA == rest(view.counts, view.theirs):
        return Reading((agree,))
    only_gives = {mention.owner for mention in claims(line).mentions} == {YOU}
    if only_gives and tone(line) >= Tone.YES and not _CONDITION.search(line):
        return Reading((offer, agree), "Do you make this offer, or accept theirs?")
    return reading


def _first_reading(line: str, view: View) -> Reading:
    plain = _without_politeness(line)
    firm = _OR_LEAVE_IT.sub("", plain)
    for phrase, meaning in PHRASES:
        if phrase.fullmatch(plain) or phrase.fullmatch(firm):
            return meaning(view)
    if numbers := _THREE.fullmatch(plain):
        books, hats, balls = map(int, numbers.groups())
        return act_reading(Act.PROPOSE, (books, hats, balls))
    changed = _changed_offer(line, view)
    if changed is not None:
        return changed
    offer = _OR_LEAVE_IT.sub(" ", line).strip()
    for pattern, words in _REWRITES:
        offer, plain = pattern.sub(words, offer), pattern.sub(words, plain)
    if _NEEDLESS.search(offer):  # an offer of these items, not a "no"
        offer = _NEEDLESS.sub("you can have ", offer).replace(" or ", " and ")
    for pattern, reason in _NO_OFFERS:
        if pattern.search(offer):
            return refusal(reason)
    reading = _annotator_reading(f"i want {plain}" if _REQUEST.fullmatch(plain) else offer, view)
    if not reading.actions and _ASKING.match(plain):
        return refusal(NO_ANSWERS)
    is_proposal = len(reading.actions) == 1 and reading.actions[0].act_type is Act.PROPOSE
    return act_reading(Act.INSIST, reading.actions[0].oA) if is_proposal and _OR_LEAVE_IT.search(line) else reading


def _without_politeness(line: str) -> str:
    """The line without hesitation and politeness at both ends."""
    return _TRAILING.sub("", _LEADING.sub("", line, count=1) or line)


def _annotator_reading(line: str, view: View) -> Reading:
    reading = _annotate(line, view)
    if reading.action is None:
        return _explain(reading.reason, line, view)
    names_condition = reading.action.act_type is Act.AGREE and claims(line).names_items
    if names_condition and re.search(r"\b(?:if|unless|but|only|without|minus|except)\b", line):
        return refusal(UNCLEAR_CHANGE)
    if reading.action.act_type is Act.DISAGREE:
        return _leave(view) if "walk away" in line and not _NEGATED.search(line) else _refuse(view)
    return Reading((reading.action,))


def _annotate(line: str, view: View) -> ActReading:
    history = view.state.history
    return read_utterance(
        line, view.counts, TalkState(view.mine, view.theirs, history[-1].act_type if history else None)
    )


def _explain(reason: str, line: str, view: View) -> Reading:
    """The reading without an act, for a reason of the annotator."""
    if reason == "one type has no owner":
        named = {mention.kind for mention in claims(line).mentions}
        unsaid = [f"{item}s" for kind, item in enumerate(ITEMS) if kind not in named and view.counts[kind]]
        return refusal(
            f"it does not say who gets the {' and the '.join(unsaid)}" if unsaid else "it leaves something unsaid"
        )
    if reason == "more than there is":
        return refusal(f"there are only {describe_items(view.counts)} on the table")
    if reason == "no act":
        return refusal(f"neither a split nor a yes or no was found in it ({ENGLISH})", unread=True)
    return refusal(_REASONS[reason]) if reason in _REASONS else refusal("it is not clear who gets what", unread=True)


# Changes of what is on offer: "one more hat", "a hat too", "deal if I get the ball", "no deal without the ball"

_ADD = (
    r"(?:add(?:ed|ing)?|(?:throw|threw|toss|chuck|put)(?:ing|ed)? in|includ(?:e|ed|ing)"
    r"|sweeten(?:ed|ing)?(?: (?:it|that|(?:the|your|this) \w+))?(?: up)?(?: with)?)"
)
_MORE = re.compile(
    r"\b(?:(?<!no )(?<!nothing )more|another|extra|sweeten\w*|spare|on top|also (?:want|need)|of (?:my|your))\b"
    r"|\b(?:too|as well|also)[\s.!?]*(?:$|and we)"
    r"|^(?:(?:can|could|would|will) you |please |just )*(?:and|plus|add|throw in|include)\b"
)
_STRONG_YES = re.compile(
    r"\b(?:deal|agreed?|sold|shake|accept|done|happy|say yes|take (?:it|that|your offer|the deal))\b|\bi'?m in\b"
    r"|\bi(?:'?ll|'?d| will| would| can| could) do (?:it|that|this)\b"
)
_NEARLY = re.compile(
    r"^(?:that'?s|it'?s|looks|sounds|so|very|pretty|not|[ ,])*"
    r"\b(?:close|almost|nearly|nice|good|great|tempting|better|bad)\b"
)
_SUGGESTS_DEAL = re.compile(r"\b(?:make|another|better|best|new|counter|what|how) .{0,12}\b(?:deal|offer)\b|\bdeal *:")
_IF_NOT = re.compile(r"\b(?:unless|until|only|(?<!live )(?<!do )(?<!go )without)\b")
_AS_LONG_AS = r"(?:provided|providing|(?:as|so) long as|once|when)"
_CONDITION = re.compile(rf"\b(?:if|but|unless|only|plus|with|except|{_AS_LONG_AS}|{_ADD})\b|^\w+[ ,]+and\b")
_TAKES_AWAY = re.compile(r"\b(?:without|minus|except(?! (?:that )?i\b)|not|swap\w*|trad(?:e|ing)|exchange)\b|n't\b")
_NO_ITEM_NO_DEAL = re.compile(rf"^(?:sorry,? )?(?:no ({_ITEM})[, ]+|({_LIST}) or )no deal\b")
_NO_CHANGES = {"REST", "RESTBUT", "REMAINING", "EVERYTHING", "NOTHING", "EACH", "SPLIT", "INFO", "ASK", "INSTEAD", "or"}
_CHANGES = tuple(  # patterns of a change and their replacement in the annotator's words
    (re.compile(pattern), words)
    for pattern, words in (
        (
            r"\b(?:(?:and|then|so) )*(?:(?:you|we)(?:'?ve| have)?(?: got)?|(?:it|that)(?:'?s| is)|call it)"
            r"(?: yourself)?(?: an?)? (?:deal|agreed|done)\b|\b(?:no )?deal\b"
            r"|\band (?:it'?s yours|we can (?:close|finish|stop))\b",
            " . ",
        ),
        (rf"\b(?:unless|until|only|except|{_AS_LONG_AS})\b", " if "),
        (r"\b(?:the )?(?:last|final|third|fourth) (book|hat|ball)\b", r"all \1s"),
        (rf"\b(i(?:'?ll|'?d| can| could| will| would)?) (?:also )?{_ADD}\b", r"\1 give you "),
        (r"\b(?:throw|threw|toss|chuck|put)(?:ing|ed)? (?=.{1,20} in\b)", " give me "),
        (rf"\b(?:{_ADD}|plus)\b", " give me "),
        (r"\banother\b", "a"),
        (r"\b(?:more|extra|also|on top|too|as well|at least)\b|\bof (?:my|your)\b|^and\b", " "),
    )
)


def _changed_offer(line: str, view: View) -> Reading | None:
    """The partner's offer with the named items moved, or the person's own claim less items for the partner.

    A yes with a condition ("deal if I get the ball") names how many items a side gets, "one more hat" how many are
    added. ``None`` for a line that is neither, or that names a whole split.
    """
    line = _NO_ITEM_NO_DEAL.sub(r"no deal without the \1\2", line)
    history, answer, is_more = view.state.history, tone(line), bool(_MORE.search(line))
    refuses = answer in (Tone.REFUSES, Tone.NO)
    if refuses or line.startswith("only "):
        is_condition = bool(_IF_NOT.search(line))
    else:
        nearly = answer >= Tone.YES or _NEARLY.search(line)
        is_condition = bool(_STRONG_YES.search(line) or (nearly and _CONDITION.search(line)))
    is_condition = is_condition and not _SUGGESTS_DEAL.search(line)
    if not (is_more or is_condition) or not (history and history[-1].act_type.is_offer):
        return None
    core = _NEEDLESS.sub("you can have ", line)
    takes_away = not refuses and bool(_TAKES_AWAY.search(core))
    core = _IF_NOT.sub("if", core) if refuses else core
    for pattern, words in _CHANGES:
        core = pattern.sub(words, core)
    mentioned, tagged = claims(core), set(tags(core))
    mentions = mentioned.mentions
    if not mentioned.names_items or tagged & _NO_CHANGES or {mention.kind for mention in mentions} == {0, 1, 2}:
        return None
    if is_condition and takes_away:
        return refusal("it takes something away; say the whole split")
    if not is_condition and "NOT" in tagged:
        return None
    offered, adds = rest(view.counts, view.theirs or (0, 0, 0)), is_more and not is_condition
    owners = {YOU if mention.owner == YOU else ME for mention in mentions}
    amounts = {mention.amount for mention in mentions}
    base = view.mine if adds and owners == {YOU} else offered
    if mentioned.doubts or not owners or base is None or (is_more and len(owners) > 1) or HALF in amounts:
        return refusal(UNCLEAR_CHANGE)
    items = list(base)
    for owner, kind, amount, _ in mentions:
        count = view.counts[kind]
        number = {BARE: 1, ALL: count, OTHER_ONES: count, BOTH: 2}.get(amount, amount)
        held = count - items[kind] if owner == YOU else items[kind]
        amount_held = held + number if is_more and amount not in (ALL, OTHER_ONES, BOTH) else max(held, number)
        if amount_held > count:
            return refusal(f"there are only {describe_items(view.counts)} on the table")
        items[kind] = count - amount_held if owner == YOU else amount_held
    split = (items[0], items[1], items[2])
    return _agree(view) if split == offered else act_reading(Act.PROPOSE, split)
