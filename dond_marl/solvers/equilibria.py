"""Equilibrium tables: a solved policy as a file, and its act probabilities in any game.

There is one game for each pool up to renaming of items (:func:`lewis_pools`). A node is a turn, the partner's last
claim and both seats' views. An act is a claim, AGREE, or walking away: the acts that can matter under
``disagree="ends"``. A file holds a note, one line of JSON, and the probabilities of every act as 16-bit floats for one
view of each group of renamings; the whole is compressed. The note states how the policy was made and its points.

The same tables serve ``disagree="rejects"``, where DISAGREE does not end the game. A policy never says DISAGREE to go
on. Under this rule it is played as follows.

==============================  =====================================================================================
It walks away                   END; on the last turn a claim that does not add up with the partner's.
Partner says DISAGREE           It answers as if the partner had claimed everything, and says END where it would agree
                                or walk away.
DISAGREE before its last turn   It answers as if the partner had made its latest claim again; to agree is to claim
                                what that leaves.
==============================  =====================================================================================

Against this play, DISAGREE pays no more than a claim of everything, or on the turn before the last than the own
latest claim made again. END pays no more than AGREE. So no act of this rule pays more than one that
``disagree="ends"`` has as well, but for one corner: END is a deal where both latest claims add up, that is where the
policy claimed what its partner had left or leaves now. :func:`end_deals` computes its effect: exactly for the policy
against itself, and an upper bound for any response, whatever its memory. Tests compare all of it with every act of
``dond_marl/game.py``.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dond_marl.errors import InputError, quote
from dond_marl.game import Disagree, as_integer
from dond_marl.scenarios.sources import Scenarios, lewis_space, numbers_of
from dond_marl.seats import Doubles, Int8s
from dond_marl.solvers.contexts import Index, Views, split_numbers, split_points, splits_of

Pair = tuple[float, float]  # of seat_0 and seat_1, or the bounds of one value
Policy = Sequence[Doubles]  # by turn: [V, H, N + 2] probability of each claim, of AGREE and of walking away
STORED = Path(__file__).with_name("equilibrium_tables")
SMALL = 0.015  # points of ten: the temperature of the tables of every horizon
TEMPERATURES = dict.fromkeys(range(1, 10), (SMALL,)) | {10: (SMALL, 0.1, 0.5)}
NONE = -1  # in every entry of ``claim`` before the first one
ORDERS = tuple(permutations(range(3)))  # of three items
ORDERS_WITH_TIES = np.array([1, 2, 6])  # how many of them sort counts, by the number of equal neighbours


@dataclass(frozen=True, eq=False)
class Pool:
    """One pool: V views, which either seat may have, and N splits."""

    counts: Int8s  # [3], ascending
    values: Int8s  # [V, 3] points per item, in lexicographic order
    prior: Doubles  # [V, V] joint probability of seat_0's and seat_1's views; sums to the pool's probability
    points: Doubles  # [V, N] value of each split to the seat that keeps it, points of ten

    @property
    def width(self) -> int:
        """N, the number of splits."""
        return int(self.points.shape[1])

    @property
    def splits(self) -> Int8s:
        """The items that each split keeps, ``[N, 3]``."""
        own_share: Int8s = splits_of(self.counts[None]).oA[0]
        return own_share

    @property
    def renamings(self) -> list[tuple[Index, Index]]:
        """The permutations of views ``[V]`` and of splits ``[N]`` by each order of the items that keeps the counts."""
        pairs = []
        for order in ORDERS:
            if (self.counts[list(order)] == self.counts).all():
                pairs.append(
                    (_indices(self.values[:, order], self.values), _indices(self.splits[:, order], self.splits))
                )
        return pairs


def pools_of(scenarios: Scenarios) -> tuple[Pool, ...]:
    """The pools of equally likely scenarios, all renamings included.

    Items are sorted by ascending counts. A scenario whose counts have several such orders is counted in all of them,
    equally often, so that renamings are equally likely.
    """
    counts, first, second, weight = [], [], [], []
    for order in ORDERS:
        steps = np.diff(scenarios.counts[:, order].astype(np.int64), axis=1)
        ascending = (steps >= 0).all(axis=1)
        counts.append(scenarios.counts[ascending][:, order])
        first.append(scenarios.utilities[ascending, 0][:, order])
        second.append(scenarios.utilities[ascending, 1][:, order])
        weight.append(1 / ORDERS_WITH_TIES[(steps[ascending] == 0).sum(axis=1)])
    sorted_counts, values_0, values_1 = (np.concatenate(parts) for parts in (counts, first, second))
    kinds, pool_index = np.unique(sorted_counts, axis=0, return_inverse=True)
    pool_index = pool_index.reshape(-1)
    chances = np.concatenate(weight) / scenarios.size
    return tuple(
        make_pool(kind, values_0[pool_index == number], values_1[pool_index == number], chances[pool_index == number])
        for number, kind in enumerate(kinds)
    )


def lewis_pools() -> tuple[Pool, ...]:
    """The pools of the legal space of Lewis et al. 2017: 8, with 9 to 26 views each."""
    return pools_of(lewis_space())


def make_pool(counts: Int8s, first: Int8s, second: Int8s, chances: Doubles) -> Pool:
    """The pool of scenarios with the values ``first[S, 3]``, ``second[S, 3]`` and the probabilities ``chances[S]``."""
    values, view_index = np.unique(np.concatenate([first, second]), axis=0, return_inverse=True)
    view_index = view_index.reshape(2, -1)
    prior = np.zeros((len(values), len(values)))
    np.add.at(prior, (view_index[0], view_index[1]), chances)
    views = Views(np.tile(counts, (len(values), 1)), values)
    return Pool(counts, values, prior, split_points(views, splits_of(counts[None])))


def _indices(rows: Int8s, among: Int8s) -> Index:
    """The index of each row ``[R, 3]`` in ``among``, which is in lexicographic order."""
    base = np.array([121, 11, 1])
    indices: Index = np.searchsorted(among.astype(np.int64) @ base, rows.astype(np.int64) @ base)
    return indices


def reach_probabilities(pool: Pool, policy: Policy) -> list[Doubles]:
    """The probability of each node where both seats play the policy, ``[V, V, H]`` by turn, the mover's view first."""
    reach = [pool.prior[:, :, None]]
    for chances in policy[:-1]:
        reach.append((reach[-1] @ chances[..., :-2]).swapaxes(0, 1))
    return reach


