"""The folder that a hub takes: it holds what was written for the hub and nothing else, for all of it is uploaded."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from dond_marl.errors import InputError


def ours(folder: Path, names: Collection[str]) -> None:
    """Raise :class:`InputError` where ``folder`` is a file, or holds what is not in ``names``.

    ``names``: the files that are written, by their paths in the folder; a folder that holds them is written again.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--out {folder}: is a file; name a folder, which is made if need be")
    known = {Path(name) for name in names}
    for path in folder.rglob("*"):
        if not path.is_dir() and path.relative_to(folder) not in known:
            raise InputError(
                f"--out {folder}: holds {path.relative_to(folder)}, which would be uploaded too; name a new folder, or "
                "one that dond push wrote"
            )
    if (folder / "README.md").is_file() and not all((folder / name).is_file() for name in names):
        raise InputError(f"--out {folder}: holds a README.md of something else; name a new folder")
