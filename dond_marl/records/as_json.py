"""The pieces of a record as plain JSON values, and back: each reader says what is wrong with what it is given."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from dond_marl.errors import InputError
from dond_marl.game import ITEMS, SEATS, Act, Action, Scenario, Triple

VERSION = 1  # raised whenever an older reader would misread a record
Kind = TypeVar("Kind")


class RecordError(InputError):
    """A record that cannot be read, or that does not replay to the outcome it states."""


def scenario_to_json(scenario: Scenario) -> dict[str, Any]:
    """The table as plain JSON values."""
    return {"counts": list(scenario.counts), "utilities": [list(values) for values in scenario.utilities]}


def action_to_json(action: Action) -> list[Any]:
    """``["PROPOSE", [1, 0, 2]]`` or ``["AGREE"]``."""
    return [action.act_type.name, list(action.oA)] if action.act_type.is_offer else [action.act_type.name]


def parsed(text: str) -> object:
    """The value of a line of JSON. Raises :class:`RecordError`."""

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


def check_keys(
    what: str, value: object, required: set[str] | frozenset[str], optional: frozenset[str] = frozenset()
) -> None:
    """Raise :class:`RecordError` unless ``value`` is an object with these keys."""
    if not isinstance(value, Mapping):
        raise RecordError(f"{what} must be an object; got {value!r}")
    missing, unknown = sorted(required - value.keys()), sorted(map(str, value.keys() - required - optional))
    if missing or unknown:
        problem = f"lacks {', '.join(missing)}" if missing else f"has unknown keys {', '.join(unknown)}"
        raise RecordError(f"{what} {problem}; its keys are {', '.join(sorted(required | optional))}")


def list_of(where: str, value: object) -> Sequence[Any]:
    """A list. Raises :class:`RecordError`."""
    if not isinstance(value, list | tuple):
        raise RecordError(f"{where} must be a list; got {value!r}")
    return value


def integer(where: str, value: object) -> int:
    """An integer, and no truth value. Raises :class:`RecordError`."""
    if type(value) is not int:
        raise RecordError(f"{where} must hold integers; got {value!r}")
    return value


def triple(where: str, value: object) -> Triple:
    """A list of one integer per item type. Raises :class:`RecordError`."""
    items = list_of(where, value)
    if len(items) != len(ITEMS):
        raise RecordError(f"{where} must be {len(ITEMS)} integers, one per {'/'.join(ITEMS)}; got {value!r}")
    return integer(where, items[0]), integer(where, items[1]), integer(where, items[2])


def pair_of_triples(where: str, value: object) -> tuple[Triple, Triple]:
    """A list per seat of three integers each. Raises :class:`RecordError`."""
    pair = list_of(where, value)
    if len(pair) != len(SEATS):
        raise RecordError(f"{where} must hold one list per seat; got {value!r}")
    return triple(where, pair[0]), triple(where, pair[1])


def names_from_json(value: object) -> tuple[str, str]:
    """The occupants' names. Raises :class:`RecordError`."""
    names = list_of("occupants", value)
    if len(names) != len(SEATS) or not all(isinstance(name, str) for name in names):
        raise RecordError(f"occupants must be two names, seat_0's first; got {value!r}")
    return names[0], names[1]


def action_from_json(where: str, value: object) -> Action:
    """What :func:`action_to_json` wrote; ``where`` names it in a message. Raises :class:`RecordError`."""
    parts = list_of(where, value)
    if not parts or not isinstance(parts[0], str) or parts[0] not in Act.__members__:
        raise RecordError(f"{where} must open with one of {', '.join(Act.__members__)}; got {value!r}")
    act = Act[parts[0]]
    if len(parts) != (2 if act.is_offer else 1):
        raise RecordError(f"{where}: {act.name} is written {'[name, oA]' if act.is_offer else '[name]'}; got {value!r}")
    return Action(act, triple(where, parts[1])) if act.is_offer else Action(act)


def scenario_from_json(value: object) -> Scenario:
    """The table in plain JSON values. Raises :class:`RecordError`."""
    check_keys("scenario", value, {"counts", "utilities"})
    assert isinstance(value, Mapping)
    counts, utilities = triple("scenario.counts", value["counts"]), value["utilities"]
    try:
        return Scenario(counts, pair_of_triples("scenario.utilities", utilities))
    except RecordError:
        raise
    except ValueError as error:  # game.py says what is wrong
        raise RecordError(str(error)) from None


def optional(where: str, value: object, kind: type[Kind]) -> Kind | None:
    """A value of exactly this kind, or nothing. Raises :class:`RecordError`."""
    if value is not None and type(value) is not kind:
        raise RecordError(f"{where} must be {kind.__name__} or null; got {value!r}")
    return value
