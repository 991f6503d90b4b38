"""Files in folders that may come from another person: reading within a bound, and writing that follows no link.

Only regular files are read: a FIFO would block its reader for ever, and a device such as ``/dev/zero`` has no end. A
link in such a folder may lead to any file of the user: it is replaced or refused, never written through.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Literal

from dond_marl.errors import InputError, quote

MOST_TEXT = 64 * 2**20  # bytes of a text file without a bound of its own


def user_path(path: str | Path) -> Path:
    """A path that a user wrote, with ``~`` and ``~name`` replaced. Raises :class:`~dond_marl.errors.InputError`."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise InputError(f"{quote(str(path))}: there is no such home folder; write the path in full") from None


def user_folder(kind: Literal["cache", "config"]) -> Path:
    """This project's folder in the user's cache or configuration (XDG base directory specification).

    ``$DOND_MARL_CACHE`` or ``$DOND_MARL_HOME`` names another one; relative values are ignored, as in the specification.
    Raises :class:`~dond_marl.errors.InputError`.
    """
    own = "DOND_MARL_CACHE" if kind == "cache" else "DOND_MARL_HOME"
    shared = os.environ.get(f"XDG_{kind.upper()}_HOME")
    for place, inside in ((os.environ.get(own), ""), (shared, "dond-marl"), ("~", f".{kind}/dond-marl")):
        with suppress(InputError):
            if (folder := user_path(place or "")).is_absolute():
                return folder / inside
    raise InputError(f"there is no home folder here: set {own} to the absolute path of a folder")


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
        large = os.fstat(file.fileno()).st_size > most  # refused unread
        content = b"" if large else file.read(most + 1)
    if large or len(content) > most:
        raise OSError(errno.EFBIG, f"is larger than the limit of {most:,} bytes", str(path))
    return content


def read_text(path: str | Path, most: int = MOST_TEXT) -> str:
    """The text of a regular UTF-8 file of at most ``most`` bytes. Raises ``OSError`` or ``UnicodeDecodeError``."""
    return read_bytes(path, most).decode("utf-8")


def refuse_link(path: Path) -> None:
    """Raise ``OSError`` for a symbolic link, before ``path`` is written in place."""
    if path.is_symlink():
        raise OSError(errno.ELOOP, "is a link, which may lead to any file", str(path))


@contextmanager
def atomic_replace(path: Path) -> Iterator[Path]:
    """A new file in the same folder: it replaces ``path``, also a link, when the block ends without an error.

    A reader, or a kill at any moment, finds either the complete old file or the complete new one. An ``OSError`` names
    ``path``.
    """
    # A name that cannot be foreseen, and never an existing file: a link under it would be written through.
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
