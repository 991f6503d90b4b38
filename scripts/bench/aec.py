"""``env()`` against PettingZoo's ``connect_four_v3`` and OpenSpiel's ``bargaining`` through Shimmy.

One unit is one act by a living agent; the steps with ``None`` that end an AEC game are made and not counted. All three
run PettingZoo's own loop, ``agent_iter`` with ``last``, observations read, over ready-made legal actions.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from scripts.bench.report import Timed

GAMES = 300


def ours() -> Timed:
    """``deal_or_no_dialog_v0.env()`` on the legal scenario space."""
    from dond_marl import deal_or_no_dialog_v0
    from dond_marl.game import legal_actions

    env = deal_or_no_dialog_v0.env(scenarios="lewis")

    def uniform(draw: random.Random, _agent: str) -> dict[str, Any]:
        act, oA = draw.choice(legal_actions(env.negotiation))
        return {"act_type": int(act), "oA": np.array(oA)}

    return _replay(env, uniform)


def connect_four() -> Timed:
    """``connect_four_v3.env()``, a board game of similar size."""
    from pettingzoo.classic import connect_four_v3

    env = connect_four_v3.env()
    return _replay(env, _masked(env))


def shimmy() -> Timed:
    """OpenSpiel's ``bargaining`` as an AEC environment."""
    import pyspiel
    from shimmy import OpenSpielCompatibilityV0

    env = OpenSpielCompatibilityV0(env=pyspiel.load_game("bargaining"))
    return _replay(env, _masked(env))


def _masked(env: Any) -> Callable[[random.Random, str], int]:
    """Uniform play over the legal actions of a Discrete space, wherever the environment puts its mask."""

    def uniform(draw: random.Random, _agent: str) -> int:
        observation, _, _, _, info = env.last()
        masked = isinstance(observation, dict) and "action_mask" in observation
        mask = observation["action_mask"] if masked else info["action_mask"]
        return int(draw.choice(np.flatnonzero(mask).tolist()))

    return uniform


def _replay(env: Any, uniform: Callable[[random.Random, str], Any]) -> Timed:
    """Script games by uniform play over all legal actions from fixed seeds, then time playing them again."""
    draw, scripts = random.Random(0), []  # noqa: S311  # a script of acts, not a secret
    for seed in range(GAMES):
        env.reset(seed=seed)
        actions: list[Any] = []
        for agent in env.agent_iter():
            over = env.terminations[agent] or env.truncations[agent]
            actions.append(None if over else uniform(draw, agent))
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
