"""Where a run lives: a numbered folder with its ledger, its settings and its lock.

``logging.output_dir`` holds runs ``0001``, ``0002``, ...; a new run takes the next number, so that nothing is ever
overwritten. The lock is held by the one process that writes, and dies with it.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from filelock import FileLock, Timeout

from dond_marl.errors import RunFailure

LEDGER = "ledger.sqlite"  # what a league run begins with
SETTINGS = "config.yaml"  # what a training run begins with
BLOBS = "blobs"  # the weights of a league's learners
LOCK = "run.lock"


class RunError(RunFailure):
    """A run that cannot be started or taken up again; the message says why and what to do."""


class RunDirectory:
    """A locked run folder; use it as a context."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ledger = path / LEDGER
        self.blobs = path / BLOBS
        self._lock = FileLock(path / LOCK)

    def __enter__(self) -> RunDirectory:
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise RunError(
                f"{self.path} is in use by another process; wait for it, stop it, or start another run without --resume"
            ) from None
        except OSError as error:
            raise RunError(f"{self.path}: cannot be locked ({error.strerror}); is the folder writable?") from error
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def new_run(output_dir: Path) -> RunDirectory:
    """The next free numbered folder under ``output_dir``. Raises :class:`RunError`."""
    try:
        output_dir.mkdir(parents=True, exist_ok=True)
        number = max((int(path.name) for path in runs_in(output_dir)), default=0) + 1
        while True:
            path = output_dir / f"{number:04d}"
            try:
                path.mkdir()
                return RunDirectory(path)
            except FileExistsError:  # somebody else was faster
                number += 1
    except OSError as error:
        raise RunError(
            f"{output_dir}: no run folder can be made there "
            f"({'a file is in the way' if isinstance(error, FileExistsError) else error.strerror}); "
            f"name another with --set logging.output_dir=FOLDER"
        ) from error


def newest_run(output_dir: Path, mark: str = LEDGER) -> RunDirectory:
    """The last run under ``output_dir`` that has begun: it holds the file ``mark``. Raises :class:`RunError`."""
    runs = [path for path in runs_in(output_dir) if _begun(path / mark)]
    if not runs:
        raise RunError(f"{output_dir} holds no run to resume; start one without --resume")
    return RunDirectory(max(runs, key=lambda path: int(path.name)))


def named_run(path: Path, mark: str = LEDGER) -> RunDirectory:
    """The run in folder ``path``, or the newest of those under it. Raises :class:`RunError` if there is none."""
    if not (path / mark).is_file() and runs_in(path):
        return newest_run(path, mark)
    stopped_early = path.is_dir() and {entry.name for entry in path.iterdir()} <= {LOCK}
    if not (path / mark).is_file() and not stopped_early:
        raise RunError(f"{path} is no run folder: it holds no {mark}; runs are folders named 0001, 0002 and so on")
    return RunDirectory(path)


def _begun(path: Path) -> bool:
    """Whether a run has begun in the file at ``path``; a damaged ledger counts, so that it is opened and reported."""
    if path.name != LEDGER or not path.is_file():
        return path.is_file()
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
            return bool(db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'meta'").fetchone()[0])
    except sqlite3.Error:
        return True


def runs_in(output_dir: Path) -> list[Path]:
    """The numbered folders under ``output_dir``."""
    if not output_dir.is_dir():
        return []
    return [path for path in output_dir.iterdir() if path.name.isascii() and path.name.isdigit() and path.is_dir()]
