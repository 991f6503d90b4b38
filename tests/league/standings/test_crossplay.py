"""Cross-play, ladder, tables and the league summary from games."""

from __future__ import annotations

import csv
import itertools
import math
import re

import numpy as np
import pytest

from dond_marl.game import Ending, Scenario
from dond_marl.scenarios.sources import open_source, pack
from dond_marl.solvers.solve import solve
from dond_marl.statistics import Estimate
from league.evaluation.exploitability import BEST
from league.evaluation.final import BEGAN
from league.figures.rows import FigureRow, Figures
from league.play.values import FACTS, SeatOrderResult
from league.standings.crossplay import CrossPlay, lead, write_crossplay
from league.standings.history import CurvePoint
from league.standings.ladder import ladder_of, write_ladder
from league.tables.verdict import leader, verdict_of

# Two scenarios. In the second the pool is worth 20 to seat_0, so that its 10 points there are 5 of ten.
SCENARIOS = pack([Scenario((1, 1, 3), ((4, 3, 1), (1, 3, 2))), Scenario((2, 1, 1), ((5, 5, 5), (2, 3, 3)))])


def leg(first: str, second: str, scores: list[tuple[int, int]], turns: int = 2) -> SeatOrderResult:
    facts = np.zeros(len(scores), dtype=FACTS)
    facts["scores"] = scores
    facts["deal"] = [sum(pair) > 0 for pair in scores]
    facts["ending"] = [Ending.AGREE if sum(pair) else Ending.TURN_LIMIT for pair in scores]
    facts["turns"] = turns
    return SeatOrderResult((first, second), facts)


def test_ladder_by_hand():
    cross = CrossPlay(["ann", "bob"])
    ann_opens = leg("ann", "bob", [(8, 3), (10, 6)], turns=2)  # ann 8 and 5 of ten, bob 3 and 6
    bob_opens = leg("bob", "ann", [(6, 7), (0, 0)], turns=10)  # bob 6 and 0, ann 7 and 0: no deal in the second game
    alone = leg("ann", "ann", [(4, 6), (20, 0)])  # seat_0 4 and 10, seat_1 6 and 0
    cross.add_round(SCENARIOS, [alone, ann_opens, bob_opens], at_fault=["bob"])
    ann, bob = ladder_of(cross, 0.95)
    assert (ann.member, bob.member) == ("ann", "bob")
    assert ann.points.mean == pytest.approx((8 + 5 + 7 + 0) / 4) and ann.points.n == 4
    assert [seat.mean for seat in ann.as_seat] == pytest.approx([6.5, 3.5])
    assert bob.points.mean == pytest.approx((3 + 6 + 6 + 0) / 4)
    assert ann.left == pytest.approx(bob.points.mean) and bob.left == pytest.approx(ann.points.mean)
    assert ann.deals == bob.deals == 0.75
    assert ann.agreed == pytest.approx(20 / 3) and bob.agreed == pytest.approx(5)
    assert ann.turns == bob.turns == 6
    assert ann.self_play.mean == pytest.approx((4 + 10 + 6 + 0) / 4) and math.isnan(bob.self_play.mean)
    assert (ann.failed, bob.failed) == (0, 1)
    assert cross.cell("ann", "bob", 0.95).mean == ann.points.mean
    assert cross.total_games == 6


def test_shares_of_response_and_nash():
    cross = CrossPlay(["ann", "bob", "eve"])
    legs = [
        leg("ann", "bob", [(8, 3), (10, 6)]),
        leg("bob", "ann", [(6, 7), (0, 0)]),
        leg("ann", "eve", [(8, 3), (20, 0)]),
    ]
    cross.add_round(SCENARIOS, legs, at_fault=[])
    # A best response to bob earns 8 as seat_0 and 4 as seat_1; of ann's own there, which is 6.5 and 3.5.
    rows = {row.member: row for row in ladder_of(cross, 0.95, {"bob": (8.0, 4.0), "nobody": (1.0, 1.0)})}
    assert rows["ann"].of_response.mean == pytest.approx(10 / 12) and rows["ann"].of_response.n == 4
    # Bob and eve have no opponent with a known best response; that to bob himself does not count.
    assert math.isnan(rows["bob"].of_response.mean) and math.isnan(rows["eve"].of_response.mean)
    nash = solve(SCENARIOS).nash.point.mean(axis=0)
    cells = [6.5, 3.5, 9.0]  # ann as seat_0 to bob, as seat_1 to bob, as seat_0 to eve
    assert rows["ann"].of_nash.mean == pytest.approx(np.mean(cells) / np.mean([nash[0], nash[1], nash[0]]))
    assert all(math.isnan(row.of_response.mean) for row in ladder_of(cross, 0.95))
    assert not any(row.impossible for row in rows.values())


