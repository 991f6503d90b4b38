"""Checkpoints and blobs: tensors in safetensors, with a JSON note.

A checkpoint is two files: ``NAME.json`` holds the note and the checksum of ``NAME.safetensors``. The tensors are
written under a pending name first, so that an interrupted save leaves either the old checkpoint or the new one. A blob
is one file with the note in safetensors' header. Nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from dond_marl.errors import quote
from dond_marl.records.files import write_durably
from partners.network.checkpoint_files import FORMAT as FORMAT
from partners.network.checkpoint_files import LARGEST_NOTE as LARGEST_NOTE
from partners.network.checkpoint_files import LARGEST_TENSORS as LARGEST_TENSORS
from partners.network.checkpoint_files import NETWORK as NETWORK
from partners.network.checkpoint_files import CheckpointError as CheckpointError
from partners.network.checkpoint_files import digest_of_note, pending_path, read_pair, shape_of, tensors_path
from partners.network.network import PolicyNetwork

ABOUT = "about"  # key of a blob's note in safetensors' header


class Weights(NamedTuple):
    """Tensors by name, on the CPU, and their note."""

    tensors: dict[str, Tensor]
    about: dict[str, Any]
    where: str  # the file, for messages

    def network(self) -> PolicyNetwork:
        """The policy network. Raises :class:`CheckpointError`, also if its features are not those of this build."""
        where = self.where
        shape = shape_of(self.about, where)
        try:
            network = PolicyNetwork(shape, seed=None)
        except (TypeError, ValueError, RuntimeError) as error:
            raise CheckpointError(f"{where}: describes no network of this build ({error!r}); train it anew") from None
        tensors = with_prefix(self.tensors, NETWORK)
        try:
            network.load_state_dict(tensors)
        except RuntimeError as error:
            raise CheckpointError(f"{where}: its weights do not fit the network that it describes: {error}") from None
        if not all(torch.isfinite(value).all() for value in tensors.values()):
            raise CheckpointError(f"{where}: holds weights that are not finite; take an earlier checkpoint")
        return network


def save_checkpoint(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write ``path`` (a ``.json``) and the tensors next to it; valid as soon as ``path`` is on disk."""
    content = safetensors.torch.save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})
    note = {**about, "format": FORMAT, "sha256": hashlib.sha256(content).hexdigest()}
    note["note_sha256"] = digest_of_note(note)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_durably(pending_path(path), content)
    _sync(path.parent)
    write_durably(path, (json.dumps(note, indent=2, sort_keys=True) + "\n").encode())
    _sync(path.parent)
    pending_path(path).replace(tensors_path(path))
    _sync(path.parent)


def load_checkpoint(path: Path) -> Weights:
    """Read a checkpoint of :func:`save_checkpoint`. Raises :class:`CheckpointError`."""
    content, about = read_pair(path)
    return Weights(_tensors_in(content, tensors_path(path)), about, str(path))


def pack(tensors: Mapping[str, Tensor], about: Mapping[str, Any] | None = None) -> bytes:
    """A blob of tensors and their note: the same bytes for the same tensors and note."""
    note = {ABOUT: json.dumps(about or {}, sort_keys=True)}
    return safetensors.torch.save({name: tensor.contiguous() for name, tensor in tensors.items()}, note)


def unpack(content: bytes, path: Path) -> Weights:
    """Read a blob of :func:`pack`; ``path``: for messages. Raises :class:`CheckpointError`."""
    tensors = _tensors_in(content, path)
    try:
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])  # its length, then JSON
        about = json.loads(header["__metadata__"][ABOUT])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: its note cannot be read ({quote(str(error))}); restore a copy") from None
    if not isinstance(about, dict):
        raise CheckpointError(f"{path}: its note is no object but {quote(about)}; restore a copy")
    return Weights(tensors, about, str(path))


def with_prefix(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose names start with ``prefix``, by the rest of their names."""
    return {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}


def network_note(network: PolicyNetwork) -> dict[str, Any]:
    """The note from which :meth:`Weights.network` rebuilds a network of the same shape."""
    shape = network.shape
    return {"layout": shape.adapter.name, "network": shape.note()}


def _tensors_in(content: bytes, path: Path) -> dict[str, Tensor]:
    try:
        return safetensors.torch.load(content)
    except (SafetensorError, ValueError) as error:
        raise CheckpointError(f"{path}: cannot be read ({error}); restore a copy") from None


def _sync(folder: Path) -> None:
    """Flush renames in ``folder`` to disk, on systems where a folder can be opened (not Windows)."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
