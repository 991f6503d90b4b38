"""MaskablePPO of sb3-contrib over ``DealVectorEnv``: hundreds of games, a partner in the other seat.

A small network wants one thread: set OMP_NUM_THREADS=1 where the cores have other work.

example: python scripts/examples/sb3_vector_ppo.py --steps 400000
"""

import argparse
from typing import Any

from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecEnv

from dond_marl import DealVectorEnv
from dond_marl.envs.policy_partner import PolicyPartner
from league.evaluation.heldout_score import before_and_after


class Games(VecEnv):
    """The vector interface of Stable-Baselines3 with masks for sb3-contrib; keeps each game's last observation."""

    def __init__(self, games: DealVectorEnv) -> None:
        self.games = games
        super().__init__(games.num_envs, games.single_observation_space, games.single_action_space)

    def reset(self) -> Any:
        return self.games.reset(seed=self._seeds[0])[0]

    def step_async(self, actions: Any) -> None:
        self.actions = actions

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        seen, rewards, ended, _, infos = self.games.step(self.actions)
        last = [{"terminal_observation": infos["final_obs"][row]} if over else {} for row, over in enumerate(ended)]
        return seen, rewards, ended, last

    def env_method(self, *_: object, **__: object) -> list[Any]:
        return list(self.games.action_masks())  # the only method that is asked for

    def has_attr(self, attr_name: str) -> bool:
        return attr_name == "action_masks"

    def get_attr(self, attr_name: str, indices: object = None) -> list[Any]:  # noqa: ARG002  # as the class has it
        return [getattr(self.games, attr_name)] * self.num_envs

    def set_attr(self, *_: object) -> None: ...
    def env_is_wrapped(self, *_: object) -> list[bool]:
        return [False] * self.num_envs

    def close(self) -> None: ...


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--steps", type=int, default=400_000, help="own decisions (default %(default)s)")
table = {"scenarios": "lewis", "split": "train", "actions": "discrete", "observations": "box"}
settings = {"n_steps": 16, "batch_size": 512, "n_epochs": 4, "gamma": 1.0, "ent_coef": 0.02, "learning_rate": 1e-3}
model = MaskablePPO("MlpPolicy", Games(DealVectorEnv(256, "heuristic", **table)), seed=1, device="cpu", **settings)
with before_and_after(PolicyPartner(lambda o, m: model.predict(o, action_masks=m, deterministic=True)[0], "discrete")):
    model.learn(parser.parse_args().steps)
