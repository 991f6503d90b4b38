"""The shape of a policy network: everything that fixes the meaning and the size of its weights. No PyTorch."""

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
MASKED = -1e9  # added to logits of illegal choices: their probability is exactly zero in float32
RELUCTANCE = 10.0  # nats off the logit of DISAGREE: a probability of 1 in 10 becomes 1 in 200,000

# Features of each item; items are ordered by the first one in which they differ. By value first: measured on a part of
# the train split, shares of the best response are a point higher than with counts first.
ITEM_PIECES = ("my_utilities", "counts", "partner_utilities", "last_partner_offer_for_me", "hint_oA")
STEP = 128  # weight of a piece over the next: two features of a piece are equal or differ by at least 1/90
# Items equal in all of these are ordered by the history, from the first turn on: prefixes of such pieces.
HISTORY_PIECES = ("own_claim", "theirs_offer", "mine_offer")
CODES, AT_ONCE = 16, 12  # a piece has fewer than CODES codes, and AT_ONCE pieces fit into one integer below 2**53

History = Literal["none", "flat"]
Head = Literal["factored", "joint"]
# Fields that a checkpoint's note omits at these values. The shipped expert's note, and so its digest, relies on it.
OMITTED: dict[str, Any] = {"history": "none", "head": "factored", "beliefs": False, "members": []}


class OneHotFeature(NamedTuple):
    """An integer feature, read as a one-hot vector over ``low``..``top``; all zeros for a value outside."""

    column: int
    low: int
    top: int


@dataclass(frozen=True, slots=True)
class NetworkShape:
    """The settings that fix the meaning and the size of every weight."""

    max_count: int = 4
    max_turns: int = 10
    partner_utilities: bool = False
    hints: bool = False
    hidden: tuple[int, ...] = (128, 128)
    sorted_items: bool = False  # items are read in the network's own order: see partners.network.network.ItemOrder
    history: History = "none"  # flat: all earlier acts are read, each one-hot
    head: Head = "factored"  # joint: one distribution over all splits of the pool; see partners.network.heads
    beliefs: bool = False  # whether it has a head for the partner's values: see partners.network.network.BeliefHead
    members: tuple[str, ...] = ()  # partners among which that head identifies the partner

    def note(self) -> dict[str, Any]:
        """The fields as JSON values for a checkpoint's note, without those of :data:`OMITTED` at their defaults."""
        fields = {**asdict(self), "hidden": list(self.hidden), "members": list(self.members)}
        return {name: value for name, value in fields.items() if name not in OMITTED or value != OMITTED[name]}

    @property
    def remembers(self) -> bool:
        """Whether it reads acts before the partner's last one."""
        return self.history != "none"

    @property
    def adapter(self) -> HintAdapter:
        """The encoder of turns into the features that the network reads."""
        base = BaseLayout(self.max_count, self.max_turns, self.partner_utilities, self.remembers)
        return HintAdapter(base, hints=self.hints)

    @property
    def width(self) -> int:
        """W, the number of choices of the widest part of an action."""
        return max(len(Act), self.max_count + 1)

    @property
    def outputs(self) -> int:
        """Number of logits of the head; the value is one more output."""
        return PARTS * self.width if self.head == "factored" else len(Act) + 2 * grid_size(self.max_count)

    def mask(self, turns: Turns) -> NDArray[np.bool_]:
        """Legal choices, ``[B, 4, W]``: the act mask, and each entry of ``oA`` up to its cap."""
        mask = np.zeros((PARTS, self.width, turns.size), dtype=bool)
        mask[0, : len(Act)] = turns.act_mask.T
        entries = np.arange(self.max_count + 1, dtype=np.int8)[:, None]
        np.less_equal(entries, turns.caps.T[:, None], out=mask[1:, : len(entries)])
        return mask.transpose(2, 0, 1)

    def pieces(self) -> tuple[list[OneHotFeature], list[int]]:
        """The integer features that become one-hot vectors, and the columns of the plain features."""
        adapter = self.adapter
        base = adapter.base
        one_hot: list[OneHotFeature] = []
        plain: list[int] = []
        start = 0
        for name, width in adapter.pieces:
            columns = range(start, start + width)
            top = base.top(name) if start < base.width else None
            if top is None:
                plain.extend(columns)
            else:
                low = int(start >= base.base_width)  # in the history, zero means no act
                one_hot.extend(OneHotFeature(column, low, top) for column in columns)
            start += width
        return one_hot, plain


def item_columns(pieces: Sequence[tuple[str, int]]) -> tuple[list[slice], list[slice]]:
    """Columns of the features by which items are ordered, three each: those of :data:`ITEM_PIECES`, then the history.

    ``pieces``: names and widths of all features, in order.
    """
    slices, start = {}, 0
    for name, width in pieces:
        slices[name] = slice(start, start + width)
        start += width
    history = [columns for name, columns in slices.items() if name.startswith(HISTORY_PIECES)]
    return [slices[name] for name in ITEM_PIECES if name in slices], history
