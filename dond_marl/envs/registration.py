"""The environment's names in the registries of Gymnasium and PettingZoo; what they name is imported when it is made."""

from __future__ import annotations

import gymnasium
import pettingzoo

GYMNASIUM_ID = "DealOrNoDialog-v0"
PETTINGZOO_ID = "dond/DealOrNoDialog-v0"


def register() -> None:
    """Enter the names, unless they are there already (a reloaded package)."""
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
