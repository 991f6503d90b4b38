"""Permutation tests: how often chance alone would make a difference as large. Two-sided; Fisher 1935, chapter 3."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dond_marl.randomness import generator

DRAWN = 9_999
_CLOSE = 1e-9


def paired(one: NDArray[np.float64], other: NDArray[np.float64], groups: NDArray[np.int64], seed: int) -> float:
    """The p-value of a mean difference on the same games ``[..., K]``: both swapped in ``groups[K]`` of scenarios."""
    difference = np.nan_to_num((one - other).reshape(-1, len(groups)).sum(axis=0))
    sums = np.bincount(np.unique(groups, return_inverse=True)[1].reshape(-1), weights=difference)
    signs = generator(seed, "swapped pairs").choice((-1.0, 1.0), size=(DRAWN, len(sums)))
    return _share(np.abs(signs @ sums), abs(float(sums.sum())))


def unpaired(one: NDArray[np.float64], other: NDArray[np.float64], seed: int) -> float:
    """The p-value of a difference of means between ``one[A]`` and ``other[B]``: who belongs where drawn anew."""
    together, many = np.concatenate([one, other]), len(one)
    order = generator(seed, "dealt anew").permuted(np.tile(np.arange(len(together)), (DRAWN, 1)), axis=1)
    dealt = together[order]
    differences = dealt[:, :many].mean(axis=1) - dealt[:, many:].mean(axis=1)
    return _share(np.abs(differences), abs(float(one.mean() - other.mean())))


def _share(drawn: NDArray[np.float64], seen: float) -> float:
    """Of what was drawn and what was seen, the share that is at least as large as what was seen."""
    return float((1 + (drawn >= seen - _CLOSE).sum()) / (1 + len(drawn)))
