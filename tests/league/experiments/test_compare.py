"""What a comparison of leagues says of its trials."""

from __future__ import annotations

import io
import re

from rich.console import Console

from league.experiments.compare import Trial, print_trials


def told(*points: tuple[str, int, float]) -> str:
    file = io.StringIO()
    trials = [Trial(name, seed, "own", 100, score, 0.9, 0.9, 0.9, (0.9, 0.9)) for name, seed, score in points]
    print_trials(Console(file=file, width=400), trials)
    return file.getvalue()


def test_a_gap_lies_inside_the_interval_that_stands_beside_it():
    low, high = [("low", 1, 4.0), ("low", 2, 4.4)], [("high", 1, 6.0), ("high", 2, 6.2)]
    for first, second, word in ((low, high, "less"), (high, low, "more")):
        gap = re.search(rf"([\d.]+) {word} than \w+ \(95% over seeds ([-\d.]+) to ([-\d.]+)\)", told(*first, *second))
        assert gap is not None
        middle, lowest, highest = map(float, gap.groups())
        assert middle == 1.9
        assert lowest < middle < highest
    assert "1.90 less than high (one seed, no interval)" in told(("low", 1, 4.1), ("high", 1, 6.0))
