"""PPO of Tianshou against the default heuristic; its networks read the mask from the observation.

example: python scripts/examples/tianshou_ppo.py --steps 400000
"""

import argparse
from typing import Any

import gymnasium
import torch
from tianshou.algorithm import PPO
from tianshou.algorithm.modelfree.reinforce import ProbabilisticActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OnPolicyTrainerParams
from torch import nn
from torch.distributions import Categorical

from dond_marl.envs.policy_partner import PolicyPartner
from dond_marl.envs.views import view
from league.evaluation.heldout_score import before_and_after

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--steps", type=int, default=400_000, help="own decisions (default %(default)s)")
steps = parser.parse_args().steps
table = {"partner": "heuristic", "scenarios": "lewis", "split": "train"}


class Body(nn.Sequential):
    """Values ``[B, 1]``, or masked logits ``[B, 253]`` and no state, as Tianshou asks."""

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> Any:  # noqa: ARG002  # Tianshou gives it
        out = super().forward(torch.as_tensor(obs.observation))
        return out if out.shape[1] == 1 else (out.masked_fill(~torch.as_tensor(obs.action_mask).bool(), -1e8), state)


torch.manual_seed(1)
forms = {"actions": "discrete", "observations": "masked", "infos": "arrays"}  # Tianshou stacks infos
games = DummyVectorEnv([lambda: view(gymnasium.make("DealOrNoDialog-v0", **table), **forms) for _ in range(16)])
games.seed(1)
layers = nn.Linear(15, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh()
actor, critic = Body(*layers, nn.Linear(128, 253)), Body(*layers, nn.Linear(128, 1))  # of one trunk
acts = {"action_space": gymnasium.spaces.Discrete(253), "action_scaling": False}
policy = ProbabilisticActorPolicy(actor=actor, dist_fn=lambda logits: Categorical(logits=logits), **acts)
ppo = PPO(policy=policy, critic=critic, optim=AdamOptimizerFactory(lr=1e-3), gamma=1.0, ent_coef=0.02)
sizes = {"collection_step_num_env_steps": 4096, "batch_size": 512, "update_step_num_repetitions": 4}
collector = Collector(ppo, games, VectorReplayBuffer(4096, 16))
player = PolicyPartner(lambda o, m: actor(Batch(observation=o, action_mask=m))[0].argmax(1).numpy(), "discrete")
with before_and_after(player):
    ppo.run_training(OnPolicyTrainerParams(training_collector=collector, max_epochs=1, epoch_num_steps=steps, **sizes))
