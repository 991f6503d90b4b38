"""Records of finished games, for transcripts, replay and export.

A record holds the scenario, the rules, the occupants, the acts and the outcome; replaying it through
:mod:`dond_marl.game` must lead to the stated outcome. In JSON it is one line with the acts by name::

    {"version": 1, "scenario": {"counts": [1, 2, 2], "utilities": [[4, 1, 2], [0, 4, 1]]},
     "rules": {"max_turns": 10, "disagree": "ends"}, "occupants": ["tough", "heuristic"],
     "actions": [["PROPOSE", [1, 0, 2]], ["AGREE"]],
     "outcome": {"ending": "AGREE", "allocation": [[1, 0, 2], [0, 2, 0]], "scores": [8, 8], "rule_broken": null}}

``words`` holds what a person typed for each act, ``null`` for nothing; no player or learner reads it. ``messages``
holds the message of each act in a game with messages, ``""`` for none; the rules of such a game have their
``message_length`` too.

A game that is known only in part, such as a dialogue between people with utterances that could not be read as acts, is
a line that cannot be replayed::

    {"version": 1, "inexact": "utterance 2 was not read: alternatives",
     "scenario": {"counts": [1, 2, 2], "utilities": [[4, 1, 2], [0, 4, 1]]}, "occupants": ["human", "human"],
     "said": [["PROPOSE", [1, 0, 2]], null, ["END"]], "selected": [[1, 0, 2], [0, 2, 0]]}

``said`` holds the acts in turn, ``null`` for an unknown one; ``selected`` the items of each seat, ``null`` without a
deal; ``source`` the file and line of the dialogue.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dond_marl.batch import Games
from dond_marl.errors import InputError, quote
from dond_marl.game import (
    ITEMS,
    SEATS,
    Act,
    Action,
    Ending,
    IllegalAct,
    Outcome,
    Rules,
    Scenario,
    State,
    Triple,
    apply,
    forfeit,
)
from dond_marl.seats import Cause

VERSION = 1  # raised whenever the format changes
_VARIANTS: dict[str, Any] = {"message_length": 0}  # rules left out of JSON at these defaults
NOT_RECORDED = "an act that the rules forbid"  # the batched engine does not store the rule's text
# Shapes of JSON values, see :func:`_check`.
_TRIPLE = ("int",) * len(ITEMS)
_SHARES = (_TRIPLE,) * len(SEATS)
_HEAD = {"version": "int", "scenario": {"counts": _TRIPLE, "utilities": _SHARES}, "occupants": ("str",) * len(SEATS)}
_RECORD = {
    **_HEAD,
    "rules": {"max_turns": "int", "disagree": "str"} | {f"{name}?": "int" for name in _VARIANTS},
    "actions": [None],
    "outcome": {"ending": "str", "allocation": None, "scores": ("int",) * len(SEATS), "rule_broken": "str | null"},
    "causes?": ["int"],
    "source?": "str | null",
    "seed?": "int | null",
    "words?": ["str | null"],
    "messages?": ["str | null"],
}
_INEXACT = {**_HEAD, "inexact": "str", "said": [None], "selected": None, "source?": "str | null"}


class RecordError(InputError):
    """A record that cannot be read, or that does not replay to its stated outcome."""


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One finished game. ``actions[i]`` is the act of seat ``i % 2``."""

    scenario: Scenario
    rules: Rules
    occupants: tuple[str, str]  # names, seat_0's first
    actions: tuple[Action, ...]
    outcome: Outcome
    causes: tuple[int, ...] = ()  # why each act was played, a seats.Cause each; empty: all FREE
    source: str | None = None  # the scenario source's label
    seed: int | None = None  # the seed of the run that the game is from
    words: tuple[str | None, ...] = ()  # what a person typed for each act, None for nothing; empty: no typed words
    messages: tuple[str, ...] = ()  # the message of each act, "" for none; empty: no message in the game


@dataclass(frozen=True, slots=True)
class InexactGame:
    """A game that is known in part. ``actions[i]`` is the act of seat ``i % 2``, ``None`` for an unknown one."""

    scenario: Scenario
    occupants: tuple[str, str]
    actions: tuple[Action | None, ...]
    selected: tuple[Triple, Triple] | None  # items of each seat; None without a deal
    inexact: str  # the reason why the game is not exact
    source: str | None = None


