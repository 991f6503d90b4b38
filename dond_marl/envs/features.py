"""What a turn looks like to a network: named pieces, one flat float32 vector, no magic offsets.

The pieces are counts, my utilities, the partner's when revealed, the
partner's last act one-hot, its last offer, turns remaining. Each is divided by its largest possible value, so that all
lie in [0, 1].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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


class ObservationEncoder:
    """:func:`encode` for one observation of the environment: the same bits, in an eighth of the time."""

    def __init__(self, layout: BaseLayout) -> None:
        self.width, starts, start = layout.width, {}, 0
        for name, width in layout.pieces:
            starts[name], start = start, start + width
        self._act, self._offer = starts["last_partner_act"], starts["last_partner_offer_for_me"]
        self._turns, self._partner = starts["turns_remaining"], starts.get("partner_utilities")
        self._scales = np.ones(self.width, dtype=np.float32)
        self._scales[0:3] = self._scales[self._offer : self._turns] = np.float32(1 / layout.max_count)
        self._scales[3 : self._act] = np.float32(1 / MAX_VALUE)
        self._scales[self._turns] = np.float32(1 / layout.max_turns)

    def __call__(self, seen: Mapping[str, Any]) -> Floats:
        """The base features of an observation, ``[width]`` float32 in [0, 1]."""
        row = np.zeros(self.width, dtype=np.float32)
        row[0:3], row[3:6] = seen["counts"], seen["my_utilities"]
        if self._partner is not None:
            row[self._partner : self._partner + 3] = seen["partner_utilities"]
        row[self._act + int(seen["last_partner_act"])] = 1.0
        row[self._offer : self._turns] = seen["last_partner_offer_for_me"]
        row[self._turns] = seen["turns_remaining"]
        row *= self._scales
        return row


_ACTS = np.array([list(Act)], dtype=np.int8).T
