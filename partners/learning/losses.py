"""The losses of the learners: pure functions of tensors, each with its paper.

B decisions; T own decisions of N games. What is asked of a distribution itself, its log-probabilities, entropy and
divergence, is in :mod:`partners.network.heads`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dond_marl.yardsticks.metrics import TEN

SOFT = 0.15  # points of ten: an act that loses so much is wanted e times less than one that loses nothing
LEAST = -30.0  # nats: what is less probable than that is wanted no more for it


def generalized_advantages(
    reward: Tensor, value: Tensor, played: Tensor, gamma: float, lam: float
) -> tuple[Tensor, Tensor]:
    """Advantages and returns of complete games (Schulman et al. 2016, arXiv 1506.02438, equation 16).

    ``reward[T, N]``, ``value[T, N]``, ``played[T, N]`` bool: a game's own decisions come first, without gaps; its last
    one is followed by nothing, so nothing is bootstrapped. Zeros where nothing was played.
    """
    assert reward.ndim == 2 and reward.shape == value.shape == played.shape, (reward.shape, value.shape, played.shape)
    advantage = torch.zeros_like(value)
    next_value = next_advantage = torch.zeros_like(value[0])
    for t in reversed(range(len(reward))):
        delta = reward[t] + gamma * next_value - value[t]
        advantage[t] = torch.where(played[t], delta + gamma * lam * next_advantage, 0.0)
        next_value, next_advantage = torch.where(played[t], value[t], 0.0), advantage[t]
    return advantage, torch.where(played, advantage + value, 0.0)


def discounted_returns(reward: Tensor, played: Tensor, gamma: float) -> Tensor:
    """What follows each own decision: the sum of ``gamma**k`` times the reward k decisions later, ``[T, N]``."""
    assert reward.ndim == 2 and reward.shape == played.shape, (reward.shape, played.shape)
    returns, following = torch.zeros_like(reward), torch.zeros_like(reward[0])
    for t in reversed(range(len(reward))):
        following = torch.where(played[t], reward[t] + gamma * following, 0.0)
        returns[t] = following
    return returns


def clipped_surrogate(log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """PPO's policy loss, to be minimized; inputs ``[B]`` (Schulman et al. 2017, arXiv 1707.06347, equation 7)."""
    assert log_prob.ndim == 1 and log_prob.shape == old_log_prob.shape == advantage.shape
    ratio = (log_prob - old_log_prob).exp()
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()


def value_loss(value: Tensor, returns: Tensor) -> Tensor:
    """Half the mean squared error, a scalar (Schulman et al. 2017, equation 9); inputs ``[B]``."""
    assert value.ndim == 1 and value.shape == returns.shape
    return 0.5 * (value - returns).square().mean()


def belief_loss(values: Tensor, who: Tensor, told: Tensor, posterior: Tensor | None = None) -> Tensor:
    """How much beliefs are surprised by what is true, in nats per decision, a scalar.

    ``values[3, 11, B]`` and ``who[M, B]``: logits; ``told[B, 4]`` int64: the partner's values, and its number among the
    members, of which nothing is learned where it is below 0. The logarithmic score is proper: nothing but the truth's
    own probabilities minimizes it (Gneiting and Raftery 2007, section 4.1). Predicting the other agent from one's own
    history as a second task: Papoudakis, Christianos, Albrecht 2021 (arXiv 2006.09447).

    ``posterior[B, 33 + M]``: the exact belief, NaN where it is not known. Where it is, the surprise is the mean over
    all that it holds possible instead of what happened to be true: the same on average, without the luck of the draw.
    """
    assert values.shape[::2] == (3, len(told)) and who.shape[1] == len(told) == told.numel() // 4, told.shape
    if posterior is None:
        return _surprise(values, who, told) / len(told)
    assert posterior.shape == (len(told), 3 * values.shape[1] + len(who)), posterior.shape
    known = ~posterior[:, 0].isnan()
    unknown = (~known).nonzero().flatten()
    log_probs = torch.cat([torch.log_softmax(values, dim=1).flatten(0, 1), torch.log_softmax(who, dim=0)]).t()
    expected = -(torch.where(known[:, None], posterior, 0.0) * log_probs).sum()
    return (expected + _surprise(values[:, :, unknown], who[:, unknown], told[unknown])) / len(told)


def _surprise(values: Tensor, who: Tensor, told: Tensor) -> Tensor:
    """The surprise of B decisions together at what is true of each."""
    log_probs = torch.log_softmax(values, dim=1).gather(1, told[:, :3].t()[:, None])
    total = -log_probs.sum()
    if len(who):
        known = told[:, 3] >= 0
        named = torch.log_softmax(who, dim=0).gather(0, told[:, 3].clamp(min=0)[None]).squeeze(0)
        total = total - (named * known).sum()
    return total


def taught_loss(log_probs: Tensor, lost: Tensor) -> Tensor:
    """How far a policy is from acts that lose nothing, ``[B]``; zero where it is not known what acts lose.

    ``log_probs[A, B]`` of every act; ``lost[B, A]``: what each loses, share of the whole, infinite for what cannot be
    said, NaN where nothing is known. Half of it is what the policy loses in expectation, in points of ten (Ross and
    Bagnell 2014, arXiv 1406.5979), half the surprise in nats at acts drawn by ``exp(-points / SOFT)``: the first alone
    hardly moves a policy that is sure of a wrong act.
    """
    assert log_probs.shape == lost.t().shape, (log_probs.shape, lost.shape)
    lost = lost.t()
    possible, known = torch.isfinite(lost), ~lost[-1].isnan()
    points = torch.where(possible, TEN * lost, 0.0)
    wanted = torch.softmax(torch.where(possible, -points / SOFT, -torch.inf).where(known, 0.0), dim=0)
    said = torch.where(possible, log_probs.clamp(min=LEAST), 0.0)
    return known * (log_probs.exp() * points - wanted * said).sum(dim=0) / 2


def policy_gradient(log_prob: Tensor, weight: Tensor) -> Tensor:
    """REINFORCE's loss; ``weight[B]`` is return less baseline (Williams 1992, Machine Learning 8, section 4)."""
    assert log_prob.ndim == 1 and log_prob.shape == weight.shape
    return -(log_prob * weight).mean()
