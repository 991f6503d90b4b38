"""PPO of Stable-Baselines3 against the default heuristic, over SuperSuit's vector of Gymnasium environments.

This PPO knows no masks: an illegal act forfeits the game, and the policy learns to leave such acts.
A small network wants one thread: set OMP_NUM_THREADS=1 where the cores have other work.

example: python scripts/examples/sb3_ppo.py --steps 400000
"""

import argparse

import gymnasium
import supersuit
from stable_baselines3 import PPO

from dond_marl.envs.policy_partner import PolicyPartner
from dond_marl.envs.views import view
from league.evaluation.heldout_score import before_and_after


def main(steps: int, save: str | None) -> None:
    """Train for so many own decisions, with the score before and after."""
    table = {"partner": "heuristic", "scenarios": "lewis", "split": "train"}
    games = supersuit.stable_baselines3_vec_env_v0(view(gymnasium.make("DealOrNoDialog-v0", **table)), 16)
    settings = {"n_steps": 256, "batch_size": 512, "n_epochs": 4, "gamma": 1.0, "ent_coef": 0.02, "learning_rate": 1e-3}
    model = PPO("MlpPolicy", games, seed=1, device="cpu", **settings)
    with before_and_after(PolicyPartner(lambda obs, _: model.predict(obs, deterministic=True)[0])):
        model.learn(steps)
    if save is not None:
        model.save(save)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=400_000, help="own decisions (default %(default)s)")
    parser.add_argument("--save", metavar="FILE", help="keep the model there, as a .zip")
    main(**vars(parser.parse_args()))
