"""Run folders: numbered folders with a ledger or checkpoints, settings and a lock; and how a run was started.

``logging.output_dir`` holds runs ``0001``, ``0002``, ...; a new run takes the next number, so no run is overwritten.
The lock belongs to the one process that writes, and ends with it. A start that fails leaves no folder behind.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dond_marl import __version__
from dond_marl.errors import InputError, RunFailure
from dond_marl.files import remove_temporaries, user_path

RUNS = Path("runs")  # folder of all runs
LEDGER = "ledger.sqlite"  # mark of a league run
SETTINGS = "config.yaml"  # mark of a training run
KINDS = {LEDGER: "league", SETTINGS: "training run"}
OTHERS = {LEDGER: (SETTINGS, "evaluate"), SETTINGS: (LEDGER, "league")}  # the other kind of run: its command
MOST_NAMED = 5  # runs in a message
BLOBS = "blobs"  # the weights of a league's learners
LOCK = "run.lock"
PROGRESS, CHECKPOINTS = "progress.csv", "checkpoints"  # results of a training run

CHECKOUT = Path(__file__).resolve().parents[2]
SOURCES = ("dond_marl", "hints", "partners", "league")  # folders with code that can change figures


class RunError(RunFailure):
    """A run that cannot be started or resumed; the message gives the reason and the next step."""


class RunNotFound(InputError, RunError):
    """There is no run in the given folder."""


class RunDirectory:
    """A run folder, locked while used as a context.

    ``made``: the folders that were made for a new run, its own first; they are deleted if its start fails.
    """

    def __init__(self, path: Path, made: Sequence[Path] = ()) -> None:
        from filelock import FileLock  # of an extra: a game in the terminal reads names of runs without it

        self.path = path
        self.ledger = path / LEDGER
        self.blobs = path / BLOBS
        self._made = made
        self._lock = FileLock(path / LOCK)

    def __enter__(self) -> RunDirectory:
        from filelock import Timeout

        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise RunError(
                f"{self.path} is in use by another process; wait for it, stop it, or start another run without --resume"
            ) from None
        except OSError as error:
            self.__exit__(type(error))
            raise RunError(
                f"{self.path}: cannot be locked ({error.strerror}), which keeps a run to one process; name a folder on "
                f"a local disk with --set logging.output_dir=FOLDER"
            ) from error
        for folder in (self.path, self.blobs, self.path / CHECKPOINTS):
            remove_temporaries(folder)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with contextlib.suppress(OSError):  # an unreadable folder is not deleted
            if self._made and kind and _holds_nothing(self.path, stopped=issubclass(kind, KeyboardInterrupt)):
                shutil.rmtree(self.path, ignore_errors=True)
                for folder in self._made[1:]:
                    folder.rmdir()
        self._lock.release()


def new_run(output_dir: str | Path) -> RunDirectory:
    """The next free numbered folder under ``output_dir``. Raises :class:`RunError`."""
    output_dir = user_path(output_dir)
    made = [folder for folder in (output_dir, *output_dir.parents) if not folder.exists()]
    try:
        output_dir.mkdir(parents=True, exist_ok=True)
        number = max((int(path.name) for path in run_folders(output_dir)), default=0) + 1
        while True:
            path = output_dir / f"{number:04d}"
            try:
                path.mkdir()
                return RunDirectory(path, [path, *made])
            except FileExistsError:  # another process was faster
                number += 1
    except OSError as error:
        raise RunError(
            f"{output_dir}: no run folder can be made there "
            f"({'a file is in the way' if isinstance(error, FileExistsError) else error.strerror}); "
            f"name another with --set logging.output_dir=FOLDER"
        ) from error


def newest_run(output_dir: Path, mark: str = LEDGER, notify: Callable[[str], None] = lambda _: None) -> RunDirectory:
    """The newest run under ``output_dir`` that has begun. Raises :class:`RunNotFound`, which names other runs.

    ``mark``: the first file of a run; ``notify`` is called with a sentence for newer runs that never began.
    """
    for path in sorted(run_folders(output_dir), key=lambda path: int(path.name), reverse=True):
        if has_begun(path, mark):
            return RunDirectory(path)
        if (path / mark).exists() or _is_empty_start(path):
            notify(f"{path} is skipped: it never began")
    raise _missing_run(output_dir, mark, "holds no")


def find_run(path: str | Path, mark: str = LEDGER, notify: Callable[[str], None] = lambda _: None) -> RunDirectory:
    """The run in folder ``path``, or the newest run in it, or in one of its folders.

    A path that does not exist is looked up under ``runs``. Raises :class:`RunNotFound`, which names other runs.
    """
    path = user_path(path)
    if not path.exists() and (RUNS / path).is_dir():
        path = RUNS / path
    if _has_mark(path, mark):
        return RunDirectory(path)
    if run_folders(path):
        return newest_run(path, mark, notify)
    if path.is_dir() and (deeper := runs_in(path, mark)):
        return RunDirectory(deeper[0])
    if _is_empty_start(path):
        return RunDirectory(path)
    raise _missing_run(path, mark, "is no")


def _missing_run(path: Path, mark: str, verb: str) -> RunNotFound:
    """The error for a folder without a run: what it is instead, or other runs near it."""
    kind, (other, command) = KINDS[mark], OTHERS[mark]
    if _has_mark(path, other) or any(_has_mark(run, other) for run in run_folders(path)):
        return RunNotFound(f"{path} {verb} {kind} but a {KINDS[other]}, which is for dond {command}")
    runs = [run for run in runs_in(path.parent, mark) if run.parent != path]
    named = ", ".join(map(str, runs[:MOST_NAMED])) + (f" and {len(runs) - MOST_NAMED} more" * (len(runs) > MOST_NAMED))
    starts = "league" if mark == LEDGER else "train"
    none = f"a {kind} is a folder named 0001, 0002 and so on; dond {starts} starts one, here after some seconds"
    advice = f"there are {named}" if runs else none
    return RunNotFound(f"{path} {verb} {kind}: {advice}")


def run_folders(output_dir: Path) -> list[Path]:
    """The numbered folders under ``output_dir``."""
    return [path for path in _folders_in(output_dir) if path.name.isascii() and path.name.isdigit()]


def _folders_in(path: Path) -> list[Path]:
    try:
        return [entry for entry in path.iterdir() if entry.is_dir()]
    except OSError:
        return []


def runs_in(parent: Path, mark: str) -> list[Path]:
    """Runs in a folder and in its folders that have begun, the latest first; ``mark``: the first file of a run."""
    written = dict[Path, int]()
    for path in (path for folder in (parent, *_folders_in(parent)) for path in run_folders(folder)):
        if has_begun(path, mark):
            written[path] = (path / mark).stat().st_mtime_ns
    return sorted(written, key=written.__getitem__, reverse=True)


def has_begun(path: Path, mark: str) -> bool:
    """Whether a run has begun: a ledger with settings, or a training with an update.

    A ledger that is damaged or has lost its rows counts, so that it is opened and reported.
    """
    if not _has_mark(path, mark):
        return False
    if mark == SETTINGS:
        return not _has_no_update(path)
    return _row_count(path / mark, "meta") != 0 or (path / SETTINGS).exists()


def _has_mark(path: Path, mark: str) -> bool:
    """Whether a folder has the first file of a run; a league has a training's too."""
    return (path / mark).is_file() and (mark == LEDGER or not (path / LEDGER).exists())


