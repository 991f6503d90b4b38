"""Intervals over scenarios hold the truth as often as they say: means, ratios, differences and shares.

The scenarios are those of ``lewis``, drawn without replacement as in a league. What a game brings to a player is drawn
anew for every orbit (renamings and swaps of one game bring the same), so that the truth is known: the mean over games.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from dond_marl.scenarios.sources import lewis_space
from dond_marl.statistics import (
    GROUPS,
    Estimate,
    mean_of,
    mean_of_cells,
    mean_over_scenarios,
    rate,
    scenario_groups,
    sums_by_group,
)

SAYS = 0.95
RUNS = 1500  # 95 % is then known to +-1.1 %
BLOCKS = [64, 392, 2688]  # scenarios; the last as in a finished league
pytestmark = pytest.mark.slow


def blocks(size: int, seed: int = 0) -> Iterator[tuple[np.random.Generator, np.ndarray]]:
    """The groups of so many scenarios of the space, ``[K]``, again and again."""
    groups, rng = scenario_groups(lewis_space()), np.random.default_rng(seed)
    for _ in range(RUNS):
        yield rng, groups[rng.choice(len(groups), size, replace=False)]


def covered(estimates: Iterator[Estimate], truth: float, least: float = 0.93, most: float = 0.97) -> None:
    hits = np.mean([estimate.low <= truth <= estimate.high for estimate in estimates])
    assert least <= hits <= most, f"{hits:.1%}"


def mean_of_both_seats(rng: np.random.Generator, groups: np.ndarray) -> Estimate:
    """Games of a scenario go together: what the game brings varies twice as much as what chance brings."""
    brought = 5 + 2 * rng.standard_normal((2, GROUPS))[:, groups]  # by seat
    return mean_over_scenarios(brought + rng.standard_normal(brought.shape), groups, SAYS)


def mean_over_opponents(rng: np.random.Generator, groups: np.ndarray) -> Estimate:
    """Four cells, of which one holds a tenth of the scenarios; each weighs a quarter."""
    brought = rng.standard_normal((4, GROUPS))[:, groups] + 2 * rng.standard_normal(GROUPS)[groups]
    games = np.ones((4, len(groups)))
    games[3, len(groups) // 10 :] = 0
    return mean_over_scenarios(brought + np.arange(4)[:, None], groups, SAYS, games)


def points_of_a_deal(rng: np.random.Generator, groups: np.ndarray) -> Estimate:
    """Deals close in half of the games, more often where they pay more: 6 points a deal, known by construction."""
    rich = rng.random(GROUPS)[groups] < 0.5
    deal = rng.random(len(groups)) < np.where(rich, 0.75, 0.25)
    return mean_over_scenarios(np.where(rich, 7.0, 3.0) + rng.standard_normal(len(groups)), groups, SAYS, deal)


def share_of_a_reference(rng: np.random.Generator, groups: np.ndarray) -> Estimate:
    best = 6 + rng.standard_normal(GROUPS)[groups]
    points = 0.8 * best + 0.5 * rng.standard_normal(GROUPS)[groups] + 0.5 * rng.standard_normal(len(groups))
    return mean_of_cells(sums_by_group(points, groups)[0], sums_by_group(best, groups)[0], SAYS)


def difference_of_two_players(rng: np.random.Generator, groups: np.ndarray) -> Estimate:
    luck = 3 * rng.standard_normal(GROUPS)[groups]
    first, second = luck + rng.standard_normal((2, GROUPS))[:, groups] + np.array([[0.3], [0.0]])
    return mean_over_scenarios(first - second, groups, SAYS)


def welfare_efficiency(rng: np.random.Generator, groups: np.ndarray) -> Estimate:
    """A skewed share: 0.9 to 1 with a deal, 0 without, and deals are as the game is."""
    deal = rng.random(len(groups)) < rng.beta(19, 1, GROUPS)[groups]
    return rate(*sums_by_group(deal * (1 - rng.random(len(groups)) / 10), groups), SAYS)


TRUTHS = (
    (mean_of_both_seats, 5),
    (mean_over_opponents, 1.5),
    (points_of_a_deal, 6),
    (share_of_a_reference, 0.8),
    (difference_of_two_players, 0.3),
    (welfare_efficiency, 0.95 * 0.95),
)


@pytest.mark.parametrize("size", BLOCKS)
@pytest.mark.parametrize(("estimate", "truth"), TRUTHS)
def test_intervals_over_scenarios_hold_the_truth(estimate, truth, size):
    # Six scenarios decide a quarter of the mean over opponents in the smallest block.
    least = 0.92 if estimate is mean_over_opponents and size == 64 else 0.93
    covered((estimate(rng, groups) for rng, groups in blocks(size, TRUTHS.index((estimate, truth)))), truth, least)


@pytest.mark.parametrize("size", BLOCKS)
@pytest.mark.parametrize(("closing", "failing"), [(2, 2), (19, 1), (199, 1)])
def test_a_rate_of_deals(closing, failing, size):
    """The chance of a deal differs from game to game; the truth is 50, 95 and 99.5 %."""

    def rates() -> Iterator[Estimate]:
        for rng, groups in blocks(size, 5):
            chance = rng.beta(closing, failing, GROUPS)[groups]
            yield rate(*sums_by_group(rng.random((2, size)) < chance, groups), SAYS)

    # Of 128 games all but one or none close at 99.5 %: no interval can say 95 %, this one says more.
    covered(rates(), closing / (closing + failing), 0.93, 0.985 if closing > 100 else 0.97)


@pytest.mark.parametrize("draw", [np.random.Generator.standard_normal, np.random.Generator.random])
@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_a_mean_over_training_seeds(draw: Callable[[np.random.Generator, int], np.ndarray], seeds):
    """Normal and uniform; of three seeds that are as likely to lie anywhere Student's interval holds 92 %."""
    rng, truth = np.random.default_rng(6), 0.0 if draw is np.random.Generator.standard_normal else 0.5
    covered(
        (mean_of(draw(rng, seeds).tolist(), SAYS) for _ in range(2 * RUNS)),
        truth,
        0.91 if seeds == 3 and truth else 0.93,
    )
