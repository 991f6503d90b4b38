"""One finished game, written down: for transcripts, replay and export.

A record holds the scenario, the rules, who sat where, what was said and how it ended; replaying it through
:mod:`dond_marl.game` must lead to the stated outcome. In JSON it is one line with the acts by name::

    {"version": 1, "scenario": {"counts": [1, 2, 2], "utilities": [[4, 1, 2], [0, 4, 1]]},
     "rules": {"max_turns": 10, "disagree": "ends"}, "occupants": ["tough", "heuristic"],
     "actions": [["PROPOSE", [1, 0, 2]], ["AGREE"]],
     "outcome": {"ending": "AGREE", "allocation": [[1, 0, 2], [0, 2, 0]], "scores": [8, 8], "rule_broken": null}}

A person's own words stand beside the acts that they were read as, under ``words``, one for each act, ``null`` where
none were typed; such a record is of version 2. They are talk: nothing that plays or learns reads them.

What the seats said beside their acts in a game with messages is under ``messages``, one for each act, ``""`` for none.
The rules of a variant have its settings too (``"message_length": 200``, ``"secret_claims": true``). A record of such
rules is of version 3. So a record of the plain game stays as older readers know it.

A game that is known only in part, such as a talk between people of which some words could not be read, is a line that
says so, and cannot be replayed::

    {"version": 1, "inexact": "utterance 2 was not read: alternatives",
     "scenario": {"counts": [1, 2, 2], "utilities": [[4, 1, 2], [0, 4, 1]]}, "occupants": ["human", "human"],
     "said": [["PROPOSE", [1, 0, 2]], null, ["END"]], "selected": [[1, 0, 2], [0, 2, 0]]}

``said`` holds what each seat said in turn, ``null`` for what is not known; ``selected`` is what each seat got, ``null``
without a deal; ``source`` says where it is from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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

VERSION = 1  # raised whenever an older reader would misread a record
WORDED = 2  # the version of a record with words, which older readers do not know
TALKED = 3  # the version of a record of a game with messages or secret claims, which readers before do not know
_VARIANTS: dict[str, Any] = {"message_length": 0, "secret_claims": False}  # rules that a record names if not these
NOT_RECORDED = "an act that the rules forbid"  # the batched engine keeps no words about it
_REQUIRED = frozenset(("version", "scenario", "rules", "occupants", "actions", "outcome"))
_OPTIONAL = frozenset(("causes", "source", "seed", "words", "messages"))
_INEXACT = frozenset(("version", "inexact", "scenario", "occupants", "said", "selected"))
Kind = TypeVar("Kind")


class RecordError(InputError):
    """A record that cannot be read, or that does not replay to the outcome it states."""


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One finished game. ``actions[i]`` was said by seat ``i % 2``."""

    scenario: Scenario
    rules: Rules
    occupants: tuple[str, str]  # names, seat_0's first
    actions: tuple[Action, ...]
    outcome: Outcome
    causes: tuple[int, ...] = ()  # why each act was played, a seats.Cause each; empty: all of free choice
    source: str | None = None  # the scenario source's label
    seed: int | None = None  # the seed of the run that the game is from
    words: tuple[str | None, ...] = ()  # what a person typed for each act, None where nothing; empty: nobody typed
    messages: tuple[str, ...] = ()  # what was said beside each act, "" for nothing; empty: no message in the game


@dataclass(frozen=True, slots=True)
class InexactGame:
    """A game that is known in part. ``said[i]`` was said by seat ``i % 2``; ``None`` for what is not known."""

    scenario: Scenario
    occupants: tuple[str, str]
    said: tuple[Action | None, ...]
    selected: tuple[Triple, Triple] | None  # what each seat got; None without a deal
    inexact: str  # why it is no exact game
    source: str | None = None


