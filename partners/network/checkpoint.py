"""Weights on disk: tensors in safetensors with a note of what they are, in one of two containers.

A checkpoint is a pair of files: ``NAME.json`` holds the note and the checksum of ``NAME.safetensors``, which waits
under another name until the note is on disk, so that whatever interrupts a save leaves the old checkpoint or the new
one, whole. A packed blob is one piece with the note in safetensors' own header. Nothing is unpickled.
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

from dond_marl.errors import shown
from dond_marl.records.files import write_durably
from partners.network.checkpoint_files import FORMAT as FORMAT
from partners.network.checkpoint_files import LARGEST_NOTE as LARGEST_NOTE
from partners.network.checkpoint_files import LARGEST_TENSORS as LARGEST_TENSORS
from partners.network.checkpoint_files import NETWORK as NETWORK
from partners.network.checkpoint_files import CheckpointError as CheckpointError
from partners.network.checkpoint_files import digest_of_note, read_pair, shape_of, tensors_of, waiting
from partners.network.network import PolicyNetwork

ABOUT = "about"  # the key of a blob's note in safetensors' header


class Weights(NamedTuple):
    """Tensors by name, on the CPU, and the note of what they are."""

    tensors: dict[str, Tensor]
    about: dict[str, Any]
    where: str  # the file that they were read from, for messages

    def network(self) -> PolicyNetwork:
        """The network that they hold. Raises :class:`CheckpointError`, also where its features have changed meaning."""
        where = self.where
        shape = shape_of(self.about, where)
        try:
            network = PolicyNetwork(shape, seed=None)
        except (TypeError, ValueError, RuntimeError) as error:
            raise CheckpointError(f"{where}: describes no network of this build ({error!r}); train it anew") from None
        own = part_of(self.tensors, NETWORK)
        try:
            network.load_state_dict(own)
        except RuntimeError as error:
            raise CheckpointError(f"{where}: its weights do not fit the network that it describes: {error}") from None
        if not all(torch.isfinite(value).all() for value in own.values()):
            raise CheckpointError(f"{where}: holds weights that are not finite; take an earlier checkpoint")
        return network


def save_checkpoint(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write ``path`` (a ``.json``) and the tensors beside it; they are valid as soon as ``path`` is there."""
    content = safetensors.torch.save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})
    note = {**about, "format": FORMAT, "sha256": hashlib.sha256(content).hexdigest()}
    note["note_sha256"] = digest_of_note(note)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_durably(waiting(path), content)
    _sync(path.parent)
    write_durably(path, (json.dumps(note, indent=2, sort_keys=True) + "\n").encode())
    _sync(path.parent)
    waiting(path).replace(tensors_of(path))
    _sync(path.parent)


def load_checkpoint(path: Path) -> Weights:
    """What :func:`save_checkpoint` wrote. Raises :class:`CheckpointError`."""
    content, about = read_pair(path)
    return Weights(_tensors_in(content, tensors_of(path)), about, str(path))


def pack(tensors: Mapping[str, Tensor], about: Mapping[str, Any] | None = None) -> bytes:
    """Tensors and their note in one piece, the same bytes for the same tensors and note."""
    note = {ABOUT: json.dumps(about or {}, sort_keys=True)}
    return safetensors.torch.save({name: tensor.contiguous() for name, tensor in tensors.items()}, note)


def unpack(content: bytes, path: Path) -> Weights:
    """What :func:`pack` packed; ``path`` is where it was read. Raises :class:`CheckpointError`."""
    tensors = _tensors_in(content, path)
    try:
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])  # its length, then JSON
        about = json.loads(header["__metadata__"][ABOUT])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: its note cannot be read ({shown(str(error))}); restore a copy") from None
    if not isinstance(about, dict):
        raise CheckpointError(f"{path}: its note is no object but {shown(about)}; restore a copy")
    return Weights(tensors, about, str(path))


def part_of(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose names begin with ``prefix``, by the rest of their names."""
    return {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}


def describe(network: PolicyNetwork) -> dict[str, Any]:
    """What must be noted of a network so that :meth:`Weights.network` can build it again."""
    shape = network.shape
    return {"layout": shape.adapter.name, "network": shape.noted()}


def _tensors_in(content: bytes, path: Path) -> dict[str, Tensor]:
    try:
        return safetensors.torch.load(content)
    except (SafetensorError, ValueError) as error:
        raise CheckpointError(f"{path}: cannot be read ({error}); restore a copy") from None


def _sync(folder: Path) -> None:
    """Flush the renames in ``folder`` to disk, where the system lets a folder be opened; Windows does not."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
