"""Weights on disk: tensors in safetensors, what they are in JSON beside them, verified by SHA-256 before use.

``NAME.json`` is written last and names the checksum of ``NAME.safetensors``: a checkpoint exists whole or not at all.
Nothing is unpickled.
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

from partners.network import NetworkShape, PolicyNetwork

FORMAT = 1  # raised whenever an older reader would misread a checkpoint


class CheckpointError(ValueError):
    """A checkpoint that is missing, damaged, or made for other features. The message says which and what to do."""


def save_checkpoint(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write ``path`` (a ``.json``) and the tensors beside it, each to a temporary name, synced, then renamed."""
    content = safetensors.torch.save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})
    note = {"format": FORMAT, "sha256": hashlib.sha256(content).hexdigest(), **about}
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(_tensors_of(path), content)
    _write(path, (json.dumps(note, indent=2, sort_keys=True) + "\n").encode())


def load_checkpoint(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors, on the CPU, and what was noted of them. Raises :class:`CheckpointError`."""
    try:
        about = json.loads(path.read_bytes())
        content = _tensors_of(path).read_bytes()
    except FileNotFoundError as error:
        raise CheckpointError(f"{error.filename}: no such checkpoint; name the .json of one that was saved") from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: cannot be read ({error}); restore a copy or take another one") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        found = about.get("format") if isinstance(about, dict) else about
        raise CheckpointError(f"{path}: checkpoint format {found!r}, this build reads {FORMAT}; train it anew")
    if hashlib.sha256(content).hexdigest() != about.get("sha256"):
        raise CheckpointError(
            f"{_tensors_of(path)}: damaged: its SHA-256 is not the one in {path.name}; restore a copy"
        )
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
        network = PolicyNetwork(NetworkShape(**{**noted, "hidden": tuple(noted["hidden"])}))
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{where}: describes no network of this build ({error!r}); train it anew") from None
    made = network.shape.adapter.name
    if about.get("layout") != made:
        raise CheckpointError(
            f"{where}: reads features {about.get('layout')!r}, this build makes {made!r}; train it anew"
        )
    weights = {name.removeprefix("network."): value for name, value in tensors.items() if name.startswith("network.")}
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise CheckpointError(f"{where}: its weights do not fit the network that it describes: {error}") from None
    if not all(torch.isfinite(value).all() for value in weights.values()):
        raise CheckpointError(f"{where}: holds weights that are not finite; take an earlier checkpoint")
    return network


def _tensors_of(path: Path) -> Path:
    return path.with_suffix(".safetensors")


def _write(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # the rename itself must be on disk before the next file says that it is
        finally:
            os.close(folder)
    finally:
        temporary.unlink(missing_ok=True)
