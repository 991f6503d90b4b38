"""Action distributions as NumPy arrays, for sampling and for probabilities of all acts; no PyTorch is needed.

There is one class for each head of :class:`partners.network.shape.NetworkShape`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import ITEMS, Act
from dond_marl.seats import Doubles, Floats
from dond_marl.splits import grid

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class FactoredProbabilities:
    """Independent parts of an action: ``parts[B, 4, W]``, the act and the three entries of ``oA``."""

    parts: Floats | Doubles

    def sample(self, uniforms: Floats | None) -> tuple[Integers, Integers, Floats]:
        """Sampled acts ``[B]``, offers ``[B, 3]`` (of every row), and their probabilities ``[B]``.

        ``uniforms[B, 4 or more]``: the noise; None: the likeliest act, then the likeliest offer.
        """
        probs = self.parts
        chosen = probs.argmax(axis=2) if uniforms is None else sample_index(probs, uniforms[:, : probs.shape[1]])
        chosen_probs = np.take_along_axis(probs, chosen[:, :, None], axis=2)[:, :, 0]
        odds = chosen_probs[:, 0] * np.where(chosen[:, 0] <= Act.INSIST, chosen_probs[:, 1:].prod(axis=1), 1)
        return chosen[:, 0], chosen[:, 1:], odds.astype(np.float32)

    def by_number(self, max_count: int) -> Doubles:
        """The probability of every numbered act (:mod:`dond_marl.splits`), ``[B, 2K + 3]``, rows summing to 1."""
        parts = _normalise(self.parts)
        offers = grid(max_count)
        padded = np.pad(parts[:, 1:], ((0, 0), (0, 0), (0, max(max_count + 1 - parts.shape[2], 0))))
        shares = padded[:, 0, offers[:, 0]] * padded[:, 1, offers[:, 1]] * padded[:, 2, offers[:, 2]]  # [B, K]
        return _by_number(parts[:, 0], np.stack([shares, shares], axis=1))


@dataclass(frozen=True)
class JointProbabilities:
    """The act ``[B, 5]`` and, given PROPOSE and given INSIST, the splits ``[B, 2, K]`` in the network's order of items.

    ``places[B, 3]``: the place of each item of the turn in that order.
    """

    act: Floats | Doubles
    offers: Floats | Doubles
    places: Integers
    max_count: int  # of the splits

    def sample(self, uniforms: Floats | None) -> tuple[Integers, Integers, Floats]:
        rows = np.arange(len(self.act))
        act = self.act.argmax(axis=1) if uniforms is None else sample_index(self.act, uniforms[:, 0])
        offers = self.offers[rows, (act == Act.INSIST).astype(np.int64)]
        number = offers.argmax(axis=1) if uniforms is None else sample_index(offers, uniforms[:, 1])
        odds = self.act[rows, act] * np.where(act <= Act.INSIST, offers[rows, number], 1)
        ordered = grid(self.max_count)[number].astype(np.int64)
        return act, np.take_along_axis(ordered, self.places, axis=1), odds.astype(np.float32)

    def by_number(self, max_count: int) -> Doubles:
        offers, base = grid(max_count), self.max_count + 1
        # [B, K] the number in the network's own order
        numbers = base ** (len(ITEMS) - 1 - self.places) @ offers.T.astype(np.int64)
        fits = (offers <= self.max_count).all(axis=1)
        numbers[:, ~fits] = 0
        shares = np.take_along_axis(_normalise(self.offers), numbers[:, None], axis=2) * fits
        return _by_number(_normalise(self.act), shares)


ActionProbabilities = FactoredProbabilities | JointProbabilities  # the distributions of B actions


def sample_index(probs: Floats | Doubles, uniforms: Floats) -> Integers:
    """Inverse-CDF samples ``[...]`` of ``probs[..., W]`` by ``uniforms[...]``; never one of probability zero."""
    ends = probs.cumsum(axis=-1)
    ends[ends >= ends[..., -1:]] = np.inf  # a uniform can round up to 1: the last possible choice has no end
    chosen: Integers = (ends <= uniforms[..., None]).sum(axis=-1)
    return chosen


def _normalise(probs: Floats | Doubles) -> Doubles:
    exact = probs.astype(np.float64)
    total: Doubles = exact.sum(axis=-1, keepdims=True)
    return exact / total


def _by_number(act: Doubles, shares: Doubles) -> Doubles:
    """Numbered acts from ``act[B, 5 or more]`` and the probabilities of the splits given each offer, ``[B, 2, K]``."""
    offers = shares * act[:, : Act.INSIST + 1, None]
    return np.concatenate([offers[:, 0], offers[:, 1], act[:, Act.AGREE : len(Act)]], axis=1)
