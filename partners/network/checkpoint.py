"""Weights on disk: tensors in safetensors with a note of what they are, in one of two containers.

A checkpoint is a pair of files: ``NAME.json`` holds the note and the checksum of ``NAME.safetensors``, which waits
under another name until the note is on disk, so that whatever interrupts a save leaves the old checkpoint or the new
one, whole. A packed blob is one piece with the note in safetensors' own header. Nothing is unpickled.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from dond_marl.errors import InputError
from dond_marl.records.files import write_durably
from partners.network.network import NetworkShape, PolicyNetwork

LARGEST_NOTE, LARGEST_TENSORS = 2**20, 2**30  # bytes: networks of this project have at most some MiB
FORMAT = 1  # raised whenever an older reader would misread a checkpoint
ABOUT = "about"  # the key of a blob's note in safetensors' header
NETWORK = "network."  # before the names of the network's tensors


class CheckpointError(InputError):
    """A checkpoint that is missing, damaged, or made for other features. The message says which and what to do."""


class Weights(NamedTuple):
    """Tensors by name, on the CPU, and the note of what they are."""

    tensors: dict[str, Tensor]
    about: dict[str, Any]
    where: str  # the file that they were read from, for messages

    def network(self) -> PolicyNetwork:
        """The network that they hold. Raises :class:`CheckpointError`, also where its features have changed meaning."""
        where, layout = self.where, self.about.get("layout")
        try:
            noted = dict(self.about["network"])
            shape = NetworkShape(**{**noted, "hidden": tuple(noted["hidden"])})
            if not isinstance(shape.sorted_items, bool):
                raise TypeError(f"sorted_items={shape.sorted_items!r}")
            made = shape.adapter.name
            network = PolicyNetwork(shape, seed=None) if layout == made else None
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise CheckpointError(f"{where}: describes no network of this build ({error!r}); train it anew") from None
        if network is None:
            raise CheckpointError(f"{where}: reads features {layout!r}, this build makes {made!r}; train it anew")
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
    note["note_sha256"] = _digest_of_note(note)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_durably(_waiting(path), content)
    _sync(path.parent)
    write_durably(path, (json.dumps(note, indent=2, sort_keys=True) + "\n").encode())
    _sync(path.parent)
    _waiting(path).replace(_tensors_of(path))
    _sync(path.parent)


def load_checkpoint(path: Path) -> Weights:
    """What :func:`save_checkpoint` wrote. Raises :class:`CheckpointError`."""
    try:
        about = json.loads(_read(path, LARGEST_NOTE))
    except FileNotFoundError as error:
        raise CheckpointError(f"{error.filename}: no such checkpoint; name the .json of one that was saved") from None
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: cannot be read ({error}); restore a copy or take another one") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        version = about.get("format") if isinstance(about, dict) else about
        raise CheckpointError(f"{path}: checkpoint format {version!r}, this build reads {FORMAT}; train it anew")
    if about.get("note_sha256", _digest_of_note(about)) != _digest_of_note(about):  # absent from one written by hand
        raise CheckpointError(f"{path}: damaged: its SHA-256 is not the one that it names; restore a copy")
    return Weights(_tensors_in(_content(path, about.get("sha256")), _tensors_of(path)), about, str(path))


def pack(tensors: Mapping[str, Tensor], about: Mapping[str, Any] | None = None) -> bytes:
    """Tensors and their note in one piece, the same bytes for the same tensors and note."""
    note = {ABOUT: json.dumps(about or {}, sort_keys=True)}
    return safetensors.torch.save({name: tensor.contiguous() for name, tensor in tensors.items()}, note)


def unpack(content: bytes, path: Path) -> Weights:
    """What :func:`pack` packed; ``path`` is where it was read. Raises :class:`CheckpointError`."""
    tensors = _tensors_in(content, path)
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])  # its length, then JSON
    return Weights(tensors, json.loads(header["__metadata__"][ABOUT]), str(path))


def part_of(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose names begin with ``prefix``, by the rest of their names."""
    return {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}


def describe(network: PolicyNetwork) -> dict[str, Any]:
    """What must be noted of a network so that :meth:`Weights.network` can build it again."""
    shape = network.shape
    return {"layout": shape.adapter.name, "network": {**asdict(shape), "hidden": list(shape.hidden)}}


def _content(path: Path, sha256: object) -> bytes:
    """The bytes of the tensors that ``path`` names; a save that was killed late has left them in the waiting file."""
    try:
        for file in (_waiting(path), _tensors_of(path)):
            content = _read(file, LARGEST_TENSORS) if file.is_file() else b""
            if hashlib.sha256(content).hexdigest() == sha256:
                return content
    except OSError as error:
        raise CheckpointError(f"{error.filename}: cannot be read ({error}); restore a copy") from None
    tensors = _tensors_of(path)
    if not tensors.exists():
        raise CheckpointError(f"{tensors}: missing beside {path.name}; restore a copy or take another checkpoint")
    raise CheckpointError(f"{tensors}: damaged: its SHA-256 is not the one in {path.name}; restore a copy")


def _read(file: Path, most: int) -> bytes:
    """A regular file of at most ``most`` bytes: a device or a pipe could go on for ever. Raises ``OSError``."""
    status = file.stat()
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder", str(file))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "is no regular file", str(file))
    if status.st_size > most:
        raise OSError(errno.EFBIG, f"holds {status.st_size:,} bytes, more than the {most:,} that are read", str(file))
    return file.read_bytes()


def _tensors_in(content: bytes, path: Path) -> dict[str, Tensor]:
    try:
        return safetensors.torch.load(content)
    except (SafetensorError, ValueError) as error:
        raise CheckpointError(f"{path}: cannot be read ({error}); restore a copy") from None


def _tensors_of(path: Path) -> Path:
    return path.with_suffix(".safetensors")


def _waiting(path: Path) -> Path:
    return path.with_suffix(".safetensors.new")


def _digest_of_note(note: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in note.items() if name != "note_sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _sync(folder: Path) -> None:
    """Flush the renames in ``folder`` to disk."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
