"""The published figures of ``cells.yaml``, each with its source and whether anybody who worked here could read it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dond_marl.errors import InputError

FILE = Path(__file__).with_name("cells.yaml")
Status = Literal["opened", "excerpt", "unread"]
STATUSES: dict[str, str] = {
    "opened": "the source was read",
    "excerpt": "a part of it was seen",
    "unread": "nobody could open it",
}


class Cell(NamedTuple):
    """One published figure."""

    paper: str  # a key of :attr:`Published.papers`
    where: str  # in it
    who: str
    against: str
    measure: str
    value: float | None  # None where the status is unread
    status: Status
    read: str  # where it was read; empty if unread
    ours: str | None  # who of ours stands beside it
    none: str  # why nobody does


class Published(NamedTuple):
    """All of it."""

    papers: dict[str, str]
    cells: tuple[Cell, ...]
    notes: tuple[str, ...]


@lru_cache(maxsize=1)
def published() -> Published:
    """The figures that are part of the package."""
    return parsed(FILE.read_text(encoding="utf-8"))


def parsed(text: str) -> Published:
    """What a file like ``cells.yaml`` says. Raises :class:`InputError`, naming the entry that cannot be."""
    import yaml

    document = yaml.safe_load(text)
    cells: list[Cell] = []
    for number, entry in enumerate(document["entries"], start=1):
        wrong = _wrong(entry, document["papers"])
        if wrong:
            raise InputError(f"entry {number} of the published figures ({entry.get('who')}): {wrong}")
        values: dict[str, float | None] = entry.get("cells") or dict.fromkeys(entry["measures"])
        common = {key: entry[key] for key in ("paper", "where", "who", "against", "status")}
        rest = {"read": entry.get("read", ""), "ours": entry.get("ours"), "none": entry.get("none", "")}
        cells += [Cell(measure=measure, value=value, **common, **rest) for measure, value in values.items()]
    return Published(document["papers"], tuple(cells), tuple(document["notes"]))


def _wrong(entry: dict[str, Any], papers: dict[str, str]) -> str:
    """What is wrong with an entry; empty if nothing is."""
    if entry.get("paper") not in papers:
        return f"paper must be one of {', '.join(papers)}"
    if entry.get("status") not in STATUSES:
        return f"status must be one of {', '.join(STATUSES)}"
    named = entry["status"] == "opened" and "measures" in entry  # a source that was read and stores no figures
    if entry["status"] == "unread" and "cells" in entry:
        return "what nobody could open has no figures: name its measures alone"
    if entry["status"] != "unread" and not (("cells" in entry or named) and entry.get("read")):
        return "say in cells what was read, and in read where"
    if ("ours" in entry) == ("none" in entry):
        return "say either who of ours stands beside it (ours) or why nobody does (none)"
    return ""
