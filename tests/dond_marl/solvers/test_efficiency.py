"""Efficiency of played games against worked examples, plain enumeration, and human games."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dond_marl.game import Scenario, rest, worth
from dond_marl.scenarios.sources import Scenarios, open_source, pack
from dond_marl.solvers.efficiency import Efficiency, ImpossibleScore, efficiency
from dond_marl.solvers.solve import Concept, solve
from dond_marl.splits import grid
from dond_marl.statistics import scenario_groups
from league.figures.measures import PlayedFigures, figures, measures_of_efficiency, tally_of

# 1 book, 1 hat, 3 balls. On the Pareto frontier seat_0 has all balls (test_solve.py draws it):
# 3, 10 (largest sum)   5, 6 (largest smaller share)   8, 4 (largest product, 32)   10, 0
THREE_OPINIONS = Scenario((1, 1, 3), ((2, 5, 1), (4, 6, 0)))


def played(scenarios: list[Scenario], scores: list[tuple[int, int] | None]) -> Efficiency:
    """Games that closed at these scores, ``None`` for no deal."""
    points = np.array([pair or (0, 0) for pair in scores], dtype=np.int16).reshape(-1, 2)
    return efficiency(pack(scenarios), points, np.array([pair is not None for pair in scores]))


def means_of(games: Efficiency, confidence: float = 0.95) -> PlayedFigures:
    """Their means, own points being those of seat_0."""
    return figures(tally_of(measures_of_efficiency(games, 0), games.groups, np.ones(games.size, bool)), confidence)


# --- Worked by hand -------------------------------------------------------------------------------------------------


def test_efficiency_is_relative_to_the_scenario():
    games = played([THREE_OPINIONS] * 6, [(3, 10), (5, 6), (8, 4), (10, 0), (7, 4), None])
    assert games.welfare.tolist() == pytest.approx([1, 11 / 13, 12 / 13, 10 / 13, 11 / 13, 0])
    assert games.nash.tolist() == pytest.approx([30 / 32, 30 / 32, 1, 0, 28 / 32, 0])
    assert games.egalitarian.tolist() == pytest.approx([3 / 5, 1, 4 / 5, 0, 4 / 5, 0])
    assert games.pareto.tolist() == [True, True, True, True, False, False]
    assert games.hits_utilitarian.tolist() == [True, False, False, False, False, False]
    assert games.hits_nash.tolist() == [False, False, True, False, False, False]
    assert games.envy_free.tolist() == [False, True, False, False, False, False]
    assert games.best_joint.tolist() == [13] * 6


def test_ratio_to_zero_is_nan():
    selfish = Scenario((0, 1, 0), ((0, 7, 0), (1, 3, 1)))  # one item: no product, no smaller share
    worthless = Scenario((1, 0, 1), ((0, 5, 0), (0, 0, 0)))
    games = played([selfish, worthless, THREE_OPINIONS], [(7, 0), None, (8, 4)])
    assert games.welfare[0] == 1 and math.isnan(games.welfare[1])
    assert np.isnan(games.nash).tolist() == np.isnan(games.egalitarian).tolist() == [True, True, False]
    means = means_of(games)
    assert (means.nash.mean, means.nash.n) == (1, 1)
    assert (means.welfare.mean, means.welfare.n) == (pytest.approx((1 + 12 / 13) / 2), 2)
    assert (means.deals.mean, means.deals.n) == (pytest.approx(2 / 3), 3)


# --- Against plain enumeration --------------------------------------------------------------------------------------

TRIPLES = st.tuples(*[st.integers(0, 10)] * 3)
POOLS = st.tuples(*[st.integers(0, 3)] * 3).filter(any)
PLAYED = st.lists(
    st.tuples(st.builds(Scenario, POOLS, st.tuples(TRIPLES, TRIPLES)), st.booleans(), st.integers(0, 10**6)),
    min_size=1,
    max_size=8,
)


@given(PLAYED)
@example([(Scenario((2, 0, 1), ((1, 0, 0), (5, 0, 10))), True, 2)])  # two splits share the smaller share, one is better
def test_every_measure_is_what_plain_enumeration_finds(games):
    scores, expected = [], []
    for scenario, deal, choice in games:
        every = [
            (worth(scenario.utilities[0], oA), worth(scenario.utilities[1], rest(scenario.counts, oA)))
            for oA in itertools.product(*(range(count + 1) for count in scenario.counts))
        ]
        got = every[choice % len(every)]
        wholes = [max(scenario.pool_value(seat), 1) for seat in (0, 1)]
        joint, product, smaller = (
            lambda p, w=wholes: 10 * p[0] / w[0] + 10 * p[1] / w[1],
            lambda p, w=wholes: 100 * p[0] * p[1] / (w[0] * w[1]),
            lambda p, w=wholes: min(10 * p[0] / w[0], 10 * p[1] / w[1]),
        )
        ratios = [
            (measure(got) if deal else 0) / best if (best := max(map(measure, every))) else math.nan
            for measure in (joint, product, smaller)
        ]
        dominated = any(a >= got[0] and b >= got[1] and (a, b) != got for a, b in every)
        scores.append(got if deal else None)
        fair = deal and all(2 * got[seat] >= scenario.pool_value(seat) for seat in (0, 1))
        expected.append((ratios, deal and not dominated, fair))
    actual = played([scenario for scenario, _, _ in games], scores)
    for row, (ratios, pareto, fair) in enumerate(expected):
        measured = [actual.welfare[row], actual.nash[row], actual.egalitarian[row]]
        assert measured == pytest.approx(ratios, nan_ok=True)
        assert (actual.pareto[row], actual.envy_free[row]) == (pareto, fair)
        if ratios[1] > 0:  # with something for both, the best product and sum are Pareto-optimal by themselves
            assert actual.hits_nash[row] == (actual.nash[row] == 1)
            assert actual.hits_utilitarian[row] == (actual.welfare[row] == 1)


def scores_of(concept: Concept, scenarios: Scenarios, max_count: int) -> np.ndarray:
    """Points of both seats in the first split that a concept selects, ``[N, 2]``."""
    share = grid(max_count)[concept.splits.argmax(axis=1)]
    items = np.stack([share, scenarios.counts - share], axis=1)
    return np.einsum("nsi,nsi->ns", items, scenarios.utilities, dtype=np.int16)


def test_blocks_of_scenarios_are_measured_alike():
    # Pools of up to 10 items of each type: 1,331 splits, some 780 scenarios at a time.
    scenarios = open_source("uniform", max_count=10).draw(np.random.default_rng(2), 1000)
    solved = solve(scenarios, 10)
    scores = scores_of(solved.nash, scenarios, 10)
    order = np.random.default_rng(3).integers(1000, size=2500)
    games = efficiency(scenarios.rows(order), scores[order], np.ones(2500, dtype=bool))
    assert games.hits_nash.all() and games.pareto.all() and (games.nash == 1).all()
    np.testing.assert_allclose(games.welfare, games.points.sum(axis=1) / solved.joint[order])


# --- Means and their intervals --------------------------------------------------------------------------------------


def test_a_share_of_deals_is_a_ratio_over_scenarios_worked_by_hand():
    # Three scenarios, in three groups. Deals: 2 of 2, 1 of 3, 1 of 1; Pareto-optimal of these: 1, 1, 0.
    other, third = Scenario((1, 1, 1), ((5, 3, 2), (2, 3, 5))), Scenario((1, 1, 1), ((5, 2, 3), (5, 5, 0)))
    table = [THREE_OPINIONS] * 2 + [other] * 3 + [third]
    assert len(set(scenario_groups(pack(table)).tolist())) == 3
    games = played(table, [(8, 4), (7, 4), (5, 8), None, None, (5, 5)])
    share = means_of(games).pareto
    assert (share.mean, share.n) == (0.5, 4)
    # Residuals, Pareto-optimal deals less half of the deals: 0, 1/2, -1/2, each over 4 deals; variance
    # 3/2 (1/64 + 1/64) = 3/64, that of 16/3 independent deals; Student's 97.5 % quantile for 2 degrees of freedom is
    # 4.3027, and Wilson's interval of a half with these is 4.3027 sqrt(3/64 + (4.3027 / (2 * 16/3))**2), divided by
    # 1 + 4.3027**2 / (16/3).
    width = 4.3027 * math.sqrt(3 / 64 + (4.3027 * 3 / 32) ** 2)
    assert share.margin == pytest.approx(width / (1 + 4.3027**2 * 3 / 16), rel=1e-4)


def test_no_deal_counts_as_nothing_reached_and_not_as_a_deal():
    deals = [(8, 4), (5, 8)]
    table = [THREE_OPINIONS, Scenario((1, 1, 1), ((5, 3, 2), (2, 3, 5)))]
    games = played(table * 2, [*deals, None, None])
    alone, diluted = means_of(played(table, deals)), means_of(games)
    for name in ("pareto", "hits_nash", "hits_utilitarian", "hits_max_min", "envy_free", "joint_agreed", "gap"):
        before, after = getattr(alone, name), getattr(diluted, name)
        assert (after.mean, after.n) == (pytest.approx(before.mean), 2), name
    for name in ("welfare", "nash", "egalitarian", "joint", "deals"):
        before, after = getattr(alone, name), getattr(diluted, name)
        assert (after.mean, after.n) == (pytest.approx(before.mean / 2), 4), name
    assert games.best_joint.tolist() == [13] * 4
    assert alone.gap.mean == 3.5 and [alone.points.mean, alone.left.mean] == [6.5, 6]


def test_no_games_or_deals_give_nan():
    nothing = means_of(played([], []))
    assert nothing.deals.n == nothing.pareto.n == 0 and math.isnan(nothing.welfare.mean)
    refused = means_of(played([THREE_OPINIONS] * 2, [None, None]))
    assert refused.welfare.mean == refused.deals.mean == 0
    assert refused.pareto.n == 0 and math.isnan(refused.pareto.mean) and math.isnan(refused.joint_agreed.low)


# --- What cannot be --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scores", [(9, 9), (4, 4), (-1, 5), (300, 300), (10, 512), (0, 32767)])
def test_scores_that_no_split_pays_are_a_bug(scores):
    with pytest.raises(ImpossibleScore):
        played([THREE_OPINIONS] * 3, [(8, 4), scores, None])
