"""The configs that come along: ``configs/`` of a checkout, and its copy beside this file in an installed wheel."""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def folder() -> Path:
    """Where the shipped configs lie."""
    installed = Path(str(resources.files("league.settings") / "presets"))
    return installed if installed.is_dir() else Path(__file__).parents[2] / "configs"


def preset(path: Path) -> Path:
    """The file that ``path`` means: itself where it exists, else the shipped config that it names.

    A shipped config is named by ``league.yaml`` or ``configs/league.yaml``; any other path is left as it is.
    """
    shipped = folder() / path.name
    named = path.parent in (Path(), Path("configs"))
    return shipped if named and not path.exists() and shipped.is_file() else path
