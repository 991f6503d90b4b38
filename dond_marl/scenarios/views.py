"""Private views of scenarios, held-out views for evaluation, and the splits of ``lewis``.

A *private view* is a pool with the values of one seat: all that a seat observes before the first act. Two views that
become equal when the items are renamed are one *canonical* view; the 5,295 legal scenarios of Lewis et al. 2017 hold
80 of them, numbered here in lexicographic order of their sorted (count, value) pairs. A held-out pairing of two views
would hide nothing from a player, which observes one of the two; therefore 16 views are held out, with every scenario
that contains one of them in either seat.

The *orbit* of a scenario is the set of scenarios that become equal to it by renaming the items or swapping the seats.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import MAX_COUNT, MAX_VALUE
from dond_marl.randomness import generator
from dond_marl.scenarios.space import LEWIS_MAX_COUNT, Scenarios, any_values, lewis_space, pools, read_only

HELD_OUT_SEED = 2017  # the year of Lewis et al. 2017
# The first 16 of generator(HELD_OUT_SEED, "held-out views").permutation(80), sorted; drawn before any training.
HELD_OUT_VIEWS = (0, 6, 7, 9, 10, 13, 20, 30, 32, 36, 39, 43, 52, 58, 64, 75)
PARTS = ("both views known", "partner's view unknown", "own view unknown")
LEWIS_SPLITS = ("train", "test", "paper_test", "all")
_DIGIT = max(MAX_COUNT, MAX_VALUE) + 1  # counts and values are digits of this base


def orbits(scenarios: Scenarios) -> NDArray[np.int64]:
    """The orbit number of each scenario, ``[N]``: equal exactly for renamings and swaps of each other.

    Defined for any counts and values, also outside ``lewis``; the numbers are the same in every call.
    """
    return np.minimum(*_sides(scenarios))


def swapped_in_orbit(scenarios: Scenarios) -> NDArray[np.bool_]:
    """The side of its orbit on which each scenario lies, ``[N]``: the same for renamings, the other for swaps."""
    first, second = _sides(scenarios)
    return first > second


def _sides(scenarios: Scenarios) -> list[NDArray[np.int64]]:
    """A number for each scenario and one for its swap, both invariant under renaming of the items: two ``[N]``."""
    counts, values = scenarios.counts.astype(np.int64), scenarios.utilities.astype(np.int64)
    return [_sort_digits((counts * _DIGIT + mine) * _DIGIT + theirs, _DIGIT**3) for mine, theirs in _seat_pairs(values)]


def view_numbers(scenarios: Scenarios) -> NDArray[np.int16]:
    """The number of each seat's canonical view in 0..79, ``[N, 2]``; -1 for a view of no scenario of ``lewis``."""
    keys, known = _view_keys(scenarios), _lewis_views()
    places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[places] == keys, places, -1).astype(np.int16)


def view_parts(scenarios: Scenarios, seat: int) -> NDArray[np.int8]:
    """For the player in ``seat`` (0 or 1), the index into :data:`PARTS` of each scenario, ``[N]``.

    A view is known if scenarios of the split ``train`` hold it: it is one of the 80 and not held out. Where both views
    are unknown the player's own decides.
    """
    known = _known_views(scenarios)
    return np.where(~known[:, seat], 2, np.where(~known[:, 1 - seat], 1, 0)).astype(np.int8)


def is_trainable(scenarios: Scenarios) -> NDArray[np.bool_]:
    """Whether each scenario may be used in training, ``[N]``: no held-out view, and not one of the paper's 392."""
    held_out = np.isin(view_numbers(scenarios), HELD_OUT_VIEWS).any(axis=1)
    excluded: NDArray[np.bool_] = held_out | np.isin(_exact_keys(scenarios), _exact_keys(lewis_part("paper_test")))
    return ~excluded


