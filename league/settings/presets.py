"""The configs that come with the package: ``configs/`` of the repository, which a wheel brings along."""

from __future__ import annotations

from pathlib import Path

CHECKOUT = Path(__file__).parents[2] / "configs"
SHIPPED = CHECKOUT if CHECKOUT.is_dir() else Path(__file__).parents[1] / "home" / "configs"


def preset(path: Path) -> Path:
    """``path``, or where no such file exists and it is NAME or configs/NAME of a shipped config, that one."""
    shipped = SHIPPED / path.name
    return (
        shipped
        if path in (Path(path.name), Path("configs", path.name)) and not path.exists() and shipped.is_file()
        else path
    )
