"""The configs that come along: ``configs/`` of a checkout, and its copy beside this file in an installed wheel."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from dond_marl.errors import InputError

# Configs that had another name, and what they are called now that it says what they do.
RENAMED: Mapping[str, str] = {
    "league_exploiters.yaml": "league_alphastar.yaml (exploiters start over as people's clone)",
    "league_fictitious.yaml": "league_past_selves.yaml (its past alike) or league_nfsp.yaml (fictitious self-play)",
    "league_meta_mixture.yaml": "league_psro.yaml (each seat's oracle answers the other seat's mixture)",
    "league_population.yaml": "league_fcp.yaml (one objective, several seeds)",
    "league_win_rate.yaml": "league_spite.yaml (paid for having more) or league_by_wins.yaml (chosen by wins)",
}


class RenamedConfig(InputError):
    """A shipped config was asked for by a name that it had; the message says the one that it has."""


EXPERIMENTS = Path(__file__).parents[2] / "experiments" / "configs"  # of a checkout


def folder() -> Path:
    """Where the shipped configs lie."""
    installed = Path(str(resources.files("league.settings") / "presets"))
    return installed if installed.is_dir() else Path(__file__).parents[2] / "configs"


def preset(path: Path) -> Path:
    """The file that ``path`` means: itself where it exists, else the shipped config that it names.

    A shipped config is named by ``league.yaml`` or ``configs/league.yaml``; any other path is left as it is. Raises
    :class:`RenamedConfig`.
    """
    for shipped, parent in ((folder(), Path("configs")), (EXPERIMENTS, Path("experiments/configs"))):
        if path.parent in (Path(), parent) and not path.exists() and (shipped / path.name).is_file():
            return shipped / path.name
    shipped = folder() / path.name
    named = path.parent in (Path(), Path("configs"))
    if named and path.name in RENAMED and not path.exists() and not shipped.exists():
        raise RenamedConfig(f"{path}: this config is called {RENAMED[path.name]} now; {shipped.parent} holds it")
    return shipped if named and not path.exists() and shipped.is_file() else path