@lru_cache(maxsize=len(LEWIS_SPLITS))
def lewis_part(split: str) -> Scenarios:
    """The scenarios of ``lewis`` in one of :data:`LEWIS_SPLITS`, in the order of the whole space.

    ``test`` holds every scenario with a held-out view in either seat, ``paper_test`` the 392 of Lewis et al., ``train``
    the scenarios of neither, ``all`` all scenarios.
    """
    space = lewis_space()
    paper = np.zeros(space.size, dtype=bool)
    paper[list(PAPER_TEST)] = True
    test = ~_known_views(space).all(axis=1)
    part = {"train": ~test & ~paper, "test": test, "paper_test": paper, "all": np.ones_like(test)}[split]
    return Scenarios(*(read_only(array) for array in space.rows(np.flatnonzero(part))))


def beyond_lewis(seed: int, n: int, max_count: int = LEWIS_MAX_COUNT) -> Scenarios:
    """``n`` scenarios with pools outside ``lewis``: 3, 4 or more than 7 items instead of 5 to 7.

    Pools are uniform over those of 1..max_count items a type, values as in the source ``uniform``; a function of the
    three arguments. No count exceeds ``max_count``, so a network made for ``max_count`` can play them.
    """
    rng = generator(seed, "beyond lewis", max_count)
    return draw_beyond(rng, n, max_count)


def draw_beyond(rng: np.random.Generator, n: int, max_count: int) -> Scenarios:
    """``n`` scenarios of the split ``beyond`` of ``uniform``."""
    possible = pools(max_count, beyond=True)
    return Scenarios(possible[rng.integers(len(possible), size=n)], any_values(rng, n))


def draw_near(rng: np.random.Generator, n: int, max_count: int) -> Scenarios:
    """``n`` scenarios of the split ``near`` of ``uniform``: pools of 5 to 7 items, without the held-out views.

    ``max_count`` is at least 2.
    """
    possible = pools(max_count, beyond=False)
    drawn = Scenarios(possible[rng.integers(len(possible), size=n)], any_values(rng, n))
    while (again := np.isin(view_numbers(drawn), HELD_OUT_VIEWS).any(axis=1)).any():
        drawn.utilities[again] = any_values(rng, int(again.sum()))
    return drawn


def _seat_pairs(values: NDArray[np.int64]) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]:
    """Each seat's values ``[N, 3]``, then the partner's."""
    return (values[:, 0], values[:, 1]), (values[:, 1], values[:, 0])


def _sort_digits(items: NDArray[np.int64], base: int) -> NDArray[np.int64]:
    """The three numbers of each row, sorted and combined to one: ``[N, 3]`` in 0..base - 1 to ``[N]``."""
    first, second, third = items.T
    low, high = np.minimum(first, second), np.maximum(first, second)
    middle = np.maximum(low, np.minimum(high, third))
    code: NDArray[np.int64] = (np.minimum(low, third) * base + middle) * base + np.maximum(high, third)
    return code


def _exact_keys(scenarios: Scenarios) -> NDArray[np.int64]:
    """One number per scenario, ``[N]``, equal for equal scenarios only."""
    digits = np.concatenate([scenarios.counts, scenarios.utilities.reshape(-1, 6)], axis=1).astype(np.int64)
    return digits @ _DIGIT ** np.arange(9)


def _view_keys(scenarios: Scenarios) -> NDArray[np.int64]:
    counts, values = scenarios.counts.astype(np.int64), scenarios.utilities.astype(np.int64)
    return np.stack([_sort_digits(counts * _DIGIT + values[:, seat], _DIGIT**2) for seat in (0, 1)], axis=1)


@lru_cache(maxsize=1)
def lewis_orbits() -> NDArray[np.int64]:
    """The 475 orbits of the legal space, counting up, as :func:`orbits` numbers them."""
    return np.unique(orbits(lewis_space()))


@lru_cache(maxsize=1)
def _lewis_views() -> NDArray[np.int64]:
    """The keys of the 80 canonical views, counting up."""
    return np.unique(_view_keys(lewis_space()))


def _known_views(scenarios: Scenarios) -> NDArray[np.bool_]:
    """Whether ``train`` contains each seat's view, ``[N, 2]``."""
    numbers = view_numbers(scenarios)
    return (numbers >= 0) & ~np.isin(numbers, HELD_OUT_VIEWS)


