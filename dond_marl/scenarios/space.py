"""Scenarios as arrays, and the legal scenario space of the paper, enumerated."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import MAX_VALUE, Scenario
from dond_marl.splits import grid

LEWIS_MAX_COUNT = 4  # items of one type in every published pool
LEWIS_POOL = range(5, 8)  # items in all: 5 to 7 (Lewis et al. 2017, section 2.1)
LEWIS_POOL_VALUE = 10  # points that the whole pool is worth to each seat (Lewis et al. 2017, section 2.1)


class Scenarios(NamedTuple):
    """N scenarios as arrays: ``counts[N, 3]`` items, ``utilities[N, 2, 3]`` points per item and seat, both int8."""

    counts: NDArray[np.int8]
    utilities: NDArray[np.int8]

    @property
    def size(self) -> int:
        return len(self.counts)

    @property
    def pool_values(self) -> NDArray[np.int16]:
        """The value of the whole pool to each seat, ``[N, 2]`` points."""
        worth: NDArray[np.int16] = np.einsum("ni,nsi->ns", self.counts, self.utilities, dtype=np.int16)
        return worth

    def rows(self, index: NDArray[np.int64] | slice) -> Scenarios:
        """Some of the scenarios, in the order of ``index``."""
        return Scenarios(self.counts[index], self.utilities[index])

    def swap_seats(self) -> Scenarios:
        return Scenarios(self.counts, self.utilities[:, ::-1])

    def scenario(self, index: int) -> Scenario:
        first, second = self.utilities[index].tolist()
        return Scenario(tuple(self.counts[index].tolist()), (tuple(first), tuple(second)))


def pack(scenarios: Iterable[Scenario]) -> Scenarios:
    """Arrays from single scenarios; the inverse of :meth:`Scenarios.scenario`."""
    rows = list(scenarios)
    counts = np.array([s.counts for s in rows], dtype=np.int8).reshape(-1, 3)
    return Scenarios(counts, np.array([s.utilities for s in rows], dtype=np.int8).reshape(-1, 2, 3))


@lru_cache(maxsize=1)
def lewis_space() -> Scenarios:
    """All 5,295 legal ordered scenarios, in lexicographic order of (counts, seat_0's values, seat_1's values).

    Legal: counts 1..4, 5 to 7 items, the pool worth exactly 10 to each seat, every item type worth something to some
    seat, and some type worth something to both (Lewis et al. 2017, section 2.1).
    """
    tables = []
    for counts in itertools.product(range(1, LEWIS_MAX_COUNT + 1), repeat=3):
        if sum(counts) not in LEWIS_POOL:
            continue
        vectors = value_vectors(counts, LEWIS_POOL_VALUE)
        first, second = np.repeat(vectors, len(vectors), axis=0), np.tile(vectors, (len(vectors), 1))
        valued, shared = (first | second) > 0, (first > 0) & (second > 0)
        legal = valued.all(axis=1) & shared.any(axis=1)
        utilities = np.stack([first[legal], second[legal]], axis=1)
        tables.append(Scenarios(np.tile(np.array(counts, dtype=np.int8), (len(utilities), 1)), utilities))
    return Scenarios(*(read_only(np.concatenate(arrays)) for arrays in zip(*tables, strict=True)))


@lru_cache(maxsize=4096)
def value_vectors(counts: tuple[int, ...], whole: int) -> NDArray[np.int8]:
    """Every value vector in 0..10 under which the pool is worth exactly ``whole``, ``[K, 3]``, counting up."""
    every = grid(MAX_VALUE)
    return read_only(every[every @ np.array(counts) == whole])


def pools(max_count: int, beyond: bool) -> NDArray[np.int8]:
    """Every pool of 1..max_count items a type and 5 to 7 items in all, as in ``lewis``, ``[P, 3]``.

    ``beyond``: the pools with another number of items instead.
    """
    every = grid(max_count)
    total = every.sum(axis=1)
    inside = (total >= LEWIS_POOL.start) & (total < LEWIS_POOL.stop)
    possible: NDArray[np.int8] = every[every.all(axis=1) & (inside != beyond)]
    return possible


def any_values(rng: np.random.Generator, n: int) -> NDArray[np.int8]:
    """Values ``[n, 2, 3]``, uniform in 0..10, under which each seat values something."""
    utilities = rng.integers(0, MAX_VALUE + 1, size=(n, 2, 3), dtype=np.int8)
    while (worthless := ~utilities.any(axis=2)).any():
        utilities[worthless] = rng.integers(0, MAX_VALUE + 1, size=(int(worthless.sum()), 3), dtype=np.int8)
    return utilities


def read_only(array: NDArray[np.int8]) -> NDArray[np.int8]:
    """The same array, made read-only."""
    array.flags.writeable = False
    return array
