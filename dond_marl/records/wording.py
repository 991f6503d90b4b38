"""Dialogue acts in plain English, as people would say them: the inverse of :mod:`dond_marl.dialogues.annotator`.

Each act has a few wordings of one meaning, so that a dialogue need not sound like a form; every one of them is read
back as the same act (a property test goes through all of them). A transcript, which a bystander writes, has its own
lines: see :func:`dond_marl.records.transcript.act_sentence`. The lines are ours; none is taken from anybody's data.
"""

from __future__ import annotations

from dond_marl.game import ITEMS, Act, Action, Triple, rest

VARIANTS = 3  # how many wordings each act has
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")  # up to game.MAX_COUNT
_OFFERS = {
    Act.PROPOSE: (
        "I'd like {mine}; you can have {rest}.",
        "How about I take {mine} and you get {yours}?",
        "You can have {yours} if I get {mine}.",
    ),
    Act.INSIST: (
        "I insist: I'd like {mine}; you can have {rest}.",
        "I insist that I take {mine} and you get {yours}.",
        "I insist. You can have {yours} if I get {mine}.",
    ),
}
_ANSWERS = {
    Act.AGREE: ("Deal.", "Okay, agreed.", "That works for me."),
    Act.DISAGREE: ("No, that doesn't work for me.", "I can't accept that.", "Sorry, no deal on that."),
    Act.END: ("Enough talk: my last claim stands.", "Enough talk, let us choose.", "Enough talk from me."),
}
_WALKING_AWAY = ("No deal. I walk away.", "Then there is no deal.", "Sorry, no deal.")


def phrase_act(action: Action, counts: Triple, *, variant: int = 0, final: bool = False) -> str:
    """What the speaker of ``action`` says over the pool ``counts``, in wording ``variant`` modulo ``VARIANTS``.

    ``final``: DISAGREE ends the game, so it is worded as walking away.
    """
    number = variant % VARIANTS
    if action.act_type.is_offer:
        mine, yours = action.oA, rest(counts, action.oA)
        left = _share(yours, counts) if yours == counts or not any(yours) else "the rest"
        line = _OFFERS[action.act_type][number]
        return line.format(mine=_share(mine, counts), yours=_share(yours, counts), rest=left)
    if action.act_type is Act.DISAGREE and final:
        return _WALKING_AWAY[number]
    return _ANSWERS[action.act_type][number]


def _share(items: Triple, counts: Triple) -> str:
    """``the two hats and one ball``: a type that is taken whole has the article."""
    if items == counts:
        return "everything"
    named = [_named(*part) for part in zip(items, counts, ITEMS, strict=True) if part[0]]
    return " and ".join(filter(None, (", ".join(named[:-1]), *named[-1:]))) or "nothing"


def _named(number: int, count: int, item: str) -> str:
    plural = item if number == 1 else f"{item}s"
    if number < count:
        return f"{_NUMBERS[number]} {plural}"
    return f"the {plural}" if number == 1 else f"the {_NUMBERS[number]} {plural}"