def test_impossible_scores_are_flagged():
    cross = CrossPlay(["ann", "bob"])
    cross.add_round(SCENARIOS, [leg("ann", "bob", [(10, 10), (20, 10)])], at_fault=[])
    assert all(row.impossible for row in ladder_of(cross, 0.95))


def test_failed_matches_and_unplayed_cells():
    cross = CrossPlay(["ann", "bob", "eve"])
    cross.add_round(SCENARIOS, [leg("ann", "bob", [(8, 3), (10, 6)])], at_fault=["eve"])
    last = ladder_of(cross, 0.95)[-1]
    assert last.member == "eve" and math.isnan(last.points.mean) and last.failed == 1
    assert math.isnan(cross.cell("ann", "eve", 0.95).mean)
    assert ladder_of(cross, 0.95)[0].points.n == 2


def test_opponents_weigh_the_same_in_the_ladder():
    cross = CrossPlay(["ann", "bob", "eve"])
    for _ in range(4):  # four times as many games against bob
        cross.add_round(SCENARIOS, [leg("ann", "bob", [(8, 2), (16, 4)], turns=2)], [])
    cross.add_round(SCENARIOS, [leg("ann", "eve", [(4, 6), (0, 0)], turns=8)], [])
    ann = next(row for row in ladder_of(cross, 0.95) if row.member == "ann")
    assert ann.points.mean == pytest.approx((8 + 2) / 2)
    assert ann.left == pytest.approx((3 + 3) / 2)
    assert ann.deals == pytest.approx((1 + 0.5) / 2) and ann.turns == 5
    assert ann.agreed == pytest.approx(5 / 0.75)


def test_incremental_sums_equal_recounting():
    rng, names = np.random.default_rng(0), ["ann", "bob", "eve"]
    cross, games = CrossPlay(names), []
    for _ in range(4):
        scenarios = open_source("uniform").draw(rng, 30)
        wholes, legs = scenarios.pool_values, []
        for pair in itertools.product(names, repeat=2):
            scores = np.floor(rng.random((30, 2)) * wholes * rng.integers(0, 2, size=(30, 1))).astype(int)
            legs.append(leg(*pair, [tuple(row) for row in scores.tolist()]))
            games += [(pair, row, whole) for row, whole in zip(scores.tolist(), wholes.tolist(), strict=True)]
        cross.add_round(scenarios, legs, [])
    for row, column in itertools.product(names, repeat=2):
        by_seat = [
            [10 * scores[s] / whole[s] for pair, scores, whole in games if (pair[s], pair[1 - s]) == (row, column)]
            for s in (0, 1)
        ]
        assert cross.cell(row, column, 0.95).mean == pytest.approx(np.mean([np.mean(points) for points in by_seat]))
    for standing in ladder_of(cross, 0.95):
        others = [cross.cell(standing.member, name, 0.95).mean for name in names if name != standing.member]
        assert standing.points.mean == pytest.approx(np.mean(others))
        assert standing.points.low < standing.points.mean < standing.points.high


