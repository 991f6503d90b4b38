"""What a network says with which probability, as arrays: drawn from, and numbered over all acts; no PyTorch is needed.

There is one class for each head of :class:`partners.network.shape.NetworkShape`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import ITEMS, Act
from dond_marl.seats import Doubles, Floats
from dond_marl.splits import grid

Whole = NDArray[np.int64]


class Chances(Protocol):
    """The distribution of B actions."""

    def choose(self, uniforms: Floats | None) -> tuple[Whole, Whole, Floats]:
        """Acts ``[B]``, offers ``[B, 3]`` of every row, and the probabilities ``[B]`` of what was chosen.

        ``uniforms[B, 4 or more]``: what they are drawn by; None: the likeliest act, then the likeliest offer.
        """
        ...

    def numbered(self, max_count: int) -> Doubles:
        """The probability of every numbered act (:mod:`dond_marl.splits`), ``[B, 2K + 3]``, rows summing to 1."""
        ...


@dataclass(frozen=True)
class FactoredChances:
    """Each part of an action by itself: ``parts[B, 4, W]``, the act and the three entries of ``oA``."""

    parts: Floats | Doubles

    def choose(self, uniforms: Floats | None) -> tuple[Whole, Whole, Floats]:
        probs = self.parts
        chosen = probs.argmax(axis=2) if uniforms is None else drawn(probs, uniforms[:, : probs.shape[1]])
        said = np.take_along_axis(probs, chosen[:, :, None], axis=2)[:, :, 0]
        odds = said[:, 0] * np.where(chosen[:, 0] <= Act.INSIST, said[:, 1:].prod(axis=1), 1)
        return chosen[:, 0], chosen[:, 1:], odds.astype(np.float32)

    def numbered(self, max_count: int) -> Doubles:
        parts = _summing_to_one(self.parts)
        offers = grid(max_count)
        padded = np.pad(parts[:, 1:], ((0, 0), (0, 0), (0, max(max_count + 1 - parts.shape[2], 0))))
        shares = padded[:, 0, offers[:, 0]] * padded[:, 1, offers[:, 1]] * padded[:, 2, offers[:, 2]]  # [B, K]
        return _numbered(parts[:, 0], np.stack([shares, shares], axis=1))


@dataclass(frozen=True)
class JointChances:
    """The act ``[B, 5]``; given PROPOSE and given INSIST all splits, ``[B, 2, K]``, items in the network's own order.

    ``places[B, 3]`` says where each item stands in that order.
    """

    act: Floats | Doubles
    offers: Floats | Doubles
    places: Whole
    max_count: int  # of the splits

    def choose(self, uniforms: Floats | None) -> tuple[Whole, Whole, Floats]:
        rows = np.arange(len(self.act))
        act = self.act.argmax(axis=1) if uniforms is None else drawn(self.act, uniforms[:, 0])
        offers = self.offers[rows, (act == Act.INSIST).astype(np.int64)]
        number = offers.argmax(axis=1) if uniforms is None else drawn(offers, uniforms[:, 1])
        odds = self.act[rows, act] * np.where(act <= Act.INSIST, offers[rows, number], 1)
        own = grid(self.max_count)[number].astype(np.int64)
        return act, np.take_along_axis(own, self.places, axis=1), odds.astype(np.float32)

    def numbered(self, max_count: int) -> Doubles:
        offers, base = grid(max_count), self.max_count + 1
        own = base ** (len(ITEMS) - 1 - self.places) @ offers.T.astype(np.int64)  # [B, K] the number in its own order
        known = (offers <= self.max_count).all(axis=1)
        own[:, ~known] = 0
        shares = np.take_along_axis(_summing_to_one(self.offers), own[:, None], axis=2) * known
        return _numbered(_summing_to_one(self.act), shares)


def drawn(probs: Floats | Doubles, uniforms: Floats) -> Whole:
    """The first choice ``[...]`` of ``probs[..., W]`` whose end of the line lies beyond the uniform ``[...]``.

    It is never one of probability zero.
    """
    ends = probs.cumsum(axis=-1)
    ends[ends >= ends[..., -1:]] = np.inf  # a uniform can round up to 1: the last possible choice has no end
    chosen: Whole = (ends <= uniforms[..., None]).sum(axis=-1)
    return chosen


def _summing_to_one(probs: Floats | Doubles) -> Doubles:
    exact = probs.astype(np.float64)
    total: Doubles = exact.sum(axis=-1, keepdims=True)
    return exact / total


def _numbered(act: Doubles, shares: Doubles) -> Doubles:
    """``act[B, 5 or more]`` and the shares of the splits given each offer ``[B, 2, K]``, as numbered acts."""
    offers = shares * act[:, : Act.INSIST + 1, None]
    return np.concatenate([offers[:, 0], offers[:, 1], act[:, Act.AGREE : len(Act)]], axis=1)