def _has_no_update(path: Path) -> bool:
    """Whether a training has logged no update and saved no checkpoint."""
    rows = (path / PROGRESS).read_bytes().count(b"\n") if (path / PROGRESS).is_file() else 0
    return rows <= 1 and not any((path / CHECKPOINTS).glob("*.json"))


def _holds_nothing(path: Path, *, stopped: bool) -> bool:
    """Whether the folder of a new run may be deleted: its start failed, or was stopped before it was written."""
    if (path / LEDGER).exists():
        return _row_count(path / LEDGER, "meta" if stopped else "rounds") == 0
    return _is_empty_start(path) if stopped else _has_no_update(path)


def _is_empty_start(path: Path) -> bool:
    """Whether a folder has at most a lock: its start was killed before the settings were written."""
    return path.is_dir() and {entry.name for entry in path.iterdir()} <= {LOCK}


def in_use(path: Path) -> bool:
    """Whether a process holds the lock of a run; the lock file is not created."""
    if not (path / LOCK).is_file():
        return False
    from filelock import FileLock, Timeout

    try:
        with FileLock(path / LOCK, timeout=0):
            return False
    except OSError as error:  # of a file system without locks, or of a folder of another user
        return isinstance(error, Timeout)


def _row_count(ledger: Path, table: str) -> int | None:
    """Number of rows of a table of a ledger, 0 without the table; ``None`` if it cannot be read."""
    try:
        with contextlib.closing(sqlite3.connect(f"{ledger.resolve().as_uri()}?mode=ro", uri=True)) as db:
            if not db.execute("SELECT count(*) FROM sqlite_schema WHERE name = ?", [table]).fetchone()[0]:
                return 0
            return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608  # a constant
    except sqlite3.Error:
        return None


def origin_note(cores: int) -> str:
    """The note on the start of a run now, as JSON: time, command line, version, commit, ``cores`` of this process.

    No seal and no fingerprint covers it: the same settings and seed produce the same rows anywhere at any time.
    """
    started = datetime.now(UTC).isoformat(" ", "seconds").replace("+00:00", " UTC")
    start = {"started": started, "command": command_line(sys.argv), "version": __version__, "cores": cores}
    return json.dumps({**start, **source_commit()}, sort_keys=True)


def command_line(words: Sequence[str]) -> str:
    """The command line of a process, quoted for a shell, without the folder of the program."""
    program, *words = words
    path = Path(program)
    if path.name == "__main__.py":
        start = ["python", "-m", path.parent.name]
    else:
        script = path.name if path.is_absolute() else str(path)
        start = ["python", script] if path.suffix == ".py" else [path.name]
    return shlex.join([*start, *words])


def source_commit(root: Path = CHECKOUT) -> dict[str, Any]:
    """The commit of this checkout, and whether its sources were changed since; ``None`` outside a checkout."""
    if not (root / ".git").exists():
        return {"commit": None}

    def git(*words: str) -> str:
        command = ["git", *words]  # the user's own git
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603

    try:
        head = git("rev-parse", "HEAD")
        changed = git("status", "--porcelain", "--untracked-files=no", "--", *SOURCES)
    except (OSError, subprocess.CalledProcessError):
        return {"commit": None}
    return {"commit": head, "changed_since": bool(changed)}
