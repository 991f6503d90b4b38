"""Behaviour cloning: a network is trained to predict the acts of people at positions of their dialogues.

The loss is the cross-entropy of the act, and of ``oA`` for offers, both under the masks of play; the value head learns
the points that people got in the end. Early stopping selects the epoch with the lowest loss on other dialogues. Source:
Pomerleau 1991 (Neural Computation 3), as the supervised start of Lewis et al. 2017, section 4.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dond_marl.dialogues.positions import Positions
from dond_marl.game import Act
from partners.learning.adam import Adam
from partners.network.network import PolicyNetwork

Order = Callable[[int, int], NDArray[np.int64]]  # (epoch, N) to a permutation of N rows


@dataclass(frozen=True, slots=True)
class CloneSettings:
    """Hyperparameters of behaviour cloning.

    ``balance``: extra weight of rare acts: an act with a share p of the positions has weight (1 / 5p)**balance; 0:
    equal weights, 1: equal total weight of every act. Only 0 gives people's probabilities.
    """

    lr: float = 1e-3
    epochs: int = 12  # at most
    minibatch: int = 256  # positions
    patience: int = 5  # epochs without improvement before it stops
    anneal: bool = True  # lr falls linearly to zero over all epochs
    balance: float = 0.0
    vf: float = 0.5  # weight of the value loss
    grad_norm: float = 0.5  # the gradient is scaled down to this norm


class Examples(NamedTuple):
    """N positions as inputs and labels of a network."""

    inputs: Tensor  # [N, R] by PolicyNetwork.prepare
    mask: Tensor  # [N, 4, W] bool
    act: Tensor  # [N] int64
    oA: Tensor  # [N, 3] int64
    share: Tensor  # [N] final points as a share of the whole; NaN where unknown


class Epoch(NamedTuple):
    """Losses of one epoch: means per position, in nats."""

    epoch: int  # from 1
    train_act: float  # cross-entropy of the act on the training positions, during the epoch
    train_oA: float
    act: float  # on the validation positions
    oA: float
    best: bool  # whether act + oA is the lowest so far


def encode_examples(positions: Positions, network: PolicyNetwork) -> Examples:
    """The positions as inputs and labels for ``network``, in their order, on its device."""
    size = positions.size
    features = np.zeros((size, network.adapter.width), dtype=np.float32)
    mask = np.zeros((size, 4, network.shape.width), dtype=bool)
    for places, turns in positions.turns():
        features[places], mask[places] = network.adapter.encode(turns), network.mask(turns)
    arrays = (mask, positions.act.astype(np.int64), positions.oA.astype(np.int64), positions.share.astype(np.float32))
    inputs = network.prepare(torch.from_numpy(features).to(network.device)).contiguous()
    return Examples(inputs, *(torch.from_numpy(array).to(network.device) for array in arrays))


def clone(
    network: PolicyNetwork, train: Positions, val: Positions, settings: CloneSettings, order: Order
) -> Iterator[Epoch]:
    """Train ``network`` in place, an epoch per step of the iterator; at the end it holds the best epoch's weights.

    ``val`` decides which epoch is best; ``order`` gives the order of the rows in an epoch.
    """
    examples, unseen = encode_examples(train, network), encode_examples(val, network)
    weights = act_weights(examples.act, settings.balance)
    optimizer = Adam(network.parameters(), settings.lr)
    best, best_weights, waited = float("inf"), copy.deepcopy(network.state_dict()), 0
    for epoch in range(1, settings.epochs + 1):
        network.train()
        rows = torch.from_numpy(order(epoch, len(examples.act))).to(network.device)
        shuffled = Examples(*(column.index_select(0, rows) for column in examples))
        parts = list(zip(*(torch.split(column, settings.minibatch) for column in shuffled), strict=True))
        totals = torch.zeros(2, device=network.device)
        for number, part in enumerate(parts):
            progress = (epoch - 1 + number / len(parts)) / settings.epochs if settings.anneal else 0.0
            optimizer.lr = settings.lr * (1 - progress)
            totals += _step(network, optimizer, Examples(*part), weights, settings)
        network.eval()
        act, oA = cross_entropies(network, unseen)
        better = act + oA < best
        best, waited = min(best, act + oA), 0 if better else waited + 1
        if better:
            best_weights = copy.deepcopy(network.state_dict())
        learned = (totals / max(len(examples.act), 1)).tolist()
        yield Epoch(epoch, learned[0], learned[1], act, oA, better)
        if waited >= settings.patience:
            break
    network.load_state_dict(best_weights)


def act_weights(act: Tensor, balance: float) -> Tensor:
    """Weights of the five acts, ``[5]``, scaled to a mean weight of 1 over ``act[N]``; 0 for acts that do not occur."""
    times = torch.bincount(act, minlength=len(Act)).to(torch.float32)
    raw = torch.where(times > 0, (times.sum() / (len(Act) * times.clamp(min=1))) ** balance, 0.0)
    return raw * times.sum() / (raw * times).sum()


@torch.no_grad()
def cross_entropies(network: PolicyNetwork, unseen: Examples) -> tuple[float, float]:
    """Mean cross-entropy of the act and of ``oA``, nats per position."""
    policy = network.distribution(network.evaluate(unseen.inputs)[0], unseen.mask, unseen.inputs)
    played = policy.log_probs(unseen.act, unseen.oA)
    return float(-played.act.mean()), float(-played.offer.mean())


def _step(network: PolicyNetwork, optimizer: Adam, part: Examples, weights: Tensor, settings: CloneSettings) -> Tensor:
    """One gradient step; returns the summed cross-entropies of act and ``oA`` over ``part``, ``[2]``."""
    logits, value = network.evaluate(part.inputs)
    act, oA, _ = network.distribution(logits, part.mask, part.inputs).log_probs(part.act, part.oA)
    has_share = ~part.share.isnan()
    error = 0.5 * torch.where(has_share, value - part.share.nan_to_num(), 0.0).square().mean()
    loss = settings.vf * error - (weights[part.act] * act + oA).mean()
    optimizer.descend(loss, settings.grad_norm)
    return -torch.stack([act.detach().sum(), oA.detach().sum()])
