"""Utterances as tags (items, persons, verbs of parting, the rest), and their tone (yes or no).

A table of patterns rewrites an utterance into a small alphabet, which :mod:`dond_marl.dialogues.clauses` reads from
left to right. The patterns were written for, and tuned on, the training dialogues of Lewis et al. 2017 (arXiv
1706.05125), so they include the typing errors found there. Standard library only.
"""

from __future__ import annotations

import re
from enum import IntEnum


class Tone(IntEnum):
    """The answer in an utterance, by its plain words."""

    REFUSES = -2  # "no deal", "that does not work"
    NO = -1  # a bare no, which may answer any question
    NONE = 0
    YES = 1  # a bare yes, as NO
    ACCEPTS = 2  # "deal", "sounds good"


_QUOTES = str.maketrans(dict.fromkeys("`\u2018\u2019\u00b4", "'"))
_GIVING = (
    r"giv(?:e|es|en|ing)(?: up)?|part(?:ing)? with|let(?:ting)? go(?: of)?|spare|sacrifice|concede|cede|fore?go"
    r"|relinquish|(?:live|do|go) without|get rid of|offer(?:ing)?|throw in|leav(?:e|ing)|hand over|trad(?:e|ing)|swap"
)
_THINGS = r"(?:items?|objects?|things?|stuff|it|them|everything)"
# Searched in this order, over lower-case words; tags are in capitals, so that no later pattern takes them for words.
_REWRITES = tuple(
    (re.compile(pattern), tag)
    for pattern, tag in (
        # punctuation, and words run together
        (r"(?<=\d)(?=[a-z])|(?<=[a-z])(?=\d)", " "),
        (r"[.;:!?]+|(?<= )-+(?= )", " STOP "),
        (r"[,(]", " COMMA "),
        (r"[^a-zA-Z0-9'/]+", " "),
        (r"\b(the|an?|one|all|and|no|give|both)(?=(?:book|hat|ball)s?\b)", r"\1 "),
        # items
        (r"\b(?:b|v|base)?(?:basket? ?)?(?:b+al+a?[szd]|bals)'?(?= )|\bbas[a-z]*b[al]*ls(?= )", " BALLS "),
        (r"\b(?:b|v|base)?(?:basket? ?)?b+al+(?:'s?)?(?= )|\bbas[a-z]*b[al]*l(?= )", " BALL "),
        (r"\bb*(?:oo+k+|ok|ko)[szw]'?(?= )|\bbook[a-z]?s'?(?= )", " BOOKS "),
        (r"\bb+(?:o+k+|oko)(?:'s?|a)?(?= )|\bobok\b", " BOOK "),
        (r"\bhatt?s+'?(?= )", " HATS "),
        (r"\bhat(?:'s?|d)?(?= )", " HAT "),
        # persons
        (r"\bgimm[ei]e?\b", "give me"),
        (r"\blemme\b", "let me"),
        (r"\b(?:why|how come) (?:don'?t|do not|not)\b", "how about"),
        (r"\bi(?:'?m|'?d|'?ve| ?'?ll| am)?(?= )", " I "),
        (r"\b(?:you|u|ya|yall|y'all)(?:'?re|'?d|'?ve| ?'?ll)?(?= )", " YOU "),
        (r"\bme\b|\bmyself\b", " ME "),
        (r"\b(?:your|other|my|one|off) (?:other )?hands?\b|\bthank *YOU\b", " "),
        (r"\b(?:we|us)(?:'ll|'d)? (?:\w+ )?(?:both|each)\b|\b(?:each|both) of us\b", " BOTHSIDES "),
        (r"\b(?:split|divide|share|halve)\w*", " SPLIT "),
        # one of each, all but, the rest, everything
        (rf"\b(?:one|1|an?) (?:of|for) (?:each|every\w*)(?: (?:{_THINGS}|kind|type|other))?\b", " EACH "),
        (
            r"\b(?:every ?thing|all|any ?thing)(?: else)?"
            r" (?:but|except(?: for)?|besides|other than|aside from|minus)\b",
            " RESTBUT ",
        ),
        (
            r"\b(?:all )?(?:of )?(?:the )?(?:rest|remainder|remaining|others?|leftover)(?: of)?(?: the| my| your)?"
            r"(?= +(?:\d |one |two |three )? *(?:BOOK|HAT|BALL))",
            " REMAINING ",
        ),
        (
            r"\b(?:(?:every ?thing|all|every|whatever|what) )?(?:of )?(?:the )?"
            rf"(?:rest|remainder|remaining|left ?overs?|else|others|other (?:{_THINGS}|ones))\b"
            rf"(?: (?:of (?:the |it|them)?)?{_THINGS}\b)?",
            " REST ",
        ),
        (r"\b(?:whatever|what|all|everything)(?: that|'s| is|s)* left(?: over)?\b", " REST "),
        (
            rf"\b(?:every ?thing|it all|(?:all|every)(?: single)?(?: of)?(?: the| these| those)? {_THINGS})\b",
            " EVERYTHING ",
        ),
        (r"\bnothing\b", " NOTHING "),
        # verbs and trades
        (r"\bin (?:exchange|return|trade) for\b", " FOR "),
        (r"\bin (?:exchange|return)\b", " "),
        (r"\b(?:instead of|rather than|in lieu of)\b", " INSTEAD "),
        (
            r"\b(?:ca|do|did|does|wo|would|could|is|are|was|were|should|ai|has|have)n?'?t\b|\bcan ?not\b"
            r"|\b(?:never|neither|not|nt)\b",
            " NOT ",
        ),
        (rf"\b(?:{_GIVING})\b", " GIVE "),
        # statements and questions, which claim nothing
        (r"\b(?:what|which|who)(?:'s)?\b(?! (?:about|if))|\bhow (?:many|much)\b|\bwhy\b", " ASK "),
        (
            r"\b(?:do|did) +YOU +(?:\w+ )?(?:need|want|like|have|care|value|prefer)\b"
            r"|\bare +YOU +(?:\w+ )?(?:interested|into|wanting|looking)\b",
            " ASK ",
        ),
        (
            r"\b(?:worth(?:less)?|values?d?|valuable|points?|pts?|useless|priority|important|no good|NOT +good)\b"
            r"|\bno (?:use|need|interest|desire)\b",
            " INFO ",
        ),
    )
)
_REFUSES = re.compile(
    r"\b(?:no|non|zero)[ -]*dea?l+s?\b|\bno (?:way|dice|go|can do|chance)\b"
    r"|\bnot? (?:that|acceptable|possible|going to work|fair)\b"
    r"|\b(?:wo|does|do|would|ca|could|is|did)n?'?t (?:really |quite )?(?:work|do (?:that|it|this)|accept|agree|make"
    r"|think so|take that|happen|go|fair|good|enough|help|possible|doable)\b"
    r"|\bcan ?not (?:do|accept|agree|make)\b"
    r"|\b(?:will|would|do|does|am|is) not (?:work|accept|agree|do that|fair|enough)\b"
    r"|\bwalk away\b|\bdisagree\b|\breject|\bunacceptable\b|\bunable to\b"
)
_ACCEPTS = re.compile(
    r"\b(?:deal+|agreed?|accepta?(?:ed|ble)?|sold|you got it|fair enough|(?<!this )works?|happy with that"
    r"|sounds? (?:\w+ )?(?:good|great|fair|fine|perfect|nice|reasonable|ok|okay)|that'?(?:ll| will) (?:work|do)"
    r"|(?:can|will|could) (?:do|take|accept) (?:that|it|this)|(?:good|fine) (?:with|by|for) (?:me|that)"
    r"|(?:that'?s|that is|seems|looks|is) (?:\w+ )?(?:fair|fine|good|great|ok|okay|perfect|cool))\b"
)
_NO = re.compile(r"\b(?:no|nope|nah|sorry|never|not|can'?t|cannot|won'?t|don'?t|unfortunately)\b")
_YES = re.compile(
    r"\b(?:yes|yea|yeah|yep|yup|ok|okay|okey|okie|k|kk|sure|alright|fine|perfect|great|cool|done|correct|right|awesome"
    r"|excellent|good|fair|absolutely|definitely|certainly|alrighty|ya)\b"
)
_YES_OR_NO = re.compile(f"{_NO.pattern}|{_YES.pattern}")
_PART = re.compile(r"[,.;!?]+| but ")  # separates verdicts: the last one counts
_TURNED = re.compile(r"\b(?:not|never|can'?t|won'?t|don'?t|neither|no|isn'?t|doesn'?t)\b")
_NO_VERDICT = re.compile(  # a deal, or a yes, that is only mentioned or requested
    r"\b(?:make|making|made|reach|another|better|best|any|have|this|that|the|of a|on a|some|what|good)"
    r" (?:\w+ )?deals?\b"
    r"|\b(?:will|would|does|do|could|can|did|is) (?:that|this|it|those|we)(?: \w+)?"
    r" (?:work|sound|have a deal|deal|be|fair|okay|ok|good|agree)\w*"
)
_ENDS = re.compile(r"<selection>|\benough talk\b")
_INSISTS = re.compile(r"\bi (?:still |really )?insist\b")


