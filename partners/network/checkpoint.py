"""Weights on disk: tensors in safetensors, what they are in JSON beside them, both verified by SHA-256 before use.

``NAME.json`` names the checksum of ``NAME.safetensors``, which waits under another name until that is on disk: whatever
interrupts a save leaves the old checkpoint or the new one, whole. Nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from dond_marl.errors import InputError
from partners.network.network import NetworkShape, PolicyNetwork

FORMAT = 1  # raised whenever an older reader would misread a checkpoint


class CheckpointError(InputError):
    """A checkpoint that is missing, damaged, or made for other features. The message says which and what to do."""


def save_checkpoint(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write ``path`` (a ``.json``) and the tensors beside it; from the moment that ``path`` is there they count."""
    content = safetensors.torch.save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})
    note = {**about, "format": FORMAT, "sha256": hashlib.sha256(content).hexdigest()}
    note["note_sha256"] = _digest_of_note(note)
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(_waiting(path), content)
    _write(path, (json.dumps(note, indent=2, sort_keys=True) + "\n").encode())
    _waiting(path).replace(_tensors_of(path))
    _sync(path.parent)


def load_checkpoint(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors, on the CPU, and what was noted of them. Raises :class:`CheckpointError`."""
    try:
        about = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise CheckpointError(f"{error.filename}: no such checkpoint; name the .json of one that was saved") from None
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: cannot be read ({error}); restore a copy or take another one") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        found = about.get("format") if isinstance(about, dict) else about
        raise CheckpointError(f"{path}: checkpoint format {found!r}, this build reads {FORMAT}; train it anew")
    if about.get("note_sha256", _digest_of_note(about)) != _digest_of_note(about):  # absent from one written by hand
        raise CheckpointError(f"{path}: damaged: its SHA-256 is not the one that it names; restore a copy")
    content = _content(path, about.get("sha256"))
    try:
        return safetensors.torch.load(content), about
    except (SafetensorError, ValueError) as error:
        raise CheckpointError(f"{_tensors_of(path)}: cannot be read ({error}); restore a copy") from None


def describe(network: PolicyNetwork) -> dict[str, Any]:
    """What must be noted of a network so that :func:`load_network` can build it again."""
    shape = network.shape
    return {
        "layout": shape.adapter.name,
        "network": {
            "max_count": shape.max_count,
            "max_turns": shape.max_turns,
            "partner_utilities": shape.partner_utilities,
            "hints": shape.hints,
            "hidden": list(shape.hidden),
            "sorted_items": shape.sorted_items,
        },
    }


def load_network(path: Path) -> PolicyNetwork:
    """The network of a checkpoint. Raises :class:`CheckpointError`, also where its features mean something else now."""
    tensors, about = load_checkpoint(path)
    return network_of(tensors, about, str(path))


def network_of(tensors: Mapping[str, Tensor], about: Mapping[str, Any], where: str) -> PolicyNetwork:
    """The network in a checkpoint's tensors; ``where`` names it in a message."""
    try:
        noted = dict(about["network"])
        shape = NetworkShape(**{**noted, "hidden": tuple(noted["hidden"])})
        if not isinstance(shape.sorted_items, bool):
            raise TypeError(f"sorted_items={shape.sorted_items!r}")
        made = shape.adapter.name
        if about.get("layout") != made:
            raise CheckpointError(
                f"{where}: reads features {about.get('layout')!r}, this build makes {made!r}; train it anew"
            )
        network = PolicyNetwork(shape, seed=None)
    except CheckpointError:
        raise
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"{where}: describes no network of this build ({error!r}); train it anew") from None
    weights = {name.removeprefix("network."): value for name, value in tensors.items() if name.startswith("network.")}
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise CheckpointError(f"{where}: its weights do not fit the network that it describes: {error}") from None
    if not all(torch.isfinite(value).all() for value in weights.values()):
        raise CheckpointError(f"{where}: holds weights that are not finite; take an earlier checkpoint")
    return network


def _content(path: Path, sha256: object) -> bytes:
    """The bytes of the tensors that ``path`` names; a save that was killed late has left them where they waited."""
    try:
        for file in (_waiting(path), _tensors_of(path)):
            content = file.read_bytes() if file.is_file() else b""
            if hashlib.sha256(content).hexdigest() == sha256:
                return content
    except OSError as error:
        raise CheckpointError(f"{error.filename}: cannot be read ({error}); restore a copy") from None
    tensors = _tensors_of(path)
    if not tensors.exists():
        raise CheckpointError(f"{tensors}: missing beside {path.name}; restore a copy or take another checkpoint")
    raise CheckpointError(f"{tensors}: damaged: its SHA-256 is not the one in {path.name}; restore a copy")


def _tensors_of(path: Path) -> Path:
    return path.with_suffix(".safetensors")


def _waiting(path: Path) -> Path:
    return path.with_suffix(".safetensors.new")


def _digest_of_note(note: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in note.items() if name != "note_sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _write(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    """Have the renames in ``folder`` on disk before the next file says that they are."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