def test_written_tables(tmp_path):
    cross = CrossPlay(["ann", "bob, the\nsecond"])
    cross.add_round(SCENARIOS, [leg("ann", "bob, the\nsecond", [(8, 3), (10, 6)])], [])
    write_ladder(tmp_path / "ladder.csv", ladder_of(cross, 0.95))
    write_crossplay(tmp_path / "crossplay.csv", cross, 0.95)
    with (tmp_path / "ladder.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["member"] for row in rows] == ["ann", "bob, the\nsecond"]
    assert float(rows[0]["points"]) == 6.5 and rows[0]["games"] == "2" and rows[0]["self_play"] == ""
    with (tmp_path / "crossplay.csv").open(newline="") as file:
        cells = {(row["member"], row["against"]): row for row in csv.DictReader(file)}
    assert len(cells) == 4 and float(cells["bob, the\nsecond", "ann"]["points"]) == 4.5


def test_lead_is_paired():
    cross = CrossPlay(["ann", "bob"])
    cross.add_round(SCENARIOS, [leg("ann", "bob", [(8, 3), (10, 6)]), leg("bob", "ann", [(6, 7), (0, 0)])], at_fault=[])
    ann, bob = ladder_of(cross, 0.95)
    ahead = lead(cross, "ann", "bob", 0.95)
    assert ahead.mean == pytest.approx(ann.points.mean - bob.points.mean)
    # By scenario ann is ahead by (8 + 7 - 3 - 6) / 2 and (5 + 0 - 6 - 0) / 2, on average by 1.25, 12.7 * 1.75 about it.
    assert ahead.high - ahead.mean == pytest.approx(12.706 * 1.75, rel=1e-3)
    assert lead(cross, "bob", "ann", 0.95).mean == pytest.approx(-ahead.mean)


def test_lead_without_interval():
    cross = CrossPlay(["ann", "bob", "eve"])
    legs = [
        leg("ann", "bob", [(8, 3), (10, 6)]),
        leg("bob", "ann", [(6, 7), (0, 0)]),
        leg("ann", "eve", [(8, 3), (20, 0)]),
    ]
    cross.add_round(SCENARIOS, legs, at_fault=[])
    assert lead(cross, "ann", "bob", 0.95).mean > 0 and math.isnan(lead(cross, "ann", "bob", 0.95).low)


def test_leader_with_a_tie():
    cross = CrossPlay(["ann", "bob"])
    assert "ann" not in leader(cross, ladder_of(cross, 0.95), 0.95)
    cross.add_round(SCENARIOS, [leg("ann", "bob", [(8, 3), (10, 6)]), leg("bob", "ann", [(6, 7), (0, 0)])], at_fault=[])
    text = leader(cross, ladder_of(cross, 0.95), 0.95)
    assert "significantly" in text and "the most" not in text
    assert all(figure in text for figure in ("5.00", "1.25", "3.75"))


def test_oracles_are_no_part_of_the_ladder():
    cross = CrossPlay(["ann", "bob"])
    cross.add_round(SCENARIOS, [leg("ann", "bob", [(8, 3), (10, 6)])], at_fault=[])
    before = [row.points for row in ladder_of(cross, 0.95)]
    cross.add_members(["o@1"], ["o@1"])
    cross.add_round(SCENARIOS, [leg("o@1", "ann", [(20, 0), (20, 0)])], at_fault=[])
    assert [row.points for row in ladder_of(cross, 0.95)] == before and cross.ranked == ("ann", "bob")
    assert cross.cell("o@1", "ann", 0.95).mean > 0


def test_verdict_compares_points_and_gains_with_the_start():
    def point(number, points, gain):
        return CurvePoint(number, "main", number, Estimate(points, 9, 0, 9), Estimate(gain, 9 * (number > 0), 0, 9))

    rows = [
        FigureRow("main", "", "proximity, mean", "", 0.86, 0.8, 0.9, 9, "share"),
        *(
            FigureRow("main", name, "share", "seat_0", x, x, x, 9, "share")
            for name, x in (("tough", 0.59), ("bob", 0.9))
        ),
        *(FigureRow("main", BEST, "gain", seat, x, x, x, note="exact") for seat, x in (("seat_0", 1), ("seat_1", 2))),
        *(FigureRow("main", BEGAN, "gain", seat, 4.0, 4.0, 4.0, note="exact") for seat in ("seat_0", "seat_1")),
    ]
    cross, curve = CrossPlay(["main"]), [point(0, 1.2, 0.0), point(1, 5.0, 3.3), point(2, 6.6, 2.2)]
    for final, gain in ((Figures({"members": ["main"]}, tuple(rows)), ["3.0", "8.0"]), (None, ["2.2"])):
        verdict = verdict_of(curve, ["main"], cross, ladder_of(cross, 0.95), final, 0.95, "3 min")
        assert verdict.sentence.startswith("main") and re.findall(r"\d\.\d", verdict.learned) == ["1.2", "6.6"]
        assert re.findall(r"\d\.\d", verdict.adversary) == gain and len(verdict.facts) == (2 if final is None else 4)
    assert (
        "59%" in verdict_of(curve, ["main"], cross, [], Figures({"members": ["main"]}, tuple(rows)), 0.95, "").weakest
    )


def test_verdict_on_failed_matches():
    cross = CrossPlay(["ann", "bob", "eve"])
    cross.add_round(SCENARIOS, [], at_fault=["eve", "eve"])
    assert leader(cross, ladder_of(cross, 0.95), 0.95).endswith("2 matches failed")
    cross.add_round(SCENARIOS, [leg("ann", "bob", [(8, 3), (10, 6)]), leg("bob", "ann", [(6, 7), (0, 0)])], at_fault=[])
    assert "eve" in verdict_of([], ["eve"], cross, ladder_of(cross, 0.95), None, 0.95, "").learned
