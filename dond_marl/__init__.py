"""Deal or No Deal over dialogue acts: the game and its environments.

Importing the package registers the environment with Gymnasium and PettingZoo. Everything else is imported on first use.
"""

import importlib
from importlib import metadata
from typing import TYPE_CHECKING, Any

import gymnasium
import pettingzoo

from dond_marl.public_names import on_first_use

if TYPE_CHECKING:
    from dond_marl import deal_or_no_dialog_v0
    from dond_marl.envs.aec import NegotiationEnv
    from dond_marl.envs.single_agent import SingleAgentView
    from dond_marl.envs.vector import DealVectorEnv

    __version__: str

__all__ = ["DealVectorEnv", "NegotiationEnv", "SingleAgentView", "__version__", "deal_or_no_dialog_v0"]
GYMNASIUM_ID = "DealOrNoDialog-v0"
PETTINGZOO_ID = "dond/DealOrNoDialog-v0"


def _register() -> None:
    """Register the environment's names, unless they are registered already (a reloaded package)."""
    if GYMNASIUM_ID not in gymnasium.registry:
        gymnasium.register(
            GYMNASIUM_ID,
            entry_point="dond_marl.envs.single_agent:make",
            vector_entry_point="dond_marl.envs.vector:DealVectorEnv",
        )
    if PETTINGZOO_ID not in pettingzoo.aec_registry:
        pettingzoo.register("aec", PETTINGZOO_ID, entry_point="dond_marl.deal_or_no_dialog_v0:env")
    if PETTINGZOO_ID not in pettingzoo.parallel_registry:
        pettingzoo.register("parallel", PETTINGZOO_ID, entry_point="dond_marl.deal_or_no_dialog_v0:parallel_env")


_register()
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
