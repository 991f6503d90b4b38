"""Figures, headlines, intervals and verdicts of results, by hand and by loops."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable

import numpy as np
import pytest

from dond_marl.errors import InputError
from dond_marl.scenarios.sources import lewis_space
from dond_marl.statistics import GROUPS, scenario_groups
from league.bench.arms import ADVERSARY, Arm
from league.bench.differences import differences
from league.bench.figures import MEASURES, CellMeans, PartnerGames, noisy_mean
from league.bench.protocol import ALL, Field, lewis_field
from league.bench.table import EXACT, boards, leaderboard
from league.evaluation.matches import MEMBER
from league.figures.tally import Tally
from league.play.values import Answers
from tests.league.bench.made_up import made_up_row

FAMILIES = {
    "linear": ["linear", "linear(floor=0.35)", "linear(floor=0.6)"],
    "heuristic": ["heuristic", "heuristic(demand=0.7)"],
    "stubborn": ["stubborn"],
    "tough": ["tough"],
    "zeuthen": ["zeuthen", "zeuthen(rationality=0.0)"],
}
PARTNERS = sorted(itertools.chain.from_iterable(FAMILIES.values()))
EFFECT = 0.3


def mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)


def made_up_arms(shift: float = 0.0) -> dict[str, list[dict[str, tuple[float, float]]]]:
    """Points by arm, seed, partner and seat; the arm ``new`` is ahead by ``shift``."""
    rng = random.Random(3)
    gain = {partner: rng.gauss(0, 0.3) for partner in PARTNERS}
    base = {partner: rng.uniform(4, 8) for partner in PARTNERS}

    def seed_of(own: float, ahead: bool) -> dict[str, tuple[float, float]]:
        more = {partner: (gain[partner] + shift if ahead else 0.0) + own for partner in PARTNERS}
        return {
            partner: (base[partner] + more[partner] + rng.gauss(0, 0.05), base[partner] + more[partner] + 0.5)
            for partner in PARTNERS
        }

    return {
        name: [seed_of(rng.gauss(0, 0.1), name == "new") for _ in range(seeds)]
        for name, seeds in (("old", 5), ("new", 6))
    }


def rows_of(arms: dict[str, list[dict[str, tuple[float, float]]]]) -> list[dict]:
    return [made_up_row(name, seed, own) for name, seeds in arms.items() for seed, own in enumerate(seeds, 1)]


def test_one_partner_that_decides_is_named():
    arms = made_up_arms()
    arms["new"] = [{**own, "tough": (9.9, 9.9)} for own in arms["old"]]
    (board,) = boards(rows_of(arms), "old", EFFECT)
    (found,) = board.compared
    assert found.mover == "tough" and found.points.verdict == "undecided"
    assert found.changes == "tough (equivalent)" and "tough" in found.sentence
    (line,) = board.section.blocks[-1].rows
    cells = dict(zip(board.section.blocks[-1].heads, line.cells, strict=True))
    assert cells["verdict"] == "undecided" and cells["moved most by"] == "tough"


def test_least_p_of_so_many_seeds_is_a_bound():
    (board,) = boards(rows_of(made_up_arms(2.0)), "old")
    (found,) = board.compared
    assert found.points.test.p == pytest.approx(1 / math.comb(11, 5))
    assert found.format_p(found.points.test.p) == f"≤ {1 / math.comb(11, 5):.2g}"


def test_nashconv_stands_next_to_points():
    arms, rng = made_up_arms(), random.Random(5)
    rows, nash = [], {"old": [], "new": []}
    for row in rows_of(arms):
        gain = [rng.uniform(1, 2), rng.uniform(1, 2)]
        nash[row["submission"]["name"]].append(sum(gain))
        own = {"self_play": [5.0, 5.0], "response": [5 + gain[0], 5 + gain[1]], "gain": gain, "nashconv": sum(gain)}
        rows.append({**row, "exploitability": own})
    (board,) = boards(rows, "old")
    main, _, responses, _ = board.section.blocks
    for line in main.rows:
        gains = dict(zip(main.heads, line.cells, strict=True))[ADVERSARY]
        assert (gains.estimate.mean, gains.sign) == (pytest.approx(mean(nash[line.label])), EXACT)
    assert {line.label for line in responses.rows} == {"old", "new"}
    assert board.compared[0].nashconv.mean == pytest.approx(mean(nash["new"]) - mean(nash["old"]))
    assert "NashConv" in board.compared[0].sentence
    del rows[0]["exploitability"]  # an arm without all of them has none
    (board,) = boards(rows, "old")
    assert (
        math.isnan(board.compared[0].nashconv.mean) and Arm("old", tuple(rows[:5])).exploitability("nashconv") is None
    )


def test_one_seed_of_a_learned_policy_is_not_compared():
    arms = made_up_arms()
    rows = rows_of({"old": arms["old"], "new": arms["new"][:1]})
    (board,) = boards(rows, "old")
    assert board.compared == [] and differences(board.arms, "new") == []
    with pytest.raises(InputError):
        leaderboard(rows, "nobody")


# -- Figures of a benchmark line


def games_of(points: np.ndarray, field: Field) -> PartnerGames:
    """Games with one partner of which only the points are known, ``points[2, R, N]``; ``nan``: not reached."""
    groups = scenario_groups(field.source.table)
    slices = np.stack(list(field.slices.values()), axis=1)[:, None, :, None]  # [2, 1, slices, 1, N]
    values = np.zeros((2, points.shape[1], slices.shape[2], len(MEASURES), points.shape[2]))
    values[:, :, :, 0] = points[:, :, None]
    tally = Tally.of(values, groups, np.broadcast_to(slices, values.shape) & ~np.isnan(points)[:, :, None, None])
    return PartnerGames(tally, {MEMBER: Answers(points.size, int(np.isnan(points).sum()))}, 0, 0)


def noise(values: list[list[float]], groups: list[int]) -> tuple[float, float, int]:
    return noisy_mean(Tally.of(np.array(values), np.array(groups)))


def test_noise_of_a_mean_by_hand():
    # Two replicates of two scenarios: 4 and 6, 1 and 1. Their means, 5 and 1, are averaged without error; the mean of
    # two draws that differ by 2 has the variance 1, and it is half of the whole.
    assert noise([[4.0, 1.0], [6.0, 1.0]], [0, 1]) == (3.0, pytest.approx(1 / 4), 4)


def test_shared_noise_of_renamings_is_clustered():
    apart, together = (noise([[4.0, 4.0], [6.0, 6.0]], groups)[1] for groups in ([0, 1], [0, 0]))
    assert (apart, together) == (pytest.approx(1 / 2), pytest.approx(1.0))


def test_one_replicate_has_no_noise_and_no_scenario_no_mean():
    assert noise([[1.0, 3.0]], [0, 1]) == (2.0, 0.0, 2)
    assert math.isnan(noisy_mean(Tally(np.zeros((3, GROUPS)), np.zeros((3, GROUPS))))[0])


def test_a_sample_of_scenarios_has_an_interval_over_orbits_and_all_of_them_none():
    for field, doubt in ((lewis_field(300), True), (lewis_field(), False)):
        points = np.random.default_rng(1).random((2, 1, field.source.table.size))
        mean = CellMeans({"partner": games_of(points, field)}, field).mean("points", [(0, 0)], ALL)
        assert mean.mean == pytest.approx(points[0].mean())
        assert (mean.high > mean.low) is doubt
    assert not lewis_field(300).whole


def test_invalid_games_are_left_out():
    field = lewis_field(300)
    points = np.ones((2, 1, field.source.table.size))
    points[0, 0, :100] = np.nan
    mean = CellMeans({"partner": games_of(points, field)}, field).mean("points", [(0, 0)], ALL)
    assert (mean.mean, mean.n) == (1.0, 200)


# -- The interval of a benchmark's mean, where all scenarios are played and only the noise of t


@pytest.mark.slow
@pytest.mark.parametrize("replicates", [2, 4])
def test_interval_covers_with_shared_noise(replicates):
    """Every scenario has its own mean; chance comes half to the game, renamings alike, and half to the scenario."""
    groups, rng, hits = scenario_groups(lewis_space()), np.random.default_rng(replicates), []
    orbit = np.unique(groups, return_inverse=True)[1]
    means = 5 + 3 * rng.standard_normal(len(groups))  # fixed: the set is what it is
    for _ in range(1000):
        luck = rng.standard_normal((replicates, orbit.max() + 1))[:, orbit]
        values = means + luck + rng.standard_normal((replicates, len(groups)))
        mean, variance, _ = noisy_mean(Tally.of(values, groups))
        hits.append(abs(mean - means.mean()) <= 1.96 * math.sqrt(variance))
    assert 0.93 <= np.mean(hits) <= 0.97
