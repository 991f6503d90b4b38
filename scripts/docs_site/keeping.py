"""Keeps a page that is made from the code: writes it, or says that it is not what it should be."""

from __future__ import annotations

from pathlib import Path

from dond_marl.errors import RunFailure


def keep(path: Path, right: str, check: bool, problem: str) -> None:
    """Write ``right`` into ``path``; with ``check`` change nothing and raise ``problem`` where it holds something else.

    Raises :class:`RunFailure`.
    """
    if not check:
        path.write_text(right, encoding="utf-8")
    elif not path.is_file() or path.read_text(encoding="utf-8") != right:
        raise RunFailure(problem)
