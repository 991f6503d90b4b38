"""Deal or No Deal over dialogue acts: the game, and playing it.

Importing the package enters the environment's names in the registries of Gymnasium and PettingZoo; everything else is
imported when it is first used.
"""

import importlib
from importlib import metadata
from typing import TYPE_CHECKING, Any

from dond_marl.envs.registration import register
from dond_marl.public_names import alias, on_first_use

if TYPE_CHECKING:
    from dond_marl import deal_or_no_dialog_v0
    from dond_marl.envs.aec import NegotiationEnv
    from dond_marl.envs.single_agent import SingleAgentView
    from dond_marl.envs.vector import DealVectorEnv

    __version__: str

__all__ = ["DealVectorEnv", "NegotiationEnv", "SingleAgentView", "__version__", "deal_or_no_dialog_v0"]

register()
alias(
    {
        "dond_marl.data": "dond_marl.scenarios.data",
        "dond_marl.env": "dond_marl.envs.aec",
        "dond_marl.features": "dond_marl.envs.features",
        "dond_marl.metrics": "dond_marl.statistics",
        "dond_marl.openspiel_game": "dond_marl.envs.openspiel.game",
        "dond_marl.openspiel_seat": "dond_marl.envs.openspiel.seat",
        "dond_marl.policy_partner": "dond_marl.envs.policy_partner",
        "dond_marl.record": "dond_marl.records.record",
        "dond_marl.single_agent": "dond_marl.envs.single_agent",
        "dond_marl.solve": "dond_marl.yardsticks.solve",
        "dond_marl.spaces": "dond_marl.envs.spaces",
        "dond_marl.views": "dond_marl.envs.views",
    }
)
_on_first_use = on_first_use(__name__, "dond_marl.envs.aec", "dond_marl.envs.single_agent", "dond_marl.envs.vector")


def __getattr__(name: str) -> Any:
    if name == "deal_or_no_dialog_v0":
        return importlib.import_module("dond_marl.deal_or_no_dialog_v0")
    if name == "__version__":
        try:
            return metadata.version("dond-marl")
        except metadata.PackageNotFoundError:  # run from a checkout that was never installed
            return "0+unknown"
    return _on_first_use(name)
