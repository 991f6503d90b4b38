"""A magnet: a reference policy that a learner is pulled toward and that follows it, so that self-play settles.

Plain self-play circles where no pure strategy is best. Mirror descent with a magnet (Sokota et al. 2023, *A Unified
Approach to Reinforcement Learning, Quantal Response Equilibria, and Two-Player Zero-Sum Games*, section 3) is pulled
toward a policy by its divergence from it and settles at the equilibrium of the game so regularised; a magnet that moves
toward the learner takes that to the game's own (as the reference of Perolat et al. 2022, *Mastering Stratego*, that is
replaced from time to time). The pull is :class:`partners.learning.learners.Learner`'s ``kl``. Not as there: PPO's clip
stands for the divergence from the last iterate, and the magnet moves in its weights, not in its probabilities.
"""

from __future__ import annotations

import torch

from partners.network.network import PolicyNetwork


@torch.no_grad()
def follow(magnet: PolicyNetwork, network: PolicyNetwork, share: float) -> None:
    """Move ``magnet`` toward ``network`` by ``share`` (0..1) of the way, weight by weight."""
    for own, new in zip(magnet.parameters(), network.parameters(), strict=True):
        own.lerp_(new, share)
