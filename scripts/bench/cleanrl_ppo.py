"""The peer of the learning rows: PPO on this game in the manner of CleanRL, over SuperSuit's vector environment.

After CleanRL's ``ppo.py`` (Huang et al. 2022, JMLR 23) with its settings: orthogonal weights, Adam, GAE, minibatches
standardized one by one, masked categoricals. One policy plays both seats. SuperSuit steps both agents of every game,
but only the active one decides, so only its rows are forwarded, stored and learned from: each of G games gives one
decision a step. T steps, N = 2 G agents.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

from dond_marl import deal_or_no_dialog_v0
from dond_marl.envs.views import view
from dond_marl.game import SEATS

LEARNING_RATE, GAMMA, LAM, CLIP = 2.5e-4, 0.99, 0.95, 0.2
ENTROPY, VALUE, GRADIENT_NORM = 0.01, 0.5, 0.5
EPOCHS, MINIBATCHES, STEPS, GAMES, HIDDEN = 4, 4, 128, 64, 128


def layer(inputs: int, outputs: int, gain: float = 2**0.5) -> nn.Linear:
    """A linear layer with orthogonal weights."""
    linear = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(linear.weight, gain)
    nn.init.constant_(linear.bias, 0.0)
    return linear


class Agent(nn.Module):
    """Two layers of 128 tanh units, a head for each part of the action and one for the value."""

    def __init__(self, inputs: int, choices: list[int]) -> None:
        super().__init__()
        self.choices = choices
        self.trunk = nn.Sequential(layer(inputs, HIDDEN), nn.Tanh(), layer(HIDDEN, HIDDEN), nn.Tanh())
        self.actor = layer(HIDDEN, sum(choices), gain=0.01)
        self.critic = layer(HIDDEN, 1, gain=1.0)

    def forward(self, obs: Tensor, mask: Tensor, action: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Actions, sampled unless given, with their log-probabilities, entropies and values."""
        hidden = self.trunk(obs)
        logits = torch.where(mask, self.actor(hidden), torch.tensor(-1e8))
        policies = [Categorical(logits=part) for part in torch.split(logits, self.choices, dim=1)]
        if action is None:
            action = torch.stack([policy.sample() for policy in policies], dim=1)
        log_prob = torch.stack([policy.log_prob(action[:, part]) for part, policy in enumerate(policies)]).sum(dim=0)
        entropy = torch.stack([policy.entropy() for policy in policies]).sum(dim=0)
        return action, log_prob, entropy, self.critic(hidden).flatten()


class CleanRL:
    """PPO that alternates rollouts of ``STEPS`` steps in all games with updates."""

    def __init__(self) -> None:
        import supersuit

        torch.manual_seed(1)
        games = view(deal_or_no_dialog_v0.parallel_env(scenarios="lewis", split="train"), "flat", "box")
        vector = supersuit.pettingzoo_env_to_vec_env_v1(games)
        self.games = supersuit.concat_vec_envs_v1(vector, GAMES, num_cpus=0, base_class="gymnasium")
        self.seats = np.array(SEATS * GAMES)
        self.agent = Agent(vector.observation_space.shape[0], vector.action_space.nvec.tolist())
        self.optimizer = torch.optim.Adam(self.agent.parameters(), lr=LEARNING_RATE, eps=1e-5)
        self.obs, infos = self.games.reset(seed=1)
        self.active, self.mask = self.read(infos)

    def read(self, infos: list[dict[str, Any]]) -> tuple[np.ndarray, Tensor]:
        """Agents to move, ``[G]``, with their action masks."""
        active = np.flatnonzero(np.array([info["active_agent"] for info in infos]) == self.seats)
        return active, torch.tensor(np.array([np.concatenate(infos[row]["action_mask"]) for row in active]) > 0)

    def play(self) -> list[Tensor]:
        """One rollout: observations, masks, actions, log-probabilities, advantages and returns, ``[T G, ...]``."""
        steps, outcomes = [], []
        actions = np.zeros((2 * GAMES, len(self.agent.choices)), dtype=np.int64)
        for _ in range(STEPS):
            rows, obs, mask = torch.from_numpy(self.active), torch.tensor(self.obs[self.active]), self.mask
            with torch.no_grad():
                action, log_prob, _, value = self.agent(obs, mask)
            actions[self.active] = action.numpy()
            self.obs, paid, ended, cut, infos = self.games.step(actions)
            self.active, self.mask = self.read(infos)
            steps.append((obs, mask, action, log_prob, value, rows))
            outcomes.append((torch.tensor(paid), torch.tensor(ended | cut) > 0))
        *inputs, values, rows = map(torch.stack, zip(*steps, strict=True))
        with torch.no_grad():
            following = self.agent.critic(self.agent.trunk(torch.tensor(self.obs))).flatten()
        rewards, over = map(torch.stack, zip(*outcomes, strict=True))
        advantage = advantages(rewards, over, values, rows, following)
        return [tensor.flatten(0, 1) for tensor in (*inputs, advantage, advantage + values)]

    def learn(self, batch: list[Tensor]) -> None:
        """Four epochs of four minibatches."""
        order = np.arange(len(batch[0]))
        size = len(order) // MINIBATCHES
        for _ in range(EPOCHS):
            np.random.shuffle(order)  # noqa: NPY002  # as CleanRL does
            for start in range(0, len(order), size):
                obs, mask, action, old_log_prob, advantage, returns = (x[order[start : start + size]] for x in batch)
                _, log_prob, entropy, value = self.agent(obs, mask, action)
                ratio = (log_prob - old_log_prob).exp()
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                policy_loss = torch.max(-advantage * ratio, -advantage * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
                value_loss = 0.5 * ((value - returns) ** 2).mean()
                loss = policy_loss - ENTROPY * entropy.mean() + VALUE * value_loss
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.agent.parameters(), GRADIENT_NORM)
                self.optimizer.step()


def advantages(reward: Tensor, over: Tensor, value: Tensor, rows: Tensor, last: Tensor) -> Tensor:
    """GAE over each agent's own decisions, ``[T, G]``; rewards between two decisions count for the first.

    ``reward[T, N]``, ``over[T, N]``, ``value[T, G]``, ``rows[T, G]`` the agents that decide, ``last[N]`` the value of
    what follows.
    """
    result = torch.zeros_like(value)
    following, gathered, paid = last.clone(), torch.zeros_like(last), torch.zeros_like(last)
    for step in reversed(range(len(reward))):
        following, gathered, paid = (torch.where(over[step], 0.0, part) for part in (following, gathered, paid))
        paid += reward[step]
        agents = rows[step]
        delta = paid[agents] + GAMMA * following[agents] - value[step]
        result[step] = delta + GAMMA * LAM * gathered[agents]
        following[agents], gathered[agents], paid[agents] = value[step], result[step], 0.0
    return result
