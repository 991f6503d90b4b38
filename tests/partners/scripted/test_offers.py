"""The array arithmetic of the partners equals a plain loop over the splits of each pool."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dond_marl.batch import GameBatch
from dond_marl.game import Rules
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import decide
from partners.scripted.menu import favourite, menu
from partners.scripted.offers import (
    at_rank,
    best_allowed,
    fill_claim,
    item_numbers,
    nearest_split,
    own_claims,
    partner_claims,
    points_needed,
    pool_worth,
    ranking,
    worst_at_least,
    worth_left,
    worthwhile,
)

GAMES = 150


@pytest.fixture(params=[2, 4, 10])
def turns(request):
    """A table of random pools with up to so many items of a type; some types are absent or worthless."""
    rng = np.random.default_rng(request.param)
    counts = rng.integers(0, request.param + 1, size=(GAMES, 3), dtype=np.int8)
    counts[~counts.any(axis=1)] = 1
    utilities = rng.integers(0, 11, size=(GAMES, 2, 3), dtype=np.int8)
    utilities[rng.random((GAMES, 2, 3)) < 0.3] = 0
    counts[0], utilities[0] = request.param, 10
    return GameBatch(Scenarios(counts, utilities, "uniform")).turns()


def splits_of(turns, row):
    """Every split of one pool in lexicographic order with its worth: [(points, items item_numbers, split)]."""
    values, pool = turns.my_utilities[row].tolist(), turns.counts[row].tolist()
    ways = itertools.product(*(range(count + 1) for count in pool))
    return [(sum(v * k for v, k in zip(values, split, strict=True)), sum(split), split) for split in ways]


def test_the_worst_split_that_is_enough(turns):
    wholes = pool_worth(turns)
    target = np.random.default_rng(0).integers(0, wholes + 3)
    chosen = worst_at_least(turns, target)
    for row in range(GAMES):
        enough = [split for split in splits_of(turns, row) if split[0] >= min(target[row], wholes[row])]
        assert tuple(chosen[row]) == min(enough)[2]


def test_the_split_nearest_to_a_share(turns):
    share = np.random.default_rng(0).random(GAMES) * 1.2 - 0.1
    chosen = nearest_split(turns, share)
    for row in range(GAMES):
        target = round(min(max(share[row], 0), 1) * int(pool_worth(turns)[row]) * 64)
        near = min((abs(points * 64 - target), points * 64 < target, n, s) for points, n, s in splits_of(turns, row))
        assert tuple(chosen[row]) == near[3]


def test_the_ranking_runs_from_the_best_split_without_worthless_items(turns):
    ranks = ranking(turns)
    for rank in (0, 1, 2, 7, 5000):
        chosen = at_rank(turns, ranks, np.full(GAMES, rank))
        for row in range(GAMES):
            worthless = turns.my_utilities[row] == 0
            useful = [s for s in splits_of(turns, row) if not np.array(s[2])[worthless].any()]
            order = sorted((-points, n, split) for points, n, split in useful)
            useful_count = sum(points < 0 for points, *_ in order)
            assert worthwhile(ranks)[row] == useful_count
            assert tuple(chosen[row]) == order[min(rank, max(useful_count - 1, 0))][2]


def test_the_best_split_that_is_not_forbidden(turns):
    base = len(item_numbers(turns))
    forbidden = np.random.default_rng(0).random((base**3, GAMES)) < np.linspace(0, 1, GAMES)
    forbidden[:, -1] = True
    chosen = best_allowed(turns, forbidden)
    for row in range(GAMES):
        worthless = turns.my_utilities[row] == 0
        useful = [s for s in splits_of(turns, row) if not np.array(s[2])[worthless].any()]
        allowed = [s for s in useful if not forbidden[np.ravel_multi_index(s[2], (base,) * 3), row]]
        assert tuple(chosen[row]) == min((-points, n, split) for points, n, split in allowed or useful)[2]


def test_a_menu_lists_every_split_and_the_best_by_a_score_is_the_first_of_equals(turns):
    splits = menu(turns)
    chosen, best = favourite(splits, (splits.points // 3).astype(np.int64))
    for row in range(GAMES):
        listed = splits_of(turns, row)
        fits = np.flatnonzero(splits.fits[:, row])
        assert [tuple(split) for split in splits.items[:, fits, row].T.tolist()] == [split for _, _, split in listed]
        assert splits.points[fits, row].tolist() == [points for points, *_ in listed]
        assert best[row] == max(points // 3 for points, *_ in listed)
        assert tuple(chosen[row]) == next(split for points, _, split in listed if points // 3 == best[row])


def test_filling_takes_the_most_valuable_items_one_by_one(turns):
    target = np.random.default_rng(0).integers(0, pool_worth(turns) + 1)
    chosen = fill_claim(turns, target)
    for row in range(GAMES):
        values, claim, points = turns.my_utilities[row].astype(int), [0, 0, 0], 0
        for item in sorted(range(3), key=lambda item: -values[item]):
            for _ in range(turns.counts[row, item]):
                if points < target[row]:
                    claim[item] += 1
                    points += values[item]
        assert chosen[row].tolist() == claim


def test_what_is_needed_is_exact_for_every_share_in_hundredths_and_every_whole():
    wholes = np.arange(301)
    for hundredths in range(101):
        assert (points_needed(hundredths / 100, wholes) == -(-hundredths * wholes // 100)).all()


def test_claims_are_read_back_from_the_history():
    # What the four games say: PROPOSE 0, INSIST 1, DISAGREE 3; seat_0 on turns 0, 2, 4.
    pool = np.full((4, 3), 2, dtype=np.int8)
    table = GameBatch(
        Scenarios(pool, np.tile(np.array([1, 2, 3], dtype=np.int8), (4, 2, 1)), "uniform"), Rules(10, "rejects")
    )
    for acts, first in [
        ((0, 3, 0, 1), (2, 2, 2, 2)),
        ((0, 0, 3, 0), (1, 1, 1, 1)),
        ((1, 3, 0, 0), (2, 2, 1, 0)),
        ((0, 3, 3, 1), (1, 0, 2, 2)),
        ((1, 3, 0, 3), (2, 2, 2, 2)),
        ((0, 3, 0, 0), (0, 0, 0, 0)),
    ]:
        table.step(decide(np.array(acts), np.array([[keep, 0, 1] for keep in first])))
    turns = table.turns()  # seat_0's fourth turn
    claims, offers = own_claims(turns), partner_claims(turns)
    assert claims.number.tolist() == [3, 0, 3, 2]
    assert claims.distinct().tolist() == [1, 0, 2, 2]
    assert claims.latest().tolist() == [[2, 0, 1], [0, 0, 0], [2, 0, 1], [0, 0, 1]]
    assert offers.number.tolist() == [3, 1, 1, 3]
    assert offers.distinct().tolist() == [2, 1, 1, 3]
    # Values 1, 2, 3: what is left of two each after keeping k books and a ball is worth (2 - k) + 4 + 3.
    assert worth_left(turns, offers).tolist() == [[8, 8, -1, 8], [8, -1, -1, 7], [9, -1, 9, 9]]
