"""The splits of a pool and the numbering of all acts, as arrays.

A *grid* lists every ``oA`` with entries in 0..max_count, counting up with the last item type fastest, K rows in all;
masks remove the rows that exceed a pool. An act has one number: PROPOSE of grid row k is k, INSIST of it K + k, then
come AGREE, DISAGREE and END.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import Act


@lru_cache(maxsize=16)
def grid(max_count: int) -> NDArray[np.int8]:
    """All offers, ``[(max_count + 1)**3, 3]``, read-only."""
    axis = np.arange(max_count + 1, dtype=np.int8)
    offers = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    offers.flags.writeable = False
    return offers


def grid_size(max_count: int) -> int:
    """The number of rows of :func:`grid`."""
    return (max_count + 1) ** 3


def action_count(max_count: int) -> int:
    """The number of numbered acts: two per offer, and AGREE, DISAGREE, END."""
    return 2 * grid_size(max_count) + 3


def action_index(act_type: NDArray[np.int8], oA: NDArray[np.int8], max_count: int) -> NDArray[np.int64]:
    """The numbers of acts, ``[B]`` and ``[B, 3]`` to ``[B]``; ``oA`` of an act that makes no offer is ignored."""
    act = np.asarray(act_type, dtype=np.int64)
    base = max_count + 1
    offer = (oA[..., 0].astype(np.int64) * base + oA[..., 1]) * base + oA[..., 2]
    size = grid_size(max_count)
    return np.where(act <= Act.INSIST, act * size + offer, 2 * size + act - Act.AGREE)


def one_hot_probabilities(act_type: NDArray[np.int8], oA: NDArray[np.int8], max_count: int) -> NDArray[np.float64]:
    """Probabilities ``[B, 2K + 3]`` that put 1 on the given act ``[B]``, ``[B, 3]`` of each row."""
    probs = np.zeros((len(act_type), action_count(max_count)))
    probs[np.arange(len(act_type)), action_index(act_type, oA, max_count)] = 1.0
    return probs


def action_at(index: NDArray[np.int64] | int, max_count: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """The act types ``[B]`` and offers ``[B, 3]`` of numbered acts ``[B]``: the inverse of :func:`action_index`."""
    number = np.asarray(index, dtype=np.int64)
    size = grid_size(max_count)
    offers = number < 2 * size
    act = np.where(offers, number // size, number - 2 * size + Act.AGREE).astype(np.int8)
    oA = np.where(offers[..., None], grid(max_count)[np.where(offers, number % size, 0)], np.int8(0))
    return act, oA


def legal_action_mask(counts: NDArray[np.int8], may_agree: NDArray[np.bool_], max_count: int) -> NDArray[np.bool_]:
    """Mask of the legal numbered acts, ``[B, 2K + 3]``, for pools ``counts[B, 3]``."""
    within = (grid(max_count) <= counts[:, None, :]).all(axis=-1)
    others_legal = np.ones((len(counts), 3), dtype=bool)
    others_legal[:, 0] = may_agree
    return np.concatenate([within, within, others_legal], axis=1)
