"""Weights of a league: files named by the SHA-256 of their content, so that nothing is ever overwritten or mixed up.

The content is made by :func:`partners.network.checkpoint.pack`. The reservoir buffer of an NFSP learner (its own acts)
is many times larger than its weights: it is a blob of its own, named in the note of the learner's, and only the newest
is stored.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from dond_marl.errors import RunFailure, quote
from dond_marl.files import read_bytes
from dond_marl.records.files import write_durably

if TYPE_CHECKING:
    from partners.network.checkpoint import Weights

SUFFIX = ".safetensors"
MOST_WEIGHTS = 4 * 2**30  # bytes of a blob; a reservoir buffer is the largest
RESERVOIR_KEY = "reservoir"  # in a blob's note: the name of the blob with the learner's reservoir buffer


class BlobError(RunFailure):
    """Weights that the ledger names are missing or damaged. The message says which and what to do."""


def name_of(content: bytes) -> str:
    """The name of a blob: the SHA-256 of its content, 64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def blob_path(folder: Path, name: str) -> Path:
    """The file of a blob in ``folder``. Raises :class:`BlobError` for a name of another form: it may be a path."""
    if re.fullmatch("[0-9a-f]{64}", name) is None:
        raise BlobError(f"{folder}: {quote(name)} is no name of weights; restore a copy of the run")
    return folder / (name + SUFFIX)


def write_blob(folder: Path, content: bytes) -> str:
    """Write a blob into ``folder``, whole or not at all; returns its name.

    An existing file is left alone unless it is damaged: a round that is played again repairs its blobs.
    """
    name = name_of(content)
    try:
        read_content(folder, name)
    except BlobError:
        folder.mkdir(parents=True, exist_ok=True)
        write_durably(blob_path(folder, name), content)
    return name


def read_content(folder: Path, name: str) -> bytes:
    """The content of a blob, verified against its name. Raises :class:`BlobError`."""
    path = blob_path(folder, name)
    try:
        content = read_bytes(path, MOST_WEIGHTS)
    except OSError as error:
        raise BlobError(f"{path}: cannot be read ({error.strerror}); restore it from a copy of the run") from error
    if name_of(content) != name:
        raise BlobError(f"{path}: damaged: its content is not what its name says; restore it from a copy of the run")
    return content


def read_blob(folder: Path, name: str) -> Weights:
    """The weights in a blob. Raises :class:`BlobError`."""
    from partners.network.checkpoint import unpack  # loads PyTorch

    return unpack(read_content(folder, name), blob_path(folder, name))


def reservoir_of(folder: Path, name: str) -> str | None:
    """The blob with the reservoir buffer of the learner of the blob ``name``; ``None`` if it has none.

    Raises :class:`BlobError`.
    """
    blob = read_blob(folder, name).about.get(RESERVOIR_KEY)
    return None if blob is None else str(blob)


def forget_reservoir(folder: Path, before: str, after: str) -> None:
    """Delete the reservoir buffer of the learner's blob ``before``, once its blob is ``now``.

    If a later blob is damaged, the run rolls back past this point and rebuilds the buffer. If ``before`` cannot be
    read, its buffer is left in place.
    """
    try:
        reservoir = reservoir_of(folder, before)
        path = None if reservoir is None else blob_path(folder, reservoir)
    except BlobError:
        return
    if path is not None and reservoir != reservoir_of(folder, after):
        path.unlink(missing_ok=True)
