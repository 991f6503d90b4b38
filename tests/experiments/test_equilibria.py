"""What an equilibrium is worth: the figures are those of the tables, and are written and read alike."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dond_marl.errors import InputError
from dond_marl.yardsticks.equilibria import Equilibrium
from experiments.equilibria import (
    EQUILIBRIUM,
    LENGTH,
    NASH,
    PEOPLE,
    ULTIMATUM,
    comparison_section,
    equilibria_lines,
    lengths_section,
    measure_all,
    measure_member,
    measure_player,
    measure_table,
    parse_equilibria,
    refusing_section,
)
from experiments.results.files import FOLDER
from league.bench.run import submission_of_spec
from tests.command import dond


def test_values_round_trip():
    found = list(measure_all((2,), ("heuristic",)))
    assert parse_equilibria(equilibria_lines(found).splitlines()) == found
    first, refusing = found[:2]
    assert refusing == replace(first, disagree="rejects")
    assert (first.player, first.turns, first.temperature) == (EQUILIBRIUM, 2, 0.015)
    assert first.closes == (0, pytest.approx(first.deals))  # the bare ultimatum is answered on the last turn
    assert first.welfare == pytest.approx(sum(Equilibrium.load(2).values), abs=1e-3)
    by_name = {worth.player: worth for worth in found}
    assert by_name["heuristic"].turns == LENGTH
    assert by_name[PEOPLE].deals < by_name[NASH].deals == 1
    last_seat = by_name[f"{ULTIMATUM} seat_1"]
    assert last_seat.points == by_name[f"{ULTIMATUM} seat_0"].points[::-1]


def test_member_equals_player():
    """A submission of the benchmark, here of an occupant: the same figures under the league's name."""
    member, player = measure_member(submission_of_spec("heuristic"), "mine"), measure_player("heuristic", LENGTH)
    assert (member.player, member.points, member.deals) == ("mine: heuristic", player.points, player.deals)
    assert member.identity.startswith("heuristic(") and not player.identity
    assert parse_equilibria(equilibria_lines([member]).splitlines()) == [member]


def test_deals_by_turn():
    worth = measure_table(5)
    assert worth.closes[0] == 0 < min(worth.closes[1:])
    assert sum(worth.closes) == pytest.approx(worth.deals, abs=1e-3)


def test_stored_values_are_those_of_the_shipped_tables():
    """After the tables are made again, so is the page: dond experiment equilibria, python -m experiments.results."""
    values = parse_equilibria((FOLDER / "equilibria.jsonl").read_text(encoding="utf-8").splitlines())
    for value in values:
        if value.player == EQUILIBRIUM:
            table = Equilibrium.load(value.turns, value.temperature, value.disagree)
            assert value.points == pytest.approx(table.values, abs=1e-4)
            assert value.gains == (pytest.approx(table.gains[0], abs=1e-4), pytest.approx(table.gains[1], abs=1e-4))
    rows, refusing, players = (
        section(values).blocks[0].rows for section in (lengths_section, refusing_section, comparison_section)
    )
    assert [row.label for row in rows] == [str(turns) for turns in range(1, 11)] and len(refusing) == len(rows)
    assert [row.cells[0] for row in rows[:3]] == ["neither", "seat_0", "seat_1"]
    assert players[0].label == EQUILIBRIUM


def test_other_lines_are_refused():
    with pytest.raises(InputError, match="dond experiment equilibria"):
        parse_equilibria(['{"who": "nobody"}'])


@pytest.mark.slow
def test_command_keeps_members_and_draws(tmp_path, capsys):
    results, plot = tmp_path / "worths.jsonl", tmp_path / "worths.png"
    results.write_text((FOLDER / "equilibria.jsonl").read_text())  # members of leagues stay in it
    assert dond("experiment", "equilibria", "--results", str(results), "--plot", str(plot)) == 0
    shown = capsys.readouterr().out
    assert "people: " in shown and "equilibrium, 10 turns at 0.5: " in shown
    assert results.read_text() == (FOLDER / "equilibria.jsonl").read_text()
    assert plot.read_bytes().startswith(b"\x89PNG")
