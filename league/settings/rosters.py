"""Who takes part: three lists of occupants, those that a league is played among, its gate's pool and the held-out ones.

``zoo`` stands for every scripted occupant that none of the lists names, ``standard`` for the fixed held-out list in
``league/settings/heldout.yaml``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

import yaml

from dond_marl.occupants import OccupantNameError, catalogue, seat_occupant
from dond_marl.seats import costs_to_ask
from league.settings.sections import MemberConfig
from league.settings.yaml import Path, dotted, shown
from partners.catalogue import PARTNERS, scripted

ROSTERS = ("members", "gate", "heldout")  # as the splits train, gate and heldout
ZOO, STANDARD = "zoo", "standard"


def zoo() -> list[str]:
    """Every scripted occupant that needs no parameters, built-in or of another package, by name."""
    return sorted([*scripted(), *filter(_is_scripted, catalogue().keys() - PARTNERS.keys())])


def _is_scripted(name: str) -> bool:
    try:
        traits = seat_occupant(name).traits
    except OccupantNameError:  # it needs parameters
        return False
    return not (traits.learned or traits.privileged or costs_to_ask(traits))


def written_out(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The three lists with ``zoo`` and ``standard`` expanded; a value that is no list stays, to be refused."""
    lists = {"members": ZOO, "gate": (), "heldout": ()} | {key: settings[key] for key in ROSTERS if key in settings}
    if lists["members"] == ZOO:
        lists["members"] = [ZOO]
    if lists["heldout"] == STANDARD:
        text = resources.files("league.settings").joinpath("heldout.yaml").read_text(encoding="utf-8")
        lists["heldout"] = yaml.safe_load(text)["heldout"]
    named = {_alone(item) for items in lists.values() if isinstance(items, list | tuple) for item in items}
    rest = [name for name in zoo() if name not in named] if ZOO in named else []
    return {
        key: [member for item in items for member in (rest if item == ZOO else [item])]
        if isinstance(items, list | tuple)
        else items
        for key, items in lists.items()
    }


def repeated(lists: Mapping[str, Sequence[Any]]) -> Iterator[tuple[Path, str]]:
    """Path and text of a complaint about each name that occurs twice, and each spec twice without a name."""
    names: dict[str, Path] = {}
    specs: dict[str | None, Path] = {}
    for path, item in [((key, place), item) for key, items in lists.items() for place, item in enumerate(items)]:
        spec = getattr(item, "spec", None)  # a learner has none
        if item.name in names:
            yield path, f"the name {shown(item.name)} is taken by {dotted(names[item.name])}; give it another"
        elif item.name == spec and spec in specs:
            yield path, f"{spec} plays already as {dotted(specs[spec])}; give it a name to play twice"
        names.setdefault(item.name, path)
        specs.setdefault(spec, path)


def _alone(item: Any) -> str | None:
    """The name of an occupant that is listed without parameters."""
    if isinstance(item, Mapping) and item.keys() <= {"kind", "name"}:
        item = item.get("kind")
    if isinstance(item, MemberConfig):
        item = item.spec
    return item if isinstance(item, str) else None