class EndDeals(NamedTuple):
    """The deals by END under ``disagree="rejects"``, over the pool's share of the games."""

    paid: Pair  # additional points of each seat where both play the policy; of ten, exact
    most: Pair  # upper bound of what a response of each seat can add to the best one under "ends"


def end_deals(pool: Pool, policy: Policy) -> EndDeals:
    """The effect of deals by END on a policy that remembers the last offer, under ``disagree="rejects"``."""
    turns, n, points, reach = len(policy), pool.width, pool.points, reach_probabilities(pool, policy)
    every = np.arange(n)
    complement = n - 1 - every
    paid, most = [0.0, 0.0], [0.0, 0.0]
    for turn in range(2, turns - 1):  # on which END may close what the mover claimed two turns before
        mover, other = turn % 2, 1 - turn % 2
        claims, replies = policy[turn - 2][..., :n], policy[turn - 1][:, every, complement]
        walks = policy[turn][:, complement, n + 1]  # [V, N] after what the mover claimed was left to it
        claimed = np.einsum("moh,mhs->mos", reach[turn - 2], claims, optimize=True)
        closed = claimed * replies[None] * walks[:, None]  # [V, V, N]
        paid[mover] += float((closed * points[:, None]).sum())
        paid[other] += float((closed * points[None, :, ::-1]).sum())
        prior = pool.prior if other == 0 else pool.prior.T  # [V, V] the responder's view first
        gains = np.einsum("khs,ks,vs->vkh", claims, walks, points[:, ::-1], optimize=True).max(axis=2)
        if turn > 2:  # it claimed what the responder's claim leaves, and the responder says DISAGREE
            ends = policy[turn][:, n - 1, n] + policy[turn][:, n - 1, n + 1]
            back = np.maximum(claims[:, every, complement], claims[:, n - 1, complement])
            gains = gains + np.einsum("ks,k,vs->vks", back, ends, points, optimize=True).max(axis=2)
        most[other] += float((prior * gains).sum())
    return EndDeals((paid[0], paid[1]), (most[0], most[1]))


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A policy for games of ``turns`` turns, which remembers the last offer alone."""

    note: dict[str, Any]
    policies: tuple[list[Doubles], ...]  # for each of :func:`lewis_pools`
    disagree: Disagree = "ends"  # the rule that the figures are for

    @staticmethod
    def load(turns: int = 10, temperature: float = SMALL, disagree: Disagree = "ends") -> Equilibrium:
        """The shipped table of both rules; raises :class:`~dond_marl.errors.InputError` where there is none."""
        number = as_integer(turns)
        if number not in TEMPERATURES or temperature not in TEMPERATURES[number]:
            raise InputError(
                f"no table of an equilibrium has turns={quote(turns)}, temperature={quote(temperature)}; there are: "
                f"{'; '.join(f'turns={t}: ' + ', '.join(map(str, row)) for t, row in TEMPERATURES.items())}"
            )
        return _load_shipped(number, float(temperature), disagree)

    @property
    def turns(self) -> int:
        """The turns of the games that it is for, both seats together."""
        return int(self.note["turns"])

    @property
    def values(self) -> Pair:
        """The expected points of ten of seat_0 and seat_1 against itself, over all 5,295 scenarios."""
        first, second = (value + more for value, more in zip(self.note["values"], self.end_deals.paid, strict=True))
        return first, second

    @property
    def responses(self) -> tuple[Pair, Pair]:
        """Bounds of the points of a best response with perfect recall in each seat; equal up to four turns."""
        note = zip(self.note["values"], self.note["gain_remembering"], self.end_deals.most, strict=True)
        first, second = ((value + least, value + most + more) for value, (least, most), more in note)
        return first, second

    @cached_property
    def end_deals(self) -> EndDeals:
        """The deals by END over all pools: none where DISAGREE ends the game."""
        if self.disagree == "ends":
            return EndDeals((0.0, 0.0), (0.0, 0.0))
        by_pool = [end_deals(pool, policy) for pool, policy in zip(lewis_pools(), self.policies, strict=True)]
        return EndDeals(*(tuple(np.sum(part, axis=0).tolist()) for part in zip(*by_pool, strict=True)))

    def view_numbers(self, counts: Int8s, utilities: Int8s) -> Index:
        """The index of each view among those of ``lewis``, ``[B]``; -1 for others."""
        keys, _, _ = self._views
        named = np.argsort(counts, axis=1, kind="stable")
        numbers = numbers_of(*(np.take_along_axis(items, named, axis=1) for items in (counts, utilities)))
        index = np.minimum(np.searchsorted(keys, numbers), len(keys) - 1)
        return np.where(keys[index] == numbers, index, -1)

    def probs(self, counts: Int8s, utilities: Int8s, claim: Int8s, turns_left: Index) -> Doubles:
        """The probability of each act, ``[B, N + 2]``, of seats with the views ``counts[B, 3]``, ``utilities[B, 3]``.

        ``claim[B, 3]`` is what the partner's last claim keeps, -1 before any; ``turns_left[B]`` turns are
        left, this one included. The acts: PROPOSE of each split of the row's own pool, in the order of
        :func:`dond_marl.solvers.contexts.splits_of` and 0 beyond their number, then AGREE, then DISAGREE.

        Raises :class:`~dond_marl.errors.InputError` for a view that no scenario of ``lewis`` holds, and for talk that
        no game of :attr:`turns` turns has.
        """
        number, turn = self.view_numbers(counts, utilities), self.turns - np.asarray(turns_left, dtype=np.int64)
        if (number < 0).any():
            row = int(np.flatnonzero(number < 0)[0])
            raise InputError(
                f"a table holds the views of 'lewis' alone; got the pool {tuple(counts[row].tolist())} with "
                f"the values {tuple(utilities[row].tolist())}"
            )
        silent = np.asarray((np.asarray(claim) < 0).any(axis=1))
        odd = np.asarray((turn < 0) | (turn >= self.turns) | (silent ^ (turn == 0)))
        if odd.any():
            row = int(np.flatnonzero(odd)[0])
            raise InputError(
                f"in a game of {self.turns} turns a claim was made when fewer than {self.turns} are left, and not "
                f"before; got turns_left={int(turns_left[row])} and claim={tuple(np.asarray(claim)[row].tolist())}"
            )
        item_order = np.argsort(counts, axis=1, kind="stable")
        splits = splits_of(counts)
        n, rows = splits.oA.shape[1], np.arange(len(counts))[:, None]
        sorted_counts = np.take_along_axis(counts, item_order, axis=1)
        partner_split = split_numbers(
            sorted_counts, np.take_along_axis(np.where(silent[:, None], 0, claim), item_order, axis=1)
        )
        own_splits = split_numbers(
            sorted_counts[:, None], splits.oA[rows[:, :, None], np.arange(n)[None, :, None], item_order[:, None]]
        )
        chances = np.zeros((len(counts), n + 2))
        _, pool_of, view_of = self._views
        for pool, turn_number in sorted(set(zip(pool_of[number].tolist(), turn.tolist(), strict=True))):
            games = np.flatnonzero((pool_of[number] == pool) & (turn == turn_number))
            stored = self.policies[pool][turn_number][view_of[number[games]], partner_split[games]]  # [S, splits + 2]
            inside = np.arange(n) < splits.number[games][:, None]
            chances[games, :n] = np.take_along_axis(stored, own_splits[games], axis=1) * inside
            chances[games, n:] = stored[:, -2:]
        return chances

    @cached_property
    def _views(self) -> tuple[Index, Index, Index]:
        """The keys of all views, items sorted as in the pools, ascending; the pool and the view in it of each."""
        pools = lewis_pools()
        keys = np.concatenate([numbers_of(np.tile(pool.counts, (len(pool.values), 1)), pool.values) for pool in pools])
        sizes = [len(pool.values) for pool in pools]
        pool, view = np.repeat(np.arange(len(pools)), sizes), np.concatenate([np.arange(size) for size in sizes])
        order = np.argsort(keys)
        return keys[order], pool[order], view[order]


def file_name(turns: int, temperature: float) -> str:
    """The file name of a shipped table."""
    return f"turns{turns}_temperature{temperature}.xz"


@lru_cache(maxsize=16)
def _load_shipped(turns: int, temperature: float, disagree: Disagree) -> Equilibrium:
    if disagree != "ends":
        return replace(_load_shipped(turns, temperature, "ends"), disagree=disagree)
    head, _, body = lzma.decompress((STORED / file_name(turns, temperature)).read_bytes()).partition(b"\n")
    note = json.loads(head)
    numbers, start, policies = np.frombuffer(body, dtype="<f2"), 0, []
    for pool in lewis_pools():
        views, policy = len(representatives(pool)), []
        for turn in range(note["turns"]):
            shape = views, 1 if turn == 0 else pool.width, pool.width + 2
            size = int(np.prod(shape))
            policy.append(numbers[start : start + size].reshape(shape).astype(np.float64))
            start += size
        policies.append(spread(pool, policy))
    return Equilibrium(note, tuple(policies))


def representatives(pool: Pool) -> Index:
    """The first view of each group of views that differ in the items' names alone, ``[R]``."""
    first = np.minimum.reduce([views for views, _ in pool.renamings])
    return np.flatnonzero(first == np.arange(len(first)))


def spread(pool: Pool, policy: Policy) -> list[Doubles]:
    """Expand a policy from representative views to all views by renaming items; each row sums to 1."""
    sources = representatives(pool)
    every = []
    for chances in policy:
        full = np.zeros((len(pool.values), *chances.shape[1:]))
        for views, splits in pool.renamings:
            acts = np.concatenate([splits, len(splits) + np.arange(2)])
            claim = splits if chances.shape[1] > 1 else np.zeros(1, dtype=np.int64)
            for source, chance in zip(sources, chances, strict=True):
                full[views[source], claim[:, None], acts] = chance
        every.append(full / full.sum(axis=-1, keepdims=True))
    return every
