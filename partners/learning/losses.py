"""The losses of the learners: pure functions of tensors, each with its paper.

B decisions; T own decisions of N games. Actions have four parts, the act and the three entries of ``oA``, side by side:
``[B, 4, W]``, W the widest part, what is not allowed masked.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from dond_marl.game import Act
from partners.network.network import masked


class Policy(NamedTuple):
    """The distribution of B actions and what it says of those taken."""

    log_prob: Tensor  # [B] of the actions taken; oA counts for offers alone
    entropy: Tensor  # [B] of the whole action, in nats


def log_prob_and_entropy(logits: Tensor, mask: Tensor, act: Tensor, oA: Tensor) -> Policy:
    """Log-probability of the actions taken and entropy of the distribution.

    ``logits[B, 4, W]``, ``mask[B, 4, W]`` bool, ``act[B]``, ``oA[B, 3]`` int64. An action's probability is that of its
    act and, for PROPOSE and INSIST, of each entry of ``oA``; the entropy weighs that of ``oA`` by the probability of an
    offer.
    """
    assert logits.ndim == 3 and logits.shape == mask.shape and logits.shape[1] == 4, (logits.shape, mask.shape)
    assert act.shape == oA.shape[:1] and oA.shape[1] == 3, (act.shape, oA.shape)
    # With the B side by side every step below runs over whole rows of them, ten times as fast as over rows of W.
    log_probs = torch.log_softmax(masked(logits.permute(1, 2, 0), mask.permute(1, 2, 0)), dim=1)  # [4, W, B]
    taken = torch.cat([act[None], oA.t()])[:, None]  # [4, 1, B]
    parts = log_probs.gather(1, taken).squeeze(1)  # [4, B]
    log_prob = parts[0] + (act <= Act.INSIST) * parts[1:].sum(dim=0)
    probs = log_probs.exp()
    entropies = -(probs * log_probs).sum(dim=1)  # [4, B]; zero times MASKED is zero
    offering = probs[0, : Act.INSIST + 1].sum(dim=0)
    return Policy(log_prob, entropies[0] + offering * entropies[1:].sum(dim=0))


def imitation(logits: Tensor, mask: Tensor, act: Tensor, oA: Tensor) -> tuple[Tensor, Tensor]:
    """Cross-entropies in nats of the actions taken: of the act ``[B]``, and of ``oA`` ``[B]``, 0 without an offer.

    Arguments as of :func:`log_prob_and_entropy`; the two add up to the negative of its log-probability.
    """
    log_probs = torch.log_softmax(masked(logits.permute(1, 2, 0), mask.permute(1, 2, 0)), dim=1)  # [4, W, B]
    taken = torch.cat([act[None], oA.t()])[:, None]  # [4, 1, B]
    parts = log_probs.gather(1, taken).squeeze(1)  # [4, B]
    return -parts[0], (act <= Act.INSIST) * -parts[1:].sum(dim=0)


def divergence(logits: Tensor, reference: Tensor, mask: Tensor) -> Tensor:
    """The exact Kullback-Leibler divergence of the whole action from another policy's, in nats, ``[B]``.

    KL(``logits`` || ``reference``), both ``[B, 4, W]`` under the same ``mask[B, 4, W]``. Given the act, the entries of
    ``oA`` are independent and the same for PROPOSE and INSIST, so the sum over all actions is that of the act and, by
    the probability of an offer, of each entry (Cover and Thomas 2006, section 2.5: the chain rule).
    """
    assert logits.shape == reference.shape == mask.shape and logits.shape[1] == 4, (logits.shape, reference.shape)
    allowed = mask.permute(1, 2, 0)
    own = torch.log_softmax(masked(logits.permute(1, 2, 0), allowed), dim=1)  # [4, W, B]
    other = torch.log_softmax(masked(reference.permute(1, 2, 0), allowed), dim=1)
    probs = own.exp()
    parts = (probs * (own - other)).sum(dim=1)  # [4, B]; what is masked has probability zero in both
    return parts[0] + probs[0, : Act.INSIST + 1].sum(dim=0) * parts[1:].sum(dim=0)


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


def policy_gradient(log_prob: Tensor, weight: Tensor) -> Tensor:
    """REINFORCE's loss; ``weight[B]`` is return less baseline (Williams 1992, Machine Learning 8, section 4)."""
    assert log_prob.ndim == 1 and log_prob.shape == weight.shape
    return -(log_prob * weight).mean()
