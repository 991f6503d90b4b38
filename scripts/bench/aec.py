"""``env()`` against PettingZoo's ``connect_four_v3`` and OpenSpiel's ``bargaining`` through Shimmy.

One unit is one act by a living agent; the steps with ``None`` that end an AEC game are made and not counted. All three
run PettingZoo's own loop, ``agent_iter`` with ``last``, observations read, over ready-made legal actions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scripts.bench.report import Timed

GAMES = 300


def ours() -> Timed:
    """``deal_or_no_dialog_v0.env()`` on the legal scenario space."""
    from dond_marl import deal_or_no_dialog_v0

    return _replay(deal_or_no_dialog_v0.env(scenarios="lewis"))


def connect_four() -> Timed:
    """``connect_four_v3.env()``, a board game of similar size."""
    from pettingzoo.classic import connect_four_v3

    return _replay(connect_four_v3.env())


def shimmy() -> Timed:
    """OpenSpiel's ``bargaining`` as an AEC environment."""
    import pyspiel
    from shimmy import OpenSpielCompatibilityV0

    return _replay(OpenSpielCompatibilityV0(env=pyspiel.load_game("bargaining")))


def _replay(env: Any) -> Timed:
    """Script games by uniform masked play from fixed seeds, then time playing them again."""
    scripts: list[tuple[int, list[Any]]] = []
    for seed in range(GAMES):
        env.reset(seed=seed)
        for number, agent in enumerate(env.possible_agents):
            env.action_space(agent).seed(seed * 2 + number)
        actions: list[Any] = []
        for agent in env.agent_iter():
            observation, _, terminated, truncated, info = env.last()
            if terminated or truncated:
                actions.append(None)
            else:
                masked = isinstance(observation, dict) and "action_mask" in observation
                mask = observation["action_mask"] if masked else info["action_mask"]
                if isinstance(mask, np.ndarray):
                    mask = mask.astype(np.int8)
                actions.append(env.action_space(agent).sample(mask))
            env.step(actions[-1])
        scripts.append((seed, actions))
    living = sum(action is not None for _, actions in scripts for action in actions)

    def work() -> int:
        for seed, actions in scripts:
            env.reset(seed=seed)
            for _, action in zip(env.agent_iter(), actions, strict=False):
                env.last()
                env.step(action)
        return living

    return work
