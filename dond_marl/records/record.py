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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

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
_REQUIRED = frozenset(("version", "scenario", "rules", "occupants", "actions", "outcome"))
_OPTIONAL = frozenset(("causes", "source", "seed", "words", "messages"))
_INEXACT = frozenset(("version", "inexact", "scenario", "occupants", "said", "selected"))
Kind = TypeVar("Kind")


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
    value = _parse_json(line) if isinstance(line, str) else line
    if not isinstance(value, Mapping):
        raise RecordError(f"a record is an object; got {type(value).__name__}")
    _check_version(value)
    _check_keys("the record", value, _REQUIRED, _OPTIONAL)
    rules, outcome = value["rules"], value["outcome"]
    entries = _list_of("actions", value["actions"])
    actions = tuple(_action_from_json(f"actions[{i}]", action) for i, action in enumerate(entries))
    _check_keys("rules", rules, {"max_turns", "disagree"}, frozenset(_VARIANTS))
    try:
        return GameRecord(
            scenario=_scenario_from_json(value["scenario"]),
            rules=Rules(**rules),
            occupants=_names_from_json(value["occupants"]),
            actions=actions,
            outcome=_outcome(outcome),
            causes=_causes(value.get("causes", []), len(actions)),
            source=_optional("source", value.get("source"), str),
            seed=_optional("seed", value.get("seed"), int),
            words=_texts("words", value.get("words", []), len(actions)),
            messages=tuple(text or "" for text in _texts("messages", value.get("messages", []), len(actions))),
        )
    except (TypeError, ValueError) as error:  # raised by the classes of game.py
        raise RecordError(str(error)) from None


def game_from_line(line: str) -> GameRecord | InexactGame:
    """The game of a line of JSON, exact or not. Raises :class:`RecordError`, naming the wrong field."""
    value = _parse_json(line)
    if not isinstance(value, Mapping) or "inexact" not in value:
        return from_json(value)  # type: ignore[arg-type]  # raises if it is no mapping
    _check_version(value)
    _check_keys("an inexact game", value, _INEXACT, frozenset(("source",)))
    reason, selected = _optional("inexact", value["inexact"], str), value["selected"]
    if not reason:
        raise RecordError(f"inexact must give a reason; got {quote(value['inexact'])}")
    entries = _list_of("said", value["said"])
    return InexactGame(
        _scenario_from_json(value["scenario"]),
        _names_from_json(value["occupants"]),
        tuple(None if item is None else _action_from_json(f"said[{i}]", item) for i, item in enumerate(entries)),
        None if selected is None else _pair_of_triples("selected", selected),
        reason,
        _optional("source", value.get("source"), str),
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


def _causes(value: object, size: int) -> tuple[int, ...]:
    causes = tuple(_integer("causes", cause) for cause in _list_of("causes", value))
    top = max(Cause)
    if causes and (len(causes) != size or not all(0 <= cause <= top for cause in causes)):
        raise RecordError(f"causes must be empty or one of 0..{int(top)} per act, {size} in all; got {quote(value)}")
    return causes


def _texts(where: str, value: object, size: int) -> tuple[str | None, ...]:
    texts = tuple(_optional(where, text, str) for text in _list_of(where, value))
    if texts and len(texts) != size:
        raise RecordError(f"{where} must be empty or one for each act, {size} in all; got {len(texts)}")
    return texts


def _outcome(value: object) -> Outcome:
    _check_keys("outcome", value, {"ending", "allocation", "scores", "rule_broken"})
    assert isinstance(value, Mapping)
    ending, allocation, scores = value["ending"], value["allocation"], _list_of("outcome.scores", value["scores"])
    endings = [name for name in Ending.__members__ if name != Ending.OPEN.name]
    if not isinstance(ending, str) or ending not in endings:
        raise RecordError(f"outcome.ending must be one of {', '.join(endings)}; got {quote(ending)}")
    if len(scores) != len(SEATS):
        raise RecordError(f"outcome.scores must be two integers; got {quote(value['scores'])}")
    return Outcome(
        Ending[ending],
        None if allocation is None else _pair_of_triples("outcome.allocation", allocation),
        (_integer("outcome.scores", scores[0]), _integer("outcome.scores", scores[1])),
        _optional("outcome.rule_broken", value["rule_broken"], str),
    )


def _check_version(value: Mapping[str, Any]) -> None:
    version = value.get("version")
    if type(version) is not int or version != VERSION:
        raise RecordError(f"version must be {VERSION}; got {quote(version)}")


def _scenario_to_json(scenario: Scenario) -> dict[str, Any]:
    return {"counts": list(scenario.counts), "utilities": [list(values) for values in scenario.utilities]}


def _action_to_json(action: Action) -> list[Any]:
    """``["PROPOSE", [1, 0, 2]]`` or ``["AGREE"]``."""
    return [action.act_type.name, list(action.oA)] if action.act_type.is_offer else [action.act_type.name]


def _scenario_from_json(value: object) -> Scenario:
    _check_keys("scenario", value, {"counts", "utilities"})
    assert isinstance(value, Mapping)
    counts, utilities = _triple("scenario.counts", value["counts"]), value["utilities"]
    try:
        return Scenario(counts, _pair_of_triples("scenario.utilities", utilities))
    except ValueError as error:  # raised by game.py
        raise RecordError(str(error)) from None


def _action_from_json(where: str, value: object) -> Action:
    parts = _list_of(where, value)
    if not parts or not isinstance(parts[0], str) or parts[0] not in Act.__members__:
        raise RecordError(f"{where} must open with one of {', '.join(Act.__members__)}; got {quote(value)}")
    act = Act[parts[0]]
    if len(parts) != (2 if act.is_offer else 1):
        raise RecordError(
            f"{where}: {act.name} is written {'[name, oA]' if act.is_offer else '[name]'}; got {quote(value)}"
        )
    return Action(act, _triple(where, parts[1])) if act.is_offer else Action(act)


def _names_from_json(value: object) -> tuple[str, str]:
    names = _list_of("occupants", value)
    if len(names) != len(SEATS) or not all(isinstance(name, str) for name in names):
        raise RecordError(f"occupants must be two names, seat_0's first; got {quote(value)}")
    return names[0], names[1]


def _parse_json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"a record is one line of JSON; {error}; got {text[:80]!r}") from None