def to_json(record: GameRecord) -> dict[str, Any]:
    """The record as plain JSON values; optional fields only where they say something."""
    outcome = record.outcome
    rules = rules_to_json(record.rules)
    variant = record.messages or rules.keys() & _VARIANTS.keys()
    value: dict[str, Any] = {
        "version": TALKED if variant else WORDED if record.words else VERSION,
        "scenario": _scenario_to_json(record.scenario),
        "rules": rules,
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


def rules_to_json(rules: Rules) -> dict[str, Any]:
    """The rules as plain JSON values; those of a variant only where it is played."""
    variant = {name: getattr(rules, name) for name, plain in _VARIANTS.items() if getattr(rules, name) != plain}
    return {"max_turns": rules.max_turns, "disagree": rules.disagree, **variant}


def to_line(record: GameRecord) -> str:
    """The record as one line of JSON, without the line end."""
    return json.dumps(to_json(record), separators=(", ", ": "))


def game_line(game: GameRecord | InexactGame) -> str:
    """A game as one line of JSON, without the line end."""
    if isinstance(game, GameRecord):
        return to_line(game)
    value: dict[str, Any] = {
        "version": VERSION,
        "inexact": game.inexact,
        "scenario": _scenario_to_json(game.scenario),
        "occupants": list(game.occupants),
        "said": [None if action is None else _action_to_json(action) for action in game.said],
        "selected": None if game.selected is None else [list(share) for share in game.selected],
    }
    if game.source is not None:
        value["source"] = game.source
    return json.dumps(value, separators=(", ", ": "))


def from_json(line: str | Mapping[str, Any]) -> GameRecord:
    """The record in a line of JSON or in its plain value. Raises :class:`RecordError`, saying where it is wrong.

    What it states is not replayed: see :func:`replay`.
    """
    value = _parsed(line) if isinstance(line, str) else line
    if not isinstance(value, Mapping):
        raise RecordError(f"a record is an object; got {type(value).__name__}")
    _check_version(value, (VERSION, WORDED, TALKED))
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
            words=_words(value.get("words", []), len(actions)),
            messages=_messages(value.get("messages", []), len(actions)),
        )
    except (TypeError, ValueError) as error:  # the values of game.py say what is wrong with them
        raise RecordError(str(error)) from None


def game_from_line(line: str) -> GameRecord | InexactGame:
    """The game in a line of JSON. Raises :class:`RecordError`, saying what is wrong with it."""
    value = _parsed(line)
    if not isinstance(value, Mapping) or "inexact" not in value:
        return from_json(value)  # type: ignore[arg-type]  # it says so if it is no mapping
    _check_version(value, (VERSION,))
    _check_keys("an inexact game", value, _INEXACT, frozenset(("source",)))
    why, kept = _optional("inexact", value["inexact"], str), value["selected"]
    if not why:
        raise RecordError(f"inexact must say why, in words; got {quote(value['inexact'])}")
    entries = _list_of("said", value["said"])
    return InexactGame(
        _scenario_from_json(value["scenario"]),
        _names_from_json(value["occupants"]),
        tuple(None if item is None else _action_from_json(f"said[{i}]", item) for i, item in enumerate(entries)),
        None if kept is None else _pair_of_triples("selected", kept),
        why,
        _optional("source", value.get("source"), str),
    )


def replay(record: GameRecord) -> State:
    """The finished negotiation. Raises :class:`RecordError` where it does not lead to the stated outcome."""
    state = State(record.scenario, record.rules)
    for turn, action in enumerate(record.actions, start=1):
        try:
            state = apply(state, action, record.messages[turn - 1] if record.messages else "")
        except IllegalAct as error:
            raise RecordError(f"turn {turn} cannot be played: {error}") from None
    stated = record.outcome
    if stated.ending is Ending.ILLEGAL and not state.over:
        state = forfeit(state, stated.rule_broken or NOT_RECORDED)
    if state.outcome is None:
        raise RecordError(f"the game is not over after its {len(record.actions)} acts; the record states {stated}")
    if state.outcome != stated:
        raise RecordError(f"the game replays to {state.outcome}; the record states {stated}")
    return state


def record_of(
    state: State, names: tuple[str, str], *, source: str | None = None, seed: int | None = None
) -> GameRecord:
    """A finished negotiation; ``names`` are the occupants', seat_0's first. An open one is a :class:`RecordError`."""
    if state.outcome is None:
        raise RecordError("only a finished game has a record; this one goes on")
    said = state.messages if any(state.messages) else ()
    return GameRecord(state.scenario, state.rules, names, state.history, state.outcome, (), source, seed, (), said)


