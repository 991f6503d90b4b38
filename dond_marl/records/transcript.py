"""Text of games: transcripts for spectators, acts in plain English, and typed text as legal messages."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from dond_marl.game import (
    ITEMS,
    MESSAGE_CHARACTERS,
    SEATS,
    Act,
    Action,
    Ending,
    Outcome,
    Scenario,
    State,
    Triple,
    rest,
    worth,
)
from dond_marl.records.record import GameRecord, InexactGame, replay


def transcript(game: State | GameRecord | InexactGame) -> str:
    """The negotiation so far, one line per act; a record is replayed, and so verified, first.

    An inexact game is shown as far as it is known, with the reason why it is not exact.
    """
    if isinstance(game, InexactGame):
        return "\n".join(_inexact_lines(game))
    if isinstance(game, GameRecord):
        return "\n".join(transcript_lines(replay(game), game.words))
    return "\n".join(transcript_lines(game))


def transcript_lines(state: State, words: Sequence[str | None] = ()) -> list[str]:
    """The pool, both seats' values, the acts and the outcome; lines are only appended as play goes on.

    ``words``: the typed words of each act, ``None`` for nothing; empty without typed words.
    """
    scenario = state.scenario
    lines = _table(scenario)
    width = len(str(state.rules.max_turns))
    for turn in range(len(state.history)):
        typed = words[turn] if words else None
        note = "" if typed is None else f' (typed: "{"".join(c if c.isprintable() else "?" for c in typed)}")'
        message = f' "{state.messages[turn]}"' if state.messages and state.messages[turn] else ""
        lines.append(f"{turn + 1:>{width}}. {SEATS[turn % 2]}: {describe_act(state, turn)}{note}{message}")
    if state.outcome is not None:
        lines.append(_ending(state, state.outcome))
    return lines


def _table(scenario: Scenario) -> list[str]:
    lines = [f"On the table: {describe_items(scenario.counts)}."]
    for seat, name in enumerate(SEATS):
        values = ", ".join(f"{item} {value}" for item, value in zip(ITEMS, scenario.utilities[seat], strict=True))
        lines.append(f"{name} values: {values} (everything: {scenario.pool_value(seat)} points).")
    return lines


def _inexact_lines(game: InexactGame) -> list[str]:
    scenario, lines = game.scenario, _table(game.scenario)
    width = len(str(len(game.actions)))
    for turn, action in enumerate(game.actions):
        text = "(not known)" if action is None else act_sentence(action, scenario.counts, final=False)
        lines.append(f"{turn + 1:>{width}}. {SEATS[turn % 2]}: {text}")
    shares = "nothing" if game.selected is None else _split_text(scenario, game.selected)
    return [*lines, f"Selected: {shares}.", f"No exact game: {game.inexact}."]


def _split_text(scenario: Scenario, allocation: tuple[Triple, Triple]) -> str:
    points = [worth(scenario.utilities[seat], items) for seat, items in enumerate(allocation)]
    return "; ".join(
        f"{name} gets {describe_items(items)} ({score} point{'' if score == 1 else 's'})"
        for name, items, score in zip(SEATS, allocation, points, strict=True)
    )


def act_sentence(action: Action, counts: Triple, *, final: bool = True) -> str:
    """The transcript's sentence for ``action`` over the pool ``counts``; ``final``: DISAGREE ends the game."""
    if action.act_type is Act.PROPOSE:
        return f"I would keep {describe_items(action.oA)}; you would get {describe_items(rest(counts, action.oA))}."
    if action.act_type is Act.INSIST:
        return f"I insist! I keep {describe_items(action.oA)}, you get {describe_items(rest(counts, action.oA))}."
    if action.act_type is Act.AGREE:
        return "Agreed."
    if action.act_type is Act.DISAGREE:
        return "No, I walk away." if final else "No, not that."
    return "Enough talk: my last claim stands."


def describe_act(state: State, turn: int) -> str:
    """The transcript's sentence for the act of turn ``turn`` (from 0), without its message."""
    return act_sentence(state.history[turn], state.scenario.counts, final=state.rules.disagree == "ends")


def describe_items(items: Triple) -> str:
    """Items as text: ``2 books, 1 hat``, or ``nothing``."""
    named = [f"{n} {item}{'' if n == 1 else 's'}" for n, item in zip(items, ITEMS, strict=True) if n]
    return ", ".join(named) or "nothing"


def _ending(state: State, outcome: Outcome) -> str:
    if outcome.allocation is not None:
        how = {Ending.AGREE: "Deal", Ending.END: "Deal, as the claims fit"}.get(outcome.ending)
        return f"{how or 'Deal, as time is up and the claims fit'}: {_split_text(state.scenario, outcome.allocation)}."
    if outcome.ending is Ending.ILLEGAL:
        reason = f"{SEATS[state.mover]} broke a rule ({outcome.rule_broken})"
    elif outcome.ending is Ending.DISAGREE:
        reason = f"{SEATS[1 - state.mover]} walked away"
    else:
        unclaimed = [name for name, claim in zip(SEATS, state.claims, strict=True) if claim is None]
        reason = f"{' and '.join(unclaimed)} claimed nothing" if unclaimed else "the claims do not add up to the pool"
        if outcome.ending is Ending.TURN_LIMIT:
            reason = f"time is up and {reason}"
    return f"No deal: {reason}. Both get 0 points."


_LIKE = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-", "\u2026": "..."}
)
_READ = 8  # characters of the text that are read per allowed character: it may be of any length


def as_message(text: str, length: int) -> str:
    """``text`` as a legal message: printable ASCII on one line, at most ``length`` characters.

    Accents are dropped, other characters outside ASCII become ``?``, white space becomes single spaces.
    """
    plain = unicodedata.normalize("NFKD", text[: _READ * length].translate(_LIKE))
    spaced = "".join(" " if letter.isspace() else letter for letter in plain if not unicodedata.combining(letter))
    ascii_text = "".join(letter if letter in MESSAGE_CHARACTERS else "?" for letter in spaced)
    return " ".join(ascii_text.split())[:length].rstrip()


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
    """``action`` over the pool ``counts`` as a line of dialogue, in wording ``variant`` modulo ``VARIANTS``.

    The annotator reads each wording as the same act (tested for all of them). ``final``: DISAGREE ends the game, so it
    is worded as walking away. The lines are ours, not taken from a data set.
    """
    number = variant % VARIANTS
    if action.act_type.is_offer:
        share, yours = action.oA, rest(counts, action.oA)
        remainder = _share(yours, counts) if yours == counts or not any(yours) else "the rest"
        line = _OFFERS[action.act_type][number]
        return line.format(mine=_share(share, counts), yours=_share(yours, counts), rest=remainder)
    if action.act_type is Act.DISAGREE and final:
        return _WALKING_AWAY[number]
    return _ANSWERS[action.act_type][number]


def _share(items: Triple, counts: Triple) -> str:
    """Items in words, as ``the two hats and one ball``: the article marks all items of a type."""
    if items == counts:
        return "everything"
    named = [_items_phrase(*part) for part in zip(items, counts, ITEMS, strict=True) if part[0]]
    return " and ".join(filter(None, (", ".join(named[:-1]), *named[-1:]))) or "nothing"


def _items_phrase(number: int, count: int, item: str) -> str:
    plural = item if number == 1 else f"{item}s"
    if number < count:
        return f"{_NUMBERS[number]} {plural}"
    return f"the {plural}" if number == 1 else f"the {_NUMBERS[number]} {plural}"
