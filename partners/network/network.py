"""The policy network: one trunk, a head for the action (:mod:`partners.network.heads`) and one for the value.

It reads the features of :class:`hints.HintAdapter`. Counts, values, offers and turns are few whole numbers, spelled out
as one-hot vectors before the first layer: that learns several times faster than from normalized numbers. Items are read
as the turn gives them, or in an order of their own (:mod:`partners.network.network`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import embedding_bag, pad

from dond_marl.game import ITEMS
from dond_marl.randomness import generator
from dond_marl.seats import Turns
from dond_marl.yardsticks.recognition import LEVELS
from partners.network.heads import Factored, Joint, Said
from partners.network.heads import masked as masked
from partners.network.layers import Linear, Tanh, product, transposed
from partners.network.shape import AT_ONCE, CODES, STEP, item_columns
from partners.network.shape import PARTS as PARTS
from partners.network.shape import NetworkShape as NetworkShape


class ItemOrder:
    """The order of the items in features ``[F, B]`` whose ``pieces`` are these (names and widths, in order).

    ``code``: the largest number that what was said of an item can be, by which those features were divided.
    """

    def __init__(self, pieces: Sequence[tuple[str, int]], code: int = 1) -> None:
        self._items, said = item_columns(pieces)
        self._code = code
        self._rows = torch.tensor([row for items in (*self._items, *said) for row in range(items.start, items.stop)])
        self._said = self._rows[len(ITEMS) * len(self._items) :]

    def places(self, columns: Tensor) -> Tensor:
        """Where each item of features ``[F, B]`` comes to stand, ``[3, B]`` int64."""
        first, *rest = self._items
        rank = columns[first].double()
        for items in rest:
            rank = torch.add(columns[items], rank, alpha=STEP)
        if len(self._said):
            codes = columns.index_select(0, self._said.to(columns.device)).mul_(self._code).round_().double()
            # Whole numbers, exact in any order of summing.
            for some in torch.split(codes.view(-1, *rank.shape), AT_ONCE):
                weights = CODES ** torch.arange(len(some) - 1, -1, -1, dtype=codes.dtype, device=codes.device)
                one_number = (weights[None] @ some.flatten(1)).view_as(rank)
                rank = one_number.add_(_smaller(rank), alpha=CODES ** len(some))
        book, hat, ball = rank
        book_hat, book_ball, hat_ball = (book <= hat).long(), (book <= ball).long(), (hat <= ball).long()
        return torch.stack([2 - book_hat - book_ball, 1 + book_hat - hat_ball, book_ball + hat_ball])

    def ordered(self, columns: Tensor, places: Tensor) -> Tensor:
        """Features ``[F, B]`` with every item at its place."""
        rows = self._rows.to(columns.device)
        items = columns.index_select(0, rows).view(-1, *places.shape)
        moved = torch.empty_like(items).scatter_(1, places.expand_as(items), items)
        return columns.index_copy(0, rows, moved.flatten(0, 1))


def _smaller(rank: Tensor) -> Tensor:
    """How many of the three ranks are smaller than each, ``[3, B]``: the same comparisons in small whole numbers."""
    return (rank[:, None] > rank).sum(dim=1).double()


def given_back(parts: Tensor, places: Tensor) -> Tensor:
    """Logits ``[4, W, B]`` with what was said of each place, parts 1 to 3, said of the item that stood there."""
    items = parts[1:].gather(0, places[:, None].expand(-1, parts.shape[1], -1))
    return torch.cat([parts[:1], items])


class BeliefHead(nn.Module):
    """Three distributions over 0..10 points, one for each item, and one over members; a layer over the trunk."""

    def __init__(self, width: int, members: int) -> None:
        super().__init__()
        self.layer = nn.Linear(width, len(ITEMS) * LEVELS + members)

    def forward(self, hidden: Tensor, places: Tensor | None) -> tuple[Tensor, Tensor]:
        """Logits ``[3, 11, B]`` and ``[M, B]`` of ``hidden[B, H]``.

        ``places[3, B]``: where each item stands in the order in which the values are said; None: as the turn has them.
        """
        out = torch.addmm(self.layer.bias[:, None], self.layer.weight, hidden.t())
        values = out[: len(ITEMS) * LEVELS].view(len(ITEMS), LEVELS, -1)
        if places is not None:
            values = values.gather(0, places[:, None].expand(-1, LEVELS, -1))
        return values, out[len(ITEMS) * LEVELS :]


class PolicyNetwork(nn.Module):
    """Features ``[B, F]`` to the logits of a head and values ``[B]`` (expected points, as a share of the whole)."""

    _spelled: Tensor
    _tops: Tensor
    _lows: Tensor
    _starts: Tensor
    _levels: Tensor
    _column_of_level: Tensor
    _plain: Tensor

    def __init__(self, shape: NetworkShape, seed: int | None = 0) -> None:
        super().__init__()
        self.shape = shape
        self.adapter = shape.adapter
        self._order = ItemOrder(self.adapter.pieces, shape.max_count + 1) if shape.sorted_items else None
        spelled, plain = shape.pieces()
        columns, lows, tops = (np.array(numbers) for numbers in zip(*spelled, strict=True))
        starts = np.cumsum([0, *(tops - lows + 1)])
        levels = starts[-1]
        self.register_buffer("_spelled", torch.from_numpy(columns), persistent=False)
        self.register_buffer("_tops", torch.from_numpy(tops[:, None]).float(), persistent=False)
        self.register_buffer("_lows", torch.from_numpy(lows[:, None]).float(), persistent=False)
        self.register_buffer("_starts", torch.from_numpy((starts[:-1] - lows)[:, None]).float(), persistent=False)
        self.register_buffer("_levels", torch.arange(levels, dtype=torch.float32)[:, None], persistent=False)
        owner = np.repeat(np.arange(len(tops)), tops - lows + 1)
        self.register_buffer("_column_of_level", torch.from_numpy(owner), persistent=False)
        self.register_buffer("_plain", torch.tensor(plain, dtype=torch.int64), persistent=False)
        widths = [int(levels) + len(plain), *shape.hidden]
        self.trunk = nn.Sequential(*(layer for sizes in pairwise(widths) for layer in (Linear(*sizes), Tanh())))
        self.head = nn.Linear(widths[-1], shape.outputs + 1)
        self.belief = BeliefHead(widths[-1], len(shape.members)) if shape.beliefs else None
        if seed is not None:  # None where weights are loaded next: making them takes long on a busy machine
            self._initialize(seed)

    @property
    def device(self) -> torch.device:
        return self.head.weight.device

    def read(self, features: Tensor) -> Tensor:
        """Features ``[B, F]`` as the layers take them, ``[B, R]``: made once, answered as often as the weights change.

        The level that each whole number is, out of all; then the features that are taken as they are; then, where items
        are put in order, the place of each.
        """
        assert features.ndim == 2 and features.shape[1] == self.adapter.width, (features.shape, self.adapter.width)
        columns, order = features.t().contiguous(), self._order  # whole rows of B numbers: several times faster
        places = []
        if order is not None:
            places.append(order.places(columns))
            columns = order.ordered(columns, places[0])
        wholes = columns.index_select(0, self._spelled).mul_(self._tops).round_()
        known = (wholes <= self._tops) & (wholes >= self._lows)
        levels = torch.where(known, wholes + self._starts, len(self._levels))
        return torch.cat([levels, columns.index_select(0, self._plain), *(place.float() for place in places)]).t()

    def answer(self, read: Tensor) -> tuple[Tensor, Tensor]:
        """The head's logits and values ``[B]`` of what :meth:`read` made; in memory the B lie side by side.

        Logits are ``[B, 4, W]`` of a factored head, ``[B, 5 + 2K]`` of a joint one, its splits in the network's own
        order of items: :meth:`said` knows what they mean.
        """
        return self.spoken(self.hidden(read), read)

    def hidden(self, read: Tensor) -> Tensor:
        """What the trunk makes of what :meth:`read` made, ``[B, H]``: all that every head knows."""
        first = self._first_layer
        hidden: Tensor = _FirstLayer.apply(self, read, first.weight, first.bias)  # type: ignore[no-untyped-call]
        for layer in islice(self.trunk, 1, None):
            hidden = layer(hidden)
        return hidden

    def spoken(self, hidden: Tensor, read: Tensor) -> tuple[Tensor, Tensor]:
        """:meth:`answer` of what :meth:`hidden` made."""
        if self.shape.head == "joint":
            out = transposed(self.head, hidden)
            return out[:-1].t(), out[-1]
        out = torch.addmm(self.head.bias[:, None], self.head.weight, hidden.t())
        parts = out[:-1].view(PARTS, self.shape.width, -1)
        return (parts if self._order is None else given_back(parts, _places(read))).permute(2, 0, 1), out[-1]

    def said(self, logits: Tensor, mask: Tensor, read: Tensor) -> Said:
        """What :meth:`answer` said of ``read``, under ``mask[B, 4, W]``: the distribution of the actions."""
        if self.shape.head == "factored":
            return Factored(logits, mask)
        return Joint(logits, mask, None if self._order is None else _places(read))

    def believed(self, hidden: Tensor, read: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of what is believed: of each item's value to the partner ``[3, 11, B]``, of each member ``[M, B]``.

        Items are as the turn has them, whatever the network's own order. Only where the shape has ``beliefs``.
        """
        assert self.belief is not None
        return cast(tuple[Tensor, Tensor], self.belief(hidden, None if self._order is None else _places(read)))

    def in_own_order(self, values: Tensor, read: Tensor) -> Tensor:
        """Numbers of items ``[3, B]`` as the turn has them, in the network's own order."""
        return values if self._order is None else torch.empty_like(values).scatter_(0, _places(read), values)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """:meth:`answer` for features ``[B, F]``."""
        return self.answer(self.read(features))

    def first(self, read: Tensor) -> Tensor:
        """The first layer, ``[B, H]``: ``expand(read) @ weight.T + bias``, but by sums of columns of ``weight``."""
        ones, spelled, kept = len(self._levels), len(self._spelled), len(self._plain)
        weight, bias = self._first_layer.weight, self._first_layer.bias
        table = pad(weight[:, :ones].t(), (0, 0, 0, 1))  # [levels and nothing, H]
        chosen = read[:, :spelled].to(torch.int64).contiguous()
        sums = embedding_bag(chosen, table, mode="sum")
        return sums.addmm_(read[:, spelled : spelled + kept], weight[:, ones:].t()).add_(bias)

    def expand(self, read: Tensor) -> Tensor:
        """What the first layer is applied to, ``[B, E]``: whole numbers one-hot, then the rest as it is."""
        columns, ones, kept = read.t().contiguous(), len(self._levels), len(self._plain)
        spelled = len(self._spelled)
        expanded = columns.new_empty(ones + kept, columns.shape[1])
        torch.index_select(columns[:spelled], 0, self._column_of_level, out=expanded[:ones])
        expanded[:ones].eq_(self._levels)
        expanded[ones:] = columns[spelled : spelled + kept]
        return expanded.t()

    @property
    def _first_layer(self) -> nn.Linear:
        return cast(nn.Linear, self.trunk[0])

    def mask(self, turns: Turns) -> NDArray[np.bool_]:
        """What may be said, ``[B, 4, W]``: the act mask, and each entry of ``oA`` within its cap."""
        return self.shape.mask(turns)

    @torch.no_grad()
    def _initialize(self, seed: int) -> None:
        """Orthogonal weights from the seed, small for the head (Andrychowicz et al. 2021, arXiv 2006.05990)."""
        layers = [layer for layer in self.trunk if isinstance(layer, nn.Linear)]
        small = [self.head, *([] if self.belief is None else [self.belief.layer])]
        for number, layer in enumerate([*layers, *small]):
            first_weights(layer, 0.01 if layer in small else math.sqrt(2), seed, number)


