"""Transcripts as files: one game a line, JSON, versioned; what is exact replays exactly, what is not says why.

A line is a :class:`~dond_marl.records.record.GameRecord` (its form stands in :mod:`dond_marl.records.record`), or a
game that is known only in part, such as a talk between people of which some words could not be read::

    {"version": 1, "inexact": "utterance 2 was not read: alternatives",
     "scenario": {"counts": [1, 2, 2], "utilities": [[4, 1, 2], [0, 4, 1]]}, "occupants": ["human", "human"],
     "said": [["PROPOSE", [1, 0, 2]], null, ["END"]], "selected": [[1, 0, 2], [0, 2, 0]]}

``said`` holds what each seat said in turn, ``null`` for what is not known; ``selected`` is what each seat got, ``null``
without a deal; ``source`` says where it is from. Such a line cannot be replayed, and nothing pretends that it can.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dond_marl.game import Action, Scenario, Triple
from dond_marl.records.as_json import (
    VERSION,
    RecordError,
    action_from_json,
    action_to_json,
    check_keys,
    list_of,
    names_from_json,
    optional,
    pair_of_triples,
    parsed,
    scenario_from_json,
    scenario_to_json,
)
from dond_marl.records.record import GameRecord, from_json, to_line

_REQUIRED = frozenset(("version", "inexact", "scenario", "occupants", "said", "selected"))
_OPTIONAL = frozenset(("source",))


@dataclass(frozen=True, slots=True)
class InexactGame:
    """A game that is known in part. ``said[i]`` was said by seat ``i % 2``; ``None`` for what is not known."""

    scenario: Scenario
    occupants: tuple[str, str]
    said: tuple[Action | None, ...]
    selected: tuple[Triple, Triple] | None  # what each seat got; None without a deal
    inexact: str  # why it is no exact game
    source: str | None = None
    version: int = VERSION


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` to write: it takes the place of ``path`` once the block ends without an error.

    So a reader, or a kill at any moment, finds the old file or the new one, whole.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a UTF-8 text file so that it is there whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_durably(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all, its content on disk before it takes its place."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_lines(path: str | Path, games: Iterable[GameRecord | InexactGame]) -> tuple[int, int]:
    """Write a file of games, whole or not at all, replacing what is there; how many exact and inexact ones."""
    path = Path(path)
    exact = inexact = 0
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for game in games:
            file.write(line_of(game) + "\n")
            exact, inexact = exact + isinstance(game, GameRecord), inexact + isinstance(game, InexactGame)
    return exact, inexact


def read_lines(path: str | Path) -> Iterator[GameRecord | InexactGame]:
    """The games of a file, in order. Raises :class:`RecordError`, naming file and line; nothing is replayed."""
    path = Path(path)
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                try:
                    yield game_from_line(line.rstrip("\n"))
                except RecordError as error:
                    raise RecordError(f"{path}:{number}: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"{path}: cannot be read as a file of games ({error})") from error


def line_of(game: GameRecord | InexactGame) -> str:
    """A game as one line of JSON, without the line end."""
    if isinstance(game, GameRecord):
        return to_line(game)
    value: dict[str, Any] = {
        "version": game.version,
        "inexact": game.inexact,
        "scenario": scenario_to_json(game.scenario),
        "occupants": list(game.occupants),
        "said": [None if action is None else action_to_json(action) for action in game.said],
        "selected": None if game.selected is None else [list(share) for share in game.selected],
    }
    if game.source is not None:
        value["source"] = game.source
    return json.dumps(value, separators=(", ", ": "))


def game_from_line(line: str) -> GameRecord | InexactGame:
    """The game in a line of JSON. Raises :class:`RecordError`, saying what is wrong with it."""
    value = parsed(line)
    if not isinstance(value, Mapping) or "inexact" not in value:
        return from_json(value)  # type: ignore[arg-type]  # it says so if it is no mapping
    if type(value.get("version")) is not int or value["version"] != VERSION:
        raise RecordError(f"version must be {VERSION}, the only one this reader knows; got {value.get('version')!r}")
    check_keys("an inexact game", value, _REQUIRED, _OPTIONAL)
    why, kept = optional("inexact", value["inexact"], str), value["selected"]
    if not why:
        raise RecordError(f"inexact must say why, in words; got {value['inexact']!r}")
    entries = list_of("said", value["said"])
    return InexactGame(
        scenario_from_json(value["scenario"]),
        names_from_json(value["occupants"]),
        tuple(None if item is None else action_from_json(f"said[{i}]", item) for i, item in enumerate(entries)),
        None if kept is None else pair_of_triples("selected", kept),
        why,
        optional("source", value.get("source"), str),
    )
