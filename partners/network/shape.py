"""What fixes the meaning and the size of a network's weights; it needs no PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.envs.features import BaseLayout
from dond_marl.game import ITEMS, Act
from dond_marl.seats import Turns
from dond_marl.splits import grid_size
from hints import HintAdapter

PARTS = 1 + len(ITEMS)  # of an action: the act, then each entry of oA
MASKED = -1e9  # logit of what may not be said: its probability is exactly zero in float32
RELUCTANCE = 10.0  # nats: a refusal of one in ten becomes walking away once in two hundred thousand acts

# What is known of each item; items are compared by the first piece in which they differ. By value first: measured on a
# part of the train split, shares of the best response are a point higher than with counts first.
ITEM_PIECES = ("my_utilities", "counts", "partner_utilities", "last_partner_offer_for_me", "hint_oA")
STEP = 128  # weight of a piece over the next: features lie in [0, 1], and two of a piece differ by 1/90 or not at all
# Items alike in all of these are compared by what was said of them, from the first turn on: how such pieces begin.
HISTORY_PIECES = ("own_claim", "theirs_offer", "mine_offer")
CODES, AT_ONCE = 16, 12  # the codes of a piece are fewer than CODES: so many pieces are one whole number below 2**53

History = Literal["none", "flat"]
Head = Literal["factored", "joint"]
# Keys of a shape that the first checkpoints do not have.
LATER: dict[str, Any] = {"history": "none", "head": "factored", "beliefs": False, "members": []}


class Spelled(NamedTuple):
    """A feature that is a whole number, read as one of the levels ``low``..``top``; what lies outside says nothing."""

    column: int
    low: int
    top: int


@dataclass(frozen=True, slots=True)
class NetworkShape:
    """What fixes the meaning and the size of every weight."""

    max_count: int = 4
    max_turns: int = 10
    partner_utilities: bool = False
    hints: bool = False
    hidden: tuple[int, ...] = (128, 128)
    sorted_items: bool = False  # whether items are read in an order of their own: see partners.network.network
    history: History = "none"  # flat: whether what was said before is read, every act of it spelled out
    head: Head = "factored"  # joint: all splits of the pool as one distribution; see partners.network.heads
    beliefs: bool = False  # whether it says what it believes of the partner's values: see partners.network.network
    members: tuple[str, ...] = ()  # and who of these it is

    def noted(self) -> dict[str, Any]:
        """What a checkpoint notes of it; whoever was made without what came later notes the same as before."""
        noted = {**asdict(self), "hidden": list(self.hidden), "members": list(self.members)}
        return {name: value for name, value in noted.items() if name not in LATER or value != LATER[name]}

    @property
    def remembers(self) -> bool:
        """Whether it reads what was said before the partner's last act."""
        return self.history != "none"

    @property
    def adapter(self) -> HintAdapter:
        """What turns turns into the features that the network reads."""
        base = BaseLayout(self.max_count, self.max_turns, self.partner_utilities, self.remembers)
        return HintAdapter(base, hints=self.hints)

    @property
    def width(self) -> int:
        """Choices of the widest part of an action."""
        return max(len(Act), self.max_count + 1)

    @property
    def outputs(self) -> int:
        """How many numbers the head makes of an action; the value is one more."""
        return PARTS * self.width if self.head == "factored" else len(Act) + 2 * grid_size(self.max_count)

    def mask(self, turns: Turns) -> NDArray[np.bool_]:
        """What may be said, ``[B, 4, W]``: the act mask, and each entry of ``oA`` within its cap."""
        mask = np.zeros((PARTS, self.width, turns.size), dtype=bool)
        mask[0, : len(Act)] = turns.act_mask.T
        entries = np.arange(self.max_count + 1, dtype=np.int8)[:, None]
        np.less_equal(entries, turns.caps.T[:, None], out=mask[1:, : len(entries)])
        return mask.transpose(2, 0, 1)

    def pieces(self) -> tuple[list[Spelled], list[int]]:
        """The features that are spelled out, whole numbers all; then the columns of those taken as they are."""
        adapter = self.adapter
        base = adapter.base
        spelled: list[Spelled] = []
        plain: list[int] = []
        start = 0
        for name, width in adapter.pieces:
            columns = range(start, start + width)
            top = base.top(name) if start < base.width else None
            if top is None:
                plain.extend(columns)
            else:
                low = int(start >= base.base_width)  # of the history, zero says that nothing was said
                spelled.extend(Spelled(column, low, top) for column in columns)
            start += width
        return spelled, plain


def item_columns(pieces: Sequence[tuple[str, int]]) -> tuple[list[slice], list[slice]]:
    """The features by which items are put in order, three each, among ``pieces`` (names and widths, in order).

    First those of :data:`ITEM_PIECES`, then those of the history.
    """
    places, start = {}, 0
    for name, width in pieces:
        places[name] = slice(start, start + width)
        start += width
    said = [place for name, place in places.items() if name.startswith(HISTORY_PIECES)]
    return [places[name] for name in ITEM_PIECES if name in places], said