def tags(text: str) -> list[str]:
    """The words of one utterance, those of the small alphabet in capitals."""
    line = f" {_plain_text(text)} "
    for pattern, tag in _REWRITES:
        line = pattern.sub(tag, line)
    return line.split()


def tone(text: str) -> Tone:
    """The tone of one utterance: its last verdict, or without one its first bare yes or no."""
    verdict = Tone.NONE
    line = _plain_text(text)
    for part in _PART.split(line):
        if _REFUSES.search(part):
            verdict = Tone.REFUSES
        elif _ACCEPTS.search(_NO_VERDICT.sub(" ", part)):
            verdict = Tone.REFUSES if _TURNED.search(part) else Tone.ACCEPTS
    if verdict is not Tone.NONE:
        return verdict
    bare = _YES_OR_NO.search(line)
    if bare is None:
        return Tone.NONE
    return Tone.NO if _NO.fullmatch(bare[0]) else Tone.YES


def ends(text: str) -> bool:
    """Whether one utterance ends the dialogue."""
    return bool(_ENDS.search(_plain_text(text)))


def insists(text: str) -> bool:
    """Whether one utterance contains the words "I insist"."""
    return bool(_INSISTS.search(_plain_text(text)))


def _plain_text(text: str) -> str:
    return text.lower().translate(_QUOTES)
