"""All splits of each game's pool as one array, for partners that score every possible claim.

Arrays lie with the games last, ``[N, B]`` for B games and the N splits of the pool that has the most, counting up with
the last type fastest. A smaller pool's column ends in splits that do not fit. All sums are of whole numbers, and what
does not fit comes last and weighs nothing, so that a game's result does not depend on the other games.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import MAX_COUNT
from dond_marl.scenarios.sources import numbers_of
from dond_marl.seats import Bools, Doubles, Int8s, Turns, worth
from dond_marl.splits import grid_size
from partners.scripted.offers import Points, offer_worth, pool_worth

WHOLE = 1 << 20  # the whole of a share, where shares are whole numbers
_BASE = MAX_COUNT + 1
_SMALL = 4  # of a type: the splits of all pools with no more are cached in one table
_FEW = 64  # pools whose splits are cached
NEVER = -(1 << 60)  # the score of a split that does not fit


class Menu(NamedTuple):
    """The splits of each game's pool, N of them."""

    items: Int8s  # [3, N, B] items that the seat keeps
    fits: Bools  # [N, B] False where the pool has fewer splits
    points: Points  # [N, B] worth to the seat


def distinct_games(turns: Turns) -> tuple[Turns, NDArray[np.int64]]:
    """U games that differ in pool or visible values, and the index of each game's equal among them, ``[B]``.

    A partner without memory computes each of them once.
    """
    keys = numbers_of(turns.counts, np.hstack([turns.my_utilities, turns.partner_utilities]))
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return turns.rows(first), inverse.reshape(-1)


def menu(turns: Turns) -> Menu:
    """All splits of the games' pools."""
    first, second, third = turns.counts.T.astype(np.int16)
    if turns.counts.max(initial=0) <= _SMALL:
        pool_index = (first * (_SMALL + 1) + second) * (_SMALL + 1) + third
        every, number = _small_splits()
        numbers = number[pool_index]
        return _menu(every[:, : numbers.max(initial=1)].take(pool_index, axis=2), numbers, turns.my_utilities)
    codes, pool_index = np.unique((first * _BASE + second) * _BASE + third, return_inverse=True)
    pools = tuple(codes.tolist())
    every, number = _cached_splits_of(pools) if len(pools) <= _FEW else _splits_of(pools)
    pool_index = pool_index.reshape(-1)
    return _menu(every.take(pool_index, axis=2), number[pool_index], turns.my_utilities)


def _menu(items: Int8s, number: NDArray[np.int64], utilities: Int8s) -> Menu:
    fits: Bools = np.arange(items.shape[1], dtype=np.int16)[:, None] < number.astype(np.int16)
    return Menu(items, fits, worth(utilities, items.transpose(1, 2, 0)).astype(np.int32))


@lru_cache(maxsize=1)
def _small_splits() -> tuple[Int8s, NDArray[np.int64]]:
    """The splits of every pool of up to 4 of a type, as the default game and the published ones have them."""
    numbers = range(_SMALL + 1)
    return _splits_of(tuple((a * _BASE + b) * _BASE + c for a in numbers for b in numbers for c in numbers))


@lru_cache(maxsize=64)
def _cached_splits_of(pools: tuple[int, ...]) -> tuple[Int8s, NDArray[np.int64]]:
    return _splits_of(pools)


def _splits_of(pools: tuple[int, ...]) -> tuple[Int8s, NDArray[np.int64]]:
    """The splits of P pools, ``[3, N, P]``, and the number of each, ``[P]``; read-only."""
    counts = np.array(pools, dtype=np.int64)
    first, second, third = (counts // _BASE**digit % _BASE + 1 for digit in (2, 1, 0))
    number = first * second * third
    index = np.arange(int(number.max(initial=1)))[:, None]
    fits = index < number
    items = np.stack([index // (second * third), index // third % second, index % third]).astype(np.int8) * fits
    items.flags.writeable = number.flags.writeable = False
    return items, number


def own_shares(splits: Menu, wholes: Points) -> NDArray[np.int64]:
    """The seat's share of each split, ``[N, B]`` in 1 / 2**20 of its whole value; 0 if that is 0."""
    # A quotient of two numbers this small is never rounded up to the next whole number.
    return (splits.points * float(WHOLE) / np.maximum(wholes, 1)).astype(np.int64)


def own_share_of_offer(turns: Turns) -> NDArray[np.int64]:
    """The seat's share of the offer on the table, ``[B]`` in 1 / 2**20 of its whole value; 0 if that is 0."""
    return offer_worth(turns).astype(np.int64) * WHOLE // np.maximum(pool_worth(turns), 1)


def expected_share_left(turns: Turns, splits: Menu, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The partner's expected share of what each split leaves, ``[N, B]`` in 1 / 2**20 of its whole value.

    ``values[3, B]``: the expected value of each item, as a share too, which is rounded: the result may lie just
    outside 0..1.
    """
    claimed = splits.items[0] * values[0] + splits.items[1] * values[1] + splits.items[2] * values[2]
    share: NDArray[np.int64] = (values * turns.counts.T).sum(axis=0) - claimed
    return share


def shares_left(turns: Turns, splits: Menu, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """:func:`expected_share_left`, cut to 0..1."""
    return np.minimum(np.maximum(expected_share_left(turns, splits, values), 0), WHOLE)


def share_of_offer(turns: Turns, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The partner's share of its latest claim, ``[B]`` in 1 / 2**20, with item ``values[3, B]`` in 1 / 2**20.

    Before its first claim that is the whole pool.
    """
    partner_value = (values * (turns.counts - turns.last_partner_offer_for_me).T).sum(axis=0)
    share: NDArray[np.int64] = np.clip(partner_value, 0, WHOLE)
    return share


def favourite(splits: Menu, score: NDArray[np.int64]) -> tuple[Int8s, NDArray[np.int64]]:
    """The split of the highest ``score[N, B]``, the first of equals, ``[B, 3]``, and its score ``[B]``."""
    score = np.where(splits.fits, score, NEVER)
    best = first_best(score)
    return splits_at(splits, best), score[best, np.arange(len(best))]


def first_best(score: NDArray[np.signedinteger]) -> NDArray[np.int64]:
    """The place of the highest of each column of ``score[N, B]``, the first of equals, ``[B]``.

    As ``score.argmax(axis=0)``, several times as fast: NumPy transposes for that.
    """
    countdown = np.arange(len(score), 0, -1, dtype=np.min_scalar_type(-len(score)))[:, None]
    is_best = (score == score.max(axis=0)).view(np.int8)
    best: NDArray[np.int64] = len(score) - (countdown * is_best).max(axis=0).astype(np.int64)
    return best


def splits_at(splits: Menu, number: NDArray[np.int64]) -> Int8s:
    """Split number ``number[B]`` of each game, ``[B, 3]``."""
    size = len(number)
    return splits.items.reshape(3, -1).take(number * size + np.arange(size), axis=1).T


def probabilities_by_number(splits: Menu, chances: Doubles, max_count: int) -> Doubles:
    """The chances ``[N, B]`` by the numbering of :mod:`dond_marl.splits`, ``[B, K]``."""
    base, size = max_count + 1, splits.fits.shape[1]
    code = (splits.items[0].astype(np.int64) * base + splits.items[1]) * base + splits.items[2]
    table = np.zeros((size, grid_size(max_count)))
    split, game = np.nonzero(splits.fits)
    table[game, code[split, game]] = chances[split, game]
    return table
