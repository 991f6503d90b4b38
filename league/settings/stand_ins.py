"""Stand-ins for a dry run: it prints the plan of a config without running the code or programs that the config names.

An occupant that is code from a file, or starts a program, is replaced by the default heuristic under its own name, a
reward by the own points, a predicate by none (its stage then lasts a round, if nothing else ends it). This is done on
the parsed YAML, before any name is looked up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dond_marl.occupants import OccupantNameError, spec_name
from dond_marl.trust import RUNNING_EFFECTS, hazards_in
from league.settings.rosters import LISTS

STAND_IN = "heuristic"
INSTEAD = {"reward": "own", "ends_when": None}  # of keys that name something else than an occupant


def with_stand_ins(data: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The settings with stand-ins, and the names that they replace."""
    replaced: list[str] = []
    result = {
        key: [_member(value, replaced) for value in values]
        if key in LISTS and isinstance(values, list | tuple)
        else _setting(key, values, replaced)
        for key, values in data.items()
    }
    return result, replaced


def _member(value: Any, replaced: list[str]) -> Any:
    """A member of a list of occupants, which keeps its name."""
    if not _runs(value):
        return value
    name = value.get("name") if isinstance(value, Mapping) else None
    original = {key: part for key, part in value.items() if key != "name"} if isinstance(value, Mapping) else value
    replaced.append(_spell(original))
    return {"kind": STAND_IN, "name": name or _spell(original)[:80]}


def _setting(key: str, value: Any, replaced: list[str]) -> Any:
    if isinstance(value, str) or (isinstance(value, Mapping) and "kind" in value):
        if not _runs(value):
            return value
        replaced.append(_spell(value))
        return INSTEAD.get(key, STAND_IN)
    if isinstance(value, Mapping):
        result = {inner: _setting(str(inner), part, replaced) for inner, part in value.items()}
        if (
            value.get("ends_when") is not None
            and result["ends_when"] is None
            and not value.keys() & {"rounds", "until"}
        ):
            result["rounds"] = 1  # a stage must be able to end
        return result
    if isinstance(value, list | tuple):
        return [_setting(key, part, replaced) for part in value]
    return value


def _runs(value: Any) -> bool:
    return any(hazard.effect in RUNNING_EFFECTS for hazard in hazards_in(value))


def _spell(value: Any) -> str:
    try:
        return spec_name(value.get("spec", value) if isinstance(value, Mapping) else value)
    except OccupantNameError:
        return str(value)
