"""Checkpoints and blobs: tensors in safetensors, with a JSON note.

A checkpoint is two files: ``NAME.json`` holds the note and the checksum of ``NAME.safetensors``. New tensors are in a
third file until the note is on disk: an interrupted save leaves the old checkpoint or the new one. A blob is one file
with the note in safetensors' header. Nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from dond_marl.records.files import write_durably
from partners.network.checkpoint_files import FORMAT, digest_of_note, pending_path, read_pair, shape_of, tensors_path
from partners.network.checkpoint_files import NETWORK as NETWORK
from partners.network.checkpoint_files import CheckpointError as CheckpointError
from partners.network.network import PolicyNetwork

ABOUT = "about"  # key of a blob's note in safetensors' header


class Weights(NamedTuple):
    """Tensors by name, on the CPU, and their note."""

    tensors: dict[str, Tensor]
    about: dict[str, Any]
    where: str  # the file, for messages

    def network(self) -> PolicyNetwork:
        """The policy network. Raises :class:`CheckpointError`, also if its features are not those of this build."""
        network = PolicyNetwork(shape_of(self.about, self.where), seed=None)
        network.load_state_dict(with_prefix(self.tensors, NETWORK))
        return network


def save_checkpoint(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write ``path`` (a ``.json``) and the tensors next to it; valid as soon as ``path`` is on disk."""
    content = safetensors.torch.save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})
    note = {**about, "format": FORMAT, "sha256": hashlib.sha256(content).hexdigest()}
    note["note_sha256"] = digest_of_note(note)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_durably(pending_path(path), content)
    write_durably(path, (json.dumps(note, indent=2, sort_keys=True) + "\n").encode())
    pending_path(path).replace(tensors_path(path))


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
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])  # its length, then JSON
    return Weights(tensors, json.loads(header["__metadata__"][ABOUT]), str(path))


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
