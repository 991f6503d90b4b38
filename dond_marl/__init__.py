"""Deal or No Deal over dialogue acts: the game, and playing it.

Importing the package enters the environment's names in the registries of Gymnasium and PettingZoo; everything else is
imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dond_marl.envs.registration import register
from dond_marl.public_names import alias

if TYPE_CHECKING:
    from dond_marl import deal_or_no_dialog_v0
    from dond_marl.envs.aec import NegotiationEnv
    from dond_marl.envs.single_agent import SingleAgentView

__all__ = ["NegotiationEnv", "SingleAgentView", "__version__", "deal_or_no_dialog_v0"]

_HOMES = {"NegotiationEnv": "dond_marl.envs.aec", "SingleAgentView": "dond_marl.envs.single_agent"}

_OLD_NAMES = {
    f"dond_marl.{old}": f"dond_marl.{new}"
    for old, new in {
        "data": "scenarios.data",
        "env": "envs.aec",
        "features": "envs.features",
        "metrics": "yardsticks.metrics",
        "openspiel_game": "envs.openspiel.game",
        "openspiel_seat": "envs.openspiel.seat",
        "record": "records.record",
        "policy_partner": "envs.policy_partner",
        "single_agent": "envs.single_agent",
        "solve": "yardsticks.solve",
        "spaces": "envs.spaces",
        "views": "envs.views",
    }.items()
}

register()
alias(_OLD_NAMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name == "deal_or_no_dialog_v0":
        return importlib.import_module("dond_marl.deal_or_no_dialog_v0")
    if name == "__version__":
        return _version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dond-marl")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "0+unknown"
