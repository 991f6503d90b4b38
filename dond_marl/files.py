"""Reading of files that may come from another person: regular files only, and no more than a bound.

A FIFO would block its reader for ever, and a device such as ``/dev/zero`` has no end.
"""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

MOST_TEXT = 64 * 2**20  # bytes of a text file without a bound of its own


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
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"is larger than the limit of {most:,} bytes", str(path))
    return content


def read_text(path: str | Path, most: int = MOST_TEXT) -> str:
    """The text of a regular UTF-8 file of at most ``most`` bytes. Raises ``OSError`` or ``UnicodeDecodeError``."""
    return read_bytes(path, most).decode("utf-8")
