"""What a turn looks like to a network: named pieces, one flat float32 vector, no magic offsets.

The pieces are those of the specification (section 3.3): counts, my utilities, the partner's when revealed, the
partner's last act one-hot, its last offer, turns remaining. Each is divided by its largest possible value, so that all
lie in [0, 1].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import MAX_VALUE, Act
from dond_marl.seats import Floats, Turns

VERSION = 1  # raised whenever the same turn would give other numbers


@dataclass(frozen=True, slots=True)
class BaseLayout:
    """The base features of games with up to ``max_count`` items of one type and ``max_turns`` turns."""

    max_count: int
    max_turns: int
    partner_utilities: bool = False  # whether there is room for them (zeros unless revealed)

    @property
    def pieces(self) -> tuple[tuple[str, int], ...]:
        """Names and widths, in order."""
        optional = (("partner_utilities", 3),) if self.partner_utilities else ()
        return (
            ("counts", 3),
            ("my_utilities", 3),
            *optional,
            ("last_partner_act", len(Act)),
            ("last_partner_offer_for_me", 3),
            ("turns_remaining", 1),
        )

    @property
    def width(self) -> int:
        """How many numbers."""
        return sum(width for _, width in self.pieces)

    @property
    def name(self) -> str:
        """The layout's name, the same for the same meaning of every number."""
        revealed = "+partner" if self.partner_utilities else ""
        return f"base-v{VERSION}{revealed}(max_count={self.max_count}, max_turns={self.max_turns})"


def encode(turns: Turns, layout: BaseLayout) -> Floats:
    """The base features of B turns, ``[B, width]`` float32 in [0, 1]."""
    columns = np.empty((layout.width, turns.size), dtype=np.float32)
    scales = {
        "counts": layout.max_count,
        "my_utilities": MAX_VALUE,
        "partner_utilities": MAX_VALUE,
        "last_partner_offer_for_me": layout.max_count,
        "turns_remaining": layout.max_turns,
    }
    start = 0
    for name, width in layout.pieces:
        values: NDArray[np.int8] = getattr(turns, name)
        if name == "last_partner_act":
            np.equal(values, _ACTS, out=columns[start : start + width], casting="unsafe")
        else:
            np.multiply(values.T, np.float32(1 / scales[name]), out=columns[start : start + width])
        start += width
    return columns.T


_ACTS = np.array([list(Act)], dtype=np.int8).T
