"""Private views of a seat, and the possible values of its partner given a view.

A *view* is a pool and a seat's own values. A *context* is a view together with the partner's possible values and their
probabilities under the scenario prior. Many scenarios share one context: the 5,295 legal ones have 438.

Splits of a pool are numbered compactly, in lexicographic order of what the seat in question keeps, so that split ``j``
of ``n`` leaves the other seat split ``n - 1 - j``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.errors import NotComputable
from dond_marl.scenarios.sources import Scenarios, ScenarioSource, lewis_space, numbers_of
from dond_marl.seats import Doubles, Int8s
from dond_marl.splits import grid
from dond_marl.statistics import TEN
from dond_marl.yardsticks.beliefs import beliefs

Index = NDArray[np.int64]


class Splits(NamedTuple):
    """Every way to split each of V pools, padded to N, the number of the pool with the most."""

    oA: Int8s  # [V, N, 3] what one seat keeps, in lexicographic order; zeros beyond ``number``
    number: Index  # [V]

    @property
    def rest(self) -> Index:
        """The number of the split that each leaves to the other seat, ``[V, N]``; 0 beyond ``number``."""
        rest: Index = np.maximum(self.number[:, None] - 1 - np.arange(self.oA.shape[1]), 0)
        return rest


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

    own: Views  # [C]
    theirs: Views  # [V] every view that a partner may have
    types: Index  # [C, K] the partner's view, by its place in ``theirs``; 0 where the weight is 0
    weights: Doubles  # [C, K] probability of each; rows sum to 1
    shares: Doubles  # [C] probability of each context; sums to 1

    @property
    def size(self) -> int:
        return len(self.types)

    @property
    def splits(self) -> Splits:
        return splits_of(self.own.counts)

    def points(self, splits: Splits) -> Doubles:
        """What each split is worth to the seat, ``[C, N]`` points of ten."""
        whole = np.maximum(np.einsum("ci,ci->c", self.own.counts, self.own.utilities, dtype=np.int64), 1)
        worth = np.einsum("cni,ci->cn", splits.oA, self.own.utilities, dtype=np.int64)
        points: Doubles = worth * (TEN / whole[:, None])
        return points

    def certain(self) -> Contexts:
        """The contexts with the partner's values revealed: one for each possible pair of views."""
        context, kind = np.nonzero(self.weights)
        return Contexts(
            Views(self.own.counts[context], self.own.utilities[context]),
            self.theirs,
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


def split_numbers(counts: Int8s, oA: Int8s) -> Index:
    """The number of each split ``oA[..., 3]`` among those of its pool ``counts[..., 3]``, ``[...]``."""
    first, second, third = np.moveaxis(oA.astype(np.int64), -1, 0)
    numbers: Index = (first * (counts[..., 1] + 1) + second) * (counts[..., 2] + 1) + third
    return numbers


def contexts_of(prior: str, counts: Int8s, utilities: Int8s) -> Contexts:
    """The contexts of views ``[C, 3]`` that are equally likely under the prior of that name."""
    believed = beliefs(prior, counts, utilities)
    filled = believed.weights > 0
    context, place = np.nonzero(filled)
    theirs, which = distinct_views(counts[context], believed.types[context, place])
    types = np.zeros(filled.shape, dtype=np.int64)
    types[context, place] = which
    shares = np.full(len(counts), 1 / max(len(counts), 1))
    return Contexts(Views(counts, utilities), theirs, types, np.asarray(believed.weights), shares)


def contexts_in(scenarios: Scenarios, seat: int) -> Contexts:
    """The contexts of a seat where every scenario of a table is equally likely."""
    mine, theirs = scenarios.utilities[:, seat], scenarios.utilities[:, 1 - seat]
    own, which = distinct_views(scenarios.counts, mine)
    partners, kind = distinct_views(scenarios.counts, theirs)
    pairs, number = np.unique(which * partners.size + kind, return_counts=True)
    context, kind = np.divmod(pairs, partners.size)
    in_context = np.bincount(context)
    column = np.arange(len(pairs)) - np.repeat(np.cumsum(in_context) - in_context, in_context)
    types = np.zeros((own.size, int(in_context.max())), dtype=np.int64)
    weights = np.zeros(types.shape)
    types[context, column], weights[context, column] = kind, number
    total = weights.sum(axis=1)
    return Contexts(own, partners, types, weights / total[:, None], total / total.sum())


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
    """The distinct views among rows ``[R, 3]``, and which of them each row is."""
    _, first, which = np.unique(numbers_of(counts, utilities), return_index=True, return_inverse=True)
    return Views(counts[first], utilities[first]), which.reshape(-1)
