"""Take and give, distinctness, and bootstrap intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dond_marl.statistics import Estimates
from league.figures.tally import scenario_weights, with_interval, with_wide_interval
from league.standings.meta_game import Equilibria, deviation_rating, game_of, max_welfare_cce
from league.standings.ratings import RELIABLE, RIDGE, Payoffs, distinctness, elo, take_give


def test_take_give_by_hand():
    # One member against itself: 7 points in seat_0, 3 in seat_1, in n games each: weight w = n / (n + 8). The base is
    # 5; the seats' difference d satisfies (w / 2 + ridge) d = w / 2 * (7 - 3).
    n = 24.0
    fit = take_give(np.array([[[7.0], [3.0]]]), np.full((1, 2, 1), n))
    w = n / (n + RELIABLE)
    difference = (w / 2 * 4) / (w / 2 + RIDGE)
    assert fit.base == pytest.approx(5) and fit.seat == pytest.approx([difference / 2, -difference / 2])
    assert fit.take == pytest.approx([0]) and fit.give == pytest.approx([0])


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_additive_tables_are_recovered(seed):
    rng, size = np.random.default_rng(seed), 12
    take, give = rng.normal(0, 1, (2, size))
    take, give = take - take.mean(), give - give.mean()
    mean = 5 + np.array([0.4, -0.4])[None, :, None] + take[:, None, None] + give[None, None, :]
    games = np.where(rng.random((size, 2, size)) < 0.8, 1000.0, 0.0)
    fit = take_give(np.where(games > 0, mean, np.nan), games)
    assert fit.take == pytest.approx(take, abs=0.15) and fit.give == pytest.approx(give, abs=0.15)
    assert np.abs(fit.predictions() - mean).max() < 0.4


def test_member_without_games():
    mean, games = np.full((3, 2, 3), 5.0), np.full((3, 2, 3), 10.0)
    mean[2], mean[:, :, 2], games[2], games[:, :, 2] = np.nan, np.nan, 0, 0
    fit = take_give(mean, games)
    assert np.isnan(fit.take).tolist() == np.isnan(fit.give).tolist() == [False, False, True]
    assert fit.predictions()[2, 0, 0] == pytest.approx(5)


def table_of(rng: np.random.Generator, size: int) -> np.ndarray:
    """Takes and gives with what every pair has of its own besides."""
    take, give = rng.normal(0, 1.5, (2, size))
    mean = 5 + np.array([0.4, -0.4])[:, None] + take[:, None, None] + give + rng.normal(0, 0.5, (size, 2, size))
    return np.clip(mean, 0, 10)


def played_as(mean: np.ndarray, rng: np.random.Generator, games: float) -> Payoffs:
    """Payoffs as they look after so many games of each cell."""
    everywhere, variance = np.full(mean.shape, games), np.full(mean.shape, 4.0)
    scored = mean + rng.normal(0, 2 / games**0.5, mean.shape)
    return Payoffs(scored, everywhere, variance, variance / games, scored / 10)


@pytest.mark.parametrize("seed", range(5))
def test_clones_do_not_change_take_give(seed):
    rng, index = np.random.default_rng(seed), np.array([*range(12), *[0] * 5])
    mean = table_of(rng, 12)
    games = np.full(mean.shape, 400.0)
    cloned = mean[np.ix_(index, (0, 1), index)]
    counted = distinctness(Payoffs(cloned, np.full(cloned.shape, 400.0), *[np.zeros(cloned.shape)] * 3))
    assert counted == pytest.approx([1 / 6, *[1] * 11, *[1 / 6] * 5])
    before, after = take_give(mean, games), take_give(cloned, np.full(cloned.shape, 400.0), counted)
    naive = take_give(cloned, np.full(cloned.shape, 400.0))
    assert np.abs(after.take - before.take[index]).max() <= 1e-9
    assert np.abs(after.give - before.give[index]).max() <= 1e-9
    assert np.abs(naive.take - before.take[index]).max() > 0.02  # it does not go without saying


@pytest.mark.parametrize("seed", range(5))
def test_distinctness_of_noisy_clones(seed):
    rng, index = np.random.default_rng(seed), np.array([*range(12), *[0] * 5])
    mean = table_of(rng, 12)
    cloned = played_as(mean[np.ix_(index, (0, 1), index)], rng, 20_000)
    before = take_give(mean, np.full(mean.shape, 20_000.0))
    after = take_give(cloned.mean, cloned.games, distinctness(cloned))
    assert np.abs(after.take - before.take[index]).max() <= 0.02
    assert np.abs(after.give - before.give[index]).max() <= 0.02
    few = distinctness(played_as(mean[np.ix_(index, (0, 1), index)], rng, 100))
    assert few[[0, *range(12, 17)]].sum() == pytest.approx(1, abs=0.5)  # though noise is as large as what tells apart
    assert few[1:12].min() > 0.8


def test_distinctness_without_common_cells():
    mean, nothing = np.full((3, 2, 3), np.nan), np.zeros((3, 2, 3))
    mean[0, 0, 1] = 5.0
    assert distinctness(Payoffs(mean, *[nothing] * 4)).tolist() == [1, 1, 1]


def test_fit_with_one_seat_order():
    mean, games = np.full((2, 2, 2), np.nan), np.zeros((2, 2, 2))
    mean[0, 0, 1], games[0, 0, 1] = 6.0, 10.0
    assert np.isfinite(take_give(mean, games).predictions()).all()


def test_elo_recovers_the_odds_of_games():
    rng, strengths = np.random.default_rng(0), np.array([1300.0, 1450, 1550, 1700])
    chance = 1 / (1 + 10 ** ((strengths[None, :] - strengths[:, None]) / 400))

    def drawn(games: int) -> Payoffs:
        won = np.full((4, 2, 4), 0.5)
        for a, b in zip(*np.triu_indices(4, 1), strict=True):
            for seat in (0, 1):
                won[a, seat, b] = rng.binomial(games, chance[a, b]) / games
                won[b, 1 - seat, a] = 1 - won[a, seat, b]
        alone = np.full((4, 2, 4), float(games))
        return Payoffs(won * 10, alone, np.full_like(won, 4.0), 4.0 / alone, won)

    rated = elo(drawn(1_000_000))
    assert rated.rating == pytest.approx(strengths, abs=10)  # a tenth of a drawn game holds the ends in
    assert rated.rating.mean() == pytest.approx(1500)
    fits = [elo(drawn(200)) for _ in range(200)]
    spread = np.std([fit.rating for fit in fits], axis=0)
    assert np.mean([fit.error for fit in fits], axis=0) == pytest.approx(spread, rel=0.2)


def test_elo_of_who_wins_all_is_finite_and_of_draws_is_the_mean():
    games = np.full((3, 2, 3), 50.0)
    games[:, :, 2] = games[2] = 0  # the third has not played
    won = np.full((3, 2, 3), 0.5)
    equal = elo(Payoffs(won, games, won, won / 50, won))
    assert equal.rating[:2] == pytest.approx([1500, 1500]) and np.isnan(equal.rating[2])
    won[0, :, 1], won[1, :, 0] = 1.0, 0.0
    ahead = elo(Payoffs(won, games, won, won / 50, won))
    assert 1600 < ahead.rating[0] < 2500 and ahead.rating[:2].sum() == pytest.approx(3000) and ahead.error[0] > 0


# -- Intervals of ratings and of the meta-game hold the truth as often as they say, or more oft


SAYS = 0.95


def held(rated: Estimates, truth: np.ndarray) -> np.ndarray:
    return (rated.low - 1e-9 <= truth) & (truth <= rated.high + 1e-9)


def means(rng: np.random.Generator, truth: np.ndarray, groups: int, replicates: int) -> tuple[np.ndarray, np.ndarray]:
    """A table of means as a league of so many groups of scenarios shows it, and its replicates."""
    brought = truth + rng.normal(0, 1.5, (groups, 1, 1, 1)) + rng.normal(0, 2.5, (groups, *truth.shape))
    weights = scenario_weights(rng, replicates)[:, :groups]
    return brought.mean(axis=0), np.tensordot(weights / weights.sum(axis=1, keepdims=True), brought, 1)


def drawn_table(rng: np.random.Generator, size: int, clones: bool) -> np.ndarray:
    take = rng.normal(5.5, 0.7, (size, 1, 1))
    table = np.clip(take + rng.normal(0, 0.5, (size, 2, 1)) + rng.normal(0, 0.8, (size, 2, size)), 0, 10)
    alike = np.arange(size) % (size // 2)
    return table[np.ix_(alike, (0, 1), alike)] + rng.normal(0, 0.03, table.shape) if clones else table


@pytest.mark.slow
def test_coverage_of_take_and_give():
    rng, hits = np.random.default_rng(0), []
    games = np.full((5, 2, 5), 400.0)
    for _ in range(400):
        truth = drawn_table(rng, 5, clones=False)
        mean, draws = means(rng, truth, 300, 200)
        value, real = (take_give(table, games) for table in (mean, truth))
        again = [take_give(table, games) for table in draws]
        for name in ("take", "give"):
            drawn = np.stack([getattr(fit, name) for fit in again])
            hits.append(held(with_interval(getattr(value, name), drawn, SAYS, enough=True), getattr(real, name)))
    assert 0.93 <= np.mean(hits) <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("clones", [False, True])
def test_coverage_of_the_meta_game(clones):
    """Where members are about equally good these figures turn, and their intervals are wide by intent."""
    rng = np.random.default_rng(clones)
    hits: dict[str, list[np.ndarray]] = {}

    def figures(table: np.ndarray) -> dict[str, np.ndarray]:
        equilibria = Equilibria(game_of(table))
        best = max_welfare_cce(equilibria)
        return {
            "deviation": np.concatenate(deviation_rating(equilibria)),
            "welfare": np.array([best.welfare]),
            "values": np.array(best.values),
            "shares": np.concatenate(best.mixtures),
        }

    ranges = {"deviation": (-10.0, 0.0), "shares": (0.0, 1.0)}
    for _ in range(60 if clones else 100):  # minutes; a figure that is one number is then known to +-5 %
        truth = drawn_table(rng, 4, clones)
        mean, draws = means(rng, truth, 300, 40)
        value, real, again = figures(mean), figures(truth), [figures(table) for table in draws]
        for name, own in value.items():
            drawn = np.stack([other[name] for other in again])
            rated = with_wide_interval(own, drawn, SAYS, enough=True, within=ranges.get(name, (0.0, 20.0)))
            assert (rated.low <= own).all() and (own <= rated.high).all()
            hits.setdefault(name, []).append(held(rated, real[name]))
    for name, each in hits.items():
        assert np.mean(each) >= 0.93, f"{name}: {np.mean(each):.1%}"
