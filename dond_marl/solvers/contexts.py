"""Private views of a seat, the possible values of its partner under the scenario prior, and contexts of both.

A *view* is a pool and a seat's own values. A *context* is a view together with the partner's possible values and their
probabilities under the scenario prior. Many scenarios share one context: the 5,295 legal ones have 438.

The beliefs of a seat that knows its own values: under ``lewis``, ``self_play`` and ``dialogues`` its pool and values
fix the legal scenarios of :func:`dond_marl.scenarios.sources.lewis_space` that it may be in, at most 26, each equally
likely. Under ``uniform``: any values that are not all zero, whatever the seat's own. With a budget: those that make
the pool worth exactly that. Where a prior cannot have produced the seat's view, because the table was set by hand, the
nearest belief that can: see :func:`beliefs`.

Splits of a pool are numbered compactly, in lexicographic order of what the seat in question keeps, so that split ``j``
of ``n`` leaves the other seat split ``n - 1 - j``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.errors import NotComputable
from dond_marl.game import MAX_VALUE, Act
from dond_marl.scenarios.sources import (
    DIGIT,
    LEWIS_POOL_VALUE,
    Scenarios,
    ScenarioSource,
    lewis_space,
    numbers_of,
    value_vectors,
)
from dond_marl.seats import Bools, Doubles, Int8s, Turns
from dond_marl.splits import grid
from dond_marl.statistics import TEN

Index = NDArray[np.int64]

LEWIS_PRIORS = ("lewis", "self_play", "dialogues")  # all drawn from the legal space of Lewis et al. 2017
_BUDGET = re.compile(r"\(budget=(\d+)\)$")
# All values in 0..10 that are not all zero, counting up: [1330, 3].
_EVERY: Int8s = np.asfortranarray(grid(MAX_VALUE)[1:])
_EVERY.flags.writeable = False


class Beliefs(NamedTuple):
    """The partner's possible values and their probabilities, one row per game, before it has said anything.

    Rows may share memory: do not write into them.
    """

    types: Int8s  # [B, K, 3] points per item
    weights: Doubles  # [B, K] each row sums to 1; 0 where a row has fewer than K types


def partner_beliefs(turns: Turns) -> Beliefs:
    """Beliefs of the seats to move about their partners' values; certain where the values are revealed."""
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
    """Beliefs at every private view of the Lewis space, in the order of :func:`lewis_places`."""
    return _lewis_contexts()[1]


