"""Figures: tallies of sums, and rows that are escaped and written."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest

from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.statistics import GROUPS, mean_over_scenarios, scenario_groups
from league.figures.measures import FIGURES, NUMBER, PlayedFigures, figures, measures_of_games, tally_of
from league.figures.rows import escape_formula, write_csv
from league.figures.tally import Tally

GROUPS_OF_GAMES = np.array([0, 0, 1, 2])
VALUES = np.array([[1.0, 2.0, 3.0, 4.0], [8.0, 8.0, 8.0, math.nan]])  # of two cells


def test_cells_weigh_the_same_and_games_the_same_in_a_pooled_cell():
    tally = Tally.of(VALUES, GROUPS_OF_GAMES)
    assert tally.means().tolist() == [2.5, 8]
    assert (tally.mean(0.9).mean, tally.mean(0.9).n) == (5.25, 7)
    assert tally.pooled().mean(0.9).mean == pytest.approx((10 + 24) / 7)
    assert tally.mean(0.9) == mean_over_scenarios(np.nan_to_num(VALUES), GROUPS_OF_GAMES, 0.9, ~np.isnan(VALUES))


def test_games_that_do_not_count_leave_no_trace():
    draw = np.random.default_rng(0)
    values, counted = draw.uniform(0, 10, (3, 2, 50)), draw.random((3, 2, 50)) < 0.8
    groups = draw.integers(0, GROUPS, 50)
    missing, masked = Tally.of(np.where(counted, values, np.nan), groups), Tally.of(values, groups, counted)
    assert np.array_equal(missing.sums, masked.sums) and np.array_equal(missing.games, masked.games)
    assert missing.games.sum(axis=2).tolist() == counted.sum(axis=2).tolist()


def test_paired_difference_and_ratio():
    own, other = Tally.of(VALUES[0], GROUPS_OF_GAMES), Tally.of(2 * VALUES[0], GROUPS_OF_GAMES)
    difference, ratio = (other - own).mean(0.9), own.ratio(other, 0.9)
    assert difference == own.mean(0.9)
    assert tuple(ratio) == pytest.approx((0.5, 4, 0.5, 0.5))


def test_share_stays_within_its_range():
    always = Tally.of(np.ones((2, 4)), GROUPS_OF_GAMES).share(0.95)
    assert always.mean == always.high == 1 and 0 < always.low < 1


def test_resampled_means_of_empty_and_full_cells():
    tally = Tally.of(np.array([[1.0, 2.0, 3.0, 4.0], [math.nan] * 4]), GROUPS_OF_GAMES)
    drawn = tally.means(np.ones((3, GROUPS)))
    assert drawn.shape == (2, 3) and drawn[0].tolist() == [2.5] * 3 and np.isnan(drawn[1]).all()
    assert tally.has_interval and not tally[:, [0]][1:].games.any()
    assert not Tally.of(np.ones(2), np.zeros(2, dtype=np.int64)).has_interval


def test_figures_are_registered_in_order_and_agree_with_each_other():
    """Points per game are the share of deals times points per deal, in one seat and pooled over both."""
    assert list(NUMBER) == list(PlayedFigures._fields) and list(NUMBER.values()) == list(range(len(FIGURES)))
    source = open_source("lewis", split="train")
    scenarios, pair = source.block(0, 0, 200), (seat_occupant("linear"), seat_occupant("random"))
    games, groups = [rollout(seats, scenarios, seed=0) for seats in (pair, pair[::-1])], scenario_groups(scenarios)
    seats = [tally_of(measures_of_games(each, seat), groups, each.valid) for seat, each in enumerate(games)]
    for tally in (*seats, Tally.stack(seats).pooled()):
        found = figures(tally, 0.95)
        assert found.points.mean == pytest.approx(found.deals.mean * found.points_agreed.mean)
        assert found.joint.mean == pytest.approx(found.points.mean + found.left.mean)
        assert found.points_agreed.n == pytest.approx(found.deals.mean * found.deals.n)


# -- CSV cells


@pytest.mark.parametrize("name", ["=1+1", "+1+1", "-2+3", "@SUM(A1)", '=HYPERLINK("http://x")', "\t=1", "-", "-1e"])
def test_formulas_are_escaped(name):
    assert escape_formula(name) == f"'{name}"


def test_names_survive_csv(tmp_path):
    names = ["=1+1", "'=1", "-5", "-0.25", "a,b", 'a"b', "two\nlines", "x" * 10_000, "<b>", ""]
    write_csv(tmp_path / "names.csv", ["name"], ([name] for name in names))
    with (tmp_path / "names.csv").open(newline="") as file:
        cells = [row[0] if row else "" for row in csv.reader(file)][1:]
    assert cells == ["'=1+1", "''=1", *names[2:]]


def test_numbers_have_six_decimals_and_unknown_ones_are_empty(tmp_path):
    write_csv(tmp_path / "figures.csv", ["name", "value", "n"], [("-a", -0.5, 3), ("b", math.nan, 0)])
    assert (tmp_path / "figures.csv").read_text().splitlines() == ["name,value,n", "'-a,-0.500000,3", "b,,0"]
