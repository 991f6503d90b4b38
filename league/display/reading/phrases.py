"""Whole sentences of the table and what they mean: "50/50?", "same as before", "bye".

What may mean two things is a :class:`Question`, what cannot be read a :class:`Mistake`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from dond_marl.game import ITEMS, Act, Action
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
NOTHING_TO_AGREE_TO = "there is no offer to say yes to"
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


def leave(view: View) -> Meaning:
    """To leave the table, under the rules of this game."""
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


def refused(view: View) -> Meaning:
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
    return Mistake(NOTHING_TO_AGREE_TO, unread=True) if view.rule_against(agree) else agree


PHRASES: tuple[tuple[re.Pattern[str], Callable[[View], Meaning]], ...] = (
    (_EVEN, _even),
    (_YES, _yes),
    (_NO, refused),
    (_AGAIN, _again),
    (_LEAVING, leave),
    (_OPEN, _open),
    (_SWAPPED, _swapped),
    (_ALL_MINE, _everything),
    (_ALL_YOURS, _nothing),
)
