"""A game in the terminal, for the person in one of its seats: the display, and the prompt for an act.

Output is only ever appended, line by line, so that it works on any terminal, in a pipe and in a file. Text from
outside (a partner's name, a line of input) is printed without markup or control characters.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dond.table.frontier import plane_of
from dond.table.typed_lines import Reading, help_line, read_line
from dond_marl.errors import printable_text
from dond_marl.game import (
    ITEMS,
    SEATS,
    Act,
    Action,
    Ending,
    Rules,
    State,
    Triple,
    apply,
    rest,
    worth,
)
from dond_marl.records.record import GameRecord, replay
from dond_marl.records.transcript import describe_items, phrase_act
from league.tables.figures import points
from partners.human import View

PROMPT = "your act> "
TOO_LATE = "ends the game: no deal"  # of an offer that can no longer be accepted
SIDES = ("they", "you")
Row = tuple[str, Triple | None, str]  # a label, numbers of items, and a note on them


class LeftTheTable(Exception):
    """The person wants to stop, or the input has ended."""

    def __init__(self) -> None:
        super().__init__("left the table")


class TalkLine(NamedTuple):
    """One act of the conversation as the person reads it."""

    by_person: bool
    text: str  # the act in English, or the sentence that the person typed
    note: str  # worth of the offer to the person; for a typed sentence also its reading
    message: str = ""  # text that was sent with the act


class Terminal:
    """Prompts the person at the terminal, line by line: an :class:`partners.human.Interface`."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = Console(highlight=False) if console is None else console
        self.words: str | None = None  # the sentence that was typed for the latest act; None for a command

    def ask(self, view: View) -> Action:
        """Show the game, and prompt until the person types a legal act. Raises :class:`LeftTheTable`."""
        self._show(view)
        line = self._read(PROMPT)
        while True:
            reading = read_line(line, view)
            if reading.command == "leave":
                raise LeftTheTable
            if reading.actions:
                action = reading.actions[0]
                ends_talk = action.act_type in (Act.DISAGREE, Act.END)
                is_played = reading.sure and (ends_talk or not warning(action, view))
                answer = action if is_played else self._confirm(reading, view)
                if isinstance(answer, Action):
                    self.words = None if reading.sure else line.strip()
                    return answer
                line = answer
                continue
            if reading.command == "help":
                self.write(help_line(view.state.rules))
            else:
                self.write(_reason_text(reading), "red")
            line = self._read(PROMPT)

    def message(self, view: View) -> str:
        """The person's message with the act, ``""`` for none. Raises :class:`LeftTheTable`."""
        return self._read(f"message with it, up to {view.state.rules.message_length} characters> ")

    def write(self, text: str, style: str = "", *, wrap: bool = True) -> None:
        """Print a line without markup or control characters; without ``wrap`` only the terminal breaks it."""
        self._console.print(Text(printable_text(text), style=style), soft_wrap=not wrap)

    def show(self, *parts: Table | str) -> None:
        for part in parts:
            self.write(part) if isinstance(part, str) else self._console.print(part)

    def _show(self, view: View) -> None:
        state, history = view.state, view.state.history
        side_by_side = view.places > 1
        since = 0 if side_by_side else max(len(history) - 2, 0)
        where = f" · game {view.place} of {view.places} side by side" if side_by_side else ""
        self.write(f"\nturn {len(history) + 1} of {state.rules.max_turns}{where} · {turns_left(state)}", "bold")
        self.show(conversation(state, view.seat, since), table_now(view))

    def _confirm(self, reading: Reading, view: View) -> Action | str:
        """The act that the person confirms or chooses, otherwise the line to read instead."""
        actions, is_question = reading.actions, bool(reading.text)
        accepting: tuple[str, ...] = ()
        declining: tuple[str, ...] = ("", "n", "no")
        if is_question:
            self.write(reading.text)
        if len(actions) > 1:
            for number, action in enumerate(actions, start=1):
                self.write(f"  {number}: {describe_action(action, view)}")
            answer = self._read("a number, or say it otherwise> ")
        else:
            risk = warning(actions[0], view)
            self.write(f"read as {describe_action(actions[0], view)}{f'. {risk}' if risk else ''}")
            is_doubtful = bool(risk) or is_question
            answer = self._read(f"say that? {'[y/N]' if is_doubtful else '[Y/n]'} ")
            accepting = ("y", "yes") if is_doubtful else ("", "y", "yes")
            declining = declining if is_doubtful else ("n", "no")
        plain = answer.strip().lower()
        if plain in accepting:
            return actions[0]
        if is_question and plain in map(str, range(1, len(actions) + 1)):
            return actions[int(plain) - 1]
        return self._read(PROMPT) if plain in declining else answer

    def _read(self, prompt: str) -> str:
        try:
            line = input(prompt)
        except EOFError:
            self.write("")
            raise LeftTheTable from None
        if not sys.stdin.isatty():  # input from a pipe or file is not echoed
            self.write(line)
        return line


