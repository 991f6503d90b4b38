"""Who takes part: three lists of occupants, those that a league is played among, its gate's pool and the held-out ones.

A list may name a roster (:mod:`partners.rosters`) in place of occupants, or among them: ``train``, also called ``zoo``,
``dev``, also called ``standard``, and ``test``. A roster stands for those of its members that no list names; in
``gate``, which may list whom ``members`` lists, also for those that ``members`` names. The roster test is met at the
end alone: in ``members`` and ``gate`` nobody of it is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from dond_marl.occupants import OccupantNameError, spec_name
from league.settings.sections import MemberConfig
from league.settings.yaml import Path, dotted, quote
from partners.rosters import DEV, TEST, TRAIN, plain_name, roster

LISTS = ("members", "gate", "heldout")  # as the splits train, gate and heldout
ZOO, STANDARD = "zoo", "standard"
NAMES = {ZOO: TRAIN, TRAIN: TRAIN, STANDARD: DEV, DEV: DEV, TEST: TEST}  # what a config may write for a roster


def zoo() -> list[str]:
    """The members of the roster train."""
    return list(roster(TRAIN))


def written_out(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The three lists with the rosters that they name expanded; a value that is no list stays, to be refused."""
    lists = {"members": ZOO, "gate": (), "heldout": ()} | {key: settings[key] for key in LISTS if key in settings}
    lists = {key: [items] if isinstance(items, str) and items in NAMES else items for key, items in lists.items()}
    named = {
        key: {_spec(item) for item in items if not _is_roster(item)}
        for key, items in lists.items()
        if isinstance(items, list | tuple)
    }
    taken = {
        key: set().union(*(named[other] for other in named if (key, other) != ("gate", "members"))) for key in LISTS
    }
    return {
        key: [member for item in items for member in (_members(item, taken[key]) if _is_roster(item) else [item])]
        if isinstance(items, list | tuple)
        else items
        for key, items in lists.items()
    }


def repeated(lists: Mapping[str, Sequence[Any]]) -> Iterator[tuple[Path, str]]:
    """Path and text of a complaint about each name that occurs twice, and each spec twice without a name."""
    names: dict[str, Path] = {}
    specs: dict[str | None, Path] = {}
    met = {(item.name, item.spec) for item in lists["members"]}
    for path, item in [((key, place), item) for key, items in lists.items() for place, item in enumerate(items)]:
        spec = getattr(item, "spec", None)  # a learner has none
        if path[0] == "gate" and (item.name, spec) in met:
            met.remove((item.name, spec))
            continue  # practiced against, and judged by
        if item.name in names:
            yield path, f"the name {quote(item.name)} is taken by {dotted(names[item.name])}; give it another"
        elif item.name == spec and spec in specs:
            yield path, f"{spec} plays already as {dotted(specs[spec])}; give it a name to play twice"
        names.setdefault(item.name, path)
        specs.setdefault(spec, path)


def met_too_early(lists: Mapping[str, Sequence[MemberConfig]]) -> Iterator[tuple[Path, str]]:
    """Path and text of a complaint about each member of the roster test that would be met before the end."""
    test = set(_plain(roster(TEST)))
    for key in ("members", "gate"):
        for place, member in enumerate(lists[key]):
            if plain_name(member.spec) in test:
                yield (
                    (key, place),
                    f"{member.spec} is in the roster test, which nobody meets before the end: leave it out, or list it "
                    f"in heldout; partners to learn from are in the roster train, others to look at in dev",
                )


def _is_roster(item: Any) -> bool:
    return isinstance(item, str) and item in NAMES


def _members(name: str, named: set[str | None]) -> list[str]:
    members = roster(NAMES[name])
    return [member for member, plain in zip(members, _plain(members), strict=True) if plain not in named]


@lru_cache(maxsize=4)
def _plain(members: tuple[str, ...]) -> tuple[str, ...]:
    """A roster written plainly: the same for every config that is read."""
    return tuple(map(plain_name, members))


def _spec(item: Any) -> str | None:
    """The occupant of an item, written plainly; ``None`` for what is none, which is refused later."""
    if isinstance(item, MemberConfig):
        item = item.spec
    if isinstance(item, Mapping):
        item = item["spec"] if item.keys() == {"name", "spec"} else {k: v for k, v in item.items() if k != "name"}
    try:
        return plain_name(spec_name(item))
    except (OccupantNameError, TypeError, AttributeError):  # it is refused elsewhere
        return None
