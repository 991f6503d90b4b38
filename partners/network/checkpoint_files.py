"""The two files of a checkpoint, ``NAME.json`` and ``NAME.safetensors``, read and checked without PyTorch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dond_marl.errors import InputError, quote
from dond_marl.files import open_regular, read_bytes, user_path
from partners.network.shape import NetworkShape

LARGEST_NOTE, LARGEST_TENSORS = 2**20, 2**30  # bytes: networks of this project have at most some MiB
FORMAT = 1  # raised whenever an older reader would misread a checkpoint
NETWORK = "network."  # prefix of the network's tensor names


class CheckpointError(InputError):
    """A checkpoint that is missing, damaged, or made for other features; the message says which and what to do."""


def read_pair(path: Path) -> tuple[bytes, dict[str, Any]]:
    """The bytes of the tensors and the note ``path`` (a ``.json``), both checked against the note's checksums.

    Raises :class:`CheckpointError`.
    """
    path = user_path(path)
    try:
        about = json.loads(read_bytes(path, LARGEST_NOTE))
    except FileNotFoundError as error:
        raise CheckpointError(f"{error.filename}: no such checkpoint; name the .json of one that was saved") from None
    except (OSError, ValueError, RecursionError) as error:
        problem = _other_kind(path, ".json") or f"cannot be read ({error}); restore a copy or take another one"
        raise CheckpointError(f"{path}: {problem}") from None
    version = about.get("format", "(none)") if isinstance(about, dict) else about
    if version != FORMAT:
        raise CheckpointError(f"{path}: checkpoint format {quote(version)}, this build reads {FORMAT}; train it anew")
    if about.get("note_sha256") != digest_of_note(about):
        raise CheckpointError(f"{path}: damaged: its SHA-256 differs from the one in it; restore a copy")
    return _content(path, about["sha256"]), about


def shape_of(about: Mapping[str, Any], where: str) -> NetworkShape:
    """The network shape in a note. Raises :class:`CheckpointError`, also for features of another build."""
    layout = about.get("layout")
    try:
        fields = dict(about["network"])
        lists = {"hidden": tuple(fields["hidden"]), "members": tuple(fields.get("members", ()))}
        shape = NetworkShape(**{**fields, **lists})
        expected = shape.adapter.name
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{where}: describes no network of this build ({quote(error)}); train it anew") from None
    if layout != expected:
        raise CheckpointError(f"{where}: reads features {quote(layout)}, this build makes {expected!r}; train it anew")
    return shape


def _content(path: Path, sha256: object) -> bytes:
    """The bytes of the tensors of the note ``path``, whose checksum is ``sha256``; pending after a killed save."""
    tensors = tensors_path(path)
    with suppress(OSError):
        content = read_bytes(pending_path(path), LARGEST_TENSORS)
        if hashlib.sha256(content).hexdigest() == sha256:
            return content
    try:
        content = read_bytes(tensors, LARGEST_TENSORS)
    except FileNotFoundError:
        raise CheckpointError(
            f"{tensors}: missing next to {path.name}; restore a copy or take another checkpoint"
        ) from None
    except OSError as error:
        raise CheckpointError(f"{error.filename}: cannot be read ({error}); restore a copy") from None
    if hashlib.sha256(content).hexdigest() != sha256:
        problem = _other_kind(tensors, ".safetensors") or f"damaged: its SHA-256 differs from the one in {path.name}"
        raise CheckpointError(f"{tensors}: {problem}; restore a copy")
    return content


def _other_kind(path: Path, needed: str) -> str:
    """The kind of file that ``path`` is by its first bytes, if not the ``needed`` one; otherwise empty."""
    signs = {b"{": ".json", b"PK": "zip archive (Stable-Baselines3, PyTorch)", b"\x80": "pickle (PyTorch)"}
    with suppress(OSError), open_regular(path) as file:
        start = file.read(9)
        actual = ".safetensors" if start[4:] == b"\0\0\0\0{" else needed
        actual = next((kind for sign, kind in signs.items() if start.startswith(sign)), actual)
        return f"a {actual}, not the {needed} of a checkpoint" * (actual != needed)
    return ""


def tensors_path(path: Path) -> Path:
    """The path of the tensors of the note ``path``."""
    return path.with_suffix(".safetensors")


def pending_path(path: Path) -> Path:
    """The path of the tensors until the note ``path`` is on disk."""
    return path.with_suffix(".safetensors.new")


def digest_of_note(note: Mapping[str, Any]) -> str:
    """The SHA-256 of a note without its own checksum."""
    content = {name: value for name, value in note.items() if name != "note_sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
