"""Every random number is a function of (seed, stream, index): there is no random state to save or to lose.

A *stream* names what the numbers are for, an *index* says which of them. The same triple gives the same numbers on any
number of workers, interrupted or not. Nothing in the project draws from a global generator.
"""

from __future__ import annotations

import zlib

import numpy as np

NOISE_WIDTH = 8  # uniforms per turn and per game: 0 for the act, 1-3 for oA, the rest free


def generator(seed: int, stream: str, *index: int) -> np.random.Generator:
    """A fresh generator for one (seed, stream, index); ``seed`` and each index are integers >= 0."""
    # The spawn key, unlike the entropy, is not zero-padded: (1,) and (1, 0) stay different.
    sequence = np.random.SeedSequence(seed, spawn_key=(zlib.crc32(stream.encode()), *index))
    return np.random.Generator(np.random.SFC64(sequence))
