"""Every random number is a function of (seed, stream, index): there is no random state to save or to lose.

A *stream* names what the numbers are for, an *index* says which of them. The same triple gives the same numbers on any
number of workers, interrupted or not. Nothing in the project draws from a global generator.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

NOISE_WIDTH = 8  # uniforms per turn and per game: 0 for the act, 1-3 for oA, the rest free
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: SplitMix64's step, and a hash (Knuth 1998, 6.4)


def generator(seed: int, stream: str, *index: int) -> np.random.Generator:
    """A fresh generator for one (seed, stream, index); ``seed`` and each index are integers >= 0."""
    # The spawn key, unlike the entropy, is not zero-padded: (1,) and (1, 0) stay different.
    sequence = np.random.SeedSequence(seed, spawn_key=(zlib.crc32(stream.encode()), *index))
    return np.random.Generator(np.random.SFC64(sequence))


def derive_uniforms(uniform: NDArray[np.float64], *index: int | NDArray[np.int64]) -> NDArray[np.float64]:
    """More uniforms in [0, 1), derived from each ``uniform`` and ``index``, which broadcast.

    For occupants that need more random numbers than their noise holds: equal arguments give equal numbers, different
    ones unrelated numbers. Each index is a whole number of at least 0. Source: the mixing function of SplitMix64
    (Steele, Lea, Flood 2014, *Fast splittable pseudorandom number generators*, figure 16).
    """
    bits = (np.atleast_1d(uniform) * 2.0**53).astype(np.uint64)
    for number in index:
        bits = mix_bits(bits + (np.atleast_1d(number).astype(np.uint64) + np.uint64(1)) * GOLDEN)
    return (bits >> np.uint64(11)) * np.float64(2.0**-53)


def mix_bits(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's mixing of 64-bit numbers."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
