"""The input features of a network for one turn: named pieces in one flat float32 vector.

The pieces are counts, my utilities, the partner's if revealed, the partner's last act one-hot, its last offer, and the
turns remaining; with history also my latest claim and the acts of both seats, turn by turn. Each number is divided by
its largest possible value, so that all lie in [0, 1].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dond_marl.errors import InputError
from dond_marl.game import ITEMS, MAX_VALUE, Act
from dond_marl.seats import Floats, Int8s, Turns

VERSION = 1  # raised whenever the same turn would give other numbers
HISTORY_VERSION = 1  # the same for the pieces of the history
ACT_WIDTH = 1 + len(ITEMS)  # numbers of one act of the history: the act, then its offer


class ObservationError(InputError):
    """A layout with history applied to an environment's observation, which does not hold the history."""


@dataclass(frozen=True)
class BaseLayout:
    """The base features of games with up to ``max_count`` items of one type and ``max_turns`` turns.

    The pieces of the history are codes: 0 for a turn not yet played, otherwise 1 and more. Those of an act are 1 + the
    act and, for an offer, 1 + the items that it leaves me. ``theirs_act_0`` is the first act of the partner,
    ``mine_act_0`` my own; the turns remaining show which of them was first.
    """

    max_count: int
    max_turns: int
    partner_utilities: bool = False  # whether there is room for them (zeros unless revealed)
    history: bool = False  # whether the earlier acts are included

    @cached_property
    def pieces(self) -> tuple[tuple[str, int], ...]:
        """The name and the width of each piece, in order."""
        pieces = [("counts", 3), ("my_utilities", 3)]
        if self.partner_utilities:
            pieces += [("partner_utilities", 3)]
        pieces += [("last_partner_act", len(Act)), ("last_partner_offer_for_me", 3), ("turns_remaining", 1)]
        if self.history:  # my claim, then all acts before the last turn, theirs and mine alternating
            pieces += [("own_claim", len(ITEMS))]
            for turn in range(self.max_turns - 1):
                seat = ("theirs", "mine")[turn % 2]
                pieces += [(f"{seat}_act_{turn // 2}", 1), (f"{seat}_offer_{turn // 2}", len(ITEMS))]
        return tuple(pieces)

    @property
    def base_width(self) -> int:
        """The width without the history."""
        return self.width - self.history * (len(ITEMS) + ACT_WIDTH * (self.max_turns - 1))

    def top(self, piece: str) -> int | None:
        """The largest whole number of a piece, by which it was divided; ``None`` for one that is one-hot."""
        tops = {
            "counts": self.max_count,
            "my_utilities": MAX_VALUE,
            "partner_utilities": MAX_VALUE,
            "last_partner_act": None,
            "last_partner_offer_for_me": self.max_count,
            "turns_remaining": self.max_turns,
        }
        if piece in tops:
            return tops[piece]
        return len(Act) if "_act_" in piece else self.max_count + 1

    @cached_property
    def width(self) -> int:
        return sum(width for _, width in self.pieces)

    @property
    def name(self) -> str:
        """The layout's name: equal names mean the same meaning of every number."""
        revealed = "+partner" if self.partner_utilities else ""
        history = f"+history-v{HISTORY_VERSION}" if self.history else ""
        return f"base-v{VERSION}{revealed}{history}(max_count={self.max_count}, max_turns={self.max_turns})"


def encode(turns: Turns, layout: BaseLayout) -> Floats:
    """The base features of B turns, ``[B, width]`` float32 in [0, 1]."""
    columns = np.empty((layout.width, turns.size), dtype=np.float32)
    start, base = 0, layout.base_width
    for name, width in layout.pieces:
        if start == base:
            break
        values: NDArray[np.int8] = getattr(turns, name)
        if name == "last_partner_act":
            np.equal(values, _ACTS, out=columns[start : start + width], casting="unsafe")
        else:
            np.multiply(values.T, np.float32(1 / (layout.top(name) or 1)), out=columns[start : start + width])
        start += width
    if layout.history:
        history = turns.history
        acts, keeps = history.act.T, history.oA.transpose(1, 2, 0)
        columns[base:] = _scaled_codes(*_codes(acts, keeps, turns.counts.T, turns.seat), layout)
    return columns.T


