"""``DealVectorEnv`` as an outside trainer steps it, against Gymnasium's own vector of the single view.

One unit is one act of the agent, ready-made for the games of a fixed seed; observations, masks and the partner's
answers are made in both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from dond_marl import DealVectorEnv, SingleAgentView, deal_or_no_dialog_v0
from dond_marl.envs.views import view
from dond_marl.randomness import generator
from scripts.bench.report import Timed

GAMES, STEPS, PEERS = 4096, 40, 16
PARTNERS = ("heuristic", "boulware")


def ours(partner: str) -> Timed:
    """4,096 games, box observations, numbered acts."""
    return _replay(DealVectorEnv(GAMES, partner, actions="discrete", observations="box", scenarios="lewis"))


def single_views(partner: str) -> Timed:
    """16 games, the same observations and acts."""

    def one() -> Any:
        return view(SingleAgentView(deal_or_no_dialog_v0.env(scenarios="lewis"), partner), "discrete")

    return _replay(SyncVectorEnv([one] * PEERS, autoreset_mode=AutoresetMode.SAME_STEP))


def _replay(env: VectorEnv[Any, Any, Any]) -> Timed:
    """Uniform legal acts of a fixed seed, drawn once and then said again and again."""
    chance = generator(0, "benchmark").random((STEPS, env.num_envs, env.single_action_space.n), dtype=np.float32)
    _, infos = env.reset(seed=0)
    acts = []
    for each in chance:
        acts.append((each * np.asarray(infos["action_mask"])).argmax(axis=1))
        *_, infos = env.step(acts[-1])

    def work() -> int:
        env.reset(seed=0)
        for act in acts:
            env.step(act)
        return len(acts) * env.num_envs

    return work