@torch.no_grad()
def first_weights(layer: nn.Linear, gain: float, seed: int, number: int) -> None:
    """Give a layer orthogonal weights times ``gain``, a function of the seed and the layer's number, and no bias."""
    large, small = max(layer.weight.shape), min(layer.weight.shape)
    drawn = generator(seed, "weights", number).standard_normal((large, small))
    basis, signs = np.linalg.qr(drawn)
    basis *= np.sign(np.diag(signs))
    weight = basis if layer.out_features >= layer.in_features else basis.T
    layer.weight.copy_(torch.from_numpy(gain * weight))
    layer.bias.zero_()


def _places(read: Tensor) -> Tensor:
    """Where each item stands in the network's own order, ``[3, B]``, as :meth:`PolicyNetwork.read` noted it last."""
    return read[:, -len(ITEMS) :].t().long()


def copy_of(network: PolicyNetwork) -> PolicyNetwork:
    """A network of the same shape with the same weights in tensors of its own, on the same device."""
    return with_weights(network.shape, network.state_dict(), network.device)


def with_weights(shape: NetworkShape, weights: Mapping[str, Tensor], device: torch.device | str) -> PolicyNetwork:
    """A network of ``shape`` on ``device`` that holds a copy of ``weights``, a state by the parameters' names."""
    network = PolicyNetwork(shape, seed=None).to(device)
    network.load_state_dict(weights)
    return network


class _FirstLayer(torch.autograd.Function):
    """:meth:`PolicyNetwork.first`; the gradient is that of a layer over ``expand(read)``."""

    @staticmethod
    def forward(context: Any, network: PolicyNetwork, read: Tensor, _weight: Tensor, _bias: Tensor) -> Tensor:
        context.network = network
        context.save_for_backward(read)
        return network.first(read)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[None, None, Tensor, Tensor]:
        (read,) = context.saved_tensors
        expanded = context.network.expand(read)
        return None, None, product(gradient.t(), expanded.t()), gradient.sum(dim=0)
