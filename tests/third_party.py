"""A third party's distribution: one module with partners, found by its entry points."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dond_marl.occupants import GROUP, catalogue


def install(folder: Path, module: str, source: str, entry_points: str) -> Path:
    """Install ``module`` into ``folder``, which then goes on the path; ``entry_points``: ``name = module:Partner``."""
    information = folder / f"{module}-1.0.dist-info"
    information.mkdir(parents=True)
    (folder / f"{module}.py").write_text(source)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(f"[{GROUP}]\n{entry_points}\n")
    return folder


@contextmanager
def on_the_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is installed in ``folder`` is in the catalogue, here and in workers."""
    monkeypatch.syspath_prepend(str(folder))
    catalogue.cache_clear()
    yield
    catalogue.cache_clear()
