"""The scenarios of Hola's JS Challenge of summer 2018 ("Haggling") from its published seeds.

Source: ``src/generate.js`` and ``src/haggle.js`` of github.com/hola/challenge_haggling with their defaults: three types
of at least one item, at most six items, two different value vectors worth ten. A seed draws as random-js 1.0 does, from
the 32-bit words of a Mersenne Twister: one unused bit, the pool, the end of a shuffle of its value vectors, two long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from dond_marl.errors import InputError, quote
from dond_marl.scenarios.sources import HAGGLING_PRIOR, Scenarios, value_vectors

MOST_ITEMS, POINTS = 6, 10
WORDS = 2**32  # of the generator


def haggling_scenarios(seeds: Sequence[int]) -> Scenarios:
    """The challenge's scenario of each seed, in 0..2**32 - 1."""
    drawn = [_draw(seed) for seed in seeds]
    counts = np.array([pool for pool, _ in drawn], dtype=np.int8).reshape(-1, 3)
    utilities = np.array([values for _, values in drawn], dtype=np.int8).reshape(-1, 2, 3)
    return Scenarios(counts, utilities, HAGGLING_PRIOR)


def read_seeds(path: str | Path) -> list[int]:
    """The seeds of a file of the challenge, ``seeds/finals.txt``, one a line. Raises :class:`InputError`."""
    try:
        seeds = [int(line) for line in Path(path).read_text(encoding="ascii").split()]
    except (OSError, ValueError) as error:
        raise InputError(f"{path} holds no seeds, whole numbers one a line: {quote(str(error))}") from None
    if not all(0 <= seed < WORDS for seed in seeds):
        raise InputError(f"{path}: a seed is in 0..{WORDS - 1}")
    return seeds


@lru_cache(maxsize=1)
def _pools() -> list[tuple[tuple[int, ...], list[tuple[int, ...]]]]:
    """The pools in the challenge's order, each with its value vectors in ascending order."""
    sizes = range(1, MOST_ITEMS - 1)
    pools = [pool for pool in product(sizes, repeat=3) if sum(pool) <= MOST_ITEMS]
    return [(pool, sorted(map(tuple, value_vectors(pool, POINTS).tolist()))) for pool in pools]


def _draw(seed: int) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    generator: Any = np.random.MT19937()
    generator._legacy_seeding(seed)  # the seeding of the published algorithm, which random-js uses
    word = generator.random_raw
    word()  # which agent would have moved first
    pools = _pools()
    pool, values = pools[_below(len(pools), word)]
    values = list(values)
    for last in (len(values) - 1, len(values) - 2):
        i = _below(last + 1, word)
        values[last], values[i] = values[i], values[last]
    return pool, values[-2:]


def _below(number: int, word: Callable[[], int]) -> int:
    """A whole number below ``number`` as random-js draws it: words at or above its largest multiple are left out."""
    most = WORDS - WORDS % number
    while (drawn := int(word())) >= most:
        continue
    return drawn % number
