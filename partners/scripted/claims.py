"""What was claimed so far, folded from the history: partners remember by reading it again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import MAX_COUNT, Act
from dond_marl.seats import Bools, Int8s, Turns


class Claims(NamedTuple):
    """What one seat has claimed for itself, on each of the H turns that it has had."""

    oA: Int8s  # [H, 3, B]
    made: Bools  # [H, B] False where it made no offer

    @property
    def number(self) -> NDArray[np.int64]:
        """How many claims, ``[B]``."""
        number: NDArray[np.int64] = self.made.sum(axis=0)
        return number

    def before_the_last(self) -> Claims:
        """The same without the seat's latest turn."""
        return Claims(self.oA[:-1], self.made[:-1])

    def distinct(self) -> NDArray[np.int64]:
        """How many different claims, ``[B]``."""
        if not len(self.oA):
            return self.number
        base = MAX_COUNT + 1
        codes = (self.oA[:, 0].astype(np.int16) * base + self.oA[:, 1]) * base + self.oA[:, 2]
        codes = np.sort(np.where(self.made, codes, np.int16(-1)), axis=0)
        new = np.diff(codes, axis=0, prepend=np.int16(-1)) > 0  # what was not made sorts first and is never new
        number: NDArray[np.int64] = new.sum(axis=0)
        return number

    def latest(self) -> Int8s:
        """The latest claim, ``[B, 3]``; zeros before the first."""
        claim = np.zeros(self.oA.shape[1:], dtype=np.int8)
        for oA, made in zip(self.oA, self.made, strict=True):
            np.copyto(claim, oA, where=made)
        return claim.T


def own_claims(turns: Turns) -> Claims:
    """The claims of the seat to move."""
    return _claims(turns, turns.seat)


def partner_claims(turns: Turns) -> Claims:
    """The claims of its partner."""
    return _claims(turns, 1 - turns.seat)


def worth_left(turns: Turns, claims: Claims) -> NDArray[np.int32]:
    """What each of the partner's claims leaves the seat, ``[H, B]`` points; -1 where it made none."""
    left = (turns.counts.T - claims.oA) * turns.my_utilities.T  # at most 100 each: fits int8
    return np.where(claims.made, left.sum(axis=1, dtype=np.int32), np.int32(-1))


def _claims(turns: Turns, seat: int) -> Claims:
    acts = turns.history.act.T[seat::2]
    return Claims(turns.history.oA.transpose(1, 2, 0)[seat::2], acts <= Act.INSIST)
