"""Which values the partner may have: what a seat that knows its own values can tell under the scenario prior.

``lewis``, ``self_play`` and ``dialogues``: the seat's pool and values fix the legal scenarios of
:func:`dond_marl.scenarios.sources.lewis_space` that it may be in, at most 26, each equally likely. ``uniform``: any
values that are not all zero, whatever the seat's own. With a budget: those that make the pool worth exactly that. Where
a prior cannot have produced the seat's view, because the table was set by hand, the nearest belief that can: see
:func:`beliefs`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import MAX_VALUE
from dond_marl.scenarios.sources import DIGIT, LEWIS_POOL_VALUE, lewis_space, numbers_of, value_vectors
from dond_marl.seats import Bools, Doubles, Int8s, Turns
from dond_marl.splits import grid

LEWIS_PRIORS = ("lewis", "self_play", "dialogues")  # all drawn from the legal space of Lewis et al. 2017
_BUDGET = re.compile(r"\(budget=(\d+)\)$")


class Beliefs(NamedTuple):
    """The partner's possible values and their probabilities, one row per game, before it has said anything.

    Rows may share memory: do not write into them.
    """

    types: Int8s  # [B, K, 3] points per item
    weights: Doubles  # [B, K] each row sums to 1; 0 where a row has fewer than K types


def partner_beliefs(turns: Turns) -> Beliefs:
    """What the seats to move believe of their partners' values; where those are revealed, they are certain."""
    prior = beliefs(turns.prior, turns.counts, turns.my_utilities)
    revealed = turns.partner_utilities.any(axis=1)
    if not revealed.any():
        return prior
    if revealed.all():
        return Beliefs(turns.partner_utilities[:, None], np.ones((turns.size, 1)))
    types, weights = prior.types.copy(), prior.weights.copy()
    types[revealed, 0] = turns.partner_utilities[revealed]
    weights[revealed] = 0
    weights[revealed, 0] = 1
    return Beliefs(types, weights)


def beliefs(prior: str, counts: Int8s, my_utilities: Int8s) -> Beliefs:
    """The partner's values given the pools ``counts[B, 3]`` and the seat's own values ``[B, 3]``, under ``prior``.

    ``prior`` is the name that :attr:`dond_marl.scenarios.sources.ScenarioSource.prior` gives. A view outside a Lewis
    prior falls back to the values worth 10 points, where the pool allows any, otherwise to all; so does an unreachable
    budget; an unknown prior is uniform.
    """
    budget = _BUDGET.search(prior)
    if prior[: budget.start() if budget else None] in LEWIS_PRIORS:
        return _lewis(counts, my_utilities)
    if budget:
        return _worth(counts, int(budget[1]))
    shape = len(counts), len(_EVERY)
    return Beliefs(np.broadcast_to(_EVERY, (*shape, 3)), np.broadcast_to(1.0 / len(_EVERY), shape))


def lewis_beliefs() -> Beliefs:
    """Those of every private view of the Lewis space, numbered as :func:`lewis_places` does."""
    return _lewis_contexts()[1]


def lewis_pools() -> Int8s:
    """The pool of each of these views, ``[C, 3]``."""
    keys = _lewis_contexts()[0]
    return np.stack([keys // DIGIT**digit % DIGIT for digit in (5, 4, 3)], axis=1).astype(np.int8)


def lewis_places(counts: Int8s, my_utilities: Int8s) -> tuple[NDArray[np.int64], Bools]:
    """The number of each view of the Lewis space, ``[B]``, and which of them, ``[B]``, are outside it (any number)."""
    known_keys, keys = _lewis_contexts()[0], numbers_of(counts, my_utilities)
    place = np.searchsorted(known_keys, keys)
    place[place == len(known_keys)] = 0
    return place, known_keys[place] != keys


def _lewis(counts: Int8s, my_utilities: Int8s) -> Beliefs:
    (place, missing), table = lewis_places(counts, my_utilities), lewis_beliefs()
    known = Beliefs(table.types[place], table.weights[place])
    return _merge(known, np.flatnonzero(missing), _worth(counts[missing], LEWIS_POOL_VALUE)) if missing.any() else known


def _worth(counts: Int8s, budget: int) -> Beliefs:
    """Any values that make the pool worth ``budget`` points; any at all where none do."""
    pools, which = np.unique(counts, axis=0, return_inverse=True)
    choices = [value_vectors(tuple(pool.tolist()), budget) if budget > 0 else _EVERY for pool in pools]
    choices = [vectors if len(vectors) else _EVERY for vectors in choices]
    width = max(map(len, choices))
    types = np.zeros((len(pools), width, 3), dtype=np.int8)
    weights = np.zeros((len(pools), width))
    for row, vectors in enumerate(choices):
        types[row, : len(vectors)], weights[row, : len(vectors)] = vectors, 1 / len(vectors)
    which = which.reshape(-1)
    return Beliefs(types[which], weights[which])


def _merge(first: Beliefs, rows: NDArray[np.int64], second: Beliefs) -> Beliefs:
    """``first`` with its ``rows`` replaced by ``second``, padded to the wider of the two."""
    size, narrow, wide = len(first.weights), first.weights.shape[1], second.weights.shape[1]
    width = max(narrow, wide)
    types, weights = np.zeros((size, width, 3), dtype=np.int8), np.zeros((size, width))
    types[:, :narrow], weights[:, :narrow] = first
    types[rows], weights[rows] = 0, 0
    types[rows, :wide], weights[rows, :wide] = second
    return Beliefs(types, weights)


@lru_cache(maxsize=1)
def _lewis_contexts() -> tuple[NDArray[np.int64], Beliefs]:
    """The numbers of all private views (pool, own values) of the Lewis space, ``[C]`` ascending, and their beliefs."""
    space = lewis_space()  # the swap of each scenario is in it too, so seat_0's views are all views
    keys, which, numbers = np.unique(
        numbers_of(space.counts, space.utilities[:, 0]), return_inverse=True, return_counts=True
    )
    order = np.argsort(which, kind="stable")
    column = np.arange(space.size) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    types = np.zeros((len(keys), int(numbers.max()), 3), dtype=np.int8)
    types[which[order], column] = space.utilities[order, 1]
    weights = (np.arange(types.shape[1]) < numbers[:, None]) / numbers[:, None]
    return keys, Beliefs(types, weights)


# All values in 0..10 that are not all zero, counting up: [1330, 3].
_EVERY: Int8s = np.asfortranarray(grid(MAX_VALUE)[1:])
_EVERY.flags.writeable = False
