"""One finished game, written down: for transcripts, replay and export.

A record holds the scenario, the rules, who sat where, what was said and how it ended; replaying it through
:mod:`dond_marl.game` must lead to the stated outcome. In JSON it is one line with the acts by name::

    {"version": 1, "scenario": {"counts": [1, 2, 2], "utilities": [[4, 1, 2], [0, 4, 1]]},
     "rules": {"max_turns": 10, "disagree": "ends"}, "occupants": ["tough", "heuristic"],
     "actions": [["PROPOSE", [1, 0, 2]], ["AGREE"]],
     "outcome": {"ending": "AGREE", "allocation": [[1, 0, 2], [0, 2, 0]], "scores": [8, 8], "rule_broken": null}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dond_marl.batch import Games
from dond_marl.game import SEATS, Act, Action, Ending, IllegalAct, Outcome, Rules, Scenario, State, apply, forfeit
from dond_marl.records.as_json import (
    VERSION,
    RecordError,
    action_from_json,
    action_to_json,
    check_keys,
    integer,
    list_of,
    names_from_json,
    optional,
    pair_of_triples,
    parsed,
    scenario_from_json,
    scenario_to_json,
)
from dond_marl.seats import Cause

__all__ = ["GameRecord", "RecordError", "from_json", "record_of", "records", "replay", "to_json", "to_line"]

NOT_RECORDED = "an act that the rules forbid"  # the batched engine keeps no words about it
_REQUIRED = frozenset(("version", "scenario", "rules", "occupants", "actions", "outcome"))
_OPTIONAL = frozenset(("causes", "source", "seed"))


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
    version: int = VERSION


def to_json(record: GameRecord) -> dict[str, Any]:
    """The record as plain JSON values; optional fields only where they say something."""
    outcome = record.outcome
    value: dict[str, Any] = {
        "version": record.version,
        "scenario": scenario_to_json(record.scenario),
        "rules": {"max_turns": record.rules.max_turns, "disagree": record.rules.disagree},
        "occupants": list(record.occupants),
        "actions": [action_to_json(action) for action in record.actions],
        "outcome": {
            "ending": outcome.ending.name,
            "allocation": None if outcome.allocation is None else [list(share) for share in outcome.allocation],
            "scores": list(outcome.scores),
            "rule_broken": outcome.rule_broken,
        },
    }
    if record.causes:
        value["causes"] = list(record.causes)
    if record.source is not None:
        value["source"] = record.source
    if record.seed is not None:
        value["seed"] = record.seed
    return value


def to_line(record: GameRecord) -> str:
    """The record as one line of JSON, without the line end."""
    return json.dumps(to_json(record), separators=(", ", ": "))


def from_json(line: str | Mapping[str, Any]) -> GameRecord:
    """The record in a line of JSON or in its plain value. Raises :class:`RecordError`, saying where it is wrong.

    What it states is not replayed: see :func:`replay`.
    """
    value = parsed(line) if isinstance(line, str) else line
    if not isinstance(value, Mapping):
        raise RecordError(f"a record is an object; got {type(value).__name__}")
    version = value.get("version")
    if type(version) is not int or version != VERSION:
        raise RecordError(f"version must be {VERSION}, the only one this reader knows; got {version!r}")
    check_keys("the record", value, _REQUIRED, _OPTIONAL)
    rules, outcome = value["rules"], value["outcome"]
    entries = list_of("actions", value["actions"])
    actions = tuple(action_from_json(f"actions[{i}]", action) for i, action in enumerate(entries))
    check_keys("rules", rules, {"max_turns", "disagree"})
    try:
        return GameRecord(
            scenario=scenario_from_json(value["scenario"]),
            rules=Rules(rules["max_turns"], rules["disagree"]),
            occupants=names_from_json(value["occupants"]),
            actions=actions,
            outcome=_outcome(outcome),
            causes=_causes(value.get("causes", []), len(actions)),
            source=optional("source", value.get("source"), str),
            seed=optional("seed", value.get("seed"), int),
        )
    except RecordError:
        raise
    except (TypeError, ValueError) as error:  # the values of game.py say what is wrong with them
        raise RecordError(str(error)) from None


def replay(record: GameRecord) -> State:
    """The finished negotiation. Raises :class:`RecordError` where it does not lead to the stated outcome."""
    state = State(record.scenario, record.rules)
    for turn, action in enumerate(record.actions, start=1):
        try:
            state = apply(state, action)
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
    return GameRecord(state.scenario, state.rules, names, state.history, state.outcome, (), source, seed)


def records(
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
        made.append(GameRecord(scenario, games.rules, names, actions, outcome, why, source, seed))
    return made


def _causes(value: object, size: int) -> tuple[int, ...]:
    causes = tuple(integer("causes", cause) for cause in list_of("causes", value))
    known = list(Cause)
    if causes and (len(causes) != size or not all(cause in known for cause in causes)):
        raise RecordError(f"causes must be empty or one of 0..{len(known) - 1} per act, {size} in all; got {value!r}")
    return causes


def _outcome(value: object) -> Outcome:
    check_keys("outcome", value, {"ending", "allocation", "scores", "rule_broken"})
    assert isinstance(value, Mapping)
    ending, allocation, scores = value["ending"], value["allocation"], list_of("outcome.scores", value["scores"])
    endings = [name for name in Ending.__members__ if name != Ending.OPEN.name]
    if not isinstance(ending, str) or ending not in endings:
        raise RecordError(f"outcome.ending must be one of {', '.join(endings)}; got {ending!r}")
    if len(scores) != len(SEATS):
        raise RecordError(f"outcome.scores must be two integers; got {value['scores']!r}")
    return Outcome(
        Ending[ending],
        None if allocation is None else pair_of_triples("outcome.allocation", allocation),
        (integer("outcome.scores", scores[0]), integer("outcome.scores", scores[1])),
        optional("outcome.rule_broken", value["rule_broken"], str),
    )
