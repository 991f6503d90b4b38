"""The meta-game: equilibria and dynamics with known answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog, nnls

from league.standings.linear_programs import Deviations
from league.standings.meta_game import (
    Equilibria,
    MetaGame,
    deviation_rating,
    game_of,
    max_gini_cce,
    max_gini_ce,
    max_welfare_cce,
    nash_bargaining_cce,
    replicator_dynamics,
)


def game(first: list[list[float]], second: list[list[float]]) -> MetaGame:
    return MetaGame(np.array(first, dtype=float), np.array(second, dtype=float))


PRISONERS = game([[3, 0], [5, 1]], [[3, 5], [0, 1]])  # cooperate, defect
SEXES = game([[3, 0], [0, 2]], [[2, 0], [0, 3]])
CYCLE = np.array([[0.0, -1, 1], [1, 0, -1], [-1, 1, 0]])  # rock, paper, scissors
ROCK = MetaGame(CYCLE, -CYCLE)
# Tough, fair and soft bargainers: two tough ones break every deal.
BARGAINERS = np.array([[0, 8, 9], [5.5, 7, 8], [4, 6, 7]])
BARGAINING = MetaGame(BARGAINERS, BARGAINERS.T)
# Two drivers dare or give way (Aumann 1974's chicken); seat_0 may also give way late, which is always a bit worse.
CHICKEN = game([[0, 7], [2, 6]], [[0, 2], [7, 6]])
LATE = game([[0, 7], [2, 6], [1.5, 5.5]], [[0, 2], [7, 6], [7, 6]])
# Who gets the larger part: seat_0 may ask for 8 or 5, seat_1 may accept any or only 5 and more.
TABLES = arrays(np.float64, (3, 3), elements=st.integers(0, 10).map(float))


def gains_of(played: MetaGame) -> np.ndarray:
    """What every deviation gains on every pair, points of ten ``[A + B, A * B]``, written out in full."""
    (first, second), (a, b) = played, played.first.shape
    rows = (first[:, None, :] - first[None, :, :]).reshape(a, a * b)
    columns = (second.T[:, :, None] - second[None, :, :]).reshape(b, a * b)
    return np.vstack([rows, columns])


def test_deviation_gains_by_hand():
    deviations = Deviations(*PRISONERS)
    gains = 10 * deviations.gains_on(deviations.pairs)  # pairs cc, cd, dc, dd
    by_hand = [[0, 0, -2, -1], [2, 1, 0, 0], [0, -2, 0, -1], [2, 0, 1, 0]]
    assert gains == pytest.approx(np.array(by_hand)) and gains_of(PRISONERS).tolist() == by_hand


def test_prisoners_dilemma():
    for solve in (max_welfare_cce, nash_bargaining_cce):
        joint = solve(PRISONERS)
        assert joint.chances == pytest.approx(np.array([[0, 0], [0, 1]]), abs=1e-9)
        assert joint.values == pytest.approx((1, 1)) and joint.gap <= 1e-9
    # Against a defector cooperation loses a point.
    for rating in deviation_rating(PRISONERS):
        assert rating == pytest.approx([-1, 0], abs=1e-9)
    assert min(mixture[1] for mixture in replicator_dynamics(PRISONERS, 0.0)) > 0.999


def test_battle_of_the_sexes():
    assert max_welfare_cce(SEXES).welfare == pytest.approx(5)
    joint = nash_bargaining_cce(SEXES)
    assert joint.chances == pytest.approx(np.array([[0.5, 0], [0, 0.5]]), abs=1e-6)
    assert joint.values == pytest.approx((2.5, 2.5), abs=1e-6)
    assert [mixture.tolist() for mixture in joint.mixtures] == [pytest.approx([0.5, 0.5], abs=1e-6)] * 2
    # Taking turns, seat_0 gets 2.5 and would get 1.5 by always naming the first, 1 by always naming the second.
    first, second = deviation_rating(SEXES)
    assert first == pytest.approx([-1, -1.5], abs=1e-9) and second == pytest.approx([-1.5, -1], abs=1e-9)


def test_rock_paper_scissors():
    for joint in (max_welfare_cce(ROCK), nash_bargaining_cce(ROCK)):
        assert joint.values == pytest.approx((0, 0), abs=1e-9)
        for mixture in joint.mixtures:
            assert mixture == pytest.approx([1 / 3] * 3, abs=1e-6)
    for rating in deviation_rating(ROCK):
        assert rating == pytest.approx([0, 0, 0], abs=1e-8)


def test_replicator_dynamics():
    # Against a share p of tough ones: 8 (1 - p) for tough, 7 - 1.5 p for fair; equal at p = 2 / 13.
    assert replicator_dynamics(BARGAINING, 0.0)[0] == pytest.approx([2 / 13, 11 / 13, 0], abs=1e-6)
    won = (np.sign(BARGAINERS - BARGAINERS.T) + 1) / 2
    by_wins, _ = replicator_dynamics(MetaGame(won, won.T), 0.0)
    assert by_wins[0] > 0.999
    assert replicator_dynamics(PRISONERS, 0.1)[0] == pytest.approx([0.05, 0.95], abs=0.01)


@settings(max_examples=25)
@given(TABLES, TABLES, st.lists(st.integers(0, 2), min_size=1, max_size=3))
def test_deviation_rating_is_clone_invariant(first, second, cloned):
    index = np.array([0, 1, 2, *cloned])
    before = deviation_rating(MetaGame(first, second))
    after = deviation_rating(MetaGame(first[np.ix_(index, index)], second[np.ix_(index, index)]))
    for old, new in zip(before, after, strict=True):
        assert np.abs(new - old[index]).max() <= 1e-6


@settings(max_examples=25)
@given(TABLES, TABLES, arrays(np.float64, 3, elements=st.integers(-5, 5).map(float)))
def test_deviation_rating_properties(first, second, constants):
    rating, other = deviation_rating(MetaGame(first, second))
    assert max(rating.max(), other.max()) <= 1e-8
    moved = deviation_rating(MetaGame(first + constants, second))[0]  # a constant per opponent
    assert np.abs(moved - rating).max() <= 1e-6
    for a in range(3):
        for b in range(3):
            if (first[a] >= first[b]).all():
                assert rating[a] >= rating[b] - 1e-8


@settings(max_examples=25)
@given(TABLES, TABLES)
def test_solutions_are_optimal_equilibria(first, second):
    played = MetaGame(first, second)
    welfare, nash = max_welfare_cce(played), nash_bargaining_cce(played)
    for joint in (welfare, nash):
        assert joint.chances.min() >= 0 and joint.chances.sum() == pytest.approx(1)
        assert joint.gap <= 1e-8
        most = float((gains_of(played) @ joint.chances.ravel()).max())
        assert joint.gap == pytest.approx(max(most, 0), abs=1e-8)
    assert welfare.welfare >= nash.welfare - 1e-7
    assert np.prod(nash.values) >= np.prod(welfare.values) - 1e-6


@pytest.mark.parametrize(("size", "seed"), [(3, 0), (4, 21), (6, 20)])
def test_no_equilibrium_has_a_larger_product_than_nash_bargaining(size, seed):
    rng = np.random.default_rng(seed)
    played = MetaGame(10 * rng.random((size, size)), 10 * rng.random((size, size)))
    slope = 1 / np.array(nash_bargaining_cce(played).values)  # of the logarithm of the product, which is concave
    steepest = Equilibria(played).best((float(slope[0]), float(slope[1]))).values
    assert slope @ steepest == pytest.approx(2, abs=1e-3)


def test_game_of_zeros():
    nothing = MetaGame(np.zeros((3, 3)), np.zeros((3, 3)))
    assert nash_bargaining_cce(nothing).values == max_welfare_cce(nothing).values == (0, 0)
    assert deviation_rating(nothing)[0].tolist() == [0, 0, 0]
    alone = game([[4]], [[6]])
    assert max_welfare_cce(alone).values == (4, 6) and nash_bargaining_cce(alone).values == (4, 6)


def test_game_of_crossplay_orientation():
    mean = np.arange(8.0).reshape(2, 2, 2)  # member, seat, opponent
    first, second = game_of(mean)
    assert first[0, 1] == mean[0, 0, 1] and second[0, 1] == mean[1, 1, 0]


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_column_generation_equals_the_full_program(seed):
    """The linear program written out in full: every pair a variable, every deviation a row."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 8, 2)
    played = MetaGame(*rng.integers(0, 11, (2, *shape)).astype(float))
    gains = gains_of(played)
    deviations = Deviations(*played)
    assert deviations.gains_on(deviations.pairs) == pytest.approx(gains / 10)
    prices = rng.random(len(gains))
    assert deviations.price(prices) == pytest.approx(prices @ gains / 10)
    welfare = (played.first + played.second).ravel()
    whole = linprog(-welfare, A_ub=gains, b_ub=np.zeros(len(gains)), A_eq=np.ones((1, len(welfare))), b_eq=[1.0])
    assert max_welfare_cce(played).welfare == pytest.approx(-whole.fun, abs=1e-6)
    strictest = linprog(
        np.append(np.zeros(len(welfare)), 1.0),
        A_ub=np.hstack([gains, -np.ones((len(gains), 1))]),
        b_ub=np.zeros(len(gains)),
        A_eq=np.append(np.ones(len(welfare)), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * len(welfare) + [(None, None)],
    )
    assert np.concatenate(deviation_rating(played)).max() == pytest.approx(strictest.fun, abs=1e-6)


def test_warm_start_does_not_change_results():
    rng = np.random.default_rng(3)
    tables = 10 * rng.random((2, 12, 12))
    fresh, known = MetaGame(*tables), Equilibria(MetaGame(*(tables + rng.normal(0, 0.1, tables.shape))))
    nash_bargaining_cce(known)
    helped = Equilibria(fresh, known.pairs)
    assert nash_bargaining_cce(helped).values == pytest.approx(nash_bargaining_cce(fresh).values, abs=1e-5)
    assert np.concatenate(deviation_rating(helped)) == pytest.approx(np.concatenate(deviation_rating(fresh)), abs=1e-8)


@pytest.mark.parametrize("noise", [1e-6, *(pytest.param(n, marks=pytest.mark.slow) for n in (0.0, 1e-9, 1e-7))])
def test_degenerate_programs_are_solved(noise):
    """Clones, pairs that never deal and rounding make them degenerate; one setting alone fails in some of these."""
    rng = np.random.default_rng(1)
    for _ in range(25):
        size = int(rng.integers(2, 8))
        index = np.concatenate([np.arange(size), rng.integers(0, size, 4)])
        tables = 10 * rng.random((2, size, size)) * (rng.random((size, size)) < 0.6)
        first, second = (table[np.ix_(index, index)] for table in tables)
        played = Equilibria(MetaGame(first + rng.normal(0, noise, first.shape), second))
        assert max(max_welfare_cce(played).gap, nash_bargaining_cce(played).gap) <= 1e-6
        for rating in deviation_rating(played):
            assert max(np.ptp(rating[index == member]) for member in range(size)) <= 1e-6 + 100 * noise


def test_max_gini_cce_of_small_games():
    assert max_gini_cce(PRISONERS).chances == pytest.approx(np.array([[0, 0], [0, 1]]), abs=1e-9)
    assert max_gini_cce(ROCK).chances == pytest.approx(np.full((3, 3), 1 / 9), abs=1e-9)
    nothing_matters = game([[4, 4, 4]], [[6, 6, 6]])
    assert max_gini_cce(nothing_matters).chances == pytest.approx(np.full((1, 3), 1 / 3), abs=1e-9)


def most_even(gains: np.ndarray) -> np.ndarray:
    """The distribution nearest to the even one, by non-negative least squares (Lawson & Hanson 1974, 23.4).

    ``gains[deviations, pairs]``: points of ten, at most 0 on average.
    """
    pairs = gains.shape[1]
    inside = np.vstack([-gains / 10, np.eye(pairs), np.ones((1, pairs))])  # at least 0, and a sum of 1
    target = np.append(np.zeros(pairs), 1.0)
    equations = np.vstack([inside.T, np.append(np.zeros(len(inside) - 1), 1.0)])
    left = equations @ nnls(equations, target)[0] - target
    return -left[:-1] / left[-1]


@pytest.mark.parametrize("seed", range(4))
def test_max_gini_cce_is_the_projection(seed):
    rng = np.random.default_rng(seed)
    drawn = MetaGame(10 * rng.random((4, 5)), 10 * rng.random((4, 5)))
    made = max_gini_cce(drawn)
    assert made.chances.ravel() == pytest.approx(most_even(gains_of(drawn)), abs=1e-6)
    assert made.gap < 1e-5 and made.values == pytest.approx([(made.chances * table).sum() for table in drawn])


def test_max_gini_ce_of_chicken_by_hand():
    """From the even split only "drawn to dare, I give way" gains, so p(dare, give way) = 2 p(dare, dare) binds."""
    assert max_gini_ce(CHICKEN).chances == pytest.approx(np.array([[5, 10], [10, 9]]) / 34, abs=1e-6)
    assert max_gini_ce(CHICKEN).values == pytest.approx([(2 * 10 + 7 * 10 + 6 * 9) / 34] * 2, abs=1e-5)


def test_dominated_members_only_in_coarse_equilibria():
    """Advised to give way late, a seat gives way at once: no correlated equilibrium names it, the coarse one does."""
    made = max_gini_ce(LATE)
    assert made.chances == pytest.approx(np.array([[5, 10], [10, 9], [0, 0]]) / 34, abs=1e-5) and made.gap < 1e-5
    assert max_gini_cce(LATE).chances[2].sum() > 0.05


@pytest.mark.parametrize("seed", range(4))
def test_max_gini_ce_is_the_projection(seed):
    rng = np.random.default_rng(seed)
    drawn = MetaGame(10 * rng.random((3, 4)), 10 * rng.random((3, 4)))
    gains = []  # of every "drawn this, play that", written out
    for seat, table in enumerate(drawn):
        own = np.moveaxis(table, seat, 0)
        for recommended, instead in np.ndindex(len(own), len(own)):
            row = np.zeros_like(own)
            row[recommended] = own[instead] - own[recommended]
            gains.append(np.moveaxis(row, 0, seat).ravel())
    made = max_gini_ce(drawn)
    assert made.chances.ravel() == pytest.approx(most_even(np.array(gains)), abs=1e-6)
    assert (
        made.gap == pytest.approx(max((np.array(gains) @ made.chances.ravel()).max(), 0), abs=1e-9) and made.gap < 1e-5
    )


def test_conditional_mixtures_of_a_draw():
    made = max_gini_ce(CHICKEN)
    opens, answers = made.conditionals((0.0, 0.5))  # seat_1 draws dare; seat_0 gives way
    assert opens == pytest.approx([5 / 15, 10 / 15], abs=1e-6) and answers == pytest.approx([10 / 19, 9 / 19], abs=1e-6)
    often = [made.conditionals(((k + 0.5) / 340, 0.0))[0][0] for k in range(340)]
    assert np.mean(often) == pytest.approx(15 / 34, abs=0.01), "over all draws: how often seat_0 dares"