def talk_lines(state: State, seat: int, typed: Sequence[str | None] = ()) -> tuple[TalkLine, ...]:
    """The conversation for the person in ``seat``; ``typed``: the sentence typed for each act, if there are any."""
    values, counts, final = state.scenario.utilities[seat], state.scenario.counts, state.rules.disagree == "ends"
    lines = []
    for turn, action in enumerate(state.history):
        is_persons = turn % 2 == seat
        note = ""
        if action.act_type.is_offer:
            share = action.oA if is_persons else rest(counts, action.oA)
            note = f"{points(worth(values, share))} for you"
        text = phrase_act(action, counts, variant=turn, final=final)
        if typed and (sentence := typed[turn]):
            text, note = sentence, f"read as: {text}{f' · {note}' if note else ''}"
        lines.append(TalkLine(is_persons, text, note, state.messages[turn] if state.messages else ""))
    return tuple(lines)


def conversation(state: State, seat: int, since: int = 0) -> Table:
    """The acts from number ``since`` on in sentences, from the view of the person in ``seat``."""
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for turn, spoken in list(enumerate(talk_lines(state, seat)))[since:]:
        words = spoken.text + (f' "{spoken.message}"' if spoken.message else "")
        table.add_row(
            f"{turn + 1}.", Text(SIDES[spoken.by_person], "cyan" if spoken.by_person else "magenta"), Text(words)
        )
    return table


def table_now(view: View) -> Table:
    """The pool, the person's values, and both latest offers as what the person would get."""
    offered = None if view.theirs is None else rest(view.counts, view.theirs)
    rows: list[Row] = [
        ("on the table", view.counts, _points(view.values, view.counts)),
        ("worth to you", view.values, "each"),
        ("they leave you", offered, _points(view.values, offered)),
        ("you asked for", view.mine, _points(view.values, view.mine)),
    ]
    if view.revealed:
        rows.insert(2, ("worth to them", view.state.scenario.utilities[1 - view.seat], "each"))
    return _items(rows, "for you")


def describe_action(action: Action, view: View, label: str = "") -> str:
    """An act by ``label`` (its name by default), and its worth to the person."""
    label = label or action.act_type.name
    if action.act_type.is_offer:
        kept_items = f"{describe_items(action.oA)} ({points(worth(view.values, action.oA))})"
        return f"{label}: you keep {kept_items}, they get {describe_items(rest(view.counts, action.oA))}"
    if action.act_type is Act.AGREE and view.theirs is not None:
        items = rest(view.counts, view.theirs)
        return f"{label}: you get {describe_items(items)} ({points(worth(view.values, items))})"
    return label


def warning(action: Action, view: View) -> str:
    """A warning if ``action`` may leave the person with nothing; otherwise empty."""
    act, rules = action.act_type, view.state.rules
    if act is Act.AGREE and view.theirs is not None and not worth(view.values, rest(view.counts, view.theirs)):
        return "Their offer is worth nothing to you."
    if act.is_offer and view.state.turns_remaining == 1 and not is_their_offer(action.oA, view):
        return "This is the last act, so this offer cannot be accepted any more: no deal, nothing for both."
    if act.is_offer and not worth(view.values, action.oA):
        return "This leaves nothing of worth to you."
    if act is Act.DISAGREE and rules.disagree == "ends":
        return "This ends the game: no deal, nothing for both."
    if act is Act.END:
        return f"This ends the talk: {talk_would_end(view)}."
    return ""


def is_their_offer(split: Triple, view: View) -> bool:
    """Whether ``split`` is exactly what the partner's latest claim leaves the person."""
    return view.theirs is not None and rest(view.counts, view.theirs) == split


def talk_would_end(view: View) -> str:
    """The result if the talk ends now: a deal if the latest claims fit."""
    if view.mine is None or view.theirs is None:
        return "no deal, as not both have made an offer"
    fits = is_their_offer(view.mine, view)
    return "a deal, as both last offers fit" if fits else "no deal, as the last offers do not fit"


def turns_left(state: State) -> str:
    """The number of acts left, and what that means near the end."""
    acts = state.turns_remaining
    if state.is_over:
        return "the talk is over"
    if acts == 1:
        return "Last act of all: accept, or claim exactly what they leave you"
    return f"{acts} acts left" + (", this is your last one" if acts == 2 else "")


def opening(partner: str, seat: int, rules: Rules, game: int, games: int) -> str:
    """The seats of a game, in one line."""
    position = f"game {game} of {games} · " if games > 1 else ""
    you, other = (" and open", "") if seat == 0 else ("", ", who opens")
    return f"{position}you are {SEATS[seat]}{you}; they are {partner}{other} · at most {rules.max_turns} acts"


def ending_text(state: State, seat: int) -> tuple[str, str]:
    """The ending for the person in ``seat``: a word, and a sentence."""
    outcome = state.outcome
    assert outcome is not None
    word = "Deal!" if outcome.deal else "No deal."
    actor = "You" if (len(state.history) - 1) % 2 == seat else "They"
    how = {
        Ending.AGREE: f"{actor} accepted",
        Ending.DISAGREE: f"{actor} walked away",
        Ending.ILLEGAL: "A rule was broken",
        Ending.END: f"{actor} stopped the talk",
        Ending.TURN_LIMIT: "Time is up",
    }[outcome.ending]
    if outcome.ending in (Ending.AGREE, Ending.DISAGREE, Ending.ILLEGAL):
        return word, f"{how}."
    reason = "the claims fit" if outcome.deal else "the claims do not fit"
    if None in state.claims:
        reason = "not both had claimed"
    return word, f"{how}, and {reason}."


