"""Whom a visitor of the pages may name: the catalogue with plain parameters, and checkpoints under given folders.

A spec can hold a path or an address, and whoever makes it opens that file or asks that address, with the rights and the
keys of the person who started the pages. So these are closed unless that person says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dond_marl.occupants import OccupantNameError, check_spec, names_file, parse_spec
from partners.catalogue import PARTNERS

LONGEST_SPEC = 300  # characters
LARGEST_FILE = 64 * 2**20  # bytes of a checkpoint's weights; the shipped expert has less than 2 MiB
MOST_NAMED = 32  # occupants in a list
OPEN = "start the page with --open-paths to allow it"
FILES = ("checkpoint", "expert")  # whose ``path`` is a checkpoint


class Allowed(NamedTuple):
    """What specs may name: files under ``folders``, or ``anything`` that this machine reaches."""

    folders: tuple[Path, ...] = ()
    anything: bool = False

    def check(self, spec: str) -> None:
        """Raises :class:`~dond_marl.occupants.OccupantNameError` where a spec names what it may not, or nobody."""
        if len(spec) > LONGEST_SPEC:
            raise OccupantNameError(f"an occupant is written in at most {LONGEST_SPEC} characters; got {len(spec):,}")
        if not self.anything and ".py:" in spec:  # before anything is looked up: looking up runs the file
            raise OccupantNameError(f"code in a file is not run here: {OPEN}")
        check_spec(spec)
        if not self.anything:
            self._check(spec)

    def _check(self, spec: str | Mapping[str, Any]) -> None:
        kind, parameters = parse_spec(spec)
        if names_file(kind):  # within another, where a text may be written with escapes
            raise OccupantNameError(f"code in a file is not run here: {OPEN}")
        if kind == "llm" and parameters:
            raise OccupantNameError(f"parameters of llm can name files, services and keys: {OPEN}")
        for name, value in parameters.items():
            if name == "path" and kind in FILES:
                self._check_file(str(value))
            elif kind in PARTNERS:
                self._check_value(f"{name} of {kind!r}", value)
            elif not isinstance(value, bool | int | float | None):
                raise OccupantNameError(
                    f"{name} of {kind!r}, which comes from another package, must be a number: {OPEN}"
                )

    def _check_value(self, what: str, value: object) -> None:
        """A number, a word, an occupant or several of these."""
        if isinstance(value, list | tuple) and len(value) <= MOST_NAMED:
            for part in value:
                self._check_value(what, part)
        elif isinstance(value, Mapping):
            self._check(value)
        elif isinstance(value, str):
            if not value.isidentifier() or value in PARTNERS:
                self._check(value)
        elif not isinstance(value, bool | int | float | None):
            raise OccupantNameError(f"{what} must be a number, a word or an occupant: {OPEN}")

    def _check_file(self, path: str) -> None:
        """A checkpoint under one of the folders, of a size that is read without regret."""
        if "\0" in path:
            raise OccupantNameError("a path holds no NUL character")
        file = Path(path).expanduser().resolve()
        if not any(file.is_relative_to(folder.expanduser().resolve()) for folder in self.folders):
            where = " or ".join(map(str, self.folders)) or "no folder"
            raise OccupantNameError(f"a checkpoint named here must lie under {where}: {OPEN}")
        for part in (file, file.with_suffix(".safetensors")):
            if part.exists() and not part.is_file():
                raise OccupantNameError(f"{part.name} is no regular file")
            if part.is_file() and part.stat().st_size > LARGEST_FILE:
                raise OccupantNameError(f"{part.name} is larger than {LARGEST_FILE >> 20} MiB: {OPEN}")
