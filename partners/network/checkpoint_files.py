"""The two files of a checkpoint, ``NAME.json`` and ``NAME.safetensors``, read and checked without PyTorch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

from dond_marl.errors import InputError, quote
from dond_marl.files import open_regular, read_bytes, user_path
from partners.network.shape import Head, History, NetworkShape

LARGEST_NOTE, LARGEST_TENSORS = 2**20, 2**30  # bytes: networks of this project have at most some MiB
FORMAT = 1  # raised whenever an older reader would misread a checkpoint
NETWORK_KEYS = ("format", "sha256", "layout", "network")  # keys of a note that its tensors confirm
NETWORK = "network."  # prefix of the network's tensor names


class CheckpointError(InputError):
    """A checkpoint that is missing, damaged, or made for other features; the message says which and what to do."""


def read_pair(path: Path) -> tuple[bytes, dict[str, Any]]:
    """The bytes of the tensors and the note ``path`` (a ``.json``), checked against each other.

    A note without its own checksum was written or changed by hand: only the keys that describe the network are used,
    not its provenance or its counters. Raises :class:`CheckpointError`.
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
    if type(version) is not int or version != FORMAT:  # true and 1.0 are equal to 1
        raise CheckpointError(f"{path}: checkpoint format {quote(version)}, this build reads {FORMAT}; train it anew")
    if "note_sha256" not in about:
        about = {name: about[name] for name in NETWORK_KEYS if name in about}
    elif about["note_sha256"] != digest_of_note(about):
        raise CheckpointError(f"{path}: damaged: its SHA-256 differs from the one in it; restore a copy")
    return _content(path, about.get("sha256")), about


def shape_of(about: Mapping[str, Any], where: str) -> NetworkShape:
    """The network shape in a note. Raises :class:`CheckpointError`, also for features of another build."""
    layout = about.get("layout")
    try:
        fields = dict(about["network"])
        lists = {"hidden": tuple(fields["hidden"]), "members": tuple(fields.get("members", ()))}
        shape = NetworkShape(**{**fields, **lists})
        if not isinstance(shape.sorted_items, bool) or not isinstance(shape.beliefs, bool):
            raise TypeError(f"sorted_items={shape.sorted_items!r}, beliefs={shape.beliefs!r}")
        if not all(isinstance(name, str) for name in shape.members):
            raise TypeError(f"members={shape.members!r}")
        if shape.history not in get_args(History) or shape.head not in get_args(Head):
            raise TypeError(f"history={shape.history!r}, head={shape.head!r}")
        expected = shape.adapter.name
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{where}: describes no network of this build ({quote(error)}); train it anew") from None
    if layout != expected:
        raise CheckpointError(f"{where}: reads features {quote(layout)}, this build makes {expected!r}; train it anew")
    return shape


def _content(path: Path, sha256: object) -> bytes:
    """The bytes of the tensors that ``path`` names; after a late kill they are still in the pending file."""
    try:
        for file in (pending_path(path), tensors_path(path)):
            content = read_bytes(file, LARGEST_TENSORS) if file.is_file() else b""
            if hashlib.sha256(content).hexdigest() == sha256:
                return content
    except OSError as error:
        raise CheckpointError(f"{error.filename}: cannot be read ({error}); restore a copy") from None
    tensors = tensors_path(path)
    if not tensors.exists():
        raise CheckpointError(f"{tensors}: missing next to {path.name}; restore a copy or take another checkpoint")
    problem = _other_kind(tensors, ".safetensors") or f"damaged: its SHA-256 differs from the one in {path.name}"
    raise CheckpointError(f"{tensors}: {problem}; restore a copy")


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
