"""The two files of a checkpoint, read and checked without PyTorch: ``NAME.json`` and ``NAME.safetensors``.

The note holds the checksum of the tensors, which wait under another name until the note is on disk. Nothing is
unpickled.
"""

from __future__ import annotations

import errno
import hashlib
import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from dond_marl.errors import InputError, shown
from partners.network.shape import Head, History, NetworkShape

LARGEST_NOTE, LARGEST_TENSORS = 2**20, 2**30  # bytes: networks of this project have at most some MiB
FORMAT = 1  # raised whenever an older reader would misread a checkpoint
OF_THE_NETWORK = ("format", "sha256", "layout", "network")  # of a note: what its tensors bear out
NETWORK = "network."  # before the names of the network's tensors


class CheckpointError(InputError):
    """A checkpoint that is missing, damaged, or made for other features. The message says which and what to do."""


def read_pair(path: Path) -> tuple[bytes, dict[str, Any]]:
    """The tensors' file, and the note ``path`` (a ``.json``), which fit together. Raises :class:`CheckpointError`.

    Of a note without its own checksum, which somebody wrote or changed by hand, only what describes the network is
    taken: who taught it and how far it had come is nobody's word.
    """
    try:
        about = json.loads(_read(path, LARGEST_NOTE))
    except FileNotFoundError as error:
        raise CheckpointError(f"{error.filename}: no such checkpoint; name the .json of one that was saved") from None
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: cannot be read ({error}); restore a copy or take another one") from None
    version = about.get("format") if isinstance(about, dict) else about
    if type(version) is not int or version != FORMAT:  # true and 1.0 are equal to 1
        raise CheckpointError(f"{path}: checkpoint format {shown(version)}, this build reads {FORMAT}; train it anew")
    if "note_sha256" not in about:
        about = {name: about[name] for name in OF_THE_NETWORK if name in about}
    elif about["note_sha256"] != digest_of_note(about):
        raise CheckpointError(f"{path}: damaged: its SHA-256 is not the one that it names; restore a copy")
    return _content(path, about.get("sha256")), about


def shape_of(about: Mapping[str, Any], where: str) -> NetworkShape:
    """The shape of the network that a note describes. Raises :class:`CheckpointError`, also for other features."""
    layout = about.get("layout")
    try:
        noted = dict(about["network"])
        lists = {"hidden": tuple(noted["hidden"]), "members": tuple(noted.get("members", ()))}
        shape = NetworkShape(**{**noted, **lists})
        if not isinstance(shape.sorted_items, bool) or not isinstance(shape.beliefs, bool):
            raise TypeError(f"sorted_items={shape.sorted_items!r}, beliefs={shape.beliefs!r}")
        if not all(isinstance(name, str) for name in shape.members):
            raise TypeError(f"members={shape.members!r}")
        if shape.history not in get_args(History) or shape.head not in get_args(Head):
            raise TypeError(f"history={shape.history!r}, head={shape.head!r}")
        made = shape.adapter.name
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{where}: describes no network of this build ({shown(error)}); train it anew") from None
    if layout != made:
        raise CheckpointError(f"{where}: reads features {shown(layout)}, this build makes {made!r}; train it anew")
    return shape


def _content(path: Path, sha256: object) -> bytes:
    """The bytes of the tensors that ``path`` names; a save that was killed late has left them in the waiting file."""
    try:
        for file in (waiting(path), tensors_of(path)):
            content = _read(file, LARGEST_TENSORS) if file.is_file() else b""
            if hashlib.sha256(content).hexdigest() == sha256:
                return content
    except OSError as error:
        raise CheckpointError(f"{error.filename}: cannot be read ({error}); restore a copy") from None
    tensors = tensors_of(path)
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


def tensors_of(path: Path) -> Path:
    """The file of the tensors beside the note ``path``."""
    return path.with_suffix(".safetensors")


def waiting(path: Path) -> Path:
    """Where the tensors wait until the note ``path`` is on disk."""
    return path.with_suffix(".safetensors.new")


def digest_of_note(note: Mapping[str, Any]) -> str:
    """The SHA-256 of a note, but for the checksum in it."""
    rest = {name: value for name, value in note.items() if name != "note_sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