def _check_keys(
    where: str, value: object, required: set[str] | frozenset[str], optional: frozenset[str] = frozenset()
) -> None:
    if not isinstance(value, Mapping):
        raise RecordError(f"{where} must be an object; got {quote(value)}")
    missing, unknown = sorted(required - value.keys()), sorted(map(str, value.keys() - required - optional))
    if missing or unknown:
        problem = f"lacks {', '.join(missing)}" if missing else f"has unknown keys {', '.join(unknown)}"
        raise RecordError(f"{where} {problem}; its keys are {', '.join(sorted(required | optional))}")


def _list_of(where: str, value: object) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise RecordError(f"{where} must be a list; got {quote(value)}")
    return value


def _integer(where: str, value: object) -> int:
    if type(value) is not int:
        raise RecordError(f"{where} must hold integers; got {quote(value)}")
    return value


def _triple(where: str, value: object) -> Triple:
    items = _list_of(where, value)
    if len(items) != len(ITEMS):
        raise RecordError(f"{where} must be {len(ITEMS)} integers, one per {'/'.join(ITEMS)}; got {quote(value)}")
    return _integer(where, items[0]), _integer(where, items[1]), _integer(where, items[2])


def _pair_of_triples(where: str, value: object) -> tuple[Triple, Triple]:
    pair = _list_of(where, value)
    if len(pair) != len(SEATS):
        raise RecordError(f"{where} must hold one list per seat; got {quote(value)}")
    return _triple(where, pair[0]), _triple(where, pair[1])


def _optional(where: str, value: object, kind: type[Kind]) -> Kind | None:
    """``value`` if it is ``None`` or exactly of type ``kind``. Raises :class:`RecordError`."""
    if value is not None and type(value) is not kind:
        raise RecordError(f"{where} must be {kind.__name__} or null; got {quote(value)}")
    return value