def to_json(record: GameRecord) -> dict[str, Any]:
    """The record as plain JSON values, without the optional fields that are empty."""
    outcome, rules = record.outcome, record.rules
    variant = {name: getattr(rules, name) for name, plain in _VARIANTS.items() if getattr(rules, name) != plain}
    value: dict[str, Any] = {
        "version": VERSION,
        "scenario": _scenario_to_json(record.scenario),
        "rules": {"max_turns": rules.max_turns, "disagree": rules.disagree, **variant},
        "occupants": list(record.occupants),
        "actions": [_action_to_json(action) for action in record.actions],
        "outcome": {
            "ending": outcome.ending.name,
            "allocation": None if outcome.allocation is None else [list(share) for share in outcome.allocation],
            "scores": list(outcome.scores),
            "rule_broken": outcome.rule_broken,
        },
    }
    extras = {
        "causes": list(record.causes) or None,
        "source": record.source,
        "seed": record.seed,
        "words": list(record.words) or None,
        "messages": list(record.messages) if any(record.messages) else None,
    }
    return value | {name: extra for name, extra in extras.items() if extra is not None}


def to_line(game: GameRecord | InexactGame) -> str:
    """A game as one line of JSON, without the line end."""
    if isinstance(game, GameRecord):
        return json.dumps(to_json(game), separators=(", ", ": "))
    value: dict[str, Any] = {
        "version": VERSION,
        "inexact": game.inexact,
        "scenario": _scenario_to_json(game.scenario),
        "occupants": list(game.occupants),
        "said": [None if action is None else _action_to_json(action) for action in game.actions],
        "selected": None if game.selected is None else [list(share) for share in game.selected],
    }
    if game.source is not None:
        value["source"] = game.source
    return json.dumps(value, separators=(", ", ": "))


def from_json(line: str | Mapping[str, Any]) -> GameRecord:
    """The record of a line of JSON or of its parsed value. Raises :class:`RecordError`, naming the wrong field.

    The outcome is not verified: see :func:`replay`.
    """
    value = _parse_json(line)
    _check("", value, _RECORD)
    actions, outcome = value["actions"], value["outcome"]
    for name in ("causes", "words", "messages"):
        if value.get(name) and len(value[name]) != len(actions):
            size = f"{len(actions)} in all"
            raise RecordError(f"{name} must be empty or one for each act, {size}; got {quote(value[name])}")
    causes = tuple(value.get("causes", ()))
    if not set(causes) <= set(Cause):
        raise RecordError(f"causes must be in 0..{int(max(Cause))}; got {quote(causes)}")
    if outcome["ending"] not in Ending.__members__:
        raise RecordError(f"outcome.ending must be one of {', '.join(Ending.__members__)}; got {quote(outcome)}")
    allocation = _shares_from_json("outcome.allocation", outcome["allocation"])
    try:
        return GameRecord(
            scenario=Scenario(**value["scenario"]),
            rules=Rules(**value["rules"]),
            occupants=(value["occupants"][0], value["occupants"][1]),
            actions=tuple(_action_from_json(f"actions[{i}]", action) for i, action in enumerate(actions)),
            outcome=Outcome(Ending[outcome["ending"]], allocation, tuple(outcome["scores"]), outcome["rule_broken"]),
            causes=causes,
            source=value.get("source"),
            seed=value.get("seed"),
            words=tuple(value.get("words", ())),
            messages=tuple(text or "" for text in value.get("messages", ())),
        )
    except ValueError as error:  # raised by the classes of game.py
        raise RecordError(str(error)) from None


def game_from_line(line: str) -> GameRecord | InexactGame:
    """The game of a line of JSON, exact or not. Raises :class:`RecordError`, naming the wrong field."""
    value = _parse_json(line)
    if "inexact" not in value:
        return from_json(value)
    _check("", value, _INEXACT)
    said = enumerate(value["said"])
    try:
        scenario = Scenario(**value["scenario"])
    except ValueError as error:  # raised by game.py
        raise RecordError(str(error)) from None
    return InexactGame(
        scenario,
        (value["occupants"][0], value["occupants"][1]),
        tuple(None if action is None else _action_from_json(f"said[{i}]", action) for i, action in said),
        _shares_from_json("selected", value["selected"]),
        value["inexact"],
        value.get("source"),
    )


def replay(record: GameRecord) -> State:
    """The finished negotiation of a record. Raises :class:`RecordError` if its outcome is not the stated one."""
    state = State(record.scenario, record.rules)
    for turn, action in enumerate(record.actions, start=1):
        try:
            state = apply(state, action, record.messages[turn - 1] if record.messages else "")
        except IllegalAct as error:
            raise RecordError(f"turn {turn} cannot be played: {error}") from None
    stated = record.outcome
    if stated.ending is Ending.ILLEGAL and not state.is_over:
        state = forfeit(state, stated.rule_broken or NOT_RECORDED)
    if state.outcome is None:
        raise RecordError(f"the game is not over after its {len(record.actions)} acts; the record states {stated}")
    if state.outcome != stated:
        raise RecordError(f"the game replays to {state.outcome}; the record states {stated}")
    return state


