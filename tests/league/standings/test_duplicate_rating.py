"""Duplicate match points: tables, races, and their intervals over scenarios."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openskill.models import PlackettLuce

from dond_marl.game import Scenario
from dond_marl.scenarios.sources import pack
from dond_marl.yardsticks.metrics import GROUPS
from league.standings.duplicate_rating import Session, Skills, duplicate_rating, match_points, sessions
from league.tasks.values import FACTS, Leg

SCENARIO = Scenario((1, 1, 3), ((4, 3, 1), (1, 3, 2)))
OTHER = Scenario((2, 1, 1), ((2, 3, 3), (1, 4, 4)))


def leg(first: str, second: str, scores: list[tuple[int, int]]) -> Leg:
    facts = np.zeros(len(scores), dtype=FACTS)
    facts["scores"] = scores
    return Leg((first, second), facts)


def test_match_points_worked_by_hand():
    # Three entrants, two scenarios: 7, 5, 5 and 0, 8, 8. Each other entrant beaten is half the share, a tie a quarter.
    shares = match_points(np.array([[7, 0], [5, 8], [5, 8]], dtype=np.int16))
    assert shares.tolist() == [[1, 0], [0.25, 0.75], [0.25, 0.75]]


@given(st.integers(2, 12), st.integers(1, 20), st.integers(0, 1000))
def test_match_points_are_shared_out_and_blind_to_how_much_better(entrants, size, seed):
    points = np.random.default_rng(seed).integers(0, 11, (entrants, size)).astype(np.int16)
    shares = match_points(points)
    assert shares.min() >= 0 and shares.max() <= 1
    assert shares.sum(axis=0) == pytest.approx(np.full(size, entrants / 2))
    assert (match_points(points**3) == shares).all()


def test_members_compare_only_in_the_same_seat_on_the_same_block_against_the_same_partner():
    place = {"ann": 0, "bob": 1, "eve": 2}
    legs = [
        leg("ann", "eve", [(8, 2), (6, 4)]),
        leg("bob", "eve", [(5, 5), (7, 3)]),
        leg("eve", "ann", [(9, 1), (9, 1)]),  # nobody else met ann in seat_0, or eve in seat_1
    ]
    (only,) = sessions(pack([SCENARIO, OTHER]), legs, place)
    assert only.entrants == (0, 1) and only.shares.tolist() == [[1, 0], [0, 1]]
    rated = duplicate_rating([[only]], 3, np.random.default_rng(0), replicates=99, confidence=0.8)
    assert rated.value[0] == rated.value[1] and np.isnan(rated.value[2])  # a win each
    assert (rated.low[:2] < rated.value[:2]).all() and (rated.value[:2] < rated.high[:2]).all()  # one counts for more


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9), st.integers(1, 6))
def test_races_are_rated_as_openskill_rates_them(seed, members, races):
    rng, model = np.random.default_rng(seed), PlackettLuce()
    skill, skills = [[model.rating() for _ in range(members)] for _ in range(3)], Skills(3, members)
    for _ in range(races):
        entrants = rng.permutation(members)[: rng.integers(2, members + 1)]
        results = rng.integers(0, 4, (3, len(entrants))) / 4  # with many ties
        skills.race(entrants.tolist(), results)
        for own, result in zip(skill, results, strict=True):
            after = model.rate([[own[entrant]] for entrant in entrants], ranks=(-4 * result).tolist())
            for entrant, (rating,) in zip(entrants, after, strict=True):
                own[entrant] = rating
    expected = np.array([[rating.mu for rating in own] for own in skill])
    assert np.abs(skills.mean - expected).max() <= 1e-9


def test_who_learns_begins_every_round_anew_and_the_others_do_not():
    strong = Session((0, 1), match_points(np.array([[9] * 4, [1] * 4], dtype=np.int16)), np.arange(4))
    weak = Session((0, 1), match_points(np.array([[1] * 4, [9] * 4], dtype=np.int16)), np.arange(4))
    rng = np.random.default_rng(0)
    played = [[strong], [strong], [strong], [weak]]
    fixed, learns = (duplicate_rating(played, 2, rng, live=live, replicates=2, confidence=0.9) for live in ([], [0]))
    assert learns.value[0] < 25 < fixed.value[0]
    assert learns.low[0] == pytest.approx(learns.value[0]) and fixed.low[0] == pytest.approx(fixed.value[0])


def test_who_does_better_with_the_same_cards_rates_higher_whatever_the_cards():
    # Every session has its own luck; eve beats bob beats ann in two of three scenarios.
    rng, played = np.random.default_rng(0), []
    for _ in range(30):
        points = rng.normal(0, 3, (1, 60)) + np.array([[0.0], [0.6], [1.2]]) + rng.normal(0, 1, (3, 60))
        groups = rng.integers(GROUPS, size=60)
        played.append([Session((0, 1, 2), match_points(np.round(100 * points).astype(np.int16)), groups)])
    rated = duplicate_rating(played, 3, rng, replicates=10, confidence=0.8)
    ann, bob, eve = rated.value
    assert ann < bob < eve
    assert rated.low[2] > rated.high[0] and (rated.low <= rated.high).all()


def test_no_session_rates_nobody():
    rated = duplicate_rating([], 2, np.random.default_rng(0), replicates=2, confidence=0.9)
    assert np.isnan(rated.value).all() and np.isnan(rated.low).all()
