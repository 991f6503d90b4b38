"""Files in folders that may come from another person: reading within a bound, and writing that follows no link.

Only regular files are read: a FIFO would block its reader for ever, and a device such as ``/dev/zero`` has no end. A
link in such a folder may lead to any file of the user: it is replaced or refused, never written through.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Any

from dond_marl.errors import InputError, quote

MOST_TEXT = 64 * 2**20  # bytes of a text file without a bound of its own
MOST_ROWS = 2**30  # bytes of a file of JSON lines


def user_path(path: str | Path) -> Path:
    """A path that a user wrote, with ``~`` and ``~name`` replaced. Raises :class:`~dond_marl.errors.InputError`."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise InputError(f"{quote(str(path))}: there is no such home folder; write the path in full") from None


def cache_folder() -> Path:
    """This project's folder in the user's cache (XDG base directory specification).

    ``$DOND_MARL_CACHE`` names another one; relative values are ignored, as in the specification. Raises
    :class:`~dond_marl.errors.InputError`.
    """
    project, shared = os.environ.get("DOND_MARL_CACHE"), os.environ.get("XDG_CACHE_HOME")
    for path, inside in ((project, ""), (shared, "dond-marl"), ("~", ".cache/dond-marl")):
        with suppress(InputError):
            if (folder := user_path(path or "")).is_absolute():
                return folder / inside
    raise InputError("there is no home folder here: set DOND_MARL_CACHE to the absolute path of a folder")


def open_regular(path: str | Path) -> BufferedReader:
    """A regular file, open for reading. Raises ``OSError``, which names the file."""
    # O_NONBLOCK: opening a FIFO without a writer returns at once; it is then refused by its type.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "is no regular file", str(path))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_bytes(path: str | Path, most: int) -> bytes:
    """The content of a regular file of at most ``most`` bytes. Raises ``OSError``, which names the file."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        content = file.read(size + 1) if size <= most else b""  # read(most) would allocate that much
        while size < len(content) <= most and (more := file.read(2**16)):  # it grows, or is in /proc, without a size
            content += more
    if max(size, len(content)) > most:
        raise OSError(errno.EFBIG, f"is larger than the limit of {most:,} bytes", str(path))
    return content


def read_text(path: str | Path, most: int = MOST_TEXT) -> str:
    """The text of a regular UTF-8 file of at most ``most`` bytes. Raises ``OSError`` or ``UnicodeDecodeError``."""
    return read_bytes(path, most).decode("utf-8")


def refuse_link(path: Path) -> None:
    """Raise ``OSError`` for a symbolic link, before ``path`` is written in place."""
    if path.is_symlink():
        raise OSError(errno.ELOOP, "is a link, which may lead to any file", str(path))


def finished_lines(path: Path) -> list[bytes]:
    """The lines of a file of JSON objects, with line ends, without a torn or blank end; none where there is no file.

    Raises ``OSError``.
    """
    lines = read_bytes(path, MOST_ROWS).splitlines(keepends=True) if path.exists() else []
    while lines and (is_torn(lines[-1]) or not lines[-1].strip()):
        lines.pop()
    return lines


def is_torn(line: bytes) -> bool:
    """Whether a line of a file of JSON objects was never finished, as after a kill or on a full disk.

    One that lacks its line end alone, as editors leave it, is finished: no part of an object is an object. A power
    failure may leave zeros in place of the last bytes.
    """
    return line.startswith((b"{", b"\0")) and not line.endswith(b"\n") and _object_in(line) is None


def read_row(line: bytes, path: Path, number: int) -> dict[str, Any]:
    """The object in a line. Raises :class:`~dond_marl.errors.InputError`, which names the file and the line."""
    row = _object_in(line)
    if row is None:
        raise InputError(
            f"{path}, line {number}: is no JSON object; name another file, restore this one, or delete that line"
        )
    return row


def _object_in(line: bytes) -> dict[str, Any] | None:
    with suppress(ValueError, RecursionError):
        row = json.loads(line)
        return row if isinstance(row, dict) else None
    return None


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines: of :func:`finished_lines`. Raises as :func:`read_row`, and ``OSError``."""
    return [read_row(line, path, number) for number, line in enumerate(finished_lines(path), start=1)]


def append_lines(
    path: Path, lines: Iterable[str], check: Callable[[bytes, Path, int], object] = lambda *_: None
) -> list[bytes]:
    """Add JSON objects, each in a line, and return the earlier lines; several processes may. A torn line is cut off.

    They are on disk when it returns. ``check`` is called with each earlier line, the file and the line's number before
    anything is added. Raises ``OSError``.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    refuse_link(path)
    with path.open("ab") as file:
        with suppress(ImportError, OSError):  # a system or a file system without locks: one writer is assumed
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        size, earlier = file.seek(0, os.SEEK_END), finished_lines(path)  # in this order: others may append meanwhile
        for number, line in enumerate(earlier, start=1):
            check(line, path, number)
        if (finished := sum(map(len, earlier))) < size:
            file.truncate(finished)
        start = "\n" if earlier and not earlier[-1].endswith(b"\n") else ""
        file.write((start + "".join(f"{line}\n" for line in lines)).encode())
        file.flush()
        os.fsync(file.fileno())
    return earlier


def remove_temporaries(folder: Path) -> None:
    """Delete what kills left of :func:`atomic_replace` in ``folder``; call it under the lock of its writers."""
    for path in folder.glob(f".*.{'[0-9a-f]' * 16}.tmp"):
        with suppress(OSError):
            path.unlink()


@contextmanager
def atomic_replace(path: Path) -> Iterator[Path]:
    """A new file in the same folder: it replaces ``path``, also a link, when the block ends without an error.

    A reader, or a kill at any moment, finds either the complete old file or the complete new one. An ``OSError`` names
    ``path``.
    """
    # An unpredictable name, and never an existing file: a link under it would be written through.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        temporary.touch(exist_ok=False)
        yield temporary
        temporary.replace(path)
    except OSError as error:  # for example of a full disk, which names no file
        if error.filename in (None, temporary, str(temporary)):
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        with suppress(OSError):  # it does not exist, or the folder is read-only
            temporary.unlink()
