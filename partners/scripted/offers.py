"""Arithmetic of offers for scripted partners: the worth of splits to a seat, choosing one per game, past claims.

Arrays lie with the games last, ``[G, B]`` for the G splits of a grid and B games. A choice is an exact integer
comparison; ties fall to the split that keeps the fewest items, then to the first in lexicographic order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import MAX_COUNT, Act
from dond_marl.seats import Bools, Decisions, Int8s, Turns, are_offers, decide, worth

Points = NDArray[np.int32]  # [B] or [G, B]
Numbers = NDArray[np.uint32]  # splits, one number each, see _parts

_TOLERANCE = 1e-9  # points; 0.55 * 100 is 55.00000000000001 in floating point, and 55 points are enough
_BEYOND = 1000  # points; above every possible worth (300), it marks items that the pool does not hold
_TOP = 300  # points; the most that a pool can be worth
# One split in 32 bits, most significant first: points, items kept (11..15), index in the grid (0..10).
_POINT, _ITEM, _INDEX = 1 << 16, 1 << 11, (1 << 11) - 1
_FRACTION = 64  # a target between two whole points is resolved in steps of 1/64


def pool_worth(turns: Turns) -> Points:
    """The worth of the whole pool to the seat, ``[B]`` points."""
    return worth(turns.my_utilities, turns.counts).astype(np.int32)


def offer_worth(turns: Turns) -> Points:
    """The worth of the partner's latest offer to the seat, ``[B]`` points; 0 before its first."""
    return worth(turns.my_utilities, turns.last_partner_offer_for_me).astype(np.int32)


def claim_worth(turns: Turns, oA: Int8s) -> Points:
    """The worth of the claim ``oA[B, 3]`` to the seat, ``[B]`` points."""
    return worth(turns.my_utilities, oA).astype(np.int32)


def has_offer(turns: Turns) -> Bools:
    """Whether the partner's last act was an offer, so that AGREE is legal, ``[B]``."""
    return are_offers(turns.last_partner_act)


def points_needed(share: float | NDArray[np.float64], wholes: Points) -> Points:
    """The fewest points that are at least ``share`` of ``wholes``, ``[B]``; exact where ``share`` is a decimal."""
    return np.ceil(share * wholes - _TOLERANCE).astype(np.int32)


def own_turn(turns: Turns) -> int:
    """The number of the seat's turns before this one."""
    return turns.turns_taken // 2


def progress(turns: Turns) -> float:
    """The time t on the seat's own turns: 0 at its first, 1 at its last; its only one is its last."""
    last = (turns.rules.max_turns - turns.seat + 1) // 2 - 1
    return own_turn(turns) / last if last > 0 else 1.0


def answer(turns: Turns, accept: Bools, oA: Int8s, act: Act | Int8s = Act.PROPOSE) -> Decisions:
    """AGREE where ``accept[B]`` and an offer is on the table, otherwise ``act`` with ``oA[B, 3]``."""
    accept = accept & has_offer(turns)
    act_type = np.where(accept, np.int8(Act.AGREE), np.asarray(act, dtype=np.int8))
    return decide(act_type, (oA.T * ~accept).T)


def keep_valued(turns: Turns) -> Int8s:
    """Every item that the seat values, ``[B, 3]``: its best claim with the fewest items."""
    return turns.counts * (turns.my_utilities > 0)


