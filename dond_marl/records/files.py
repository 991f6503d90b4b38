"""Atomic file writes, and files of games, one a line (:mod:`dond_marl.records.record`)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from dond_marl.files import atomic_replace as atomic_replace
from dond_marl.files import is_torn, open_regular
from dond_marl.records.record import GameRecord, InexactGame, RecordError, game_from_line, to_line


def write_atomically(path: Path, text: str) -> None:
    """Write a UTF-8 text file atomically."""
    with atomic_replace(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_durably(path: Path, content: bytes) -> None:
    """Write a file atomically, with its content flushed to disk before it replaces the old file."""
    with atomic_replace(path) as temporary, temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_lines(path: str | Path, games: Iterable[GameRecord | InexactGame]) -> tuple[int, int]:
    """Write a file of games atomically; returns the numbers of exact and of inexact games."""
    path = Path(path)
    exact = inexact = 0
    with atomic_replace(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for game in games:
            file.write(to_line(game) + "\n")
            exact, inexact = exact + isinstance(game, GameRecord), inexact + isinstance(game, InexactGame)
    return exact, inexact


def read_lines(path: str | Path) -> Iterator[GameRecord | InexactGame]:
    """The games of a file, in order, not replayed; a torn last line is passed over.

    Raises :class:`RecordError`, naming file and line.
    """
    path = Path(path)
    try:
        with open_regular(path) as file:
            for number, line in enumerate(file, start=1):
                if is_torn(line):
                    return
                if not line.strip():
                    continue
                try:
                    yield game_from_line(line.decode("utf-8").rstrip("\n"))
                except RecordError as error:
                    raise RecordError(f"{path}:{number}: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"{path}: cannot be read as a file of games ({error})") from error
