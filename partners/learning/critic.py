"""A critic that sees both seats' values: for learning alone, never in a seat.

What a decision is worth depends on what the partner wants, which the seat cannot see. A critic that sees it has less
left to guess, so advantages are less noisy; the policy learns from them and still reads its own features alone
(Pinto, Andrychowicz, Welinder, Zaremba, Abbeel 2018, *Asymmetric actor critic for image-based robot learning*, RSS,
arXiv 1710.06542).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from dond_marl.game import ITEMS
from dond_marl.yardsticks.recognition import LEVELS
from partners.network.layers import Linear, Tanh
from partners.network.network import PolicyNetwork, first_weights

HIDDEN = 64


class Critic(nn.Module):
    """What decisions are worth, ``[B]`` as a share of the whole, by what a network's trunk knows and both values."""

    def __init__(self, network: PolicyNetwork, seed: int) -> None:
        super().__init__()
        self.inner = Linear(network.head.in_features + len(ITEMS) * LEVELS, HIDDEN)
        self.tanh = Tanh()
        self.outer = nn.Linear(HIDDEN, 1)
        # Numbers of layers that no network has, so that none of its weights is drawn alike.
        first_weights(self.inner, math.sqrt(2), seed, 1000)
        first_weights(self.outer, 0.01, seed, 1001)

    def forward(self, hidden: Tensor, values: Tensor) -> Tensor:
        """``hidden[B, H]`` of the trunk, ``values[3, B]`` of the partner in the network's own order of items."""
        shown = torch.nn.functional.one_hot(values.t(), LEVELS).flatten(1).to(hidden.dtype)
        worth: Tensor = self.outer(self.tanh(self.inner(torch.cat([hidden, shown], dim=1))))
        return worth.squeeze(1)