def lewis_pools() -> Int8s:
    """The pool of each of these views, ``[C, 3]``."""
    keys = _lewis_contexts()[0]
    return np.stack([keys // DIGIT**digit % DIGIT for digit in (5, 4, 3)], axis=1).astype(np.int8)


def lewis_places(counts: Int8s, my_utilities: Int8s) -> tuple[NDArray[np.int64], Bools]:
    """The index of each view in the Lewis space, ``[B]``, and a mask of those outside it, whose index means nothing."""
    known_keys, keys = _lewis_contexts()[0], numbers_of(counts, my_utilities)
    index = np.searchsorted(known_keys, keys)
    index[index == len(known_keys)] = 0
    return index, known_keys[index] != keys


def _lewis(counts: Int8s, my_utilities: Int8s) -> Beliefs:
    (index, missing), table = lewis_places(counts, my_utilities), lewis_beliefs()
    lewis = Beliefs(table.types[index], table.weights[index])
    return _merge(lewis, np.flatnonzero(missing), _worth(counts[missing], LEWIS_POOL_VALUE)) if missing.any() else lewis


def _worth(counts: Int8s, budget: int) -> Beliefs:
    """Any values that make the pool worth ``budget`` points; any at all where none do."""
    pools, pool_index = np.unique(counts, axis=0, return_inverse=True)
    choices = [value_vectors(tuple(pool.tolist()), budget) if budget > 0 else _EVERY for pool in pools]
    choices = [vectors if len(vectors) else _EVERY for vectors in choices]
    width = max(map(len, choices), default=1)
    types = np.zeros((len(pools), width, 3), dtype=np.int8)
    weights = np.zeros((len(pools), width))
    for row, vectors in enumerate(choices):
        types[row, : len(vectors)], weights[row, : len(vectors)] = vectors, 1 / len(vectors)
    pool_index = pool_index.reshape(-1)
    return Beliefs(types[pool_index], weights[pool_index])


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
    contexts = contexts_in(lewis_space(), 0)  # the swap of each scenario is in it too, so seat_0's views are all views
    types = contexts.partner_views.utilities[contexts.types] * (contexts.weights > 0)[:, :, None]
    return numbers_of(contexts.own_views.counts, contexts.own_views.utilities), Beliefs(types, contexts.weights)


class Splits(NamedTuple):
    """Every way to split each of V pools, padded to N, the number of the pool with the most."""

    oA: Int8s  # [V, N, 3] what one seat keeps, in lexicographic order; zeros beyond ``number``
    number: Index  # [V]

    @property
    def complement(self) -> Index:
        """The number of the split that each leaves to the other seat, ``[V, N]``; 0 beyond ``number``."""
        complement: Index = np.maximum(self.number[:, None] - 1 - np.arange(self.oA.shape[1]), 0)
        return complement


class Views(NamedTuple):
    """V private views, each once."""

    counts: Int8s  # [V, 3]
    utilities: Int8s  # [V, 3] own values
    partner_utilities: Int8s | None = None  # [V, 3] the other seat's, where they are revealed

    @property
    def size(self) -> int:
        return len(self.counts)


@dataclass(frozen=True)
class Contexts:
    """C contexts of one seat, and the possible views of its partner."""

    own_views: Views  # [C]
    partner_views: Views  # [V] every view that a partner may have
    types: Index  # [C, K] the partner's view, by its index in ``partner_views``; 0 where the weight is 0
    weights: Doubles  # [C, K] probability of each; rows sum to 1
    shares: Doubles  # [C] probability of each context; sums to 1

    @property
    def size(self) -> int:
        return len(self.types)

    @cached_property
    def splits(self) -> Splits:
        return splits_of(self.own_views.counts)

    def certain(self) -> Contexts:
        """The contexts with the partner's values revealed: one for each possible pair of views."""
        context, kind = np.nonzero(self.weights)
        return Contexts(
            Views(self.own_views.counts[context], self.own_views.utilities[context]),
            self.partner_views,
            self.types[context, kind][:, None],
            np.ones((len(context), 1)),
            self.shares[context] * self.weights[context, kind],
        )


def splits_of(counts: Int8s) -> Splits:
    """The splits of pools ``counts[V, 3]``."""
    every = grid(int(counts.max(initial=0)))
    fits = (every <= counts[:, None]).all(axis=2)  # [V, G]
    number = fits.sum(axis=1)
    first = np.argsort(~fits, axis=1, kind="stable")[:, : int(number.max(initial=0))]
    oA = every[first] * (np.arange(first.shape[1]) < number[:, None])[:, :, None]
    return Splits(oA, number)


def split_points(views: Views, splits: Splits) -> Doubles:
    """The value of each split of the pools of V views to the seat that keeps it, ``[V, N]`` points of ten."""
    pool_values = np.maximum(np.einsum("vi,vi->v", views.counts, views.utilities, dtype=np.int64), 1)
    worth = np.einsum("vni,vi->vn", splits.oA, views.utilities, dtype=np.int64)
    points: Doubles = worth * (TEN / pool_values[:, None])
    return points


def split_numbers(counts: Int8s, oA: Int8s) -> Index:
    """The number of each split ``oA[..., 3]`` among those of its pool ``counts[..., 3]``, ``[...]``."""
    first, second, third = np.moveaxis(oA.astype(np.int64), -1, 0)
    numbers: Index = (first * (counts[..., 1] + 1) + second) * (counts[..., 2] + 1) + third
    return numbers


def act_numbers(counts: Int8s, act: Int8s, oA: Int8s, width: int) -> Index:
    """The number of each act ``[...]`` with ``oA[..., 3]``, as :mod:`dond_marl.solvers.replies` numbers answers.

    ``width``: N. Raises ``ValueError`` for an offer that its pool ``counts[..., 3]`` does not hold.
    """
    offers, act = act <= Act.INSIST, act.astype(np.int64)
    if (((oA < 0) | (oA > counts)).any(axis=-1) & offers).any():
        raise ValueError("a partner claims what its pool does not hold")
    return np.where(offers, act * width + split_numbers(counts, oA), 2 * width + act - Act.AGREE)


def contexts_of(prior: str, counts: Int8s, utilities: Int8s) -> Contexts:
    """The contexts of views ``[C, 3]`` that are equally likely under the prior of that name."""
    believed = beliefs(prior, counts, utilities)
    filled = believed.weights > 0
    context, kind = np.nonzero(filled)
    partner_views, view_index = distinct_views(counts[context], believed.types[context, kind])
    types = np.zeros(filled.shape, dtype=np.int64)
    types[context, kind] = view_index
    shares = np.full(len(counts), 1 / max(len(counts), 1))
    return Contexts(Views(counts, utilities), partner_views, types, np.asarray(believed.weights), shares)


def contexts_in(scenarios: Scenarios, seat: int) -> Contexts:
    """The contexts of a seat where every scenario of a table is equally likely."""
    own_values, partner_values = scenarios.utilities[:, seat], scenarios.utilities[:, 1 - seat]
    own_views, own_index = distinct_views(scenarios.counts, own_values)
    partner_views, kind = distinct_views(scenarios.counts, partner_values)
    pairs, number = np.unique(own_index * partner_views.size + kind, return_counts=True)
    context, kind = np.divmod(pairs, partner_views.size)
    in_context = np.bincount(context)
    column = np.arange(len(pairs)) - np.repeat(np.cumsum(in_context) - in_context, in_context)
    types = np.zeros((own_views.size, int(in_context.max())), dtype=np.int64)
    weights = np.zeros(types.shape)
    types[context, column], weights[context, column] = kind, number
    total = weights.sum(axis=1)
    return Contexts(own_views, partner_views, types, weights / total[:, None], total / total.sum())


def prior_table(source: ScenarioSource) -> Scenarios | None:
    """The scenarios of the prior, each equally likely; ``None`` for the uniform source, which is endless.

    A source's own, but every split of ``lewis`` has the whole space: the evaluated part would nearly reveal the
    partner's values.
    """
    return lewis_space() if source.name == "lewis" else source.table


def prior_contexts(source: ScenarioSource, seat: int) -> Contexts:
    """The contexts under :func:`prior_table`; raises :class:`NotComputable` for the uniform source, which has none."""
    table = prior_table(source)
    if table is None:
        raise NotComputable(f"{source.label} has no table of scenarios to be exact about; take a finite source")
    return contexts_in(table, seat)


def distinct_views(counts: Int8s, utilities: Int8s) -> tuple[Views, Index]:
    """The distinct views among rows ``[R, 3]``, and the index of each row's view among them, ``[R]``."""
    _, first, inverse = np.unique(numbers_of(counts, utilities), return_index=True, return_inverse=True)
    return Views(counts[first], utilities[first]), inverse.reshape(-1)
