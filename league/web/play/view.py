"""What the person at the table sees and may do: values and sentences, without a browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from dond_marl.game import ITEMS, Act, Action, Rules, Scenario, State, Triple, rest, selection, worth
from dond_marl.records.transcript import describe_items, describe_secret_act, phrase_act
from league.display.game import talk_would_end
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
    text: str  # the person's own words where they typed some
    note: str  # what it comes to for the person, and how the words were read
    message: str = ""  # what was said beside the act


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


def waiting_view(scenario: Scenario, seat: int, rules: Rules) -> View:
    """The table as the person in ``seat`` sees it before anything was said, whoever opens."""
    return View(State(Scenario(scenario.counts, (scenario.utilities[seat], (0, 0, 0))), rules))


def first_split(view: View) -> Triple:
    """What lies on the person's side when it is asked: their last claim, before it all that is worth anything."""
    if view.mine is not None:
        return view.mine
    books, hats, balls = (count if value else 0 for count, value in zip(view.counts, view.values, strict=True))
    return books, hats, balls


def headline(view: View) -> str:
    """The state of the talk, in one line."""
    history = view.state.history
    if view.state.rules.secret_claims:
        return _of_talk(view)
    if not history:
        return "You open. Tap items to sort them, then propose."
    if view.theirs is not None and history[-1].act_type.is_offer:
        left = rest(view.counts, view.theirs)
        if not any(left):
            return "They want everything: you would get nothing."
        how = "insist: you get" if history[-1].act_type is Act.INSIST else "offer you"
        return f"They {how} {describe_items(left)}, worth {points(worth(view.values, left))} to you."
    if history[-1].act_type is Act.DISAGREE:
        return "They turned your offer down. Make another one."
    return "Your turn. Tap items to sort them, then propose."


def choices(view: View, kept: Triple) -> tuple[Choice, ...]:
    """Every act, in the order of the act numbers; ``kept`` is what lies on the person's side.

    To insist is no other secret claim than to propose, so it is none of their choices.
    """
    if view.state.rules.secret_claims:
        return _unbound_choices(view, kept)
    ends = view.state.rules.disagree == "ends"
    offered = None if view.theirs is None else worth(view.values, rest(view.counts, view.theirs))
    mine = points(worth(view.values, kept))
    texts = {
        Act.PROPOSE: ("Propose", f"this split, {mine} for you"),
        Act.INSIST: ("Insist", "the same, with more weight"),
        Act.AGREE: ("Accept", "nothing is on offer" if offered is None else f"their offer, {points(offered)} for you"),
        Act.DISAGREE: ("Walk away", "no deal, no points") if ends else ("Turn down", "their offer; the talk goes on"),
        Act.END: ("Stop talking", f"now: {talk_would_end(view)}"),
    }
    return tuple(Choice(act, *texts[act], rule_against(view, act, kept) is None) for act in Act)


def _of_talk(view: View) -> str:
    """The state of talk that binds nobody, or of the secret claims, in one line."""
    state = view.state
    theirs = None if view.theirs is None else rest(view.counts, view.theirs)
    left = "" if theirs is None else f"{describe_items(theirs)}, worth {points(worth(view.values, theirs))} to you"
    if state.claiming:
        return "Claim in secret." if theirs is None else f"Claim in secret. They last left you {left}."
    if not state.history:
        return "You open. Tap items to sort them, then suggest."
    last = state.history[-1].act_type
    if theirs is not None and last.is_offer:
        return f"They {'insist: you get' if last is Act.INSIST else 'would leave you'} {left}."
    told = {Act.AGREE: "They would agree to that.", Act.DISAGREE: "They said no to that."}
    return f"{told.get(last, 'They suggest nothing.')} Tap items to sort them, then suggest."


def _unbound_choices(view: View, kept: Triple) -> tuple[Choice, ...]:
    """Every act where none binds, or every secret claim."""
    claiming, mine = view.state.claiming, points(worth(view.values, kept))
    theirs, own = (selection(view.state, view.seat, Action(act)) for act in (Act.AGREE, Act.END))
    offered = None if theirs is None else points(worth(view.values, theirs))
    texts = {
        Act.PROPOSE: ("Suggest", f"this split, {mine} for you"),
        Act.INSIST: ("Insist", "the same, with more weight"),
        Act.AGREE: ("Say yes", "nothing is suggested" if offered is None else f"to {offered} for you; it binds nobody"),
        Act.DISAGREE: ("Say no", "to what they suggest"),
        Act.END: ("Suggest nothing", "the talk goes on"),
    }
    if claiming:
        texts = {
            Act.PROPOSE: ("Claim this", f"this split, {mine} for you"),
            Act.AGREE: (
                "Claim the rest",
                "nothing was left you" if offered is None else f"that they left you, {offered}",
            ),
            Act.DISAGREE: ("Claim nothing", "no deal, no points"),
            Act.END: ("Claim as before", "nothing" if own is None else f"your last, {points(worth(view.values, own))}"),
        }
    return tuple(Choice(act, *texts[act], rule_against(view, act, kept) is None) for act in Act if act in texts)


