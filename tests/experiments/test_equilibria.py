"""What an equilibrium is worth: the figures are those of the tables, and are written and read alike."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dond_marl.errors import InputError
from dond_marl.yardsticks.equilibria import Equilibrium
from experiments.equilibria.worth import (
    EQUILIBRIUM,
    LENGTH,
    NASH,
    PEOPLE,
    lines,
    measured,
    of_member,
    of_player,
    of_table,
    parsed,
)
from experiments.results.equilibria import beside_rows, found_in, length_rows, refusing_rows
from experiments.results.files import FOLDER
from league.bench.submission import submission_of_spec
from tests.command import dond


def test_what_is_measured_is_written_and_read_again():
    found = list(measured((2,), ("heuristic",)))
    assert parsed(lines(found).splitlines()) == found
    first, refusing = found[:2]
    assert refusing == replace(first, disagree="rejects")
    assert (first.who, first.turns, first.temperature) == (EQUILIBRIUM, 2, 0.015)
    assert first.closes == (0, pytest.approx(first.deals))  # the bare ultimatum is answered on the last turn
    assert first.welfare == pytest.approx(sum(Equilibrium.load(2).values), abs=1e-3)
    by_name = {worth.who: worth for worth in found}
    assert by_name["heuristic"].turns == LENGTH
    assert by_name[PEOPLE].deals < by_name[NASH].deals == 1
    last_seat = by_name["with all values known, an ultimatum of seat_1"]
    assert last_seat.points == by_name["with all values known, an ultimatum of seat_0"].points[::-1]


def test_a_member_of_a_league_is_measured_as_anybody_and_known_by_its_weights():
    """A submission of the benchmark, here of an occupant: the same figures under the league's name."""
    member, player = of_member(submission_of_spec("heuristic"), "mine"), of_player("heuristic", LENGTH)
    assert (member.who, member.points, member.deals) == ("mine: heuristic", player.points, player.deals)
    assert member.identity.startswith("heuristic(") and not player.identity
    assert parsed(lines([member]).splitlines()) == [member]


def test_deals_close_on_every_turn_on_which_they_can():
    worth = of_table(5)
    assert worth.closes[0] == 0 < min(worth.closes[1:])
    assert sum(worth.closes) == pytest.approx(worth.deals, abs=1e-3)


def test_the_page_shows_the_tables_that_are_shipped():
    """After the tables are made again, so is the page: dond experiment equilibria, python -m experiments.results."""
    for worth in found_in(FOLDER):
        if worth.who == EQUILIBRIUM:
            table = Equilibrium.load(worth.turns, worth.temperature, worth.disagree)
            assert worth.points == pytest.approx(table.values, abs=1e-4)
            assert worth.gains == (pytest.approx(table.gains[0], abs=1e-4), pytest.approx(table.gains[1], abs=1e-4))
    assert len(list(refusing_rows(FOLDER))) == len(list(length_rows(FOLDER)))
    rows = list(length_rows(FOLDER))
    assert [row[0] for row in rows] == [str(turns) for turns in range(1, 11)]
    assert [row[1] for row in rows[:3]] == ["nobody", "seat_0", "seat_1"]
    assert next(beside_rows(FOLDER))[0] == "`equilibrium`"


def test_other_lines_are_refused():
    with pytest.raises(InputError, match="dond experiment equilibria"):
        parsed(['{"who": "nobody"}'])


@pytest.mark.slow
def test_the_command_prints_and_keeps_the_worths_and_draws_them(tmp_path, capsys):
    results, plot = tmp_path / "worths.jsonl", tmp_path / "worths.png"
    results.write_text((FOLDER / "equilibria.jsonl").read_text())  # members of leagues stay in it
    assert dond("experiment", "equilibria", "--results", str(results), "--plot", str(plot)) == 0
    shown = capsys.readouterr().out
    assert "people: " in shown and "equilibrium, 10 turns at 0.5: " in shown
    assert results.read_text() == (FOLDER / "equilibria.jsonl").read_text()
    assert plot.read_bytes().startswith(b"\x89PNG")
