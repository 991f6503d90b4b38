"""Headlines, intervals and verdicts of made-up results against a second implementation, of loops alone."""

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
from league.bench.arms import ADVERSARY, Arm
from league.bench.differences import differences
from league.bench.table import EXACT, boards, leaderboard
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
