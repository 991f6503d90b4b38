"""The peer of the learning rows: PPO on this game in the manner of CleanRL, over SuperSuit's vector environment.

After CleanRL's ``ppo.py`` (Huang et al. 2022, JMLR 23) with its settings: orthogonal weights, Adam, GAE, minibatches
standardized one by one, masked categoricals. One policy plays both seats. SuperSuit steps both agents of every game,
but only the active one decides, so only its rows are forwarded, stored and learned from: each of G games gives one
decision a step. T steps, N = 2 G agents.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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

    def policies(self, hidden: Tensor, mask: Tensor) -> list[Categorical]:
        """One masked categorical per part of the action."""
        logits = torch.where(mask, self.actor(hidden), torch.tensor(-1e8))
        return [Categorical(logits=part) for part in torch.split(logits, self.choices, dim=1)]

    def value(self, obs: Tensor) -> Tensor:
        """State values, ``[B]``."""
        return self.critic(self.trunk(obs)).flatten()

    def forward(self, obs: Tensor, mask: Tensor, action: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Actions, sampled unless given, with their log-probabilities, entropies and values."""
        hidden = self.trunk(obs)
        policies = self.policies(hidden, mask)
        if action is None:
            action = torch.stack([policy.sample() for policy in policies], dim=1)
        log_prob = torch.stack([policy.log_prob(action[:, part]) for part, policy in enumerate(policies)]).sum(dim=0)
        entropy = torch.stack([policy.entropy() for policy in policies]).sum(dim=0)
        return action, log_prob, entropy, self.critic(hidden).flatten()


class Batch(NamedTuple):
    """T x G decisions, flat."""

    obs: Tensor
    mask: Tensor
    action: Tensor
    log_prob: Tensor
    advantage: Tensor
    returns: Tensor


class CleanRL:
    """PPO that alternates rollouts of ``STEPS`` steps in all games with updates."""

    def __init__(self) -> None:
        import supersuit

        torch.manual_seed(1)
        games = view(deal_or_no_dialog_v0.parallel_env(scenarios="lewis", split="train"), "flat", "box")
        vector = supersuit.pettingzoo_env_to_vec_env_v1(games)
        self.games = supersuit.concat_vec_envs_v1(vector, GAMES, num_cpus=0, base_class="gymnasium")
        self.seats = np.array(SEATS * GAMES)
        choices = vector.action_space.nvec.tolist()
        self.agent = Agent(vector.observation_space.shape[0], choices)
        self.optimizer = torch.optim.Adam(self.agent.parameters(), lr=LEARNING_RATE, eps=1e-5)
        self.obs, infos = self.games.reset(seed=1)
        self.active, self.mask = self.read(infos)

    def read(self, infos: list[dict[str, Any]]) -> tuple[np.ndarray, Tensor]:
        """Agents to move, ``[G]``, with their observations and action masks."""
        to_move = np.array([info["active_agent"] for info in infos])
        active = np.flatnonzero(to_move == self.seats)
        return active, torch.tensor(np.array([np.concatenate(infos[row]["action_mask"]) for row in active]) > 0)

    def play(self) -> Batch:
        """One rollout."""
        width, parts = self.obs.shape[1], len(self.agent.choices)
        obs, mask = (
            torch.zeros(STEPS, GAMES, width),
            torch.zeros(STEPS, GAMES, self.mask.shape[1], dtype=torch.bool),
        )
        action, rows = torch.zeros(STEPS, GAMES, parts, dtype=torch.int64), np.zeros((STEPS, GAMES), dtype=np.int64)
        log_prob, value = torch.zeros(STEPS, GAMES), torch.zeros(STEPS, GAMES)
        reward, done = torch.zeros(STEPS, 2 * GAMES), torch.zeros(STEPS, 2 * GAMES, dtype=torch.bool)
        actions = np.zeros((2 * GAMES, parts), dtype=np.int64)
        for step in range(STEPS):
            obs[step], mask[step], rows[step] = (
                torch.tensor(self.obs[self.active]),
                self.mask,
                self.active,
            )
            with torch.no_grad():
                action[step], log_prob[step], _, value[step] = self.agent(obs[step], mask[step])
            actions[self.active] = action[step].numpy()
            self.obs, rewards, ended, cut, infos = self.games.step(actions)
            self.active, self.mask = self.read(infos)
            reward[step], done[step] = torch.tensor(rewards), torch.tensor(ended | cut) > 0
        with torch.no_grad():
            advantage = advantages(
                reward, done, value, torch.from_numpy(rows), self.agent.value(torch.tensor(self.obs))
            )
        stored = (obs, mask, action, log_prob, advantage, advantage + value)
        return Batch(*(tensor.flatten(0, 1) for tensor in stored))

    def learn(self, batch: Batch) -> None:
        """Four epochs of four minibatches."""
        size = len(batch.obs)
        order = np.arange(size)
        for _ in range(EPOCHS):
            np.random.shuffle(order)  # noqa: NPY002  # as CleanRL does
            for start in range(0, size, size // MINIBATCHES):
                part = Batch(*(tensor[order[start : start + size // MINIBATCHES]] for tensor in batch))
                _, log_prob, entropy, value = self.agent(part.obs, part.mask, part.action)
                ratio = (log_prob - part.log_prob).exp()
                advantage = (part.advantage - part.advantage.mean()) / (part.advantage.std() + 1e-8)
                policy_loss = torch.max(-advantage * ratio, -advantage * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
                value_loss = 0.5 * ((value - part.returns) ** 2).mean()
                loss = policy_loss - ENTROPY * entropy.mean() + VALUE * value_loss
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.agent.parameters(), GRADIENT_NORM)
                self.optimizer.step()


def advantages(reward: Tensor, done: Tensor, value: Tensor, rows: Tensor, last: Tensor) -> Tensor:
    """GAE over each agent's own decisions, ``[T, G]``; rewards between two decisions count for the first.

    ``reward[T, N]``, ``done[T, N]``, ``value[T, G]``, ``rows[T, G]`` the agents that decide, ``last[N]`` the value of
    what follows.
    """
    result = torch.zeros_like(value)
    following, gathered, paid = last.clone(), torch.zeros_like(last), torch.zeros_like(last)
    for step in reversed(range(len(reward))):
        following, gathered, paid = (torch.where(done[step], 0.0, part) for part in (following, gathered, paid))
        paid += reward[step]
        own = rows[step]
        delta = paid[own] + GAMMA * following[own] - value[step]
        result[step] = delta + GAMMA * LAM * gathered[own]
        following[own], gathered[own], paid[own] = value[step], result[step], 0.0
    return result
