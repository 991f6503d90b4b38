"""CSV cells: names are never formulas for a spreadsheet, numbers stay numbers."""

from __future__ import annotations

import csv
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league.figures.rows import FORMULA, NUMBER, escape_formula, write_csv

NAMES = st.text() | st.builds(str.__add__, st.sampled_from(["=", "+", "-", "@", "'", "''=", "\t", "＝"]), st.text())  # noqa: RUF001


@given(NAMES)
def test_no_cell_is_a_formula(text):
    cell = escape_formula(text)
    assert cell[:1] not in FORMULA or NUMBER.fullmatch(cell)
    assert cell in (text, f"'{text}")


@given(st.floats() | st.integers())
def test_numbers_are_not_escaped(number):
    assert escape_formula(str(number)) == str(number)
    if isinstance(number, float):
        assert escape_formula(f"{number:.6f}") == f"{number:.6f}"


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
