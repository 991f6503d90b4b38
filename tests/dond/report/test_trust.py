"""Comparison of ladder and meta-game: rows, places, shares, and damaged documents."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dond_marl.statistics import Estimate
from league.play.values import Answers
from league.standings.findings import NASH, WELFARE
from league.standings.ladder import Standing
from league.tables.standings import TRUST_NOTES, trust


def standing(member: str, points: float) -> Standing:
    seats = tuple(Estimate(points + more, 10, points + more - 1, points + more + 1) for more in (0.5, -0.5))
    mean, none = Estimate(points, 20, points - 1, points + 1), Estimate(math.nan, 0, math.nan, math.nan)
    return Standing(member, mean, none, none, seats, 5.0, 0.9, points, 5.0, points, Answers(), 0, False)


def solution(first: dict[str, float], second: dict[str, float]) -> dict[str, object]:
    both = (first, second)
    return {
        "values": {f"seat_{seat}": {"value": value} for seat, value in enumerate((8.8, 4.4))},
        "shares": {f"seat_{n}": {name: {"value": share} for name, share in both[n].items()} for n in (0, 1)},
    }


LADDER = [standing("first", 7.0), standing("other", 6.5), standing("main", 6.0), standing("exploiter", 5.0)]
DOCUMENT = {
    "solutions": {
        WELFARE: solution(
            {"first": 0.0, "other": 0.0, "main": 0.2, "exploiter": 0.8},
            {"first": 0.3, "other": 0.0, "main": 0.7, "exploiter": 0.0},
        ),
        NASH: solution(
            {"first": 0.1, "other": 0.0, "main": 0.9, "exploiter": 0.0},
            {"first": 0.1, "other": 0.0, "main": 0.9, "exploiter": 0.0},
        ),
    }
}


def test_rows_are_the_first_the_mains_and_the_heaviest_of_each_mixture():
    section = trust(LADDER, DOCUMENT, ["main"])
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


def test_missing_and_damaged_meta_game():
    assert trust(LADDER, None, ["main"]).blocks == () and trust(LADDER, None, []).notes == TRUST_NOTES
    with pytest.raises(KeyError):
        trust(LADDER, {"solutions": {}}, ["main"])
