"""PPO in one file after CleanRL's ``ppo.py`` (Huang et al. 2022): numbered actions, masked; Gymnasium's own vector.

example: python scripts/examples/cleanrl_style_ppo.py --steps 400000
"""

import argparse

import gymnasium
import torch
from gymnasium.vector import AutoresetMode
from torch import nn
from torch.distributions import Categorical

from dond_marl.envs.policy_partner import PolicyPartner
from dond_marl.envs.views import view
from league.evaluation.heldout_score import before_and_after

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--steps", type=int, default=400_000, help="own decisions (default %(default)s)")
steps, n, length = parser.parse_args().steps, 16, 256
same_step, number = {"autoreset_mode": AutoresetMode.SAME_STEP}, [lambda env: view(env, "discrete")]
table = {"partner": "heuristic", "scenarios": "lewis", "split": "train"}
games = gymnasium.make_vec("DealOrNoDialog-v0", n, "sync", same_step, number, **table)
torch.manual_seed(1)
net = nn.Sequential(nn.Linear(15, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 253 + 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, eps=1e-5)


def look(observations, mask):
    """The policy over the 253 numbered acts, and the value of each row."""
    out = net(torch.as_tensor(observations))
    return Categorical(logits=out[..., :-1].masked_fill(~torch.as_tensor(mask).bool(), -1e8)), out[..., -1]


seated = PolicyPartner(lambda observations, masks: look(observations, masks)[0].logits.argmax(1).numpy(), "discrete")
observations, infos = games.reset(seed=1)
with before_and_after(seated):
    for _ in range(steps // (n * length)):
        rows = []
        for _ in range(length):
            with torch.no_grad():
                policy, value = look(observations, mask := infos["action_mask"])
            action, last = policy.sample(), observations
            observations, reward, ended, _, infos = games.step(action.numpy())
            rows.append((*map(torch.as_tensor, (last, mask, reward, ~ended)), action, policy.log_prob(action), value))
        looks, masks, rewards, on, actions, old_logs, values = map(torch.stack, zip(*rows, strict=True))
        following, gains = look(observations, infos["action_mask"])[1].detach(), torch.zeros(length + 1, n)
        for t in reversed(range(length)):  # generalized advantages: no discount, lambda 0.95
            gains[t] = rewards[t] + on[t] * (following + 0.95 * gains[t + 1]) - values[t]
            following = values[t]
        batch = [part.flatten(0, 1) for part in (looks, masks, actions, old_logs, gains[:-1], gains[:-1] + values)]
        for index in (part for _ in range(4) for part in torch.randperm(n * length).split(512)):
            s, m, a, was, gain, target = (part[index] for part in batch)
            policy, value = look(s, m)
            ratio, gain = (policy.log_prob(a) - was).exp(), (gain - gain.mean()) / gain.std()
            surrogate = torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
            loss = (value - target).pow(2).mean() / 2 - surrogate - 0.02 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