def add_typed_words(record: GameRecord, seat: int, typed: Sequence[str | None]) -> GameRecord:
    """The record with what the person in ``seat`` typed for each of their own acts, ``None`` where nothing."""
    if not any(typed):
        return record
    words: list[str | None] = [None] * len(record.actions)
    words[seat::2] = typed
    return replace(record, words=tuple(words))


def records_of(
    games: Games, names: tuple[str, str], *, source: str | None = None, seed: int | None = None
) -> list[GameRecord]:
    """Every game of the batched engine; ``names`` are the occupants', seat_0's first."""
    made = []
    for row in range(games.size):
        taken = int(games.turns[row])
        acts, offers = games.act[row, :taken].tolist(), games.oA[row, :taken].tolist()
        actions = tuple(Action(Act(act), tuple(oA)) for act, oA in zip(acts, offers, strict=True))
        ending = Ending(int(games.ending[row]))
        first, second = (tuple(share) for share in games.allocation[row].tolist())
        low, high = games.scores[row].tolist()
        broken = NOT_RECORDED if ending is Ending.ILLEGAL else None
        outcome = Outcome(ending, (first, second) if games.deal[row] else None, (low, high), broken)
        causes = tuple(games.cause[row, :taken].tolist())
        scenario, why = games.scenarios.scenario(row), causes if any(causes) else ()
        said = () if games.messages is None else tuple(games.messages[row, :taken].tolist())
        said = said if any(said) else ()
        made.append(GameRecord(scenario, games.rules, names, actions, outcome, why, source, seed, (), said))
    return made


def _causes(value: object, size: int) -> tuple[int, ...]:
    causes = tuple(_integer("causes", cause) for cause in _list_of("causes", value))
    known = list(Cause)
    if causes and (len(causes) != size or not all(cause in known for cause in causes)):
        raise RecordError(
            f"causes must be empty or one of 0..{len(known) - 1} per act, {size} in all; got {quote(value)}"
        )
    return causes


def _words(value: object, size: int) -> tuple[str | None, ...]:
    words = tuple(_optional("words", each, str) for each in _list_of("words", value))
    if words and len(words) != size:
        raise RecordError(f"words must be empty or one for each act, {size} in all; got {len(words)}")
    return words


def _messages(value: object, size: int) -> tuple[str, ...]:
    messages = tuple(_optional("messages", each, str) or "" for each in _list_of("messages", value))
    if messages and len(messages) != size:
        raise RecordError(f"messages must be empty or one for each act, {size} in all; got {len(messages)}")
    return messages


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


def _check_version(value: Mapping[str, Any], known: tuple[int, ...]) -> None:
    version = value.get("version")
    if type(version) is not int or version not in known:
        which = " or ".join(map(str, known))
        raise RecordError(f"version must be {which}, which this reader knows; got {quote(version)}")


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
    except ValueError as error:  # game.py says what is wrong
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


def _parsed(text: str) -> object:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            raise RecordError("a record names each key once")
        return value

    def refuse(constant: str) -> None:
        raise RecordError(f"a record holds integers, no {constant}")

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=refuse)
    except RecordError:
        raise
    except (ValueError, RecursionError) as error:
        raise RecordError(f"a record is one line of JSON; {error}; got {text[:80]!r}") from None


def _check_keys(
    what: str, value: object, required: set[str] | frozenset[str], optional: frozenset[str] = frozenset()
) -> None:
    if not isinstance(value, Mapping):
        raise RecordError(f"{what} must be an object; got {quote(value)}")
    missing, unknown = sorted(required - value.keys()), sorted(map(str, value.keys() - required - optional))
    if missing or unknown:
        problem = f"lacks {', '.join(missing)}" if missing else f"has unknown keys {', '.join(unknown)}"
        raise RecordError(f"{what} {problem}; its keys are {', '.join(sorted(required | optional))}")


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
    """A value of exactly this kind, or nothing. Raises :class:`RecordError`."""
    if value is not None and type(value) is not kind:
        raise RecordError(f"{where} must be {kind.__name__} or null; got {quote(value)}")
    return value
