"""What fixes the meaning and the size of a network's weights; it needs no PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dond_marl.envs.features import BaseLayout
from dond_marl.game import ITEMS, MAX_VALUE, Act
from dond_marl.seats import Turns
from hints import HintAdapter

PARTS = 1 + len(ITEMS)  # of an action: the act, then each entry of oA
MASKED = -1e9  # logit of what may not be said: its probability is exactly zero in float32
RELUCTANCE = 10.0  # nats: a refusal of one in ten becomes walking away once in two hundred thousand acts

# What is known of each item; items are compared by the first piece in which they differ. By value first: measured on a
# part of the train split, shares of the best response are a point higher than with counts first.
ITEM_PIECES = ("my_utilities", "counts", "partner_utilities", "last_partner_offer_for_me", "hint_oA")
STEP = 128  # weight of a piece over the next: features lie in [0, 1], and two of a piece differ by 1/90 or not at all


@dataclass(frozen=True, slots=True)
class NetworkShape:
    """What fixes the meaning and the size of every weight."""

    max_count: int = 4
    max_turns: int = 10
    partner_utilities: bool = False
    hints: bool = False
    hidden: tuple[int, ...] = (128, 128)
    sorted_items: bool = False  # whether items are read in an order of their own: see partners.network.item_order

    @property
    def adapter(self) -> HintAdapter:
        """What turns turns into the features that the network reads."""
        return HintAdapter(BaseLayout(self.max_count, self.max_turns, self.partner_utilities), hints=self.hints)

    @property
    def width(self) -> int:
        """Choices of the widest part of an action."""
        return max(len(Act), self.max_count + 1)

    def mask(self, turns: Turns) -> NDArray[np.bool_]:
        """What may be said, ``[B, 4, W]``: the act mask, and each entry of ``oA`` within its cap."""
        mask = np.zeros((PARTS, self.width, turns.size), dtype=bool)
        mask[0, : len(Act)] = turns.act_mask.T
        entries = np.arange(self.max_count + 1, dtype=np.int8)[:, None]
        np.less_equal(entries, turns.caps.T[:, None], out=mask[1:, : len(entries)])
        return mask.transpose(2, 0, 1)

    def pieces(self) -> tuple[list[tuple[int, int]], list[int]]:
        """The features that are spelled out, each with its largest whole number; then those taken as they are."""
        top = {
            "counts": self.max_count,
            "my_utilities": MAX_VALUE,
            "partner_utilities": MAX_VALUE,
            "last_partner_offer_for_me": self.max_count,
            "turns_remaining": self.max_turns,
        }
        spelled: list[tuple[int, int]] = []
        plain: list[int] = []
        start = 0
        for name, width in self.adapter.pieces:
            for column in range(start, start + width):
                if name in top:
                    spelled.append((column, top[name]))
                else:
                    plain.append(column)
            start += width
        return spelled, plain


def item_columns(pieces: Sequence[tuple[str, int]]) -> list[slice]:
    """The features by which items are put in order, three each, among ``pieces`` (names and widths, in order)."""
    starts, start = {}, 0
    for name, width in pieces:
        starts[name] = start
        start += width
    return [slice(starts[name], starts[name] + len(ITEMS)) for name in ITEM_PIECES if name in starts]