def action_of(act: Act, kept: Triple) -> Action:
    """The act, with ``kept`` as its split where it makes an offer."""
    return Action(act, kept) if act.is_offer else Action(act)


def rule_against(view: View, act: Act, kept: Triple) -> str | None:
    """Why the act may not be said now, in words; ``None`` if it may."""
    return view.rule_against(action_of(act, kept))


def foremost(view: View, kept: Triple) -> Act:
    """The act of the large button: to accept what is worth something, and no less than the split on the table."""
    if view.theirs is None or rule_against(view, Act.AGREE, kept) is not None:
        return Act.PROPOSE
    offered = worth(view.values, rest(view.counts, view.theirs))
    return Act.AGREE if offered and offered >= worth(view.values, kept) else Act.PROPOSE


def reading_text(action: Action, view: View) -> str:
    """A sentence's reading, in the words of the buttons."""
    named = {choice.act: choice.label for choice in choices(view, action.oA)}
    name = named.get(action.act_type, named[Act.PROPOSE])
    if view.state.claiming and (kept := selection(view.state, view.seat, action)) is not None:
        return f"{name}: you claim {describe_items(kept)} ({points(worth(view.values, kept))})"
    if action.act_type.is_offer:
        mine, theirs = describe_items(action.oA), describe_items(rest(view.counts, action.oA))
        return f"{name}: you keep {mine} ({points(worth(view.values, action.oA))}), they get {theirs}"
    if action.act_type is Act.AGREE and view.theirs is not None:
        left = rest(view.counts, view.theirs)
        return f"{name}: you get {describe_items(left)} ({points(worth(view.values, left))})"
    return name


def unread_text(line: str, why: str, times: int) -> str:
    """What is said of a line that was not understood; it changes with ``times``, how many in a row were not."""
    shown = line if len(line) <= 60 else f"{line[:59]}…"
    told = f"“{shown}” was not understood: {why}."
    if times == 1:
        told += " Understood are splits, such as “I take the hats”, yes, no, “50/50”, “same as before” and “bye”."
    else:
        told += " Try it like this: “I take the hats, you get the rest.”"
    if times > 2:
        told += f" That was line {times}; you can also tap the items and press Propose."
    return told


def time_left(state: State) -> str:
    """How much talk is left, and what that means near the end."""
    left = state.turns_remaining
    if state.claiming:
        return "One secret claim of each of you" if left == 2 else "The last secret claim"
    if state.rules.secret_claims:
        return f"{left - 2} act{'s' if left > 3 else ''} of talk left, then a secret claim of each of you"
    if left == 1:
        return "Last act of all: accept, or claim exactly what they leave you"
    return f"{left} acts left" + (", this is your last one" if left == 2 else "")


def talk_lines(state: State, seat: int, typed: Mapping[int, str] | None = None) -> tuple[Line, ...]:
    """The conversation as the person in ``seat`` hears it; ``typed``: their own words, by turn from 0."""
    values, counts, final = state.scenario.utilities[seat], state.scenario.counts, state.rules.disagree == "ends"
    lines = []
    for turn, action in enumerate(state.history):
        mine = turn % 2 == seat
        note = ""
        hidden = turn >= state.rules.talk_turns and not mine and not state.over
        if action.act_type.is_offer and not hidden:
            share = action.oA if mine else rest(counts, action.oA)
            note = f"{points(worth(values, share))} for you"
        loose = "(A secret claim.)" if hidden else describe_secret_act(action, turn, state.rules)
        text = loose or phrase_act(action, counts, variant=turn, final=final)
        if typed and turn in typed:
            text, note = typed[turn], f"read as: {text}{f' · {note}' if note else ''}"
        lines.append(Line(mine, text, note, state.messages[turn] if state.messages else ""))
    return tuple(lines)


def hint_text(hint: Hint, view: View) -> str:
    """An adviser's hint in words, such as ``propose to keep 2 hats (6 points), 80% sure``."""
    sure = f", {hint.confidence:.0%} sure" if hint.confidence else ""
    return f"{act_text(hint.action, view.state)}{sure}"


def act_text(action: Action, state: State) -> str:
    """An act of the seat to move in words, such as ``propose to keep 2 hats (6 points)``."""
    act, kept, values = action.act_type, action.oA, state.scenario.utilities[state.mover]
    if state.claiming:
        claim = selection(state, state.mover, action)
        return "claim nothing" if claim is None else f"claim {describe_items(claim)} ({points(worth(values, claim))})"
    if state.rules.secret_claims and not act.is_offer:
        return {Act.AGREE: "say yes to their suggestion", Act.DISAGREE: "say no"}.get(act, "suggest nothing")
    if act.is_offer:
        name = "propose to keep" if act is Act.PROPOSE else "insist on keeping"
        return f"{name} {describe_items(kept)} ({points(worth(values, kept))})"
    return {
        Act.AGREE: "accept their offer",
        Act.DISAGREE: "walk away" if state.rules.disagree == "ends" else "say no",
        Act.END: "stop talking: the latest claims stand",
    }[act]
