"""Behavior cloning: one network is taught to say what people said at the positions they were in.

Cross-entropy of the act, and of ``oA`` where an offer was made, both under the masks of play; the value head learns
what people got in the end. The epoch that knows best what other people said is kept (early stopping). Source: Pomerleau
1991 (Neural Computation 3), as the supervised start of Lewis et al. 2017, section 4.
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

Order = Callable[[int, int], NDArray[np.int64]]  # (epoch, N) to the order of N rows in it


@dataclass(frozen=True, slots=True)
class CloneSettings:
    """How a network is taught.

    ``balance``: how much more a rare act counts: an act said in a share p of the positions weighs (1 / 5p)**balance, 0:
    all alike, 1: every act as much in all. Only 0 leaves the probabilities those of people.
    """

    lr: float = 1e-3
    epochs: int = 12  # at most
    minibatch: int = 256  # positions
    patience: int = 5  # epochs without getting better before it is over
    anneal: bool = True  # lr falls linearly to zero over all epochs
    balance: float = 0.0
    vf: float = 0.5  # weight of the value loss
    grad_norm: float = 0.5  # the gradient is scaled down to this norm


class Examples(NamedTuple):
    """N positions as a network reads them."""

    read: Tensor  # [N, R] by PolicyNetwork.read
    mask: Tensor  # [N, 4, W] bool
    act: Tensor  # [N] int64
    oA: Tensor  # [N, 3] int64
    share: Tensor  # [N] of their whole, what they got in the end; NaN where it is not known


class Epoch(NamedTuple):
    """What one pass over the positions came to: means per position, in nats."""

    epoch: int  # from 1
    learned_act: float  # cross-entropy of the act on the positions taught, while they were taught
    learned_oA: float
    act: float  # on the others
    oA: float
    best: bool  # whether act + oA is the lowest so far


def examples(positions: Positions, network: PolicyNetwork) -> Examples:
    """The positions as ``network`` reads them, in their order, on its device."""
    size = positions.size
    features = np.zeros((size, network.adapter.width), dtype=np.float32)
    mask = np.zeros((size, 4, network.shape.width), dtype=bool)
    for places, turns in positions.turns():
        features[places], mask[places] = network.adapter.encode(turns), network.mask(turns)
    arrays = (mask, positions.act.astype(np.int64), positions.oA.astype(np.int64), positions.share.astype(np.float32))
    read = network.read(torch.from_numpy(features).to(network.device)).contiguous()
    return Examples(read, *(torch.from_numpy(array).to(network.device) for array in arrays))


def clone(
    network: PolicyNetwork, taught: Positions, others: Positions, settings: CloneSettings, order: Order
) -> Iterator[Epoch]:
    """Teach ``network`` what was said at ``taught``, an epoch at a time; once exhausted it holds its best weights.

    ``others`` decide which are the best; ``order`` says in which order an epoch goes through the rows.
    """
    own, unseen = examples(taught, network), examples(others, network)
    weights = act_weights(own.act, settings.balance)
    optimizer = Adam(network.parameters(), lr=settings.lr, fused=True)
    best, kept, waited = float("inf"), copy.deepcopy(network.state_dict()), 0
    for epoch in range(1, settings.epochs + 1):
        network.train()
        rows = torch.from_numpy(order(epoch, len(own.act))).to(network.device)
        shuffled = Examples(*(column.index_select(0, rows) for column in own))
        parts = list(zip(*(torch.split(column, settings.minibatch) for column in shuffled), strict=True))
        totals = torch.zeros(2, device=network.device)
        for number, part in enumerate(parts):
            done = (epoch - 1 + number / len(parts)) / settings.epochs if settings.anneal else 0.0
            optimizer.param_groups[0]["lr"] = settings.lr * (1 - done)
            totals += _teach(network, optimizer, Examples(*part), weights, settings)
        network.eval()
        act, oA = cross_entropies(network, unseen)
        better = act + oA < best
        best, waited = min(best, act + oA), 0 if better else waited + 1
        if better:
            kept = copy.deepcopy(network.state_dict())
        learned = (totals / max(len(own.act), 1)).tolist()
        yield Epoch(epoch, learned[0], learned[1], act, oA, better)
        if waited >= settings.patience:
            break
    network.load_state_dict(kept)


def act_weights(act: Tensor, balance: float) -> Tensor:
    """What each of the five acts weighs, ``[5]``, so that the mean weight of ``act[N]`` is 1; 0 for one never said."""
    times = torch.bincount(act, minlength=len(Act)).to(torch.float32)
    raw = torch.where(times > 0, (times.sum() / (len(Act) * times.clamp(min=1))) ** balance, 0.0)
    return raw * times.sum() / (raw * times).sum()


@torch.no_grad()
def cross_entropies(network: PolicyNetwork, unseen: Examples) -> tuple[float, float]:
    """Nats per position that ``network`` is surprised by what was said: by the act, and by ``oA``."""
    taken = network.said(network.answer(unseen.read)[0], unseen.mask, unseen.read).taken(unseen.act, unseen.oA)
    return float(-taken.act.mean()), float(-taken.offer.mean())


def _teach(
    network: PolicyNetwork, optimizer: torch.optim.Optimizer, part: Examples, weights: Tensor, settings: CloneSettings
) -> Tensor:
    """One step; the sums of both cross-entropies over ``part``, ``[2]``."""
    logits, value = network.answer(part.read)
    act, oA, _ = network.said(logits, part.mask, part.read).taken(part.act, part.oA)
    known = ~part.share.isnan()
    error = 0.5 * torch.where(known, value - part.share.nan_to_num(), 0.0).square().mean()
    loss = settings.vf * error - (weights[part.act] * act + oA).mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]  # PyTorch's own
    torch.nn.utils.clip_grad_norm_(network.parameters(), settings.grad_norm)
    optimizer.step()
    return -torch.stack([act.detach().sum(), oA.detach().sum()])
