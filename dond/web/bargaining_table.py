"""The bargaining table: texts and HTML of one game for one person, shared by the play page and studies.

The items are checkboxes in a form: a checked one lies on the person's side. So a game can be played without a script;
``static/table.js`` adds the worth of the split as it is chosen, and the keys. The first half of this module is the
wording (values and sentences), the second half the markup, by ``templates/table.html.j2``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from dond.table.game import TOO_LATE, describe_action, is_their_offer, talk_lines, talk_would_end, warning
from dond.web.frame import render
from dond_marl.game import ITEMS, Act, Action, Scenario, State, Triple, rest, worth
from dond_marl.records.transcript import describe_items
from league.tables.figures import points
from partners.human import View

if TYPE_CHECKING:
    from starlette.datastructures import FormData  # of an optional library

ACT_KEYS = {Act.AGREE: "a", Act.PROPOSE: "p", Act.INSIST: "i", Act.DISAGREE: "d", Act.END: "e"}  # in the buttons' order
KEEP = "keep"  # form field: the index of an item type, once for each item that is split
FIRMER = "the same, firmly: some partners give in sooner"
MAX_PIPS = 20  # turns that are drawn as marks


class ActChoice(NamedTuple):
    """The button of an act: its texts, and whether the act is legal now."""

    act: Act
    label: str
    detail: str
    legal: bool


# Texts


def view_before_turn(state: State, seat: int) -> View:
    """The person's view of the pool and their own values before any act, in either seat."""
    return View(State(Scenario(state.scenario.counts, (state.scenario.utilities[seat], (0, 0, 0))), state.rules))


def initial_split(view: View) -> Triple:
    """The split that the table opens with: the last claim, or all items of worth; before the last act, their offer."""
    if view.theirs is not None and view.state.turns_remaining == 1:
        return rest(view.counts, view.theirs)
    if view.mine is not None:
        return view.mine
    books, hats, balls = (count if value else 0 for count, value in zip(view.counts, view.values, strict=True))
    return books, hats, balls


def headline(view: View) -> str:
    """The state of the negotiation in one line, on the person's turn."""
    state, sort = view.state, "Tap items to sort them, then propose."
    last = state.history[-1].act_type if state.history else None
    offered = None if view.theirs is None else rest(view.counts, view.theirs)
    share = "" if offered is None else f"{describe_items(offered)}, worth {points(worth(view.values, offered))} to you"
    if last is None:
        return f"You open. {sort}"
    if offered is not None and last.is_offer:
        if not any(offered):
            return "They want everything: you would get nothing."
        return f"They {'insist: you get' if last is Act.INSIST else 'offer you'} {share}."
    if last is Act.DISAGREE:
        return "They turned your offer down. Make another one."
    return f"Your turn. {sort}"


def act_choices(view: View, split: Triple) -> tuple[ActChoice, ...]:
    """The buttons of all acts by act number; ``split``: the split on the table."""
    is_last = view.state.turns_remaining == 1
    worth_of_split = f"this split, {points(worth(view.values, split))} for you"
    if is_last and not is_their_offer(split, view):
        worth_of_split = TOO_LATE
    offered = None if view.theirs is None else points(worth(view.values, rest(view.counts, view.theirs)))
    ends = view.state.rules.disagree == "ends"
    no = ("Walk away", "no deal, no points") if ends else ("Turn down", "their offer; the talk goes on")
    texts = {
        Act.PROPOSE: ("Propose", worth_of_split),
        Act.INSIST: ("Insist", worth_of_split if is_last else FIRMER),
        Act.AGREE: ("Accept", f"their offer, {offered} for you" if offered else "nothing is on offer"),
        Act.DISAGREE: no,
        Act.END: ("Stop talking", f"now: {talk_would_end(view)}"),
    }
    return tuple(ActChoice(act, *texts[act], view.rule_against(action_of(act, split)) is None) for act in Act)


def action_of(act: Act, split: Triple) -> Action:
    """The action of a button; an offer keeps ``split``."""
    return Action(act, split) if act.is_offer else Action(act)


def main_act(view: View, split: Triple) -> Act:
    """The act of the highlighted button: AGREE to an offer worth at least the split on the table, else PROPOSE.

    Before the last act, AGREE to any offer that is worth something.
    """
    if view.theirs is None or view.rule_against(Action(Act.AGREE)) is not None:
        return Act.PROPOSE
    offered = worth(view.values, rest(view.counts, view.theirs))
    is_enough = view.state.turns_remaining == 1 or offered >= worth(view.values, split)
    return Act.AGREE if offered and is_enough else Act.PROPOSE


def describe_reading(action: Action, view: View) -> str:
    """The reading of a typed sentence, in the words of the buttons."""
    labels = {choice.act: choice.label for choice in act_choices(view, action.oA)}
    label = labels.get(action.act_type, labels[Act.PROPOSE])
    return describe_action(action, view, label)


def describe_unread(line: str, reason: str, times: int) -> str:
    """The answer to a line that was not understood, the ``times``-th in a row; each answer helps further."""
    quoted = line if len(line) <= 60 else f"{line[:59]}…"
    if times == 1:
        help_ = "Understood are splits, such as “I take the hats”, yes, no, “50/50”, “same as before” and “bye”."
    else:
        help_ = "Try it like this: “I take the hats, you get the rest.”"
    if times > 2:
        help_ += " You can also tap the items and press Propose."
    return f"“{quoted}” was not understood: {reason}. {help_}"


