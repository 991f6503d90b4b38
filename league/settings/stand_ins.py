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
    return {key: _replace("member" if key in LISTS else key, value, replaced) for key, value in data.items()}, replaced


def _replace(key: str, value: Any, replaced: list[str]) -> Any:
    """The value of a key with stand-ins; each item of a list belongs to its key, a ``member`` keeps its name."""
    if isinstance(value, list | tuple):
        return [_replace(key, item, replaced) for item in value]
    names_something = isinstance(value, str) or (isinstance(value, Mapping) and (key == "member" or "kind" in value))
    if names_something:
        if not _runs(value):
            return value
        name = value.get("name") if isinstance(value, Mapping) else None
        spec = {inner: part for inner, part in value.items() if inner != "name"} if name is not None else value
        replaced.append(_spell(spec))
        return {"kind": STAND_IN, "name": name or _spell(spec)[:80]} if key == "member" else INSTEAD.get(key, STAND_IN)
    if not isinstance(value, Mapping):
        return value
    result = {inner: _replace(str(inner), part, replaced) for inner, part in value.items()}
    endless = value.get("ends_when") is not None and result["ends_when"] is None
    if endless and not value.keys() & {"rounds", "until"}:
        result["rounds"] = 1  # a stage must be able to end
    return result


def _runs(value: Any) -> bool:
    return any(hazard.effect in RUNNING_EFFECTS for hazard in hazards_in(value))


def _spell(value: Any) -> str:
    try:
        return spec_name(value.get("spec", value) if isinstance(value, Mapping) else value)
    except OccupantNameError:
        return str(value)
