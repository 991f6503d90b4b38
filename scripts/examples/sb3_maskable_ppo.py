"""MaskablePPO of sb3-contrib in self-play, one policy in both seats, over SuperSuit's vector of parallel games.

Both are stepped at once; the seat that is not to move has a single action open, so such steps teach it no play.
A small network wants one thread: set OMP_NUM_THREADS=1 where the cores have other work.

example: python scripts/examples/sb3_maskable_ppo.py --steps 800000 --save model.zip
"""

import argparse
from typing import Any

import supersuit
from sb3_contrib import MaskablePPO
from supersuit.vector.sb3_vector_wrapper import SB3VecEnvWrapper

from dond_marl import deal_or_no_dialog_v0
from dond_marl.envs.policy_partner import PolicyPartner
from dond_marl.envs.views import as_bools, view
from league.evaluation.heldout_score import before_and_after


class Masked(SB3VecEnvWrapper):
    """SuperSuit's vector with the methods that sb3-contrib calls: masks, taken from the infos, and a seed."""

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        obs, rewards, ended, infos = super().step_wait()
        self.reset_infos = infos  # of the next turn, also where a new game has begun
        return obs, rewards, ended, infos

    def has_attr(self, attr_name: str) -> bool:
        return attr_name == "action_masks"

    def env_method(self, *_: object, **__: object) -> list[Any]:
        """The masks; sb3-contrib calls no other method."""
        return [as_bools(info["action_mask"]) for info in self.reset_infos]

    def seed(self, seed: int | None = None) -> None:
        self.venv.reset(seed=seed)


def main(steps: int, save: str | None) -> None:
    """Train for so many steps of both seats, with the score before and after."""
    parallel = view(deal_or_no_dialog_v0.parallel_env(scenarios="lewis", split="train"))
    games = supersuit.concat_vec_envs_v1(supersuit.pettingzoo_env_to_vec_env_v1(parallel), 16)
    settings = {"n_steps": 256, "batch_size": 512, "n_epochs": 4, "gamma": 1.0, "ent_coef": 0.02, "learning_rate": 1e-3}
    model = MaskablePPO("MlpPolicy", Masked(games), seed=1, device="cpu", **settings)
    player = PolicyPartner(lambda obs, masks: model.predict(obs, action_masks=masks, deterministic=True)[0])
    with before_and_after(player):
        model.learn(steps)
    if save is not None:
        model.save(save)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=800_000, help="steps of both seats (default %(default)s)")
    parser.add_argument("--save", metavar="FILE", help="keep the model there, as a .zip")
    main(**vars(parser.parse_args()))