def ending(state: State, seat: int) -> str:
    """The outcome of the finished game and both scores, for the person in ``seat``."""
    outcome = state.outcome
    assert outcome is not None
    scores = f"you get {points(outcome.scores[seat])}, they get {points(outcome.scores[1 - seat])}"
    return f"{' '.join(ending_text(state, seat))} In points: {scores}."


def values_table(state: State, seat: int) -> Table:
    """The allocation, and the values of both seats, as a table."""
    outcome, scenario = state.outcome, state.scenario
    assert outcome is not None
    rows: list[Row] = [("on the table", scenario.counts, "")]
    for side, number in (("you", seat), ("they", 1 - seat)):
        share = (0, 0, 0) if outcome.allocation is None else outcome.allocation[number]
        rows.append((f"worth to {'them' if side == 'they' else side}", scenario.utilities[number], "each"))
        rows.append((f"{side} got", share, f"{outcome.scores[number]} of {scenario.pool_value(number)}"))
    return _items(rows, "points")


def frontier_table(state: State, seat: int) -> Table:
    """The Pareto-optimal splits by the person's share, and the outcome of the finished game among them."""
    plane, outcome = plane_of(state, seat), state.outcome
    assert outcome is not None
    share = None if outcome.allocation is None else outcome.allocation[seat]
    lines = {(spot.own_score, spot.partner_score): spot.items for spot in plane.frontier}
    note = "<- this game" if plane.deal else "<- this game: no deal"
    if plane.deal and plane.landed not in lines:
        note = "<- this game: more was possible"
    lines[plane.landed] = share or (0, 0, 0)
    table = _plain_table(*ITEMS, "you", "they", "")
    for scores, items in sorted(lines.items(), reverse=True):
        is_landed = scores == plane.landed
        cells = ["-"] * 3 if is_landed and share is None else [str(number) for number in items]
        style = ("bold green" if plane.deal else "bold red") if is_landed else ""
        table.add_row(*cells, *map(str, scores), note if is_landed else "", style=style)
    return table


def _reason_text(reading: Reading) -> str:
    if not reading.unread:
        return reading.text
    return f"that cannot be read as an act: {reading.text}; say it otherwise, or ? for short commands"


def _plain_table(*heads: str) -> Table:
    """A table without lines; its columns are numbers, aligned right, but for one without a heading."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for head in heads:
        table.add_column(head, justify="right" if head else "left", no_wrap=True)
    return table


def _items(rows: Sequence[Row], heading: str) -> Table:
    table = _plain_table("", *ITEMS, heading)
    for label, items, note in rows:
        table.add_row(label, *(["-"] * len(ITEMS) if items is None else map(str, items)), note)
    return table


def _points(values: Triple, items: Triple | None) -> str:
    return "" if items is None else str(worth(values, items))


class Step(NamedTuple):
    """The state before an act, and the act; ``None`` in the last step, when the game is over."""

    state: State
    action: Action | None
    words: str | None = None  # what a person typed for the act, where they did
    message: str = ""  # the message with it

    @property
    def number(self) -> int:
        """The number of acts before this one."""
        return len(self.state.history)


def steps(record: GameRecord) -> tuple[Step, ...]:
    """The game act by act.

    Raises :class:`~dond_marl.records.record.RecordError` where the acts do not lead to the recorded outcome.
    """
    state, acts = State(record.scenario, record.rules), []
    for turn, action in enumerate(record.actions):
        message = record.messages[turn] if record.messages else ""
        acts.append(Step(state, action, record.words[turn] if record.words else None, message))
        if len(acts) < len(record.actions):
            state = apply(state, action, message)
    return (*acts, Step(replay(record), None))


def act_sentence(step: Step) -> str:
    """The sentence for one step of a game."""
    if step.action is None:
        return ""
    rules, counts = step.state.rules, step.state.scenario.counts
    return phrase_act(step.action, counts, variant=step.number, final=rules.disagree == "ends")


def describe_act(action: Action, state: State) -> str:
    """An act of the seat to move in words, such as ``propose to keep 2 hats (6 points)``."""
    act, split, values = action.act_type, action.oA, state.scenario.utilities[state.mover]
    if act.is_offer:
        name = "propose to keep" if act is Act.PROPOSE else "insist on keeping"
        return f"{name} {describe_items(split)} ({points(worth(values, split))})"
    offered = state.claims[1 - state.mover]
    items = offered and rest(state.scenario.counts, offered)
    return {
        Act.AGREE: "accept" + (f" {describe_items(items)} ({points(worth(values, items))})" if items else ""),
        Act.DISAGREE: "walk away" if state.rules.disagree == "ends" else "say no",
        Act.END: "stop talking: the latest claims stand",
    }[act]
