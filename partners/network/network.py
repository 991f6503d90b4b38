"""The policy network: one trunk, heads for the act, the three entries of ``oA`` and the value.

It reads the features of :class:`hints.HintAdapter`. Counts, values, offers and turns are few whole numbers, spelled out
as one-hot vectors before the first layer: that learns several times faster than from normalized numbers. Items are read
as the turn gives them, or in an order of their own (:mod:`partners.network.item_order`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import islice, pairwise
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import embedding_bag, pad

from dond_marl.randomness import generator
from dond_marl.seats import Turns
from partners.network.item_order import ItemOrder, given_back
from partners.network.layers import Linear, Tanh, product
from partners.network.shape import MASKED as MASKED
from partners.network.shape import PARTS as PARTS
from partners.network.shape import NetworkShape as NetworkShape


class PolicyNetwork(nn.Module):
    """Features ``[B, F]`` to logits ``[B, 4, W]`` and values ``[B]`` (expected points, as a share of the whole)."""

    _spelled: Tensor
    _tops: Tensor
    _starts: Tensor
    _levels: Tensor
    _column_of_level: Tensor
    _plain: Tensor

    def __init__(self, shape: NetworkShape, seed: int | None = 0) -> None:
        super().__init__()
        self.shape = shape
        self.adapter = shape.adapter
        self._order = ItemOrder(self.adapter.pieces) if shape.sorted_items else None
        spelled, plain = shape.pieces()
        columns, tops = zip(*spelled, strict=True)
        levels = [np.arange(top + 1) for top in tops]
        starts = np.cumsum([0, *map(len, levels)])
        self.register_buffer("_spelled", torch.tensor(columns), persistent=False)
        self.register_buffer("_tops", torch.tensor(tops, dtype=torch.float32)[:, None], persistent=False)
        self.register_buffer("_starts", torch.from_numpy(starts[:-1, None]).float(), persistent=False)
        self.register_buffer("_levels", torch.from_numpy(np.concatenate(levels)[:, None]).float(), persistent=False)
        owner = np.repeat(np.arange(len(levels)), [len(level) for level in levels])
        self.register_buffer("_column_of_level", torch.from_numpy(owner), persistent=False)
        self.register_buffer("_plain", torch.tensor(plain, dtype=torch.int64), persistent=False)
        widths = [int(starts[-1]) + len(plain), *shape.hidden]
        self.trunk = nn.Sequential(*(layer for sizes in pairwise(widths) for layer in (Linear(*sizes), Tanh())))
        self.head = nn.Linear(widths[-1], PARTS * shape.width + 1)
        if seed is not None:  # None where weights are loaded next: making them takes long on a busy machine
            self._initialize(seed)

    @property
    def device(self) -> torch.device:
        return self.head.weight.device

    def expand(self, features: Tensor) -> Tensor:
        """What the first layer is applied to, ``[B, E]``: whole numbers one-hot, then the rest as it is."""
        columns = features.t()  # whole rows of B numbers: several times faster than whole columns
        wholes = self._wholes(columns)
        ones, kept = len(self._levels), len(self._plain)
        expanded = columns.new_empty(ones + kept, columns.shape[1])
        torch.index_select(wholes, 0, self._column_of_level, out=expanded[:ones])
        expanded[:ones].eq_(self._levels)
        torch.index_select(columns, 0, self._plain, out=expanded[ones:])
        return expanded.t()

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Logits ``[B, 4, W]`` and values ``[B]`` of features ``[B, F]``; in memory the B lie side by side."""
        assert features.ndim == 2 and features.shape[1] == self.adapter.width, (features.shape, self.adapter.width)
        first, order = self._first_layer, self._order
        if order is not None:
            columns = features.t().contiguous()  # whole rows of B numbers
            places = order.places(columns)
            features = order.ordered(columns, places).t()
        hidden: Tensor = _FirstLayer.apply(self, features, first.weight, first.bias)  # type: ignore[no-untyped-call]
        for layer in islice(self.trunk, 1, None):
            hidden = layer(hidden)
        out = torch.addmm(self.head.bias[:, None], self.head.weight, hidden.t())
        parts = out[:-1].view(PARTS, self.shape.width, -1)
        return (parts if order is None else given_back(parts, places)).permute(2, 0, 1), out[-1]

    def first(self, features: Tensor) -> Tensor:
        """The first layer, ``[B, H]``: ``expand(features) @ weight.T + bias``, but by sums of columns of ``weight``."""
        columns, ones = features.t(), len(self._levels)
        weight, bias = self._first_layer.weight, self._first_layer.bias
        wholes = self._wholes(columns)
        chosen = torch.where(wholes <= self._tops, wholes + self._starts, ones)  # beyond its top it is no level at all
        table = pad(weight[:, :ones].t(), (0, 0, 0, 1))  # [levels and nothing, H]
        sums = embedding_bag(chosen.to(torch.int64).t().contiguous(), table, mode="sum")
        return sums.addmm_(columns.index_select(0, self._plain).t(), weight[:, ones:].t()).add_(bias)

    @property
    def _first_layer(self) -> nn.Linear:
        return cast(nn.Linear, self.trunk[0])

    def _wholes(self, columns: Tensor) -> Tensor:
        """The features that are whole numbers, as such, ``[K, B]``."""
        return columns.index_select(0, self._spelled).mul_(self._tops).round_()

    def mask(self, turns: Turns) -> NDArray[np.bool_]:
        """What may be said, ``[B, 4, W]``: the act mask, and each entry of ``oA`` within its cap."""
        return self.shape.mask(turns)

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


def masked(logits: Tensor, mask: Tensor) -> Tensor:
    """``logits`` where ``mask`` (bool, the same shape), else ``MASKED`` or so; a sum is faster than a choice."""
    return logits + (mask.to(logits.dtype) - 1).mul_(-MASKED)


def copy_of(network: PolicyNetwork) -> PolicyNetwork:
    """A network of the same shape with the same weights in tensors of its own, on the same device."""
    return with_weights(network.shape, network.state_dict(), network.device)


def with_weights(shape: NetworkShape, weights: Mapping[str, Tensor], device: torch.device | str) -> PolicyNetwork:
    """A network of ``shape`` on ``device`` that holds a copy of ``weights``, a state by the parameters' names."""
    network = PolicyNetwork(shape, seed=None).to(device)
    network.load_state_dict(weights)
    return network


class _FirstLayer(torch.autograd.Function):
    """:meth:`PolicyNetwork.first`; the gradient is that of a layer over ``expand(features)``."""

    @staticmethod
    def forward(context: Any, network: PolicyNetwork, features: Tensor, _weight: Tensor, _bias: Tensor) -> Tensor:
        context.network = network
        context.save_for_backward(features)
        return network.first(features)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[None, None, Tensor, Tensor]:
        (features,) = context.saved_tensors
        expanded = context.network.expand(features)
        return None, None, product(gradient.t(), expanded.t()), gradient.sum(dim=0)
