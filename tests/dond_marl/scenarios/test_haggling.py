"""The scenarios of the public haggling challenge from their seeds."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.errors import InputError
from dond_marl.scenarios.haggling import haggling_scenarios, read_seeds

PUBLISHED = {  # pool and both seats' values that the challenge's own generate.js makes of some seeds
    0: ((4, 1, 1), (0, 0, 10), (1, 3, 3)),
    1: ((4, 1, 1), (0, 8, 2), (2, 0, 2)),
    2018: ((2, 1, 1), (2, 5, 1), (0, 6, 4)),
    2**32 - 1: ((3, 2, 1), (0, 5, 0), (0, 2, 6)),
}


def test_seeds_give_the_published_scenarios():
    scenarios = haggling_scenarios(list(PUBLISHED))
    for row, (counts, first, second) in enumerate(PUBLISHED.values()):
        assert tuple(scenarios.counts[row]) == counts
        assert tuple(scenarios.utilities[row, 0]) == first
        assert tuple(scenarios.utilities[row, 1]) == second


def test_scenarios_follow_the_challenges_rules():
    scenarios = haggling_scenarios(range(2000))
    assert scenarios.counts.min() == 1
    assert set(np.unique(scenarios.counts.sum(axis=1))) == {3, 4, 5, 6}
    assert (scenarios.pool_values == 10).all()
    assert (scenarios.utilities[:, 0] != scenarios.utilities[:, 1]).any(axis=1).all()
    assert len(np.unique(scenarios.counts, axis=0)) == 20


def test_a_file_of_seeds(tmp_path):
    file = tmp_path / "seeds.txt"
    file.write_text("1958858442\n0\n", encoding="ascii")
    assert read_seeds(file) == [1958858442, 0]
    for text in ("a scenario\n", "4294967296\n"):
        file.write_text(text, encoding="ascii")
        with pytest.raises(InputError):
            read_seeds(file)
    with pytest.raises(InputError):
        read_seeds(tmp_path / "absent.txt")
