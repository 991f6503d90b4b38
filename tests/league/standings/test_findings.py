"""Findings: ratings and meta-game from a real ledger, with intervals, as tables and as files."""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pytest

from dond_marl.game import SEATS
from league.figures.rows import FigureRow, Figures, read_figures
from league.ledger.ledger import Ledger
from league.standings.crossplay import CrossPlay
from league.standings.findings import NASH, WELFARE, findings_of, write_findings
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


def found_in(folder, leave_out: tuple[str, ...] = (), confidence: float = 0.9) -> Figures:
    with Ledger(folder / "ledger.sqlite") as ledger:
        members = [member.name for member in ledger.members() if member.name not in leave_out]
        cross = folded(ledger, members, ledger.next_round)
        found = findings_of(cross, seed=1, confidence=confidence, replicates=10)
        assert found is not None
        return found


@pytest.fixture(scope="module")
def found(folder):
    return found_in(folder)


def shares_of(found: Figures, mixture: str, seat: str) -> np.ndarray:
    rows = list(found.select(against=mixture, figure="share", seat=seat))
    assert [row.member for row in rows] == found.terms["members"]
    return np.array([row.value for row in rows])


def chances_of(found: Figures, mixture: str) -> list[FigureRow]:
    return list(found.select(figure=f"chance in {mixture}"))


def test_figures_lie_within_their_intervals(found):
    for row in found.rows:
        assert row.low <= row.value <= row.high or row.figure.startswith("chance")
    for row in found.select(figure="deviation"):
        assert row.value <= row.high <= 1e-8
    for row in found.select(figure="share"):
        assert -1e-9 <= row.low <= row.high <= 1 + 1e-9
    for name in ("take", "give"):
        assert all(row.high - row.low > 0.01 for row in found.select(figure=name))
    assert found.terms["replicates"] == 10


def test_clones_do_not_change_ratings(folder):
    """``linear`` plays the same under another name, because no member here is random."""
    cloned, unique = found_in(folder, ("random",)), found_in(folder, ("random", "linear's clone"))
    for name, most in (("take", 0.02), ("give", 0.02), ("deviation", 1e-6)):
        for row in unique.select(figure=name):
            assert cloned.row(*row[:4]).value == pytest.approx(row.value, abs=most)
        for row in cloned.select(figure=name, member="linear"):
            assert cloned.row("linear's clone", *row[1:4]).value == pytest.approx(row.value, abs=most)


def test_mixtures_are_distributions(found):
    worth = {}
    for name in (WELFARE, NASH):
        for seat, chance_of in zip(SEATS, ("member", "against"), strict=True):
            shares, pairs = shares_of(found, name, seat), chances_of(found, name)
            assert shares.sum() == pytest.approx(1)
            assert sum(row.value for row in pairs) == pytest.approx(1, abs=0.05)  # the least likely are not listed
            for member, share in zip(found.terms["members"], shares, strict=True):
                listed = sum(row.value for row in pairs if getattr(row, chance_of) == member)
                assert listed == pytest.approx(share, abs=0.03)
        worth[name] = [found.estimate(name, "", "value", seat).mean for seat in SEATS]
        assert sum(worth[name]) == pytest.approx(found.estimate(name, "", "welfare").mean)
        assert 0 <= found.estimate(name, "", "regret gap").mean <= 1e-8
    assert sum(worth[WELFARE]) >= sum(worth[NASH]) - 1e-6
    assert np.prod(worth[NASH]) >= np.prod(worth[WELFARE]) - 1e-6


def test_missing_cells_are_predicted(folder):
    with Ledger(folder / "ledger.sqlite") as ledger:
        members = [member.name for member in ledger.members()]
        cross = CrossPlay([*members, "newborn"])
        legs = [leg for leg in ledger.legs(0) if set(leg.seats) != {"tough", "linear"}]
        cross.add_round(ledger.scenarios(0), legs, ())
        some = findings_of(cross, seed=1, confidence=0.9, replicates=3)
    assert some is not None and "newborn" not in some.terms["members"]
    assert some.terms["cells_played"] == pytest.approx(1 - 4 / 72)
    assert all(math.isfinite(row.value) for row in some.rows)


def test_no_games_no_findings():
    assert findings_of(CrossPlay(["ann", "bob"]), seed=0, confidence=0.9) is None


def test_one_scenario_has_no_intervals(folder):
    with Ledger(folder / "ledger.sqlite") as ledger:
        cross = CrossPlay([member.name for member in ledger.members()])
        first = ledger.scenarios(0).rows(slice(0, 1))
        legs = [leg._replace(facts=leg.facts[:1]) for leg in ledger.legs(0)]
        cross.add_round(first, legs, ())
        some = findings_of(cross, seed=1, confidence=0.9, replicates=3)
    assert some is not None and all(math.isfinite(row.value) and math.isnan(row.low) for row in some.rows)


def test_written_findings_equal_findings(found, tmp_path):
    write_findings(tmp_path, found)
    assert read_figures(json.loads((tmp_path / "meta_game.json").read_text())) == found
    with (tmp_path / "meta_game.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [tuple(row.values())[:4] for row in table] == [row[:4] for row in found.rows]
    with (tmp_path / "ratings.csv").open(newline="") as file:
        rows = {row["member"]: row for row in csv.DictReader(file)}
    assert list(rows) == found.terms["members"]
    for name, row in rows.items():
        assert float(row["take_low"]) == pytest.approx(found.row(name, "", "take").low, abs=1e-6)
        deviation = found.row(name, "", "deviation", "seat_1")
        assert float(row["deviation_seat_1"]) == pytest.approx(deviation.value, abs=1e-6)
