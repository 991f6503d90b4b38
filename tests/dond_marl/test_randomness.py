"""Random numbers are a function of (seed, stream, index)."""

from __future__ import annotations

import itertools

import numpy as np

from dond_marl.randomness import generator


def test_numbers_do_not_depend_on_earlier_draws():
    first = generator(7, "turn noise", 3, 1).random(5)
    generator(7, "turn noise", 3, 0).random(1000)
    np.random.default_rng(0).random(3)
    assert (generator(7, "turn noise", 3, 1).random(5) == first).all()


def test_streams_differ_by_seed_stream_and_index():
    triples = [
        (seed, stream, index)
        for seed in (0, 1, 2**32, 2**63 - 1)
        for stream in ("turn noise", "game noise", "scenarios")
        for index in ((), (0,), (1,), (0, 0), (1, 0), (0, 1), (0, 0, 0), (2**31,))
    ]
    drawn = [tuple(generator(seed, stream, *index).random(4)) for seed, stream, index in triples]
    assert len(set(drawn)) == len(triples)


def test_neighboring_indices_are_not_correlated():
    columns = np.array([generator(0, "turn noise", index).random(4000) for index in range(6)])
    for a, b in itertools.combinations(columns, 2):
        assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(4000)
