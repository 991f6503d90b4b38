"""Files: written whole or not at all; and transcripts, one game a line (:mod:`dond_marl.records.record`)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dond_marl.records.record import GameRecord, InexactGame, RecordError, game_from_line, game_line


@contextmanager
def atomic_replace(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` to write: it takes the place of ``path`` once the block ends without an error.

    So a reader, or a kill at any moment, finds the old file or the new one, whole. An ``OSError`` names ``path``.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:  # of a full disk, say, which names no file
        if error.filename in (None, temporary, str(temporary)):
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        with suppress(OSError):  # it is not there, or nothing can be changed where it would be
            temporary.unlink()


def write_atomically(path: Path, text: str) -> None:
    """Write a UTF-8 text file so that it is there whole or not at all."""
    with atomic_replace(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_durably(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all, its content on disk before it takes its place."""
    with atomic_replace(path) as temporary, temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_lines(path: str | Path, games: Iterable[GameRecord | InexactGame]) -> tuple[int, int]:
    """Write a file of games, whole or not at all, replacing what is there; how many exact and inexact ones."""
    path = Path(path)
    exact = inexact = 0
    with atomic_replace(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for game in games:
            file.write(game_line(game) + "\n")
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
