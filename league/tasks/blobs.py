"""Weights of a league: files named by the SHA-256 of their content, so that nothing is ever overwritten or mixed up.

What is inside is :func:`partners.network.checkpoint.pack`'s. The acts that a learner's average is learned from are many
times larger than its weights, so they are a blob of their own, which the learner's names, and only the newest is kept.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from dond_marl.errors import RunFailure
from dond_marl.records.files import write_durably

if TYPE_CHECKING:
    from partners.network.checkpoint import Weights

SUFFIX = ".safetensors"
KEPT = "reservoir"  # in a blob's note: the name of the blob with the acts that the learner goes on with


class BlobError(RunFailure):
    """Weights that the ledger names are missing or damaged. The message says which and what to do."""


def name_of(content: bytes) -> str:
    """The name of a blob: the SHA-256 of its content, 64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def write_blob(folder: Path, content: bytes) -> str:
    """Put a blob into ``folder``, whole or not at all; its name.

    One that is there already is left alone, unless it is damaged: a round that is played again mends what it left.
    """
    name = name_of(content)
    path = folder / (name + SUFFIX)
    if not path.is_file() or path.read_bytes() != content:
        folder.mkdir(parents=True, exist_ok=True)
        write_durably(path, content)
    return name


def read_content(folder: Path, name: str) -> bytes:
    """A blob, once its content is known to be what its name says. Raises :class:`BlobError`."""
    path = folder / (name + SUFFIX)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BlobError(f"{path}: cannot be read ({error.strerror}); restore it from a copy of the run") from error
    if name_of(content) != name:
        raise BlobError(f"{path}: damaged: its content is not what its name says; restore it from a copy of the run")
    return content


def read_blob(folder: Path, name: str) -> Weights:
    """The weights in a blob. Raises :class:`BlobError`."""
    from partners.network.checkpoint import unpack  # loads PyTorch

    return unpack(read_content(folder, name), folder / (name + SUFFIX))


def reservoir_of(folder: Path, name: str) -> str | None:
    """The blob of the acts that the learner of the blob ``name`` goes on with; ``None`` where it has none of its own.

    Raises :class:`BlobError`.
    """
    kept = read_blob(folder, name).about.get(KEPT)
    return None if kept is None else str(kept)


def forget_reservoir(folder: Path, before: str, now: str) -> None:
    """Delete the acts that the learner of the blob ``before`` went on with, now that it has come to the blob ``now``.

    Who needs them again, because later blobs are damaged, goes back to a round before there were any. Of a blob
    ``before`` that cannot be read, which no round needs any more, they stay.
    """
    try:
        old = reservoir_of(folder, before)
    except BlobError:
        return
    if old is not None and old != reservoir_of(folder, now):
        (folder / (old + SUFFIX)).unlink(missing_ok=True)
