"""Private views up to renaming, the splits that hold some of them out, and orbits: one number for one game."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dond_marl.game import Scenario
from dond_marl.randomness import generator
from dond_marl.scenarios.sources import (
    HELD_OUT_SEED,
    HELD_OUT_VIEWS,
    PARTS,
    ScenarioError,
    Scenarios,
    beyond_lewis,
    is_trainable,
    lewis_space,
    open_source,
    orbits,
    pack,
    view_numbers,
    view_parts,
)

View = tuple[tuple[int, int], ...]
ORDERS = list(itertools.permutations(range(3)))


def rows(split: str) -> set[bytes]:
    """One key per scenario of a split of ``lewis``."""
    table = open_source("lewis", split=split).table
    return {row.tobytes() for row in np.concatenate([table.counts, table.utilities.reshape(-1, 6)], axis=1)}


def view(scenario: Scenario, seat: int) -> View:
    """What a seat sees, up to renaming: its (count, value) pairs in order."""
    return tuple(sorted(zip(scenario.counts, scenario.utilities[seat], strict=True)))


def one_by_one(scenarios: Scenarios) -> list[Scenario]:
    return [scenarios.scenario(index) for index in range(scenarios.size)]


def alike(scenario: Scenario) -> set[Scenario]:
    """Everything that a scenario becomes by renaming its items or exchanging its seats."""
    found = set()
    for order in ORDERS:
        counts, *sides = (tuple(each[i] for i in order) for each in (scenario.counts, *scenario.utilities))
        found |= {Scenario(counts, (sides[0], sides[1])), Scenario(counts, (sides[1], sides[0]))}
    return found


# --- The views ------------------------------------------------------------------------------------------------------


def test_canonical_views_of_the_legal_space():
    space = lewis_space()
    numbered = {}
    for scenario, numbers in zip(one_by_one(space), view_numbers(space).tolist(), strict=True):
        for seat in (0, 1):
            assert numbered.setdefault(view(scenario, seat), numbers[seat]) == numbers[seat]
    assert sorted(numbered, key=lambda each: numbered[each]) == sorted(numbered)
    assert sorted(numbered.values()) == list(range(80))


def test_view_outside_the_legal_space_has_no_number():
    # 1 book, 2 hats, 3 balls: (1, 3, 1) is worth 10, (1, 3, 2) is worth 13.
    scenarios = pack([Scenario((1, 2, 3), ((1, 3, 1), (1, 3, 2))), Scenario((1, 1, 1), ((4, 3, 3), (10, 0, 0)))])
    (legal, beyond), pool_of_three = view_numbers(scenarios).tolist()
    assert legal >= 0 and beyond == -1 and pool_of_three == [-1, -1]


def test_held_out_views_follow_from_the_seed():
    drawn = generator(HELD_OUT_SEED, "held-out views").permutation(80)[:16]
    assert tuple(sorted(drawn.tolist())) == HELD_OUT_VIEWS


# --- The splits -----------------------------------------------------------------------------------------------------


def test_no_held_out_view_occurs_in_train_in_either_seat():
    held_out = {view(s, seat) for s in one_by_one(open_source("lewis", split="test").table) for seat in (0, 1)}
    trained = {view(s, seat) for s in one_by_one(open_source("lewis", split="train").table) for seat in (0, 1)}
    assert len(held_out - trained) == 16, "what test holds beyond train is the sixteen views"
    assert len(trained) == 64, "and every view that is not held out is met in training"
    assert not np.isin(view_numbers(open_source("lewis", split="train").table), HELD_OUT_VIEWS).any()
    assert np.isin(view_numbers(open_source("lewis", split="test").table), HELD_OUT_VIEWS).any(axis=1).all()


def test_paper_test_set_holds_out_pairings_only():
    paper = open_source("lewis", split="paper_test").table
    assert paper.size == 392 and not rows("paper_test") & rows("train")
    theirs = set(one_by_one(paper))
    others = {
        (seat, s.counts, s.utilities[seat]) for s in one_by_one(lewis_space()) if s not in theirs for seat in (0, 1)
    }
    seen = {(seat, s.counts, s.utilities[seat]) for s in theirs for seat in (0, 1)}
    assert len(seen) == 2 * 253 and seen < others, "every view of theirs occurs elsewhere too, in the same seat"


def test_splits_are_disjoint_up_to_symmetry():
    train, test = (orbits(open_source("lewis", split=split).table) for split in ("train", "test"))
    assert not set(train.tolist()) & set(test.tolist())
    assert len(set(train.tolist())) == 302 and len(set(test.tolist())) == 173


def test_sizes_of_the_splits():
    sizes = {split: len(rows(split)) for split in ("train", "test", "paper_test", "all")}
    assert sizes == {"train": 3084, "test": 1977, "paper_test": 392, "all": 5295}
    left = rows("all") - rows("train") - rows("test")
    assert left < rows("paper_test") and len(left) == 234


def test_scenarios_to_train_on():
    space = lewis_space()
    trained = rows("train")
    whole = np.concatenate([space.counts, space.utilities.reshape(-1, 6)], axis=1)
    assert is_trainable(space).tolist() == [row.tobytes() in trained for row in whole]
    assert is_trainable(beyond_lewis(0, 500)).all()
    drawn = open_source("uniform").block(0, 0, 60_000)
    unseen = np.isin(view_numbers(drawn), HELD_OUT_VIEWS).any(axis=1)
    assert unseen.any() and (is_trainable(drawn) == ~unseen).all()


# --- The parts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seat", [0, 1])
def test_each_part_is_well_filled_in_each_seat(seat):
    counted = {
        split: np.bincount(view_parts(open_source("lewis", split=split).table, seat), minlength=len(PARTS)).tolist()
        for split in ("train", "test", "paper_test", "all")
    }
    assert counted == {
        "train": [3084, 0, 0],
        "test": [0, 855, 1122],
        "paper_test": [234, 69, 89],
        "all": [3318, 855, 1122],
    }


def test_view_part_is_decided_by_the_own_view():
    # 1 book, 2 hats, 3 balls. (2, 4, 0) is held out as view 36, (1, 3, 1) is not held out.
    known, unknown, pool = (1, 3, 1), (2, 4, 0), (1, 2, 3)
    assert view_numbers(pack([Scenario(pool, (known, unknown))]))[0, 1] == 36 and 36 in HELD_OUT_VIEWS
    table = pack([Scenario(pool, pair) for pair in itertools.product((known, unknown), repeat=2)])
    assert view_parts(table, 0).tolist() == [0, 1, 2, 2]
    assert view_parts(table, 1).tolist() == [0, 2, 1, 2]


def test_a_view_of_no_legal_scenario_is_unknown():
    table = pack([Scenario((4, 4, 4), ((1, 2, 3), (3, 2, 1)))])
    assert [PARTS[view_parts(table, seat)[0]] for seat in (0, 1)] == ["own view unknown"] * 2


# --- Beyond the legal space -----------------------------------------------------------------------------------------


def test_beyond_has_other_pool_sizes_and_bounded_counts():
    table = beyond_lewis(seed=3, n=4000)
    sizes = set(table.counts.sum(axis=1).tolist())
    assert sizes == {3, 4, 8, 9, 10, 11, 12} and set(np.unique(table.counts).tolist()) == {1, 2, 3, 4}
    assert table.utilities.any(axis=2).all() and set(np.unique(table.utilities).tolist()) == set(range(11))
    assert (view_numbers(table) == -1).all()
    assert (table.counts == beyond_lewis(3, 4000).counts).all(), "a function of the seed"
    assert not (table.counts == beyond_lewis(4, 4000).counts).all()


def test_uniform_splits_near_and_beyond():
    rng, whole = np.random.default_rng(0), open_source("uniform")
    near, beyond = (open_source("uniform", split=split).draw(rng, 60_000) for split in ("near", "beyond"))
    assert whole.split is None and np.isin(view_numbers(whole.draw(rng, 60_000)), HELD_OUT_VIEWS).any()
    assert set(np.unique(near.counts.sum(axis=1)).tolist()) == {5, 6, 7}
    assert not np.isin(view_numbers(near), HELD_OUT_VIEWS).any() and (view_numbers(near) >= 0).any()
    assert not set(np.unique(beyond.counts.sum(axis=1)).tolist()) & {5, 6, 7}
    assert near.utilities.any(axis=2).all() and beyond.utilities.any(axis=2).all()
    names = [open_source("uniform", split=split).label for split in (None, "near", "beyond")]
    assert names == ["uniform", "uniform, split near", "uniform, split beyond"]
    assert len({open_source("uniform", split=split).digest() for split in (None, "near", "beyond")}) == 3


@pytest.mark.parametrize(("split", "most", "number"), [("haggling", 7, 32), ("contest", 6, 20)])
def test_splits_of_contests_mix_their_pools(split, most, number):
    source = open_source("uniform", split=split)
    drawn, again = (source.draw(np.random.default_rng(seed), 60_000) for seed in (1, 1))
    pools, times = np.unique(drawn.counts, axis=0, return_counts=True)
    assert set(pools.sum(axis=1).tolist()) == set(range(3, most + 1)) and len(pools) == number
    assert abs(times / times.mean() - 1).max() < 0.12, "each pool is equally likely"
    assert (drawn.pool_values == 10).all() and (drawn.utilities[:, 0] != drawn.utilities[:, 1]).any(axis=1).all()
    assert is_trainable(drawn).all() and drawn.prior == "uniform(budget=10)"
    assert (drawn.utilities == again.utilities).all()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"split": "haggling", "points_budget": 9}, "worth points_budget=10"),
        ({"split": "near", "max_count": 1}, "max_count is at least 2; got 1"),
        ({"split": "beyond", "normalize": True}, "goes without normalize=True"),
    ],
)
def test_what_uniform_cannot_be_split_into_is_refused(settings, problem):
    with pytest.raises(ScenarioError, match=problem):
        open_source("uniform", **settings)


# --- Orbits ---------------------------------------------------------------------------------------------------------

any_scenario = st.builds(
    lambda counts, first, second: Scenario(tuple(counts), (tuple(first), tuple(second))),
    st.lists(st.integers(1, 10), min_size=3, max_size=3),
    st.lists(st.integers(0, 10), min_size=3, max_size=3),
    st.lists(st.integers(0, 10), min_size=3, max_size=3),
)


@given(any_scenario)
def test_renamed_and_swapped_scenarios_share_an_orbit(scenario):
    numbers = orbits(pack([scenario, *alike(scenario)]))
    assert len(set(numbers.tolist())) == 1


@given(any_scenario, any_scenario)
def test_scenarios_that_are_no_renaming_or_swap_of_each_other_do_not(one, other):
    first, second = orbits(pack([one, other])).tolist()
    assert (first == second) == (other in alike(one))