def encode_history(acts: Int8s, keeps: Int8s, counts: Int8s, seat: int, layout: BaseLayout) -> Floats:
    """The pieces of the history for either seat, ``[B, width - base_width]`` float32 in [0, 1].

    After ``acts[t, B]``, -1 for none, whose seats would keep ``keeps[t, 3, B]`` of the pools ``counts[3, B]``.
    """
    return _scaled_codes(*_codes(acts, keeps, counts, seat), layout).T


def _scaled_codes(claim: Int8s, codes: Int8s, layout: BaseLayout) -> Floats:
    columns = np.zeros((layout.width - layout.base_width, claim.shape[1]), dtype=np.float32)
    np.multiply(claim, np.float32(1 / (layout.max_count + 1)), out=columns[: len(ITEMS)])
    acts = columns[len(ITEMS) :].reshape(layout.max_turns - 1, ACT_WIDTH, claim.shape[1])
    codes = codes[: len(acts)]  # in a longer game the first acts
    scales = np.array([len(Act), *[layout.max_count + 1] * len(ITEMS)], dtype=np.float32)
    np.multiply(codes, (1 / scales)[:, None], out=acts[: len(codes)])
    return columns


def _codes(acts: Int8s, keeps: Int8s, counts: Int8s, seat: int) -> tuple[Int8s, Int8s]:
    """The codes of my latest claim ``[3, B]`` and of all acts ``[t, 4, B]``, theirs and mine alternating."""
    length, size = acts.shape
    codes = np.zeros((length + (length + seat) % 2, ACT_WIDTH, size), dtype=np.int8)
    claim = np.zeros((len(ITEMS), size), dtype=np.int8)
    offers = np.int8(Act.INSIST)  # acts up to INSIST are offers
    # Rows of ``codes``: theirs_0, mine_0, theirs_1, mine_1, ... For seat_1 that is the order of play. Seat_0 opened, so
    # its turns 0, 1, 2, 3 go to rows 1, 0, 3, 2.
    for turn in range(length):
        is_partner = turn % 2 != seat
        code = codes[turn if seat else turn ^ 1]
        offer = (acts[turn] >= 0) & (acts[turn] <= offers)
        np.add(acts[turn], 1, out=code[0])
        np.add(counts - keeps[turn] if is_partner else keeps[turn], 1, out=code[1:])
        code[1:] *= offer
        if not is_partner:
            np.copyto(claim, code[1:], where=offer)
    return claim, codes


class ObservationEncoder:
    """:func:`encode` for one observation of the environment: the same numbers, eight times as fast.

    Raises :class:`ObservationError` for a layout with history, which observations do not hold.
    """

    def __init__(self, layout: BaseLayout) -> None:
        if layout.history:
            raise ObservationError(
                f"the features {layout.name!r} hold the history, and an observation of the environment does not. Query "
                "such a network with turns: make it a partner, such as checkpoint(path=...), or take its features from "
                "dond_marl.envs.turn.turn_of(env.negotiation)"
            )
        self.width, starts, start = layout.width, {}, 0
        for name, width in layout.pieces:
            starts[name], start = start, start + width
        self._act, self._offer = starts["last_partner_act"], starts["last_partner_offer_for_me"]
        self._turns, self._partner = starts["turns_remaining"], starts.get("partner_utilities")
        self._scales = np.ones(self.width, dtype=np.float32)
        self._scales[0:3] = self._scales[self._offer : self._turns] = np.float32(1 / layout.max_count)
        self._scales[3 : self._act] = np.float32(1 / MAX_VALUE)
        self._scales[self._turns] = np.float32(1 / layout.max_turns)

    def __call__(self, observation: Mapping[str, Any]) -> Floats:
        """The base features of an observation, ``[width]`` float32 in [0, 1]."""
        row = np.zeros(self.width, dtype=np.float32)
        row[0:3], row[3:6] = observation["counts"], observation["my_utilities"]
        if self._partner is not None:
            row[self._partner : self._partner + 3] = observation["partner_utilities"]
        row[self._act + int(observation["last_partner_act"])] = 1.0
        row[self._offer : self._turns] = observation["last_partner_offer_for_me"]
        row[self._turns] = observation["turns_remaining"]
        row *= self._scales
        return row


_ACTS = np.array([list(Act)], dtype=np.int8).T
