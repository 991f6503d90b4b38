"""Public games of *talk, then secret proposals*, read from folders in the layout of clembench.

Instances: ``instances_<experiment>.json``, as ``dond/in`` of the collections holds them. Games: any depth of folders,
the last four ``<model>/dond/<experiment>/instance_<number>``, each with ``instance.json`` and ``interactions.json``.
Source of the layout: sherzod-hakimov/negotiation-games (``dond/master.py``), games of Hakimov et al. 2025, *The Price
of Thought* (arXiv 2510.08098). Neither has a licence, so nothing of them is shipped: the user names the folders.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from dond_marl.errors import InputError, quote

MOST_DIVISIONS = 100_000  # of a table's items; every one is looked at
Counts = tuple[int, ...]  # items by type, three or more types


class PublicGameError(InputError):
    """A folder without instances or games in the expected layout."""


class Instance(NamedTuple):
    """One table: how many items there are of each type, and what they are worth to either side."""

    number: int
    counts: Counts
    values: tuple[Counts, Counts]  # of who speaks first, and of the other

    @property
    def whole(self) -> tuple[int, int]:
        """What all items are worth to either side, points."""
        first, second = (worth(self.counts, own) for own in self.values)
        return first, second


class PublicGame(NamedTuple):
    """One game that a model played with itself; a proposal is ``None`` where none was made."""

    model: str  # the folder's name
    experiment: str
    instance: Instance
    proposals: tuple[Counts | None, Counts | None]
    aborted: bool  # a rule was broken, so that nobody gets anything
    said_success: bool  # what the file says of itself


def worth(items: Counts, values: Counts) -> int:
    """What items are worth, points."""
    return sum(number * value for number, value in zip(items, values, strict=True))


def instances(folder: Path, experiment: str) -> list[Instance]:
    """The tables of one experiment, by number. Raises :class:`PublicGameError`."""
    path = folder.expanduser() / f"instances_{experiment}.json"
    document = _document(path)
    try:
        (found,) = (part for part in document["experiments"] if part["name"] == experiment)
        tables = [_instance(each) for each in found["game_instances"]]
    except (KeyError, TypeError, ValueError) as error:
        raise PublicGameError(f"{path}: no instances of {experiment} as dond/in has them ({error})") from None
    if not tables:
        raise PublicGameError(f"{path}: there is no instance of {experiment} in it")
    return tables


def games(folder: Path, experiment: str) -> list[PublicGame]:
    """All games of one experiment below a folder, by model and number. Raises :class:`PublicGameError`."""
    root = folder.expanduser()
    if not root.is_dir():
        raise PublicGameError(f"{root}: there is no such folder of public games")
    found = [_game(path) for path in _files(root, experiment)]
    if not found:
        raise PublicGameError(
            f"{root}: no <model>/dond/{experiment}/instance_<number>/interactions.json anywhere below it"
        )
    return sorted(found, key=lambda game: (game.model, game.instance.number))


def _files(root: Path, experiment: str) -> Iterator[Path]:
    yield from sorted(root.rglob(f"dond/{experiment}/instance_*/interactions.json"))


def _game(path: Path) -> PublicGame:
    document, table = _document(path), _document(path.with_name("instance.json"))
    try:
        proposals = _proposal(document["player_a_proposal"]), _proposal(document["player_b_proposal"])
        instance = _instance(table)
        if any(each is not None and len(each) != len(instance.counts) for each in proposals):
            raise ValueError("a proposal has another number of types than the table")
        marks = bool(document["Aborted"]), bool(document["Success"])
    except (KeyError, TypeError, ValueError) as error:
        raise PublicGameError(f"{path}: not a finished game of dond ({error})") from None
    return PublicGame(path.parents[3].name, path.parents[1].name, instance, proposals, *marks)


def _document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PublicGameError(f"{path}: cannot be read ({error})") from None
    if not isinstance(document, dict):
        raise PublicGameError(f"{path}: a JSON object is wanted; got {quote(document)}")
    return document


def _instance(table: dict[str, Any]) -> Instance:
    counts, first, second = (_numbers(table[key]) for key in ("item_counts", "player_a_values", "player_b_values"))
    if not len(counts) == len(first) == len(second):
        raise ValueError("counts and values of different lengths")
    if prod(number + 1 for number in counts) > MOST_DIVISIONS:
        raise ValueError(
            f"a table whose items can be divided in more than {MOST_DIVISIONS:,} ways; got {quote(counts)}"
        )
    return Instance(int(table["game_id"]), counts, (first, second))


def _proposal(items: object) -> Counts | None:
    return None if items is None else _numbers(items)


def _numbers(items: object) -> Counts:
    if not isinstance(items, list) or any(type(each) is not int or each < 0 for each in items):
        raise ValueError(f"a list of whole numbers is wanted; got {quote(items)}")
    return tuple(items)
