"""Comparison of ladder and meta-game: rows, ranks and shares, also without a meta-game."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dond_marl.statistics import Estimate
from league.figures.rows import FigureRow, Figures
from league.play.values import Answers
from league.standings.findings import NASH, WELFARE
from league.standings.ladder import Standing
from league.tables.standings import TRUST_NOTES, trust


def standing(member: str, points: float) -> Standing:
    seats = tuple(Estimate(points + more, 10, points + more - 1, points + more + 1) for more in (0.5, -0.5))
    mean, none = Estimate(points, 20, points - 1, points + 1), Estimate(math.nan, 0, math.nan, math.nan)
    return Standing(member, mean, none, none, seats, 5.0, 0.9, points, 5.0, mean, Answers(), 0, False)


LADDER = [standing("first", 7.0), standing("other", 6.5), standing("main", 6.0), standing("exploiter", 5.0)]
SHARES = {  # of each member in each mixture and seat
    (WELFARE, "seat_0"): {"first": 0.0, "other": 0.0, "main": 0.2, "exploiter": 0.8},
    (WELFARE, "seat_1"): {"first": 0.3, "other": 0.0, "main": 0.7, "exploiter": 0.0},
    (NASH, "seat_0"): {"first": 0.1, "other": 0.0, "main": 0.9, "exploiter": 0.0},
    (NASH, "seat_1"): {"first": 0.1, "other": 0.0, "main": 0.9, "exploiter": 0.0},
}
FOUND = Figures(
    {},
    tuple(
        FigureRow(member, mixture, "share", seat, share, share, share, unit="share")
        for (mixture, seat), shares in SHARES.items()
        for member, share in shares.items()
    ),
)


def test_rows_are_the_first_the_mains_and_the_heaviest_of_each_mixture():
    section = trust(LADDER, FOUND, ["main"])
    (table,) = section.blocks
    assert [row.label for row in table.rows] == ["first", "main", "exploiter"]  # not the other: first in neither
    means = np.array([[cell.estimate.mean for cell in row.cells] for row in table.rows])
    assert means == pytest.approx(
        np.array(
            [
                [1, 7.0, 7.5, 6.5, 0.0, 0.3, 0.1, 0.1],
                [3, 6.0, 6.5, 5.5, 0.2, 0.7, 0.9, 0.9],
                [4, 5.0, 5.5, 4.5, 0.8, 0.0, 0.0, 0.0],
            ]
        )
    )
    assert section.notes[1:] == TRUST_NOTES


def test_missing_meta_game():
    assert trust(LADDER, None, ["main"]).blocks == () and trust(LADDER, None, []).notes == TRUST_NOTES
    assert len(trust(LADDER, Figures({}, ()), ["main"]).blocks[0].rows) == 2  # the first and the main