def fill_claim(turns: Turns, target: Points) -> Int8s:
    """The most valuable items first, item by item, until they are worth ``target[B]`` points, ``[B, 3]``.

    Types of equal value are taken in their order; worthless items are never taken.
    """
    values, counts = turns.my_utilities.T, turns.counts.T
    order = np.argsort(-values, axis=0, kind="stable")
    missing, claim = target.copy(), np.zeros_like(counts)
    for item in order:
        column = item[None]
        value = np.take_along_axis(values, column, axis=0)[0].astype(np.int32)
        count = np.take_along_axis(counts, column, axis=0)[0]
        items = np.minimum(-(-np.maximum(missing, 0) // np.maximum(value, 1)), count) * (value > 0)
        missing -= items * value
        np.put_along_axis(claim, column, items.astype(np.int8)[None], axis=0)
    return claim.T


def worst_at_least(turns: Turns, target: Points) -> Int8s:
    """The split worth least to the seat among those worth at least ``target[B]`` points to it, ``[B, 3]``.

    A target beyond the whole pool is cut to it.
    """
    parts = _portions(turns)
    # What is worth less than the target wraps around to the largest numbers.
    parts[0] -= (np.clip(target, 0, pool_worth(turns)) * _POINT).astype(np.uint32)
    return _decode(outer_sum(parts).min(axis=0), turns)


def nearest_split(turns: Turns, share: NDArray[np.float64]) -> Int8s:
    """The split worth nearest to ``share[B]`` of its whole value to the seat, ``[B, 3]``; of two, the better."""
    numbers = outer_sum(_portions(turns))
    points, ties = (numbers // _POINT).astype(np.int32), numbers & (_POINT - 1)
    target = np.rint(np.clip(share, 0, 1) * pool_worth(turns) * _FRACTION).astype(np.int32)
    far = np.abs(points * _FRACTION - target) * 2 + (points * _FRACTION < target)
    far[points >= _BEYOND] = _POINT - 1  # it does not fit the pool
    return _decode((far.astype(np.uint32) * _POINT + ties).min(axis=0), turns)


def ranking(turns: Turns) -> Numbers:
    """The seat's splits from its best to its worst, ``[B, G]`` numbers that :func:`at_rank` reads.

    Splits that keep something worthless to the seat are left out: the same without it is as good for it.
    """
    return np.sort(np.ascontiguousarray(outer_sum(_portions(turns, descending=True)).T), axis=1)


def worthwhile(ranks: Numbers) -> NDArray[np.int64]:
    """The number of ranked splits that are worth anything to the seat, ``[B]``."""
    number: NDArray[np.int64] = (ranks < _TOP * _POINT).sum(axis=1)
    return number


def at_rank(turns: Turns, ranks: Numbers, rank: NDArray[np.int64]) -> Int8s:
    """Split number ``rank[B]`` of the ranked ones, 0 for the best, ``[B, 3]``; at most the last one worth anything."""
    index = np.clip(rank, 0, np.maximum(worthwhile(ranks) - 1, 0))
    return _decode(np.take_along_axis(ranks, index[:, None], axis=1)[:, 0], turns)


def best_allowed(turns: Turns, forbidden: Bools) -> Int8s:
    """The seat's best split outside ``forbidden[G, B]`` that keeps nothing worthless, ``[B, 3]``.

    Where every one is forbidden, its best of all.
    """
    numbers = outer_sum(_portions(turns, descending=True))
    allowed = np.where(forbidden, np.uint32(0xFFFFFFFF), numbers).min(axis=0)
    none_left = allowed >= _BEYOND * _POINT
    return _decode(np.where(none_left, numbers.min(axis=0), allowed), turns)


def outer_sum(parts: Sequence[NDArray[Any]] | NDArray[Any]) -> NDArray[Any]:
    """Sums over the three item types for every split, ``[G, B]``; ``parts``: 3 times ``[M + 1, B]``, by number kept."""
    first, second, third = parts
    sums: NDArray[Any] = (first[:, None] + second[None, :])[:, :, None] + third[None, None, :]
    return sums.reshape(-1, sums.shape[-1])


def item_numbers(turns: Turns) -> NDArray[np.int32]:
    """The numbers 0..M of a type that a split of the batch's grid may keep, ``[M + 1, 1]``."""
    return np.arange(int(turns.counts.max(initial=0)) + 1, dtype=np.int32)[:, None]


def _portions(turns: Turns, *, descending: bool = False) -> Numbers:
    """The part of a split's number that each item type contributes by keeping 0..M of it, ``[3, M + 1, B]``.

    Numbers ascend with the points, or ``descending``, with 300 minus the points; then keeping a worthless item
    counts as exceeding the pool.
    """
    numbers = item_numbers(turns)
    caps = keep_valued(turns) if descending else turns.counts
    points = turns.my_utilities.T.astype(np.int32)[:, None] * numbers  # [3, M + 1, B]
    if descending:
        points = _TOP // 3 - points  # a third of the top is the most that one type can be worth
    points += _BEYOND * (numbers > caps.T[:, None])
    points *= _POINT
    points += _ties(len(numbers))
    return points.view(np.uint32)


@lru_cache(maxsize=16)
def _ties(base: int) -> NDArray[np.int32]:
    """Tie-breaker between splits of equal points: the items kept, then the index in the grid, ``[3, base, 1]``."""
    weights = np.array([base * base, base, 1], dtype=np.int32)
    return np.arange(base, dtype=np.int32)[:, None] * (_ITEM + weights[:, None, None])


def _decode(numbers: Numbers, turns: Turns) -> Int8s:
    """The splits encoded by ``numbers[B]``, ``[B, 3]``."""
    index = (numbers & _INDEX).astype(np.int32)
    return _grid(len(item_numbers(turns))).take(index, axis=1).T


@lru_cache(maxsize=16)
def _grid(base: int) -> Int8s:
    """Every split of a grid, ``[3, base**3]``."""
    return np.indices((base, base, base), dtype=np.int8).reshape(3, -1)


class Claims(NamedTuple):
    """The claims of one seat on each of its H turns so far."""

    oA: Int8s  # [H, 3, B]
    has_claim: Bools  # [H, B] False for a turn without an offer

    @property
    def number(self) -> NDArray[np.int64]:
        """The number of claims, ``[B]``."""
        number: NDArray[np.int64] = self.has_claim.sum(axis=0)
        return number

    def totals(self) -> NDArray[np.int64]:
        """The total of each item over all claims, ``[3, B]``."""
        totals: NDArray[np.int64] = (self.oA * self.has_claim[:, None]).sum(axis=0, dtype=np.int64)
        return totals

    def before_the_last(self) -> Claims:
        """The claims before the seat's latest turn."""
        return Claims(self.oA[:-1], self.has_claim[:-1])

    def distinct(self) -> NDArray[np.int64]:
        """The number of different claims, ``[B]``."""
        if not len(self.oA):
            return self.number
        base = MAX_COUNT + 1
        codes = (self.oA[:, 0].astype(np.int16) * base + self.oA[:, 1]) * base + self.oA[:, 2]
        codes = np.sort(np.where(self.has_claim, codes, np.int16(-1)), axis=0)
        is_new = np.diff(codes, axis=0, prepend=np.int16(-1)) > 0  # turns without a claim sort first and are never new
        number: NDArray[np.int64] = is_new.sum(axis=0)
        return number

    def latest(self) -> Int8s:
        """The latest claim, ``[B, 3]``; zeros before the first."""
        claim = np.zeros(self.oA.shape[1:], dtype=np.int8)
        for oA, has_claim in zip(self.oA, self.has_claim, strict=True):
            np.copyto(claim, oA, where=has_claim)
        return claim.T


def own_claims(turns: Turns) -> Claims:
    """The claims of the seat to move."""
    return _claims(turns, turns.seat)


def partner_claims(turns: Turns) -> Claims:
    """The claims of the seat's partner."""
    return _claims(turns, 1 - turns.seat)


def worth_left(turns: Turns, claims: Claims) -> NDArray[np.int32]:
    """The seat's points in each of the partner's claims, ``[H, B]``; -1 for a turn without one."""
    points = worth(turns.my_utilities, turns.counts - claims.oA.transpose(0, 2, 1))
    return np.where(claims.has_claim, points, np.int32(-1))


def _claims(turns: Turns, seat: int) -> Claims:
    acts = turns.history.act.T[seat::2]
    return Claims(turns.history.oA.transpose(1, 2, 0)[seat::2], are_offers(acts))
