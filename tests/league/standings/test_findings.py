"""Findings: ratings and meta-game from a real ledger, with intervals, as tables and as files."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from rich.console import Console

from dond.terminal.tables import print_section
from league.ledger.ledger import Ledger
from league.standings.as_csv import meta_game_document, write_findings
from league.standings.crossplay import CrossPlay
from league.standings.findings import NASH, WELFARE, Findings, findings_of
from league.tables.standings import meta_game_of_findings
from tests.killing import run

SETTINGS = """
env: {scenarios: lewis, split: train}
league: {seed: 3, rounds: 4, block_size: 128}
members: [heuristic, linear, {kind: linear, name: linear's clone}, pushover, tough, random]
logging: {output_dir: "FOLDER"}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs")
    (path / "settings.yaml").write_text(SETTINGS.replace("FOLDER", str(path)))
    played = run("--config", path / "settings.yaml")
    assert played.returncode == 0, played.stderr
    return path / "0001"


def folded(ledger: Ledger, members: list[str], rounds: int) -> CrossPlay:
    cross = CrossPlay(members)
    for number in range(rounds):
        legs = [leg for leg in ledger.legs(number) if set(leg.seats) <= set(members)]
        cross.add_round(ledger.scenarios(number), legs, ())
    return cross


def found_in(folder, leave_out: tuple[str, ...] = (), confidence: float = 0.9) -> Findings:
    with Ledger(folder / "ledger.sqlite") as ledger:
        members = [member.name for member in ledger.members() if member.name not in leave_out]
        cross = folded(ledger, members, ledger.next_round)
        found = findings_of(cross, seed=1, confidence=confidence, replicates=20)
        assert found is not None
        return found


def printed(found: Findings, cross: CrossPlay, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    print_section(console, meta_game_of_findings(found, cross))
    return console.file.getvalue()


@pytest.fixture(scope="module")
def found(folder):
    return found_in(folder)


def rating(found: Findings, name: str, member: str) -> float:
    return float(getattr(found, name).value[..., found.members.index(member)].mean())


def test_take_and_give_of_typical_partners(found):
    assert min(found.members, key=lambda member: rating(found, "give", member)) in ("tough", "random")
    assert max(found.members, key=lambda member: rating(found, "give", member)) == "pushover"
    for name in ("take", "deviation"):
        assert min(found.members, key=lambda member: rating(found, name, member)) == "random"


def test_ratings_lie_within_their_intervals(found):
    of_solutions = [each for one in found.solutions for each in (one.values, one.welfare, one.gap, one.shares)]
    for each in (found.take, found.give, found.deviation, *of_solutions):
        assert (each.low <= each.value).all() and (each.value <= each.high).all()
    assert found.deviation.high.max() <= 1e-8
    for one in found.solutions:
        assert one.shares.low.min() >= -1e-9 and one.shares.high.max() <= 1 + 1e-9
    for each in (found.take, found.give):
        assert (each.high - each.low > 0.01).all()
    assert found.deviation.value.max() <= 1e-8
    assert found.replicates == 20


def test_clones_do_not_change_ratings(folder):
    """``linear`` plays the same under another name, because no member here is random."""
    cloned, unique = found_in(folder, ("random",)), found_in(folder, ("random", "linear's clone"))
    columns = [cloned.members.index(member) for member in unique.members]
    for name, most in (("take", 0.02), ("give", 0.02), ("deviation", 1e-6)):
        both, alone = (getattr(each, name).value for each in (cloned, unique))
        assert np.abs(both[..., columns] - alone).max() <= most
        clone = cloned.members.index("linear's clone"), cloned.members.index("linear")
        assert both[..., clone[0]] == pytest.approx(both[..., clone[1]], abs=most)


def test_mixtures_are_distributions(found):
    solutions = {one.name: one for one in found.solutions}
    assert list(solutions) == [WELFARE, NASH]
    for one in solutions.values():
        assert one.chances.sum() == pytest.approx(1) and one.shares.value.sum(axis=1) == pytest.approx([1, 1])
        assert one.chances.sum(axis=1) == pytest.approx(one.shares.value[0])
        assert float(one.values.value.sum()) == pytest.approx(float(one.welfare.value))
        assert one.gap.value >= 0 and (one.values.low <= one.values.high).all()
    assert solutions[WELFARE].gap.value <= 1e-8 and solutions[NASH].gap.value <= 1e-8
    assert solutions[WELFARE].welfare.value >= solutions[NASH].welfare.value - 1e-6
    assert np.prod(solutions[NASH].values.value) >= np.prod(solutions[WELFARE].values.value) - 1e-6


def test_findings_are_deterministic(folder, found):
    again = found_in(folder)
    assert json.dumps(meta_game_document(again)) == json.dumps(meta_game_document(found))


def test_missing_cells_are_predicted(folder):
    with Ledger(folder / "ledger.sqlite") as ledger:
        members = [member.name for member in ledger.members()]
        cross = CrossPlay([*members, "newborn"])
        legs = [leg for leg in ledger.legs(0) if set(leg.seats) != {"tough", "linear"}]
        cross.add_round(ledger.scenarios(0), legs, ())
        some = findings_of(cross, seed=1, confidence=0.9, replicates=3)
    assert some is not None and "newborn" not in some.members
    assert some.played == pytest.approx(1 - 4 / 72)
    assert np.isfinite(some.deviation.value).all()
    assert "6%" in printed(some, cross, 100)


def test_no_games_no_findings():
    assert findings_of(CrossPlay(["ann", "bob"]), seed=0, confidence=0.9) is None


def test_one_scenario_has_no_intervals(folder):
    with Ledger(folder / "ledger.sqlite") as ledger:
        cross = CrossPlay([member.name for member in ledger.members()])
        first = ledger.scenarios(0).rows(slice(0, 1))
        legs = [leg._replace(facts=leg.facts[:1]) for leg in ledger.legs(0)]
        cross.add_round(first, legs, ())
        some = findings_of(cross, seed=1, confidence=0.9, replicates=3)
    assert some is not None and np.isfinite(some.take.value).all() and np.isnan(some.take.low).all()
    assert meta_game_document(some)["solutions"][WELFARE]["welfare"]["low"] is None
    tables = printed(some, cross, 100).split("Take, give")[0]
    assert "±" not in tables and ".." not in tables


@pytest.mark.parametrize("width", [80, 160])
def test_meta_game_tables_on_narrow_screens(folder, found, width):
    with Ledger(folder / "ledger.sqlite") as ledger:
        cross = folded(ledger, list(found.members), ledger.next_round)
    tables = printed(found, cross, width).split("Take, give:")[0].splitlines()
    assert max(map(len, tables)) <= width and not any("…" in line for line in tables)
    for member in found.members:
        assert any(line.startswith(member) for line in tables)
    (most,) = {f"{found.take.value.max():.2f} ({found.take.low[i]:.2f}" for i in [found.take.value.argmax()]}
    assert any(most in line for line in tables), "the first column keeps its intervals"
    assert (sum(line.count("..") for line in tables) > 4 * len(found.members)) == (width == 160)


def test_written_findings_equal_findings(found, tmp_path):
    names = write_findings(tmp_path, found)
    assert names == ["ratings.csv", "meta_game.csv", "meta_game.json"]
    with (tmp_path / "ratings.csv").open(newline="") as file:
        rows = {row["member"]: row for row in csv.DictReader(file)}
    assert list(rows) == list(found.members)
    for place, member in enumerate(found.members):
        assert float(rows[member]["take_low"]) == pytest.approx(found.take.low[place], abs=1e-6)
        assert float(rows[member]["deviation_seat_1"]) == pytest.approx(found.deviation.value[1, place], abs=1e-6)
    with (tmp_path / "meta_game.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    shares = [float(row["value"]) for row in table if (row["solution"], row["seat"]) == (NASH, "seat_0")][1:]
    assert sum(shares) == pytest.approx(1, abs=1e-4)
    document = json.loads((tmp_path / "meta_game.json").read_text())
    solution = document["solutions"][WELFARE]
    assert sum(pair["chance"] for pair in solution["support"]) == pytest.approx(1, abs=0.03)
    assert solution["welfare"]["value"] == pytest.approx(float(found.solutions[0].welfare.value))
