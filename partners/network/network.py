"""The policy network: one trunk with heads for the action (:mod:`partners.network.heads`), the value and beliefs.

It reads the features of :class:`hints.HintAdapter`. Counts, values, offers and turns are small integers, turned into
one-hot vectors before the first layer: that learns several times faster than normalized numbers. Items are read in the
turn's order, or in the network's own order (:class:`ItemOrder`).
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import embedding_bag, pad

from dond_marl.game import ITEMS
from dond_marl.randomness import generator
from dond_marl.seats import Turns
from dond_marl.solvers.recognition import LEVELS
from partners.network.heads import ActionDistribution, Factored, Joint
from partners.network.layers import TanhLayer, TransposedLayer, tanh_in_place
from partners.network.shape import AT_ONCE, CODES, PARTS, STEP, item_columns
from partners.network.shape import NetworkShape as NetworkShape

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h


class PolicyNetwork(nn.Module):
    """Features ``[B, F]`` to the logits of a head and values ``[B]`` (expected points, as a share of the whole).

    ``seed`` draws the weights; None leaves them uninitialised, for a network whose weights are loaded next.
    """

    _one_hot_columns: Tensor
    _tops: Tensor
    _lows: Tensor
    _starts: Tensor
    _levels: Tensor
    _column_of_level: Tensor
    _plain: Tensor

    def __init__(self, shape: NetworkShape, seed: int | None = 0) -> None:
        super().__init__()
        keep_freed_memory()
        self.shape = shape
        self.adapter = shape.adapter
        self._order = ItemOrder(self.adapter.pieces, shape.max_count + 1) if shape.sorted_items else None
        one_hot, plain = shape.pieces()
        columns, lows, tops = (np.array(numbers) for numbers in zip(*one_hot, strict=True))
        starts = np.cumsum([0, *(tops - lows + 1)])
        levels = starts[-1]
        self.register_buffer("_one_hot_columns", torch.from_numpy(columns), persistent=False)
        self.register_buffer("_tops", torch.from_numpy(tops[:, None]).float(), persistent=False)
        self.register_buffer("_lows", torch.from_numpy(lows[:, None]).float(), persistent=False)
        self.register_buffer("_starts", torch.from_numpy((starts[:-1] - lows)[:, None]).float(), persistent=False)
        self.register_buffer("_levels", torch.arange(levels, dtype=torch.float32)[:, None], persistent=False)
        owner = np.repeat(np.arange(len(tops)), tops - lows + 1)
        self.register_buffer("_column_of_level", torch.from_numpy(owner), persistent=False)
        self.register_buffer("_plain", torch.tensor(plain, dtype=torch.int64), persistent=False)
        widths = [int(levels) + len(plain), *shape.hidden]
        self.trunk = nn.Sequential(*(layer for sizes in pairwise(widths) for layer in (nn.Linear(*sizes), nn.Tanh())))
        self.head = nn.Linear(widths[-1], shape.outputs + 1)
        self.belief = BeliefHead(widths[-1], len(shape.members)) if shape.beliefs else None
        if seed is not None:  # initialising takes long on a busy machine
            self._initialize(seed)

    @property
    def device(self) -> torch.device:
        return self.head.weight.device

    # The columns of a prepared input, one row per turn (Q one-hot features, P plain ones):
    #
    #     [ level of feature 1 | ... | level of feature Q | plain 1 ... plain P | place of book, hat, ball ]
    #       an index into all levels of all one-hot features,                      only with sorted items
    #       or their number for a value outside its range
    #
    # One-hot vectors are never built in a forward pass: their product with the first layer's weights is a sum of Q
    # columns of the weights (_FirstLayer). one_hot builds them for comparisons with plain layers.

    def prepare(self, features: Tensor) -> Tensor:
        """Features ``[B, F]`` as the layers take them, ``[B, R]``; independent of the weights, so computed once."""
        assert features.ndim == 2 and features.shape[1] == self.adapter.width, (features.shape, self.adapter.width)
        columns, order = features.t().contiguous(), self._order  # rows of B contiguous numbers: several times faster
        places = []
        if order is not None:
            places.append(order.places(columns))
            columns = order.order_items(columns, places[0])
        numbers = columns.index_select(0, self._one_hot_columns).mul_(self._tops).round_()
        in_range = (numbers <= self._tops) & (numbers >= self._lows)
        levels = torch.where(in_range, numbers + self._starts, len(self._levels))
        return torch.cat([levels, columns.index_select(0, self._plain), *(rows.float() for rows in places)]).t()

    def evaluate(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """The head's logits and values ``[B]`` of prepared inputs ``[B, R]``; in memory the B are contiguous.

        Logits are ``[B, 4, W]`` of a factored head, ``[B, 5 + 2K]`` of a joint one, its splits in the network's own
        order of items; :meth:`distribution` interprets them.
        """
        return self.heads(self.trunk_output(inputs), inputs)

    def trunk_output(self, inputs: Tensor) -> Tensor:
        """The trunk's output for prepared inputs, ``[B, H]``: the input of every head."""
        first, *later_layers = (layer for layer in self.trunk if isinstance(layer, nn.Linear))
        hidden: Tensor = _FirstLayer.apply(self, inputs, first.weight, first.bias)  # type: ignore[no-untyped-call]
        for layer in later_layers:
            hidden = TanhLayer.apply(hidden, layer.weight, layer.bias)  # type: ignore[no-untyped-call]
        return hidden

    def heads(self, hidden: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """:meth:`evaluate` from the output of :meth:`trunk_output`."""
        return self.split_output(self.head_output(hidden), inputs)

    def head_output(self, hidden: Tensor) -> Tensor:
        """The last layer's output, ``[outputs + 1, B]``; the last row is the value."""
        out: Tensor = TransposedLayer.apply(hidden, self.head.weight, self.head.bias)  # type: ignore[no-untyped-call]
        return out

    def split_output(self, out: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """The logits and values in the last layer's output, as :meth:`evaluate` returns them."""
        if self.shape.head == "joint":
            return out[:-1].t(), out[-1]
        parts = out[:-1].view(PARTS, self.shape.width, -1)
        return (parts if self._order is None else in_turn_order(parts, _input_places(inputs))).permute(2, 0, 1), out[-1]

    def distribution(self, logits: Tensor, mask: Tensor, inputs: Tensor) -> ActionDistribution:
        """The distribution of actions by the logits of ``inputs``, under ``mask[B, 4, W]``."""
        if self.shape.head == "factored":
            return Factored(logits, mask)
        return Joint(logits, mask, None if self._order is None else _input_places(inputs))

    def belief_logits(self, hidden: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of each item's value to the partner, ``[3, 11, B]``, and of the partner's identity, ``[M, B]``.

        Items are in the turn's order, whatever the network's own is. Needs a shape with ``beliefs``.
        """
        assert self.belief is not None
        return cast(tuple[Tensor, Tensor], self.belief(hidden, None if self._order is None else _input_places(inputs)))

    def in_own_order(self, values: Tensor, inputs: Tensor) -> Tensor:
        """Numbers of items ``[3, B]`` from the turn's order to the network's own."""
        return values if self._order is None else torch.empty_like(values).scatter_(0, _input_places(inputs), values)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """:meth:`evaluate` for features ``[B, F]``."""
        return self.evaluate(self.prepare(features))

    def chosen_levels(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """The levels ``[B, Q]`` int64 and the plain features ``[B, P]`` of prepared inputs."""
        one_hot, plain = len(self._one_hot_columns), len(self._plain)
        return inputs[:, :one_hot].to(torch.int64).contiguous(), inputs[:, one_hot : one_hot + plain]

    def one_hot(self, inputs: Tensor) -> Tensor:
        """The input of the first layer's product, ``[B, E]``: one-hot vectors, then the plain features."""
        columns, levels, plain = inputs.t().contiguous(), len(self._levels), len(self._plain)
        one_hot = len(self._one_hot_columns)
        expanded = columns.new_empty(levels + plain, columns.shape[1])
        torch.index_select(columns[:one_hot], 0, self._column_of_level, out=expanded[:levels])
        expanded[:levels].eq_(self._levels)
        expanded[levels:] = columns[one_hot : one_hot + plain]
        return expanded.t()

    def mask(self, turns: Turns) -> NDArray[np.bool_]:
        """Legal choices, ``[B, 4, W]``: see :meth:`partners.network.shape.NetworkShape.mask`."""
        return self.shape.mask(turns)

    @torch.no_grad()
    def _initialize(self, seed: int) -> None:
        """Orthogonal weights from the seed, small for the heads (Andrychowicz et al. 2021, arXiv 2006.05990)."""
        layers = [layer for layer in self.trunk if isinstance(layer, nn.Linear)]
        small = [self.head, *([] if self.belief is None else [self.belief.layer])]
        for number, layer in enumerate([*layers, *small]):
            orthogonal_weights(layer, 0.01 if layer in small else math.sqrt(2), seed, number)


@cache
def keep_freed_memory() -> None:
    """Set the C library's allocator to keep freed memory.

    By default glibc returns arrays of a megabyte to the system, and each new one costs hundreds of page faults: a tenth
    of the time of playing and learning.
    """
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        for option, size in ((M_MMAP_THRESHOLD, 1 << 25), (M_TRIM_THRESHOLD, 1 << 28)):
            libc.mallopt(option, size)


class ItemOrder:
    """The network's own order of the three item types: by the seat's value, ascending, whatever they are called.

    What is learned of one deal then holds for every permutation of its items (Puny et al. 2022, Frame Averaging, arXiv
    2110.03336, section 3.1, with one frame; Zaheer et al. 2017, Deep Sets, arXiv 1703.06114, share weights to the same
    end). Only items that are alike in all that is observed keep the turn's order, so that a network can still ask for
    one of them and leave the other. The price: it cannot learn that a partner treats items by name.

    ``pieces``: names and widths of the features, in order. ``code``: the largest code of an entry of the history, by
    which those features were divided.
    """

    # Items are compared by keys in turn, all packed into one float64 ("rank") per item, exact below 2**53:
    #
    #     key 1 (value) : key 2 : ... : key 5            each one weighs STEP times the next
    #     number of smaller ranks (0..2) : 12 codes       then AT_ONCE codes of the history at a time, CODES times each
    #
    # The comparison of two ranks is then the lexicographic comparison of all keys.

    def __init__(self, pieces: Sequence[tuple[str, int]], code: int = 1) -> None:
        self._items, history = item_columns(pieces)
        self._code = code
        self._rows = torch.tensor([row for items in (*self._items, *history) for row in range(items.start, items.stop)])
        self._history = self._rows[len(ITEMS) * len(self._items) :]

    def places(self, columns: Tensor) -> Tensor:
        """The place of each item in the order, of features ``[F, B]``: ``[3, B]`` int64."""
        first, *later_pieces = self._items
        rank = columns[first].double()
        for items in later_pieces:
            rank = torch.add(columns[items], rank, alpha=STEP)
        if len(self._history):
            codes = columns.index_select(0, self._history.to(columns.device)).mul_(self._code).round_().double()
            # Whole numbers, exact in any order of summing.
            for chunk in torch.split(codes.view(-1, *rank.shape), AT_ONCE):
                weights = CODES ** torch.arange(len(chunk) - 1, -1, -1, dtype=codes.dtype, device=codes.device)
                packed = (weights[None] @ chunk.flatten(1)).view_as(rank)
                smaller = (rank[:, None] > rank).sum(dim=1).double()  # the same comparisons in small whole numbers
                rank = packed.add_(smaller, alpha=CODES ** len(chunk))
        book, hat, ball = rank
        book_hat, book_ball, hat_ball = (book <= hat).long(), (book <= ball).long(), (hat <= ball).long()
        return torch.stack([2 - book_hat - book_ball, 1 + book_hat - hat_ball, book_ball + hat_ball])

    def order_items(self, columns: Tensor, places: Tensor) -> Tensor:
        """Features ``[F, B]`` with every item at its place."""
        rows, numbers = self._rows.to(columns.device), torch.arange(places.numel(), device=places.device)
        items = columns.index_select(0, rows).view(-1, places.numel())
        # One gather of whole columns is twice as fast as a scatter of single numbers.
        sources = torch.empty_like(places).scatter_(0, places, numbers.view_as(places)).flatten()
        return columns.index_copy(0, rows, items.index_select(1, sources).view(len(rows), -1))


def in_turn_order(parts: Tensor, places: Tensor) -> Tensor:
    """Logits ``[4, W, B]`` whose parts 1 to 3 are by place, moved to the items of the turn at those places."""
    items = parts[1:].gather(0, places[:, None].expand(-1, parts.shape[1], -1))
    return torch.cat([parts[:1], items])


class BeliefHead(nn.Module):
    """Beliefs about the partner: a distribution over 0..10 points for each item, and one over members."""

    def __init__(self, width: int, members: int) -> None:
        super().__init__()
        self.layer = nn.Linear(width, len(ITEMS) * LEVELS + members)

    def forward(self, hidden: Tensor, places: Tensor | None) -> tuple[Tensor, Tensor]:
        """Logits ``[3, 11, B]`` and ``[M, B]`` of ``hidden[B, H]``.

        ``places[3, B]``: the place of each item in the network's own order; None: the turn's order.
        """
        out = torch.addmm(self.layer.bias[:, None], self.layer.weight, hidden.t())
        values = out[: len(ITEMS) * LEVELS].view(len(ITEMS), LEVELS, -1)
        if places is not None:
            values = values.gather(0, places[:, None].expand(-1, LEVELS, -1))
        return values, out[len(ITEMS) * LEVELS :]


@torch.no_grad()
def orthogonal_weights(layer: nn.Linear, gain: float, seed: int, number: int) -> None:
    """Set orthogonal weights times ``gain``, a function of the seed and the layer's ``number``, and a zero bias."""
    large, small = max(layer.weight.shape), min(layer.weight.shape)
    drawn = generator(seed, "weights", number).standard_normal((large, small))
    basis, signs = np.linalg.qr(drawn)
    basis *= np.sign(np.diag(signs))
    weight = basis if layer.out_features >= layer.in_features else basis.T
    layer.weight.copy_(torch.from_numpy(gain * weight))
    layer.bias.zero_()


def _input_places(inputs: Tensor) -> Tensor:
    """The place of each item in the network's own order, ``[3, B]``: the last columns of prepared inputs."""
    return inputs[:, -len(ITEMS) :].t().long()


def copy_of(network: PolicyNetwork) -> PolicyNetwork:
    """A network of the same shape with a copy of the weights, on the same device."""
    return with_weights(network.shape, network.state_dict(), network.device)


def with_weights(shape: NetworkShape, weights: Mapping[str, Tensor], device: torch.device | str) -> PolicyNetwork:
    """A network of ``shape`` on ``device`` that holds a copy of ``weights`` (a ``state_dict``)."""
    network = PolicyNetwork(shape, seed=None).to(device)
    network.load_state_dict(weights)
    return network


class _FirstLayer(torch.autograd.Function):
    """``tanh(one_hot(inputs) @ weight.T + bias)``, ``[B, H]``: a row sums Q columns of ``weight``.

    The gradient of a column is a sum of rows too: of those that chose the column's level.
    """

    @staticmethod
    def forward(context: Any, network: PolicyNetwork, inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        chosen, plain = network.chosen_levels(inputs)
        levels = weight.shape[1] - plain.shape[1]
        table = pad(weight[:, :levels].t(), (0, 0, 0, 1))  # [all levels and a row of zeros, H]
        sums = embedding_bag(chosen, table, mode="sum").addmm_(plain, weight[:, levels:].t()).add_(bias)
        result = tanh_in_place(sums)
        context.save_for_backward(chosen, plain, result)
        context.levels = levels
        return result

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[None, None, Tensor, Tensor]:
        chosen, plain, result = context.saved_tensors
        gradient = torch.ops.aten.tanh_backward(gradient, result)
        rows, starts = _rows_by_level(chosen, context.levels)
        columns = embedding_bag(rows, gradient, starts, mode="sum")
        return None, None, torch.cat([columns, plain.t() @ gradient]).t(), gradient.sum(dim=0)


def _rows_by_level(chosen: Tensor, levels: int) -> tuple[Tensor, Tensor]:
    """The rows that chose each level, of ``chosen[B, Q]``: concatenated, and where each level's start, ``[levels]``.

    Level number ``levels`` stands for a value outside its feature's range: left out, half of a history's numbers.
    """
    numbers = chosen.cpu().numpy().ravel().astype(np.int16)  # sorted by radix
    in_range = np.flatnonzero(numbers < levels)
    numbers = numbers[in_range]
    ends = np.cumsum(np.bincount(numbers, minlength=levels))
    rows = in_range[np.argsort(numbers, kind="stable")] // chosen.shape[1]
    starts = np.concatenate([[0], ends[:-1]])
    return torch.from_numpy(rows).to(chosen.device), torch.from_numpy(starts).to(chosen.device)