# The test set of Lewis et al. 2017: the 200 scenarios of the published ``test.txt`` and their swaps, as indices into
# lewis_space(), 392 of 5,295. None occurs in ``selfplay.txt``. They hold out pairings only: each of their 253 views (a
# pool and one seat's values) occurs in other scenarios too, in the same seat. A test rebuilds the list from the file.
PAPER_TEST: tuple[int, ...] = (
    4, 7, 10, 35, 41, 60, 75, 97, 111, 134, 142, 160, 182, 227, 247, 265, 294, 313, 321, 339, 340, 383, 386, 431, 461,
    465, 479, 484, 490, 500, 510, 520, 540, 542, 586, 592, 593, 603, 649, 661, 674, 698, 699, 708, 716, 720, 733, 743,
    745, 747, 755, 758, 786, 791, 796, 832, 840, 842, 860, 881, 897, 900, 928, 935, 937, 940, 952, 978, 1032, 1060,
    1074, 1100, 1102, 1108, 1114, 1150, 1151, 1157, 1158, 1175, 1179, 1184, 1217, 1245, 1251, 1257, 1265, 1272, 1293,
    1294, 1301, 1341, 1365, 1387, 1406, 1447, 1458, 1469, 1489, 1511, 1514, 1532, 1536, 1539, 1553, 1575, 1594, 1600,
    1614, 1617, 1618, 1619, 1631, 1646, 1671, 1699, 1718, 1719, 1731, 1744, 1754, 1765, 1777, 1780, 1789, 1793, 1799,
    1823, 1837, 1845, 1858, 1861, 1866, 1890, 1897, 1926, 1955, 1964, 1967, 1972, 1974, 1980, 1989, 1999, 2000, 2024,
    2040, 2047, 2057, 2097, 2108, 2120, 2125, 2157, 2166, 2199, 2221, 2233, 2247, 2254, 2282, 2290, 2296, 2306, 2332,
    2345, 2364, 2386, 2396, 2426, 2432, 2433, 2450, 2462, 2480, 2483, 2491, 2506, 2508, 2516, 2524, 2530, 2544, 2552,
    2557, 2591, 2631, 2636, 2642, 2653, 2656, 2664, 2671, 2677, 2701, 2731, 2733, 2738, 2758, 2765, 2771, 2773, 2776,
    2780, 2798, 2807, 2810, 2828, 2849, 2871, 2888, 2914, 2940, 2949, 2956, 2957, 2967, 2994, 3002, 3005, 3009, 3037,
    3053, 3076, 3078, 3089, 3092, 3102, 3109, 3116, 3121, 3135, 3141, 3168, 3195, 3201, 3211, 3219, 3226, 3254, 3273,
    3281, 3299, 3301, 3310, 3317, 3325, 3328, 3337, 3348, 3352, 3354, 3358, 3371, 3382, 3405, 3410, 3423, 3426, 3453,
    3457, 3467, 3471, 3477, 3538, 3550, 3558, 3566, 3570, 3573, 3599, 3606, 3612, 3613, 3619, 3622, 3633, 3659, 3681,
    3686, 3697, 3713, 3718, 3719, 3721, 3730, 3743, 3762, 3780, 3816, 3822, 3832, 3853, 3863, 3873, 3893, 3905, 3916,
    3933, 3938, 3960, 3970, 3979, 3985, 4007, 4008, 4017, 4032, 4049, 4060, 4068, 4071, 4075, 4081, 4086, 4096, 4110,
    4117, 4131, 4193, 4206, 4207, 4210, 4223, 4238, 4243, 4255, 4256, 4261, 4310, 4336, 4357, 4373, 4384, 4391, 4394,
    4408, 4423, 4431, 4444, 4455, 4469, 4470, 4496, 4499, 4500, 4507, 4512, 4524, 4545, 4580, 4592, 4598, 4628, 4632,
    4643, 4698, 4721, 4733, 4757, 4773, 4786, 4793, 4801, 4807, 4808, 4821, 4829, 4831, 4845, 4871, 4873, 4878, 4895,
    4950, 4955, 4965, 4990, 5017, 5025, 5058, 5090, 5095, 5102, 5134, 5203, 5223, 5238, 5246, 5264, 5280, 5291,
)  # fmt: skip
