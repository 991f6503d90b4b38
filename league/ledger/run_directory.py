"""Where a run lives: a numbered folder with its ledger, its settings and its lock.

``logging.output_dir`` holds runs ``0001``, ``0002``, ...; a new run takes the next number, so that nothing is ever
overwritten. The lock is held by the one process that writes, and dies with it. A start that fails leaves no run behind.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

from filelock import FileLock, Timeout

from dond_marl.errors import InputError, RunFailure

LEDGER = "ledger.sqlite"  # what a league run begins with
SETTINGS = "config.yaml"  # what a training run begins with
BLOBS = "blobs"  # the weights of a league's learners
LOCK = "run.lock"
PROGRESS, CHECKPOINTS = "progress.csv", "checkpoints"  # what a training does
# What a start writes, and the tables of a league without rounds.
STARTS = (LOCK, SETTINGS, f".{SETTINGS}", LEDGER, BLOBS, CHECKPOINTS, "events.out.tfevents")
TABLES = ("ladder.csv", "crossplay.csv", "learning.csv", ".ladder.csv", ".crossplay.csv", ".learning.csv")


class RunError(RunFailure):
    """A run that cannot be started or taken up again; the message says why and what to do."""


class NoRun(InputError, RunError):
    """The folder that was named holds no run: the caller's mistake."""


class RunDirectory:
    """A locked run folder; use it as a context. One that is ``new`` goes again with a start that fails."""

    def __init__(self, path: Path, *, new: bool = False) -> None:
        self.path = path
        self.ledger = path / LEDGER
        self.blobs = path / BLOBS
        self._new = new
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

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with contextlib.suppress(OSError):  # what cannot be read stays
            if (
                self._new
                and kind is not None
                and _holds_nothing(self.path, stopped=issubclass(kind, KeyboardInterrupt))
            ):
                shutil.rmtree(self.path, ignore_errors=True)
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
                return RunDirectory(path, new=True)
            except FileExistsError:  # somebody else was faster
                number += 1
    except OSError as error:
        raise RunError(
            f"{output_dir}: no run folder can be made there "
            f"({'a file is in the way' if isinstance(error, FileExistsError) else error.strerror}); "
            f"name another with --set logging.output_dir=FOLDER"
        ) from error


def run_to_resume(
    resume: Path, output_dir: Path, mark: str = LEDGER, tell: Callable[[str], None] = lambda _: None
) -> RunDirectory:
    """The run ``resume``, or the newest of those in it; of those in ``output_dir`` where it is empty.

    ``tell`` hears of newer ones that never began. Raises :class:`NoRun`.
    """
    return newest_run(output_dir, mark, tell) if resume == Path() else named_run(resume.expanduser(), mark, tell)


def newest_run(output_dir: Path, mark: str = LEDGER, tell: Callable[[str], None] = lambda _: None) -> RunDirectory:
    """The last run under ``output_dir`` that has begun. Raises :class:`NoRun`, which names the runs that there are.

    ``mark`` is what it begins with; ``tell`` hears of newer ones that never began, that are beginning now in another
    process, or that cannot be read.
    """
    for path in sorted(runs_in(output_dir), key=lambda path: int(path.name), reverse=True):
        try:
            if _begun(path, mark):
                return RunDirectory(path)
            if (path / mark).exists() or _is_left(path):
                never = "another process is at its beginning" if _in_use(path) else "it never began"
                tell(f"{path} is passed over: {never}")
        except OSError as error:  # not ours to read, or gone meanwhile
            tell(f"{path} is passed over: it cannot be read ({error.strerror})")
    others = [path for path in _runs_beside(output_dir, mark) if path.parent != output_dir]
    there = f"; there are {_listed(others)}" if others else "; start one without --resume"
    raise NoRun(f"{output_dir} holds no run to resume{there}")


