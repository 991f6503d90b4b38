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
    from dond_marl.conformance import check_partner
    from dond_marl.envs.aec import NegotiationEnv
    from dond_marl.envs.policy_partner import PolicyPartner
    from dond_marl.envs.single_agent import SingleAgentView
    from dond_marl.envs.vector import DealVectorEnv
    from dond_marl.envs.views import view
    from dond_marl.game import Act, Rules
    from dond_marl.occupants import seat_occupant
    from dond_marl.position import Position, one_game
    from dond_marl.scenarios import open_source
    from dond_marl.seats import Decisions, Traits, Turns, decide, worth

    __version__: str

__all__ = [
    "Act",
    "DealVectorEnv",
    "Decisions",
    "NegotiationEnv",
    "PolicyPartner",
    "Position",
    "Rules",
    "SingleAgentView",
    "Traits",
    "Turns",
    "__version__",
    "check_partner",
    "deal_or_no_dialog_v0",
    "decide",
    "one_game",
    "open_source",
    "seat_occupant",
    "view",
    "worth",
]
# In the order in which they are searched: each imports what the ones before it import; game has a worth of its own.
_MODULES = ("seats", "game", "occupants", "position", "scenarios", "envs.policy_partner", "envs.views", "envs.aec")
_LATER = ("envs.single_agent", "envs.vector", "conformance")
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
_on_first_use = on_first_use(__name__, *(f"dond_marl.{module}" for module in (*_MODULES, *_LATER)))


def __getattr__(name: str) -> Any:
    if name == "deal_or_no_dialog_v0":
        return importlib.import_module("dond_marl.deal_or_no_dialog_v0")
    if name == "__version__":
        try:
            return metadata.version("dond-marl")
        except metadata.PackageNotFoundError:  # run from a checkout that was never installed
            return "0+unknown"
    return _on_first_use(name)
