"""What the person at the table sees and may do: values and sentences, without a browser."""

from __future__ import annotations

from typing import NamedTuple

from dond_marl.game import ITEMS, Act, Action, Rules, State, Triple, rest, worth
from dond_marl.records.transcript import in_words
from dond_marl.records.wording import in_english
from league.display.svg.markup import points
from league.web.play.live_game import Hint
from partners.human import View


class Lane(NamedTuple):
    """One item type on the table."""

    item: str
    number: int
    value: int  # points each, to the person
    theirs: int | None  # to the partner, where values are revealed


class Line(NamedTuple):
    """One act of the conversation."""

    mine: bool
    text: str
    note: str  # what it comes to for the person


class Choice(NamedTuple):
    """An act that the person may, or may not, say now."""

    act: Act
    label: str
    detail: str
    legal: bool


def lanes(view: View) -> tuple[Lane, ...]:
    """The pool by item type."""
    theirs = view.state.scenario.utilities[1 - view.seat] if view.revealed else (None, None, None)
    return tuple(Lane(*lane) for lane in zip(ITEMS, view.counts, view.values, theirs, strict=True))


def first_split(view: View) -> Triple:
    """What lies on the person's side when it is asked: what the partner leaves it, or else what it last asked for."""
    if view.theirs is not None:
        return rest(view.counts, view.theirs)
    return view.counts if view.mine is None else view.mine


def headline(view: View) -> str:
    """The state of the talk, in one line."""
    history = view.state.history
    if not history:
        return "You open. Tap items to sort them, then propose."
    if view.theirs is not None and history[-1].act_type.is_offer:
        left = rest(view.counts, view.theirs)
        how = "insist: you get" if history[-1].act_type is Act.INSIST else "offer you"
        return f"They {how} {in_words(left)}, worth {points(worth(view.values, left))} to you."
    if history[-1].act_type is Act.DISAGREE:
        return "They turned your offer down. Make another one."
    return "Your turn. Tap items to sort them, then propose."


def choices(view: View, kept: Triple) -> tuple[Choice, ...]:
    """Every act, in the order of the act numbers; ``kept`` is what lies on the person's side."""
    ends = view.state.rules.disagree == "ends"
    offered = None if view.theirs is None else worth(view.values, rest(view.counts, view.theirs))
    mine = points(worth(view.values, kept))
    texts = {
        Act.PROPOSE: ("Propose", f"this split, {mine} for you"),
        Act.INSIST: ("Insist", "the same, with more weight"),
        Act.AGREE: ("Accept", "nothing is on offer" if offered is None else f"their offer, {points(offered)} for you"),
        Act.DISAGREE: ("Walk away", "no deal, no points") if ends else ("Turn down", "their offer; the talk goes on"),
        Act.END: ("Stop talking", _final(view)),
    }
    return tuple(Choice(act, *texts[act], rule_against(view, act, kept) is None) for act in Act)


def action_of(act: Act, kept: Triple) -> Action:
    """The act, with ``kept`` as its split where it makes an offer."""
    return Action(act, kept) if act.is_offer else Action(act)


def rule_against(view: View, act: Act, kept: Triple) -> str | None:
    """Why the act may not be said now, in words; ``None`` if it may."""
    return view.rule_against(action_of(act, kept))


def is_final(act: Act, rules: Rules) -> bool:
    """Whether the act may end the game without anybody agreeing, so that it is asked for twice."""
    return act is Act.END or (act is Act.DISAGREE and rules.disagree == "ends")


def time_left(state: State) -> str:
    """How much talk is left, and what that means near the end."""
    left = state.turns_remaining
    if left == 1:
        return "Last act of all: accept, or claim exactly what they leave you"
    return f"{left} acts left" + (", this is your last one" if left == 2 else "")


def talk_lines(state: State, seat: int) -> tuple[Line, ...]:
    """The conversation as the person in ``seat`` hears it."""
    values, counts, final = state.scenario.utilities[seat], state.scenario.counts, state.rules.disagree == "ends"
    lines = []
    for turn, action in enumerate(state.history):
        mine = turn % 2 == seat
        note = ""
        if action.act_type.is_offer:
            share = action.oA if mine else rest(counts, action.oA)
            note = f"{points(worth(values, share))} for you"
        lines.append(Line(mine, in_english(action, counts, variant=turn, final=final), note))
    return tuple(lines)


def hint_text(hint: Hint, view: View) -> str:
    """An adviser's hint in words, such as ``propose to keep 2 hats (6 points), 80% sure``."""
    act, left = hint.action.act_type, hint.action.oA
    what = {
        Act.PROPOSE: f"propose to keep {in_words(left)} ({points(worth(view.values, left))})",
        Act.INSIST: f"insist on keeping {in_words(left)} ({points(worth(view.values, left))})",
        Act.AGREE: "accept their offer",
        Act.DISAGREE: "say no",
        Act.END: "stop talking: the latest claims stand",
    }[act]
    sure = f", {hint.confidence:.0%} sure" if hint.confidence else ""
    return f"{what}{sure}"


def _final(view: View) -> str:
    if view.mine is None or view.theirs is None:
        return "no deal: not both have claimed"
    fits = rest(view.counts, view.theirs) == view.mine
    return "a deal: the claims fit" if fits else "no deal: the claims do not fit"
