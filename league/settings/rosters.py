"""The member lists of a league's settings: ``members`` to play, ``gate`` to judge by, ``heldout`` for the end.

A list may name a roster (:mod:`partners.rosters`) instead of occupants, or among them: ``train``, also called ``zoo``,
``dev``, also called ``standard``, and ``dev2``. A roster stands for those of its members that no list names; in
``gate``, which may repeat occupants of ``members``, also for those that ``members`` names. Members of the roster dev2
are played at the end only: ``members`` and ``gate`` refuse them. All three refuse those of test2, whose evaluations are
logged: ``dond bench`` plays them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from dond_marl.errors import quote
from dond_marl.occupants import OccupantNameError, Spec
from league.settings.layers import Path, format_path
from league.settings.sections import MemberConfig, spec_of_item, wrong
from partners.rosters import DEV, DEV2, FORMER, RENAMED, TEST2, TRAIN, plain_name, roster

LISTS = ("members", "gate", "heldout")  # as the splits train, gate and heldout
ZOO, STANDARD = "zoo", "standard"
NAMES = {ZOO: TRAIN, TRAIN: TRAIN, STANDARD: DEV, DEV: DEV, DEV2: DEV2}  # a roster's names in a config


OF_BENCH = f"the evaluations on the roster {TEST2} are logged: run `dond bench` with --against {TEST2} and --reason"


def zoo() -> list[Spec]:
    """The members of the roster train."""
    return list(roster(TRAIN))


def expand_rosters(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The three lists with their rosters expanded; a value that is no list stays, and is refused later.

    Raises a complaint about rosters that no list may name.
    """
    for key in LISTS:
        items = settings.get(key, ())
        for name in [items] if isinstance(items, str) else items if isinstance(items, list | tuple) else ():
            if name in (FORMER, TEST2):
                raise wrong(RENAMED if name == FORMER else OF_BENCH, key)
    lists = {"members": ZOO, "gate": (), "heldout": ()} | {key: settings[key] for key in LISTS if key in settings}
    lists = {key: [items] if isinstance(items, str) and items in NAMES else items for key, items in lists.items()}
    named = {
        key: {_spec(item) for item in items if not _is_roster(item)}
        for key, items in lists.items()
        if isinstance(items, list | tuple)
    }
    elsewhere = {
        key: set().union(*(named[other] for other in named if (key, other) != ("gate", "members"))) for key in LISTS
    }
    return {
        key: [member for item in items for member in (_members(item, elsewhere[key]) if _is_roster(item) else [item])]
        if isinstance(items, list | tuple)
        else items
        for key, items in lists.items()
    }


def find_duplicates(lists: Mapping[str, Sequence[Any]]) -> Iterator[tuple[Path, str]]:
    """Path and text of a complaint about each duplicate name, and each duplicate spec without a name."""
    names: dict[str, Path] = {}
    specs: dict[str | None, Path] = {}
    playing = {(item.name, item.spec) for item in lists["members"]}
    for path, item in [((key, i), item) for key, items in lists.items() for i, item in enumerate(items)]:
        spec = getattr(item, "spec", None)  # a learner has none
        if path[0] == "gate" and (item.name, spec) in playing:
            playing.remove((item.name, spec))
            continue  # practiced against, and judged by
        if item.name in names:
            yield path, f"the name {quote(item.name)} is taken by {format_path(names[item.name])}; give it another"
        elif item.name == spec and spec in specs:
            yield path, f"{spec} plays already as {format_path(specs[spec])}; give it a name to play twice"
        names.setdefault(item.name, path)
        specs.setdefault(spec, path)


def refused_by_roster(lists: Mapping[str, Sequence[MemberConfig]]) -> Iterator[tuple[Path, str]]:
    """Path and text of a complaint about each member of dev2 outside of ``heldout``, and of test2 anywhere."""
    dev2, test2 = (set(_plain(roster(name))) for name in (DEV2, TEST2))
    for key in LISTS:
        for i, member in enumerate(lists[key]):
            if (plain := plain_name(member.spec)) in test2:
                yield (key, i), f"{member.spec} is in {TEST2}: leave it out. {OF_BENCH}"
            elif plain in dev2 and key != "heldout":
                yield (
                    (key, i),
                    f"{member.spec} is in the roster dev2, which is played at the end only: leave it out, or list it "
                    f"in heldout; partners to learn from are in the roster train, others for tuning in dev",
                )


def _is_roster(item: Any) -> bool:
    return isinstance(item, str) and item in NAMES


def _members(name: str, named: set[Spec | None]) -> list[Spec]:
    members = roster(NAMES[name])
    return [member for member, plain in zip(members, _plain(members), strict=True) if plain not in named]


@lru_cache(maxsize=4)
def _plain(members: tuple[Spec, ...]) -> tuple[Spec, ...]:
    return tuple(map(plain_name, members))


def _spec(item: Any) -> Spec | None:
    """The plain name of an item's occupant; ``None`` for an item that is refused later."""
    spec = spec_of_item(item)
    try:
        return None if spec is None else plain_name(spec)
    except OccupantNameError:  # it is refused elsewhere
        return None
