"""Duplicate rating: sessions, maximum-likelihood ratings, and their intervals over scenarios."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from choix import ilsr_pairwise_dense
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from dond_marl.game import Rules, Scenario
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios, open_source, pack
from dond_marl.statistics import GROUPS, Estimates
from league.standings.duplicate_rating import PRIOR, Session, duplicate_rating, fit_ratings, match_points, sessions
from league.tasks.values import FACTS, Leg

SCENARIO = Scenario((1, 1, 3), ((4, 3, 1), (1, 3, 2)))
OTHER = Scenario((2, 1, 1), ((2, 3, 3), (1, 4, 4)))
NAMES = ("heuristic", "linear", "pushover", "tough", "random", "stubborn")


def leg(first: str, second: str, scores: list[tuple[int, int]]) -> Leg:
    facts = np.zeros(len(scores), dtype=FACTS)
    facts["scores"] = scores
    return Leg((first, second), facts)


def session(points: list[list[int]], entrants: tuple[int, ...] | None = None) -> Session:
    """A table on as many scenarios as there are columns, each a group of its own."""
    own = np.array(points, dtype=np.int16)
    return Session(entrants or tuple(range(len(own))), own, np.arange(own.shape[1]))


def rated(rounds: list[list[Session]], members: int, live: tuple[int, ...] = (), replicates: int = 5) -> Estimates:
    rng = np.random.default_rng(0)
    return duplicate_rating(rounds, members, rng, live=live, replicates=replicates, confidence=0.9)


@cache
def played_for_real() -> tuple[tuple[Scenarios, tuple[Leg, ...]], ...]:
    """Three rounds of matches between six scripted partners in both seats, on 24 scenarios each."""
    rounds = []
    for number in range(3):
        scenarios = open_source("lewis").block(1, number, 24)
        legs = []
        for first in NAMES:
            for second in NAMES:
                seats = seat_occupant(first), seat_occupant(second)
                games = rollout(seats, scenarios, Rules(), seed=number, index=(0,))
                legs.append(leg(first, second, games.scores.tolist()))
        rounds.append((scenarios, tuple(legs)))
    return tuple(rounds)


def test_sessions_by_seat_block_and_partner():
    place = {"ann": 0, "bob": 1, "eve": 2}
    legs = [
        leg("ann", "eve", [(8, 2), (6, 4)]),
        leg("bob", "eve", [(5, 5), (7, 3)]),
        leg("eve", "ann", [(9, 1), (9, 1)]),  # no other member played ann in seat_0, or eve in seat_1
    ]
    (only,) = sessions(pack([SCENARIO, OTHER]), legs, place)
    assert only.entrants == (0, 1) and only.points.tolist() == [[8, 6], [5, 7]]
    found = rated([[only]], 3, replicates=99)
    assert found.value[:2] == pytest.approx([0, 0], abs=1e-12) and np.isnan(found.value[2])  # a win each
    assert (found.low[:2] < 0).all() and (found.high[:2] > 0).all()  # one counts for more


def test_match_points_by_hand():
    # Three entrants, two scenarios: 7, 5, 5 and 0, 8, 8.
    won = match_points([[session([[7, 0], [5, 8], [5, 8]])]], 3).sum(axis=2)
    assert won.tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


def test_duplicate_rating_by_hand():
    """Ann is ahead of bob on three scenarios of four, and both tied once with a member of rating 0."""
    found = rated([[session([[9, 9, 9, 1], [1, 1, 1, 9]])]], 2).value
    assert found[0] == pytest.approx(-found[1], abs=1e-9)  # so that 3 = 4 f(2 r) + (f(r) - 1 / 2), f the logistic
    assert 4 / (1 + math.exp(-2 * found[0])) + 1 / (1 + math.exp(-found[0])) == pytest.approx(3.5, abs=1e-9)


@given(st.integers(0, 10**6), st.integers(2, 8))
def test_ratings_equal_a_general_optimizer(seed, members):
    rng = np.random.default_rng(seed)
    won = rng.integers(0, 9, (members, members)) * (rng.random((members, members)) < 0.6) / 2
    np.fill_diagonal(won, 0)

    def unlikely(rating: np.ndarray) -> float:
        apart = rating[:, None] - rating
        prior = PRIOR / 2 * (np.logaddexp(0, -rating) + np.logaddexp(0, rating)).sum()
        return float((won * np.logaddexp(0, -apart)).sum() + prior)

    found = fit_ratings(won)
    compared = (won + won.T).any(axis=1)
    assert (np.isnan(found) == ~compared).all()
    best = minimize(unlikely, np.zeros(members), method="BFGS", options={"gtol": 1e-8})
    assert unlikely(np.nan_to_num(found)) <= best.fun + 1e-9
    assert found[compared] == pytest.approx(best.x[compared], abs=1e-4)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 40))
def test_ratings_equal_choix(seed, members):
    """``ilsr_pairwise_dense`` (Maystre & Grossglauser 2015), which ends when its steps are small."""
    rng = np.random.default_rng(seed)
    true = rng.normal(0, 1, members)
    won = 60_000 / (1 + np.exp(true - true[:, None])) * (rng.random((members, members)) < 0.7)
    np.fill_diagonal(won, 0)
    table = np.pad(won, (0, 1), constant_values=PRIOR / 2)
    table[-1, -1] = 0
    fit = ilsr_pairwise_dense(table, max_iter=100_000, tol=1e-11)
    compared = (won + won.T).any(axis=1)
    assert fit_ratings(won)[compared] == pytest.approx((fit[:-1] - fit[-1])[compared], abs=1e-5)


@given(st.integers(0, 10**6), st.integers(1, 12))
def test_batched_tables_equal_single_ones(seed, members):
    won = np.random.default_rng(seed).exponential(1, (4, members, members)) * 10.0 ** np.arange(4)[:, None, None]
    together = fit_ratings(won)
    for table, found in zip(won, together, strict=True):
        assert fit_ratings(table) == pytest.approx(found, abs=1e-9)
        assert fit_ratings(table, found + 1) == pytest.approx(found, abs=1e-9)  # wherever it begins


@pytest.mark.parametrize("scenarios", [1, 100, 10_000])
def test_ratings_are_finite(scenarios):
    found = rated([[session([[9] * min(scenarios, 500), [5] * min(scenarios, 500), [1] * min(scenarios, 500)])]], 3)
    assert np.isfinite(found.value).all() and found.value[0] > found.value[1] > found.value[2]
    lone = fit_ratings(np.array([[0.0, scenarios], [0.0, 0.0]]))
    assert np.isfinite(lone).all() and lone[0] == pytest.approx(-lone[1], abs=1e-9) and lone[0] > 0


@settings(max_examples=25)
@given(st.randoms(use_true_random=False), st.sets(st.sampled_from(NAMES), max_size=2))
def test_ratings_do_not_depend_on_order(rng, live):
    """Of games that were really played. A member that is live counts by its last round, and that stays the last."""
    *before, last = played_for_real()
    names, rounds = list(NAMES), [(scenarios, list(legs)) for scenarios, legs in (*before, last)]

    def found(order: list[str], rounds: list[tuple[Scenarios, list[Leg]]], shuffle: bool) -> Estimates:
        place = {name: number for number, name in enumerate(order)}
        tables = [sessions(scenarios, legs, place) for scenarios, legs in rounds]
        for table in tables if shuffle else []:
            rng.shuffle(table)
        both = rated(tables, len(order), tuple(place[name] for name in live), replicates=3)
        return Estimates(*(bound[[place[name] for name in NAMES]] for bound in both))

    first = found(names, rounds, shuffle=False)
    order, mixed = rng.sample(names, len(names)), []
    for scenarios, legs in [*rng.sample(rounds[:-1], 2), rounds[-1]]:
        rows = np.array(rng.sample(range(scenarios.size), scenarios.size))
        sample = rng.sample(legs, len(legs))
        mixed.append((scenarios.rows(rows), [own._replace(facts=own.facts[rows]) for own in sample]))
    second = found(order, mixed, shuffle=True)
    for one, other in zip(first, second, strict=True):
        assert np.abs(one - other).max() <= 1e-9


def test_live_members_count_by_their_last_round():
    strong, weak = session([[9] * 4, [1] * 4, [5] * 4]), session([[1] * 4, [9] * 4, [5] * 4])
    played = [[strong], [strong], [strong], [weak]]
    fixed, learns, only = rated(played, 3), rated(played, 3, live=(0,)), rated([[weak]], 3)
    assert learns.value[0] < 0 < fixed.value[0]
    assert learns.value[0] == pytest.approx(only.value[0], abs=0.7)  # the others have more games
    away = rated([[strong], [session([[1] * 4, [5] * 4], (1, 2))]], 3, live=(0,))
    assert away.value[0] > 0  # its last round is the last in which it sat


def test_duplicate_rating_ignores_luck_of_scenarios():
    # Every session has its own luck; eve beats bob beats ann in two of three scenarios.
    rng, played = np.random.default_rng(0), []
    for _ in range(30):
        points = rng.normal(0, 3, (1, 60)) + np.array([[0.0], [0.6], [1.2]]) + rng.normal(0, 1, (3, 60))
        played.append([Session((0, 1, 2), np.round(100 * points).astype(np.int16), rng.integers(GROUPS, size=60))])
    found = duplicate_rating(played, 3, rng, replicates=10, confidence=0.8)
    ann, bob, eve = found.value
    assert ann < bob < eve
    assert found.low[2] > found.high[0] and (found.low <= found.high).all()


def test_log_odds_of_match_points():
    """A log-odds of 1 between two is 73 % of their match points."""
    share = 1 / (1 + math.exp(-1))
    won = np.array([[0, share], [1 - share, 0]]) * 1e6
    assert np.diff(fit_ratings(won)) == pytest.approx([-1], abs=1e-5)


def test_no_sessions_no_ratings():
    found = rated([], 2)
    assert np.isnan(found.value).all() and np.isnan(found.low).all()
