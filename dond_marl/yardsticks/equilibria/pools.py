"""The game up to renaming: a game apart for every pool, as nobody doubts which pool is on the table.

Items are put in the order of ascending counts. A scenario whose counts have several such orders is taken in all of
them, equally often, so that what is the same but for the items' names is equally likely. The legal space of Lewis et
al. 2017 becomes 8 pools with 9 to 26 views each.

Splits are numbered as in :mod:`dond_marl.yardsticks.contexts`: by what the seat in question keeps, in lexicographic
order, so that split ``j`` of ``N`` leaves the other seat split ``N - 1 - j``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from dond_marl.scenarios.space import Scenarios, lewis_space
from dond_marl.seats import Doubles, Int8s
from dond_marl.statistics import TEN
from dond_marl.yardsticks.contexts import Index, splits_of

ORDERS = tuple(permutations(range(3)))  # of three items


@dataclass(frozen=True, eq=False)
class Pool:
    """One pool: V views, which either seat may have, and N splits."""

    counts: Int8s  # [3], ascending
    values: Int8s  # [V, 3] points per item, in lexicographic order
    prior: Doubles  # [V, V] how probable it is that seat_0 and seat_1 have these views; sums to the pool's own chance
    points: Doubles  # [V, N] what each split is worth to who keeps it, points of ten

    @property
    def splits(self) -> Int8s:
        """What each split keeps, ``[N, 3]``."""
        kept: Int8s = splits_of(self.counts[None]).oA[0]
        return kept

    @property
    def renamings(self) -> list[tuple[Index, Index]]:
        """Each order of the items that leaves the pool as it is: where it takes views, ``[V]``, and splits, ``[N]``."""
        found = []
        for order in ORDERS:
            if (self.counts[list(order)] == self.counts).all():
                found.append((_places(self.values[:, order], self.values), _places(self.splits[:, order], self.splits)))
        return found


def pools_of(scenarios: Scenarios) -> tuple[Pool, ...]:
    """The pools of scenarios that are equally likely each, under all names."""
    counts, first, second, weight = [], [], [], []
    for order in ORDERS:
        named = scenarios.counts[:, order]
        sorted_ = (np.diff(named.astype(np.int64), axis=1) >= 0).all(axis=1)
        counts.append(named[sorted_])
        first.append(scenarios.utilities[sorted_, 0][:, order])
        second.append(scenarios.utilities[sorted_, 1][:, order])
        weight.append(1 / _orders(scenarios.counts[sorted_]))
    every, own, theirs = (np.concatenate(parts) for parts in (counts, first, second))
    kinds, which = np.unique(every, axis=0, return_inverse=True)
    which = which.reshape(-1)
    chances = np.concatenate(weight) / scenarios.size
    return tuple(
        _pool(kind, own[which == number], theirs[which == number], chances[which == number])
        for number, kind in enumerate(kinds)
    )


def lewis_pools() -> tuple[Pool, ...]:
    """The pools of the legal space of the paper."""
    return pools_of(lewis_space())


def _pool(counts: Int8s, first: Int8s, second: Int8s, chances: Doubles) -> Pool:
    values, which = np.unique(np.concatenate([first, second]), axis=0, return_inverse=True)
    which = which.reshape(2, -1)
    prior = np.zeros((len(values), len(values)))
    np.add.at(prior, (which[0], which[1]), chances)
    oA = splits_of(counts[None]).oA[0].astype(np.int64)
    whole = np.maximum(values.astype(np.int64) @ counts, 1)
    return Pool(counts, values, prior, (values.astype(np.int64) @ oA.T) * (TEN / whole[:, None]))


def _orders(counts: Int8s) -> Index:
    """How many orders of the items leave the counts ascending, ``[R]``: 1, 2 or 6."""
    same = (
        (counts[:, 0] == counts[:, 1]).astype(np.int64)
        + (counts[:, 1] == counts[:, 2])
        + (counts[:, 0] == counts[:, 2])
    )
    orders: Index = np.array([1, 2, 0, 6])[same]
    return orders


def _places(rows: Int8s, among: Int8s) -> Index:
    """Where each row ``[R, 3]`` stands in ``among``, which is in lexicographic order."""
    base = np.array([121, 11, 1])
    places: Index = np.searchsorted(among.astype(np.int64) @ base, rows.astype(np.int64) @ base)
    return places
