"""Figures, headlines, intervals and verdicts of results, by hand and by loops."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable
from statistics import NormalDist, variance

import numpy as np
import pytest
from scipy.stats import t as student

from dond_marl.errors import InputError
from dond_marl.scenarios.sources import PARTS, lewis_space, open_source
from dond_marl.statistics import GROUPS, scenario_groups
from league.bench.arms import ADVERSARY, Arm
from league.bench.differences import differences
from league.bench.figures import MEASURES, CellMeans, PartnerGames, noisy_mean
from league.bench.protocol import ALL, HEADLINE, Field, lewis_field
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


def by_hand(points: dict[str, tuple[float, float]], drawn: dict[str, list[list[str]]] | None = None) -> float:
    """The headline of one seed, over the drawn families and members: a list of members for each time of a family."""
    draws = drawn or {family: [members] for family, members in FAMILIES.items()}
    return mean(mean(mean(points[name]) for name in members) for several in draws.values() for members in several)


def resample(rng: random.Random, arms: list[list[dict[str, tuple[float, float]]]]) -> float:
    """One replicate of the headline of the first arm - that of the second, or of the first alone."""
    names, drawn = list(FAMILIES), {family: [] for family in FAMILIES}
    for _ in names:
        family = rng.choice(names)
        drawn[family].append([rng.choice(FAMILIES[family]) for _ in FAMILIES[family]])
    values = [mean(by_hand(rng.choice(seeds), drawn) for _ in seeds) for seeds in arms]
    return values[0] - (values[1] if len(values) > 1 else 0.0)


def interval_by_hand(arms: list[list[dict[str, tuple[float, float]]]], confidence: float) -> tuple[float, float]:
    rng, replicates = random.Random(11), 3_000
    parts = [(variance([by_hand(points) for points in seeds]) / len(seeds), len(seeds) - 1) for seeds in arms]
    means = []
    for members in FAMILIES.values():
        both = [mean(mean(points[name]) for name in members for points in seeds) for seeds in arms]
        means.append(both[0] - (both[1] if len(both) > 1 else 0.0))
    parts.append((variance(means) / len(means), len(means) - 1))
    freedom = sum(part for part, _ in parts) ** 2 / sum(part**2 / each for part, each in parts)
    tail = NormalDist().cdf(-math.sqrt(1 + 1 / freedom) * float(student.ppf(0.5 + confidence / 2, freedom)))
    low, high = np.quantile([resample(rng, arms) for _ in range(replicates)], [tail, 1 - tail])
    return float(low), float(high)


def test_headline_and_interval_equal_those_of_loops():
    arms = made_up_arms()
    (board,) = boards(rows_of(arms))
    for arm in board.arms:
        found, points = arm.headline(), arms[arm.name]
        assert found.mean == pytest.approx(mean(by_hand(own) for own in points)) and found.n == len(points)
        assert (found.low, found.high) == pytest.approx(interval_by_hand([points], 0.95), abs=0.2)  # of extremes
    assert [arm.name for arm in board.arms] == sorted(arms, key=lambda name: -mean(map(by_hand, arms[name])))


@pytest.mark.parametrize("shift", [0.05, 1.0, -1.0])
def test_difference_and_verdict_equal_those_of_loops(shift):
    arms = made_up_arms(shift)
    ((found,),) = (board.compared for board in boards(rows_of(arms), "old", EFFECT))
    both = [arms["new"], arms["old"]]
    assert found.points.difference.mean == pytest.approx(mean(map(by_hand, both[0])) - mean(map(by_hand, both[1])))
    low, high = interval_by_hand(both, 0.95)
    assert (found.points.difference.low, found.points.difference.high) == pytest.approx((low, high), abs=0.06)
    narrow = interval_by_hand(both, 0.90)
    expected = "better" if low > 0 else "worse" if high < 0 else "undecided"
    expected = "equivalent" if min(narrow) >= -EFFECT and max(narrow) <= EFFECT else expected
    assert found.points.verdict == expected and f" {expected} " in found.sentence


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


@pytest.mark.slow
def test_interval_has_its_nominal_coverage():
    rng, field, covered = np.random.default_rng(5), lewis_field(), 0
    truth = rng.random((2, 1, field.source.table.size)) * 6
    for _ in range(200):
        points = truth + rng.normal(size=(2, 4, truth.shape[2]))
        figures = CellMeans({"partner": games_of(points, field)}, field)
        mean = figures.mean("points", [(0, 0), (0, 1)], ALL)
        covered += mean.low <= truth.mean() <= mean.high
    assert 0.9 <= covered / 200 <= 0.99


def test_slices_partition_the_scenarios():
    field = lewis_field()
    parts = np.stack([field.slices[name] for name in PARTS])
    assert (parts.sum(axis=0) == 1).all()
    assert (field.slices[HEADLINE] == parts[1] | parts[2]).all()
    assert field.slices[HEADLINE][0].sum() == open_source("lewis", split="test").table.size
    assert field.slices[ALL].all() and field.whole


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