def record_of(
    state: State, names: tuple[str, str], *, source: str | None = None, seed: int | None = None
) -> GameRecord:
    """The record of a finished negotiation. ``names``: the occupants', seat_0's first. Raises :class:`RecordError`."""
    if state.outcome is None:
        raise RecordError("only a finished game has a record; this one goes on")
    messages = state.messages if any(state.messages) else ()
    return GameRecord(state.scenario, state.rules, names, state.history, state.outcome, (), source, seed, (), messages)


def records_of(
    games: Games, names: tuple[str, str], *, source: str | None = None, seed: int | None = None
) -> list[GameRecord]:
    """The records of a batch of games. ``names``: the occupants', seat_0's first."""
    records = []
    for row in range(games.size):
        size = int(games.turns[row])
        acts, offers = games.act[row, :size].tolist(), games.oA[row, :size].tolist()
        actions = tuple(Action(Act(act), tuple(oA)) for act, oA in zip(acts, offers, strict=True))
        ending = Ending(int(games.ending[row]))
        first, second = (tuple(share) for share in games.allocation[row].tolist())
        low, high = games.scores[row].tolist()
        broken = NOT_RECORDED if ending is Ending.ILLEGAL else None
        outcome = Outcome(ending, (first, second) if games.deal[row] else None, (low, high), broken)
        causes = games.cause[row, :size].tolist()
        messages = [] if games.messages is None else games.messages[row, :size].tolist()
        records.append(
            GameRecord(
                games.scenarios.scenario(row),
                games.rules,
                names,
                actions,
                outcome,
                causes=tuple(causes) if any(causes) else (),
                source=source,
                seed=seed,
                messages=tuple(messages) if any(messages) else (),
            )
        )
    return records


def _scenario_to_json(scenario: Scenario) -> dict[str, Any]:
    return {"counts": list(scenario.counts), "utilities": [list(values) for values in scenario.utilities]}


def _action_to_json(action: Action) -> list[Any]:
    """``["PROPOSE", [1, 0, 2]]`` or ``["AGREE"]``."""
    return [action.act_type.name, list(action.oA)] if action.act_type.is_offer else [action.act_type.name]


def _action_from_json(where: str, value: Any) -> Action:
    _check(where, value, [None])
    if not value or value[0] not in list(Act.__members__):
        raise RecordError(f"{where} must open with one of {', '.join(Act.__members__)}; got {quote(value)}")
    act = Act[value[0]]
    _check(where, value, ("str", _TRIPLE) if act.is_offer else ("str",))
    return Action(act, tuple(value[1])) if act.is_offer else Action(act)


def _shares_from_json(where: str, value: Any) -> tuple[Triple, Triple] | None:
    """The items of each seat, ``None`` for none."""
    if value is None:
        return None
    _check(where, value, _SHARES)
    return tuple(value[0]), tuple(value[1])


def _parse_json(line: str | Mapping[str, Any]) -> dict[str, Any]:
    """The object of a line, of the version that this release reads."""
    try:
        value = json.loads(line) if isinstance(line, str) else dict(line)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"a record is one line of JSON; {error}; got {quote(line)}") from None
    _check("a record", value, "object")
    if value.get("version") != VERSION:
        raise RecordError(f"version must be {VERSION}; got {quote(value.get('version'))}")
    return value


def _check(where: str, value: Any, shape: Any) -> None:
    """Raise :class:`RecordError` unless a JSON value has the shape; ``where`` names it, ``""`` for the whole record.

    A shape is the names of types, ``"int | null"``; a list of one shape for any number of entries; a tuple of the
    shapes of all entries; a dict of the shapes of an object's keys, those with ``?`` optional; or ``None`` for any
    value.
    """
    if isinstance(shape, str):
        kind = {"NoneType": "null", "dict": "object"}.get(type(value).__name__, type(value).__name__)
        if kind not in shape.split(" | "):
            raise RecordError(f"{where} must be {shape}; got {quote(value)}")
    elif isinstance(shape, dict):
        _check(where, value, "object")
        shapes = {name.removesuffix("?"): part for name, part in shape.items()}
        missing, unknown = sorted(shapes.keys() & shape.keys() - value.keys()), sorted(value.keys() - shapes.keys())
        if missing or unknown:
            problem = f"lacks {', '.join(missing)}" if missing else f"has unknown keys {', '.join(unknown)}"
            raise RecordError(f"{where or 'the record'} {problem}; its keys are {', '.join(sorted(shapes))}")
        for name, part in value.items():
            _check(f"{where}.{name}" if where else name, part, shapes[name])
    elif shape is not None:
        _check(where, value, "list")
        entries = shape * len(value) if isinstance(shape, list) else shape
        if len(value) != len(entries):
            raise RecordError(f"{where} must hold {len(entries)} entries; got {quote(value)}")
        for number, (part, entry) in enumerate(zip(value, entries, strict=True)):
            _check(f"{where}[{number}]", part, entry)