# Form fields


def posted_split(values: FormData, counts: Triple) -> Triple | None:
    """The split of a posted form; ``None`` if its :data:`KEEP` fields are no items of the pool."""
    indices = values.getlist(KEEP)
    books, hats, balls = (indices.count(str(index)) for index in range(len(ITEMS)))
    fits = all(n <= most for n, most in zip((books, hats, balls), counts, strict=True))
    return (books, hats, balls) if fits and books + hats + balls == len(indices) else None


def keep_fields(split: Triple) -> dict[str, object]:
    """A split as hidden form fields."""
    return {KEEP: [str(index) for index, number in enumerate(split) for _ in range(number)]}


# Markup


class Answer(NamedTuple):
    """An answer to a question: a form with ``hidden`` fields, or a link for ``None``."""

    label: str
    address: str
    hidden: Mapping[str, object] | None
    style: str = "button small"
    focus: bool = False


class Question(NamedTuple):
    """A question before an act is played; ``safe``: the first answer loses nothing and is highlighted."""

    text: str
    answers: tuple[Answer, ...]
    safe: bool = False


class TableReply(NamedTuple):
    """The reply to a posted form that played no act."""

    reason: str = ""  # why it did not
    question: Question | None = None
    split: Triple | None = None  # the split to show
    line: str = ""  # the sentence to show in its field
    focus: bool = False  # on that field
    unread: int = 0  # sentences in a row that were not understood


def read_turn(
    values: FormData, view: View, address: str, hidden: Mapping[str, object], back: str
) -> Action | TableReply:
    """The legal act of a posted form of the turn, or the reply: a reason, or a question before a risk.

    ``address``: of the form, with its ``hidden`` fields; ``back``: where No leads.
    """
    split, name = posted_split(values, view.counts), str(values.get("act"))
    if split is None or name not in Act.__members__:
        return TableReply("Sort the items, then press a button.")
    action = action_of(Act[name], split)
    rule = view.rule_against(action)
    if rule is not None:
        return TableReply(f"Not legal: {rule}.", split=split)
    if "sure" not in values and warning(action, view):
        return TableReply(question=really(view, action, address, hidden, back), split=split)
    return action


def game_section(
    state: State,
    seat: int,
    hand: Markup,
    *,
    partner: str,
    heading: str,
    facts: Sequence[object],
    typed: Sequence[str | None] = (),
    thinking: bool = False,
) -> Markup:
    """The page of one game: status line, conversation, and the person's ``hand`` (table and buttons, or the result).

    ``state`` may hold no more than the person may know: its pool, own values and acts are also attributes of the
    section, for scripts and for programs that play a study.
    """
    rules, scenario = state.rules, state.scenario
    data = {
        "data-seat": seat,
        "data-pool": json.dumps(scenario.counts),
        "data-values": json.dumps(scenario.utilities[seat]),
        "data-said": json.dumps([[action.act_type.name, list(action.oA)] for action in state.history]),
        "data-acts": rules.max_turns,
    }
    sides = ["me" if turn % 2 == seat else "they" for turn in range(len(state.history))]
    pips = [*sides, *[None] * (rules.max_turns - len(sides))] if rules.max_turns <= MAX_PIPS else []
    spoken = conversation(state, seat, partner, typed, thinking)
    return render("table", "game", heading, facts, pips, spoken, hand, data)


def conversation(
    state: State, seat: int, partner: str, typed: Sequence[str | None] = (), thinking: bool = False
) -> Markup:
    """The acts so far as a log that screen readers follow; ``thinking``: the partner is to move."""
    return render("table", "conversation", talk_lines(state, seat, typed), partner, thinking)


def turn_form(
    view: View,
    split: Triple,
    action: str,
    hidden: Mapping[str, object],
    *,
    messages: bool = False,
    playing: bool = True,
    reason: str = "",
    part: str | None = None,
) -> Markup:
    """The form of a turn, posted to ``action``: the board, and a button for each act.

    ``messages``: with the field of a text that is sent with an act, where the rules allow it. ``playing`` is false
    while the partner is to move: the same form with nothing enabled.
    """
    choices = {choice.act: choice for choice in act_choices(view, split)}
    buttons = [(choices[act], key) for act, key in ACT_KEYS.items() if act in choices]
    highlighted = main_act(view, split) if playing else None
    offered = None if view.theirs is None else worth(view.values, rest(view.counts, view.theirs))
    message = messages and view.state.rules.message_length > 0
    return render(
        "table", "turn", view, split, action, hidden, buttons, highlighted, offered, message, playing, reason, part
    )


def act_answer(label: str, address: str, act: Action, hidden: Mapping[str, object], *, focus: bool = False) -> Answer:
    """The answer that plays an act."""
    fields = {**hidden, **(keep_fields(act.oA) if act.act_type.is_offer else {}), "act": act.act_type.name, "sure": 1}
    return Answer(label, address, fields, "button small primary" if focus else "button small", focus)


def really(view: View, act: Action, address: str, hidden: Mapping[str, object], back: str) -> Question:
    """Ask again before an act that may leave the person with nothing. ``back``: the address of No."""
    label = next(choice.label for choice in act_choices(view, act.oA) if choice.act is act.act_type)
    no = Answer("No", back, None, "button small primary no", focus=True)
    return Question(f"{warning(act, view)} Really?", (no, act_answer(f"Yes: {label.lower()}", address, act, hidden)))