def named_run(path: Path, mark: str = LEDGER, tell: Callable[[str], None] = lambda _: None) -> RunDirectory:
    """The run in folder ``path``, or the newest of those in it, or in the folders in it.

    Raises :class:`NoRun`, which names the runs that there are.
    """
    if not (path / mark).is_file() and runs_in(path):
        return newest_run(path, mark, tell)
    if not (path / mark).is_file() and path.is_dir():
        deeper = _runs_beside(path / "any", mark)
        if deeper:
            return RunDirectory(deeper[0])
    if not (path / mark).is_file() and not _is_left(path):
        others = _runs_beside(path, mark)
        there = f"; there are {_listed(others)}" if others else "; runs are folders named 0001, 0002 and so on"
        raise NoRun(f"{path} is no run folder: it holds no {mark}{there}")
    return RunDirectory(path)


def runs_in(output_dir: Path) -> list[Path]:
    """The numbered folders under ``output_dir``."""
    return [path for path in _folders_in(output_dir) if path.name.isascii() and path.name.isdigit()]


def _folders_in(path: Path) -> list[Path]:
    """The folders in a folder; none where it cannot be read."""
    try:
        return [entry for entry in path.iterdir() if entry.is_dir()]
    except OSError:
        return []


def _runs_beside(output_dir: Path, mark: str) -> list[Path]:
    """The runs that have begun under the folder that holds ``output_dir``, the one written to last first."""
    beside, written = output_dir.parent, dict[Path, int]()
    for path in (path for folder in (beside, *_folders_in(beside)) for path in runs_in(folder)):
        with contextlib.suppress(OSError):  # not ours to read, or gone meanwhile
            if _begun(path, mark):
                written[path] = (path / mark).stat().st_mtime_ns
    return sorted(written, key=written.__getitem__, reverse=True)


def _listed(runs: Iterable[Path], most: int = 5) -> str:
    """The first few paths."""
    named = [str(path) for path in runs]
    return ", ".join(named[:most]) + (f" and {len(named) - most} more" if len(named) > most else "")


def _begun(path: Path, mark: str) -> bool:
    """Whether a run has begun: a ledger that holds its settings, a training that has made an update.

    A damaged ledger counts, so that it is opened and reported.
    """
    if mark == SETTINGS:
        return (path / mark).is_file() and not _no_update(path)
    return (path / mark).is_file() and _rows(path / mark, "meta") != 0


def _no_update(path: Path) -> bool:
    """Whether a folder holds a training's start and nothing of what it did."""
    rows = (path / PROGRESS).read_bytes().count(b"\n") if (path / PROGRESS).is_file() else 0
    return rows <= 1 and not any((path / CHECKPOINTS).glob("*.json")) and _only(path, (*STARTS, PROGRESS))


def _holds_nothing(path: Path, *, stopped: bool) -> bool:
    """Whether a new run's folder may go: it holds a start that failed, or that was stopped before it was written."""
    if stopped:
        return _is_left(path)
    if (path / LEDGER).exists():
        return _rows(path / LEDGER, "rounds") == 0 and _only(path, (*STARTS, *TABLES))
    return _no_update(path)


def _is_left(path: Path) -> bool:
    """Whether a folder holds what is left of a start that was killed at once, before its settings were written."""
    return path.is_dir() and {entry.name for entry in path.iterdir()} <= {LOCK}


def _in_use(path: Path) -> bool:
    """Whether another process, or another part of this one, holds a run's lock; its file is not made."""
    if not (path / LOCK).is_file():
        return False
    try:
        with FileLock(path / LOCK, timeout=0):
            return False
    except Timeout:
        return True


def _only(path: Path, names: Iterable[str]) -> bool:
    """Whether a folder holds nothing but files and folders that are named so, or that begin so."""
    return all(entry.name.startswith(tuple(names)) for entry in path.iterdir())


def _rows(ledger: Path, table: str) -> int | None:
    """The rows of a table of a ledger, 0 without it; ``None`` where it cannot be read."""
    try:
        with contextlib.closing(sqlite3.connect(f"{ledger.resolve().as_uri()}?mode=ro", uri=True)) as db:
            if not db.execute("SELECT count(*) FROM sqlite_schema WHERE name = ?", [table]).fetchone()[0]:
                return 0
            return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608  # a name of ours
    except sqlite3.Error:
        return None
