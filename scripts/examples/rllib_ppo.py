"""PPO of RLlib against the default heuristic; the masks are read by a module that RLlib ships as an example.

RLlib pins another Gymnasium than this project: ``python scripts/plug_in.py --only rllib_ppo`` creates its environment.

example: python scripts/examples/rllib_ppo.py --steps 400000
"""

import argparse
from typing import Any

import gymnasium
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

from dond_marl.envs.policy_partner import PolicyPartner
from dond_marl.envs.views import view
from league.evaluation.heldout_score import before_and_after


def seat(table: dict[str, Any]) -> Any:
    """One seat, with the masks where RLlib's module reads them."""
    return view(gymnasium.make("DealOrNoDialog-v0", **table), "discrete", "masked", key="observations")


def main(steps: int) -> None:
    """Train for so many own decisions, with the score before and after."""
    module = RLModuleSpec(module_class=ActionMaskingTorchRLModule, model_config={"fcnet_hiddens": [128, 128]})
    register_env("negotiation", seat)
    table = {"partner": "heuristic", "scenarios": "lewis", "split": "train"}
    config = PPOConfig().environment("negotiation", env_config=table)
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=16).rl_module(rl_module_spec=module).debugging(seed=1)
    config.training(gamma=1.0, lr=1e-3, entropy_coeff=0.02, num_epochs=4, minibatch_size=512)
    algorithm = config.training(train_batch_size_per_learner=4096).build_algo()

    def act(obs: Any, masks: Any) -> Any:
        batch = {"observations": torch.as_tensor(obs), "action_mask": torch.as_tensor(masks).int()}
        with torch.no_grad():
            return algorithm.get_module().forward_inference({"obs": batch})["action_dist_inputs"].argmax(1).numpy()

    with before_and_after(PolicyPartner(act, "discrete")):
        for _ in range(max(steps // 4096, 1)):
            algorithm.train()
    algorithm.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=400_000, help="own decisions (default %(default)s)")
    main(parser.parse_args().steps)
