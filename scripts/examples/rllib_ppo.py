"""PPO of RLlib against the default heuristic or in self-play; a module that RLlib ships as an example reads the masks.

RLlib pins another Gymnasium than this project: ``python scripts/plug_in.py --only rllib_ppo`` creates its environment.

example: python scripts/examples/rllib_ppo.py --steps 400000
"""

import argparse
from typing import Any

import gymnasium
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

from dond_marl import PolicyPartner, deal_or_no_dialog_v0, view
from league.evaluation.heldout_score import before_and_after


def seat(table: dict[str, Any]) -> Any:
    """One seat, with the masks where RLlib's module reads them."""
    return view(gymnasium.make("DealOrNoDialog-v0", **table), "discrete", "masked", key="observations")


def both_seats(table: dict[str, Any]) -> Any:
    """Both seats, for one policy; the parallel environment fits ``ParallelPettingZooEnv`` in the same way."""
    return PettingZooEnv(view(deal_or_no_dialog_v0.env(**table), "discrete", "masked", key="observations"))


def main(steps: int, self_play: bool) -> None:
    """Train for so many own decisions, with the score before and after."""
    masked = RLModuleSpec(module_class=ActionMaskingTorchRLModule, model_config={"fcnet_hiddens": [128, 128]})
    register_env("negotiation", both_seats if self_play else seat)
    table = {"scenarios": "lewis", "split": "train"} | ({} if self_play else {"partner": "heuristic"})
    config = PPOConfig().environment("negotiation", env_config=table)
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=16).rl_module(rl_module_spec=masked).debugging(seed=1)
    if self_play:
        config.multi_agent(policies={"both"}, policy_mapping_fn=lambda *_, **__: "both")
    config.training(gamma=1.0, lr=1e-3, entropy_coeff=0.02, num_epochs=4, minibatch_size=512)
    algorithm = config.training(train_batch_size_per_learner=4096).build_algo()
    module = algorithm.get_module("both" if self_play else "default_policy")

    def act(obs: Any, masks: Any) -> Any:
        batch = {"observations": torch.as_tensor(obs), "action_mask": torch.as_tensor(masks).int()}
        return module.forward_inference({"obs": batch})["action_dist_inputs"].argmax(1).numpy()

    with before_and_after(PolicyPartner(act, "discrete")):
        for _ in range(max(steps // 4096, 1)):
            algorithm.train()
    algorithm.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=400_000, help="own decisions (default %(default)s)")
    parser.add_argument("--self-play", action="store_true", help="train one policy in both seats")
    main(**vars(parser.parse_args()))
