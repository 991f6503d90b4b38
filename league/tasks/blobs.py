"""Weights of a league: files named by the SHA-256 of their content, so that nothing is ever overwritten or mixed up."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dond_marl.errors import RunFailure

if TYPE_CHECKING:
    from torch import Tensor

    from partners.network.network import PolicyNetwork

SUFFIX = ".safetensors"
ABOUT = "about"


class BlobError(RunFailure):
    """Weights that the ledger names are missing or damaged. The message says which and what to do."""


def pack(tensors: Mapping[str, Tensor], about: Mapping[str, Any] | None = None) -> bytes:
    """Tensors and what they are as bytes, the same for the same tensors."""
    import safetensors.torch  # loads PyTorch

    note = {ABOUT: json.dumps(about or {}, sort_keys=True)}
    return safetensors.torch.save({name: tensor.contiguous() for name, tensor in tensors.items()}, note)


def name_of(content: bytes) -> str:
    """The name of a blob."""
    return hashlib.sha256(content).hexdigest()


def write_blob(folder: Path, content: bytes) -> str:
    """Put a blob into ``folder``, whole or not at all; its name. One that is there already is left alone."""
    name = name_of(content)
    path = folder / (name + SUFFIX)
    if path.is_file() and path.stat().st_size == len(content):
        return name
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f".{name}.{os.getpid()}.tmp"
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
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


def read_blob(folder: Path, name: str) -> dict[str, Tensor]:
    """The tensors of a blob. Raises :class:`BlobError`."""
    import safetensors.torch  # loads PyTorch

    return safetensors.torch.load(read_content(folder, name))


def read_network(folder: Path, name: str) -> PolicyNetwork:
    """The network of a learner's blob. Raises :class:`BlobError` or :class:`partners.network.checkpoint.CheckpointError`."""
    import safetensors.torch  # loads PyTorch

    from partners.network.checkpoint import network_of

    content = read_content(folder, name)
    return network_of(safetensors.torch.load(content), about(content), str(folder / (name + SUFFIX)))


def about(content: bytes) -> dict[str, Any]:
    """What was noted of a blob's tensors; the format's header is a length and JSON."""
    length = int.from_bytes(content[:8], "little")
    note: dict[str, Any] = json.loads(json.loads(content[8 : 8 + length])["__metadata__"][ABOUT])
    return note
