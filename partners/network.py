"""The policy network: one trunk, heads for the act, the three entries of ``oA`` and the value.

It reads the features of :class:`hints.HintAdapter`. Counts, values, offers and turns are few whole numbers, so the
network spells them out as one-hot vectors before its first layer, which learns several times faster than from the
normalized numbers themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dond_marl.features import BaseLayout
from dond_marl.game import ITEMS, MAX_VALUE, Act
from dond_marl.randomness import generator
from dond_marl.seats import Turns
from hints import HintAdapter

PARTS = 1 + len(ITEMS)  # of an action: the act, then each entry of oA


@dataclass(frozen=True, slots=True)
class NetworkShape:
    """What fixes the meaning and the size of every weight."""

    max_count: int = 4
    max_turns: int = 10
    partner_utilities: bool = False
    hints: bool = False
    hidden: tuple[int, ...] = (128, 128)

    @property
    def adapter(self) -> HintAdapter:
        """What turns turns into the features that the network reads."""
        return HintAdapter(BaseLayout(self.max_count, self.max_turns, self.partner_utilities), hints=self.hints)

    @property
    def width(self) -> int:
        """Choices of the widest part of an action."""
        return max(len(Act), self.max_count + 1)


class PolicyNetwork(nn.Module):
    """Features ``[B, F]`` to logits ``[B, 4, W]`` and values ``[B]`` (expected points, as a share of the whole)."""

    _tops: Tensor
    _columns: Tensor
    _levels: Tensor
    _plain: Tensor

    def __init__(self, shape: NetworkShape, seed: int | None = 0) -> None:
        super().__init__()
        self.shape = shape
        self.adapter = shape.adapter
        tops, columns, levels, plain = _expansion(self.adapter, shape)
        self.register_buffer("_tops", torch.tensor(tops, dtype=torch.float32)[:, None], persistent=False)
        self.register_buffer("_columns", torch.tensor(columns), persistent=False)
        self.register_buffer("_levels", torch.tensor(levels, dtype=torch.float32)[:, None], persistent=False)
        self.register_buffer("_plain", torch.tensor(plain, dtype=torch.int64), persistent=False)
        widths = [len(columns) + len(plain), *shape.hidden]
        self.trunk = nn.Sequential(*(layer for sizes in pairwise(widths) for layer in (nn.Linear(*sizes), Tanh())))
        self.head = nn.Linear(widths[-1], PARTS * shape.width + 1)
        if seed is not None:  # None where weights are loaded next: making them takes long on a busy machine
            self._initialize(seed)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.head.weight.device

    def expand(self, features: Tensor) -> Tensor:
        """The network's own input, ``[B, E]``: whole numbers one-hot, the rest as it is. Done once per decision."""
        columns = features.t()  # whole rows of B numbers: several times faster than whole columns
        wholes = (columns * self._tops).round_()
        spelled = wholes.index_select(0, self._columns) == self._levels
        return torch.cat([spelled.to(features.dtype), columns.index_select(0, self._plain)]).t()

    def forward(self, expanded: Tensor) -> tuple[Tensor, Tensor]:
        """Logits ``[B, 4, W]`` and values ``[B]`` of expanded features; in memory the B lie side by side."""
        out = torch.addmm(self.head.bias[:, None], self.head.weight, self.trunk(expanded).t())
        return out[:-1].view(PARTS, self.shape.width, -1).permute(2, 0, 1), out[-1]

    def mask(self, turns: Turns) -> NDArray[np.bool_]:
        """What may be said, ``[B, 4, W]``: the act mask, and each entry of ``oA`` within its cap."""
        mask = np.zeros((PARTS, self.shape.width, turns.size), dtype=bool)
        mask[0, : len(Act)] = turns.act_mask.T
        entries = np.arange(self.shape.max_count + 1, dtype=np.int8)[:, None]
        np.less_equal(entries, turns.caps.T[:, None], out=mask[1:, : len(entries)])
        return mask.transpose(2, 0, 1)

    @torch.no_grad()
    def _initialize(self, seed: int) -> None:
        """Orthogonal weights from the seed, small for the head (Andrychowicz et al. 2021, arXiv 2006.05990)."""
        layers = [layer for layer in self.trunk if isinstance(layer, nn.Linear)]
        for number, layer in enumerate([*layers, self.head]):
            gain = 0.01 if layer is self.head else math.sqrt(2)
            large, small = max(layer.weight.shape), min(layer.weight.shape)
            drawn = generator(seed, "weights", number).standard_normal((large, small))
            basis, signs = np.linalg.qr(drawn)
            basis *= np.sign(np.diag(signs))
            weight = basis if layer.out_features >= layer.in_features else basis.T
            layer.weight.copy_(torch.from_numpy(gain * weight))
            layer.bias.zero_()


class Tanh(nn.Module):
    """The hyperbolic tangent, through PyTorch's logistic function: ten times as fast on a CPU as its own ``tanh``."""

    def forward(self, given: Tensor) -> Tensor:
        """``tanh(given)``, to within 2e-7."""
        result: Tensor = _Tanh.apply(given)  # type: ignore[no-untyped-call]  # PyTorch's own
        return result


class _Tanh(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, given: Tensor) -> Tensor:
        result = (2 * given).sigmoid_().mul_(2).sub_(1)
        context.save_for_backward(result)
        return result

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:
        (result,) = context.saved_tensors
        return torch.addcmul(gradient, gradient * result, result, value=-1)


def _expansion(adapter: HintAdapter, shape: NetworkShape) -> tuple[list[int], list[int], list[int], list[int]]:
    """Each feature's largest whole number; each one-hot input's feature and level; the features taken as they are."""
    top = {
        "counts": shape.max_count,
        "my_utilities": MAX_VALUE,
        "partner_utilities": MAX_VALUE,
        "last_partner_offer_for_me": shape.max_count,
        "turns_remaining": shape.max_turns,
    }
    tops: list[int] = []
    columns: list[int] = []
    levels: list[int] = []
    plain: list[int] = []
    start = 0
    for name, width in adapter.pieces:
        tops += [top.get(name, 1)] * width
        for column in range(start, start + width):
            if name in top:
                columns += [column] * (top[name] + 1)
                levels += range(top[name] + 1)
            else:
                plain.append(column)
        start += width
    return tops, columns, levels, plain
