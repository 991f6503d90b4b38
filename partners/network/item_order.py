"""In which order a network reads the three item types: from the one that it values least up, whatever they are called.

So what is learned of one deal holds for every permutation of its items (Puny et al. 2022, Frame Averaging, arXiv
2110.03336, section 3.1, with one frame; Zaheer et al. 2017, Deep Sets, arXiv 1703.06114, share weights to the same
end). Only items that are alike in everything that is seen keep the order of the turn, so that a network can still ask
for one of them and leave the other. The price: it cannot learn that a partner treats items by name.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from dond_marl.game import ITEMS
from partners.network.shape import AT_ONCE, CODES, STEP, item_columns


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
