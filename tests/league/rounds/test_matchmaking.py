"""Matchmaking rules and their mixtures: probabilities and reasons of practice opponents."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dond_marl.game import Scenario
from dond_marl.scenarios.sources import pack
from league.play.values import FACTS
from league.rounds.matchmaking import RULES, Prospects, Rule, regret, variance
from league.rounds.opponents import GROUPS_OF, mix_branches, prospects
from league.settings.learners import Branch, RuleName
from league.settings.sections import LeagueConfig
from league.standings.crossplay import CrossPlay

KINDS = GROUPS_OF["all"]
FLOOR = LeagueConfig().floor


def facts(scores: np.ndarray) -> np.ndarray:
    """The facts of games of these scores, ``[K, 2]`` points."""
    games = np.zeros(len(scores), dtype=FACTS)
    games["scores"] = scores
    return games


def known(size: int, **changes: object) -> Prospects:
    """A learner that knows nothing of ``size`` opponents, the kinds in turn."""
    nothing = Prospects(
        kinds=tuple(itertools.islice(itertools.cycle(KINDS), size)),
        born=np.arange(size),
        scored=np.full((size, 2), np.nan),
        reachable=np.full((size, 2), np.nan),
        variance=np.full((size, 2), np.nan),
        mixture=np.zeros(size),
        won=np.full((size, 2), np.nan),
    )
    return nothing._replace(**changes)


def both(values: object) -> np.ndarray:
    """One figure per opponent, the same in both seats, ``[N, 2]``."""
    return np.stack([np.array(values, dtype=float)] * 2, axis=1)


def weights(rule: Rule, size: int, **changes: object) -> np.ndarray:
    return rule(known(size, **changes)).weights


def by(rule: RuleName, size: int, floor: float = FLOOR, **changes: object) -> np.ndarray:
    """The chances of all opponents under one rule, mixed as the league does."""
    return mix_branches([Branch(rule, 1.0, "all")], known(size, **changes), floor).chances


# AlphaStar's prioritized fictitious self-play weighs an opponent by (1 - x)**2 or x (1 - x), x being how often it is
# beaten. What the league mixes is equal to that where a game is won (10 points) or lost (0), the points are exact and
# 10 are reachable; as it runs, what is reachable is what a member is known to score.
def test_share_of_games_won():
    """Four games of one scenario, 10 points to each seat: 6 to 4, 3 to 3, no deal at all, 2 to 8."""
    cells = CrossPlay("abc")
    games = facts(np.array([(6, 4), (3, 3), (0, 0), (2, 8)]))
    cells.add(pack([Scenario((1, 1, 3), ((4, 3, 1), (1, 3, 2)))] * 4), [(0, 1)], [games])
    won = cells.payoffs().won
    assert won[0, 0, 1] == 0.5 and won[1, 1, 0] == 0.5 and np.isnan(won[2, 0, 1])
    cells.add(pack([Scenario((1, 1, 3), ((4, 3, 1), (1, 3, 2)))]), [(0, 1)], [facts(np.array([(1, 0)]))])
    known_now = prospects(cells.payoffs(), 0, [1, 2], ["fixed", "fixed"], [0, 0])
    assert known_now.won[0, 0] == pytest.approx(0.6) and np.isnan(known_now.won[1]).all()
    assert weights_of_losses(known_now) == pytest.approx([(0.4**2 + 1) / 2, 1])


def weights_of_losses(learner: Prospects) -> np.ndarray:
    return RULES["losses"](learner).weights


@pytest.mark.parametrize("rule", ["regret", "losses", "variance"])
def test_mixture_from_cells_equals_alphastar(rule):
    """From games to chances: five opponents, beaten in one to nine games of ten; a bystander beats each in half."""
    cells, rng, x = CrossPlay("abcdefg"), np.random.default_rng(0), np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    scenarios = pack([Scenario((1, 1, 3), ((4, 3, 1), (1, 3, 2))), Scenario((2, 1, 1), ((2, 3, 3), (1, 4, 4)))] * 1280)
    for (learner, rates), opponent in itertools.product([(0, x), (1, np.full(5, 0.5))], range(5)):
        won = rng.permutation(2560) < 2560 * rates[opponent]
        for pair, scores in (((learner, 2 + opponent), won), ((2 + opponent, learner), ~won)):
            cells.add(scenarios, [pair], [facts(np.stack([10 * scores, 10 * ~scores], axis=1))])
    figures = prospects(cells.payoffs(), 0, range(2, 7), ("fixed",) * 5, [0] * 5, reached=cells.best_reached())
    made = mix_branches([Branch(rule, 1.0)], figures, 0.0).chances
    hard, open_ = (1 - x) ** 2, x * (1 - x)
    expected = open_ / open_.sum() if rule == "variance" else hard / hard.sum()
    assert made == pytest.approx(expected, abs=0.005)
    if rule == "regret":
        assert made.round(2).tolist() == [0.49, 0.3, 0.15, 0.05, 0.01]


def test_no_regret_against_unbeatable_opponents():
    cells, scenarios = CrossPlay("abc"), pack([Scenario((1, 1, 3), ((4, 3, 1), (1, 3, 2)))] * 50)
    for opponent, (own, theirs) in enumerate([(2, 10), (5, 5)], start=1):
        for pair, scores in (((0, opponent), (own, theirs)), ((opponent, 0), (theirs, own))):
            cells.add(scenarios, [pair], [facts(np.tile(scores, (50, 1)))])
    cells.add(scenarios, [(2, 1)], [facts(np.tile((2, 10), (50, 1)))])
    cells.add(scenarios, [(1, 2)], [facts(np.tile((9, 1), (50, 1)))])
    figures = prospects(cells.payoffs(), 0, [1, 2], ("fixed", "fixed"), [0, 0], reached=cells.best_reached())
    assert figures.reachable[0] == pytest.approx([2, 2]) and figures.reachable[1, 0] == 9
    chances = mix_branches([Branch("regret", 1.0)], figures, 0.0).chances
    assert chances[1] > 0.95


def test_regret_by_hand():
    # 2 and 4 points are left to gain: weights .04 and .16, shares .2 and .8, of nine tenths, and a twentieth each.
    made = by("regret", 2, scored=both([6.0, 4.0]), reachable=both([8.0, 8.0]))
    assert made == pytest.approx([0.9 * 0.2 + 0.05, 0.9 * 0.8 + 0.05])


def test_regret_is_per_seat():
    scored, reachable = np.array([[9.0, 1.0], [5.0, 5.0]]), np.array([[5.0, 5.0], [5.0, 5.0]])
    assert weights(regret, 2, scored=scored, reachable=reachable).tolist() == pytest.approx([0.16 / 2, 0])
    assert weights(variance, 1, variance=np.array([[4.0, 16.0]])).tolist() == pytest.approx([0.1])


def test_unknown_opponents_have_full_regret():
    made = by("regret", 2, scored=both([7.0, np.nan]), reachable=both([8.0, np.nan]))
    assert made[1] > 0.9
    assert weights(regret, 1, scored=both([6.0])).tolist() == pytest.approx([0.16])  # 10 may be reachable
    assert weights(variance, 2, variance=both([np.nan, 24.0])).tolist() == [0.25, 0.24]


@pytest.mark.parametrize("scale", [1e-11, 1.0, 1e300])
def test_probabilities_are_scale_invariant(scale):
    made = by("meta_mixture", 2, mixture=scale * np.array([1.0, 3.0]))
    assert made == pytest.approx([0.9 * 0.25 + 0.05, 0.9 * 0.75 + 0.05])


# Branches and reasons.


@settings(max_examples=100)
@given(st.data())
def test_mixtures_of_branches_add_up(data):
    size, rng = data.draw(st.integers(1, 40)), np.random.default_rng(data.draw(st.integers(0, 1000)))
    nowhere = rng.random((size, 2)) < 0.3
    figures = known(
        size,
        scored=np.where(nowhere, np.nan, 10 * rng.random((size, 2))),
        reachable=np.where(rng.random((size, 2)) < 0.3, np.nan, 10 * rng.random((size, 2))),
        variance=np.where(nowhere, np.nan, 25 * rng.random((size, 2))),
        mixture=rng.random(size),
    )
    branch = st.builds(Branch, st.sampled_from(sorted(RULES)), st.floats(0.01, 1), st.sampled_from(sorted(GROUPS_OF)))
    made = mix_branches(data.draw(st.lists(branch, min_size=1, max_size=4)), figures, FLOOR)
    assert made.chances.sum() == pytest.approx(1) and (made.chances >= FLOOR / size - 1e-12).all()
    for chance, reason in zip(made.chances, made.reasons, strict=True):
        parts = reason.split("; ")
        written = sum(float(part.split("%")[0]) / 100 for part in parts)
        assert written == pytest.approx(chance, abs=0.0006 * len(parts))


def test_main_agent_branches_by_hand():
    # 35 % itself, 65 % by regret among snapshots, one of them with twice as much left to gain; and a floor.
    figures = known(
        4,
        kinds=("self", "past_self", "snapshot", "fixed"),
        scored=np.array([[5.0, 5], [6, 6], [7, 7], [0, 0]]),
        reachable=np.array([[9.0, 9], [8, 8], [8, 8], [10, 10]]),
    )
    made = mix_branches([Branch("self_play", 0.35), Branch("regret", 0.65, "snapshots")], figures, FLOOR)
    assert made.chances == pytest.approx(
        [0.9 * 0.35 + 0.025, 0.9 * 0.65 * 0.8 + 0.025, 0.9 * 0.65 * 0.2 + 0.025, 0.025]
    )
    assert made.reasons == (
        "31.5% self-play; 2.5% floor",
        "46.8% regret: scores 6.00 of 8.00; 2.5% floor",
        "11.7% regret: scores 7.00 of 8.00; 2.5% floor",
        "2.5% floor",
    )


def test_empty_branch_passes_its_share_on():
    figures = known(2, kinds=("self", "fixed"))
    made = mix_branches([Branch("past_selves", 0.5), Branch("self_play", 0.5)], figures, floor=0.0)
    assert made.chances.tolist() == [1, 0] and made.reasons == ("100.0% self-play", "")
    alone = mix_branches([Branch("past_selves", 1.0)], figures, FLOOR)
    assert alone.chances.tolist() == [0.5, 0.5] and alone.reasons[0].startswith("50.0%")


def test_main_exploiter_turns_to_snapshots_of_a_strong_main():
    """AlphaStar's 20 %: of 8 points that some member takes from the main, 1.6 are a fifth; unknown counts as enough."""
    branches = [Branch("within_reach", 0.5, "mains"), Branch("uniform", 0.5, "snapshots")]

    def probabilities(points: float) -> list[float]:
        scored, reachable = both([points, 0.0, 0.0]), both([8.0, 8.0, 8.0])
        figures = known(3, kinds=("main", "snapshot", "snapshot"), scored=scored, reachable=reachable)
        return mix_branches(branches, figures, floor=0.0).chances.tolist()

    assert probabilities(1.6) == probabilities(np.nan) == [0.5, 0.25, 0.25]
    assert probabilities(1.59) == probabilities(0.0) == [0, 0.5, 0.5]


def test_forgotten_by_hand():
    scored, reachable = both([0.0, 2.0, 2.5, 9.0, np.nan]), both([10.0, 8.0, 8.0, 9.0, 9.0])
    made = weights(RULES["forgotten"], 5, scored=scored, reachable=reachable)
    assert made == pytest.approx([1, 0.75**2, 0, 0, 0])


def test_skill_levels():
    """Of one learner 0, 2, 3 and 5 points alone: 3 is the first of at least half of 5; of the other all are known."""
    families = ("", "a", "a", "b", "a", "a", "b")
    alone = np.array([9.0, 0, 2, 4, 3, 5, 4])
    made = weights(RULES["skill_levels"], 7, families=families, alone=alone, born=np.array([0, 1, 4, 1, 7, 10, 4]))
    assert made.tolist() == [0, 1, 0, 1, 1, 1, 1]
    unknown = np.full(7, np.nan)
    made = weights(RULES["skill_levels"], 7, families=families, alone=unknown, born=np.array([0, 1, 4, 1, 7, 10, 4]))
    assert made.tolist() == [0, 1, 0, 1, 1, 1, 1], "the middle one in time"


def test_past_selves_meta_mixture_and_live():
    figures = known(4, kinds=("past_self", "past_self", "live", "fixed"), mixture=np.array([0.0, 0.25, 0.0, 0.75]))
    assert mix_branches([Branch("past_selves", 1.0)], figures, floor=0.0).chances.tolist() == [0.5, 0.5, 0, 0]
    assert mix_branches([Branch("meta_mixture", 1.0)], figures, floor=0.0).chances.tolist() == [0, 0.25, 0, 0.75]
    assert mix_branches([Branch("uniform", 1.0, "live")], figures, floor=0.0).chances.tolist() == [0, 0, 1, 0]


def test_prospects_are_the_learners_figures_by_seat():
    """Points of both seats by (member, opponent); the variance of each is 2/3. Member 3 has no games."""
    scores, rng = {(0, 1): (2, 7), (1, 0): (3, 6), (2, 1): (8, 1), (2, 0): (5, 4)}, np.random.default_rng(0)
    cells, scenarios = CrossPlay("abcd"), pack([Scenario((1, 1, 3), ((4, 3, 1), (1, 3, 2)))] * 600)
    for pair, points in scores.items():
        cells.add(scenarios, [pair], [facts(points + rng.integers(-1, 2, (600, 2)))])
    figures = prospects(
        cells.payoffs(), 0, [1, 2, 3], ("fixed", "past_self", "snapshot"), [0, 2, 4], reached=cells.best_reached()
    )
    assert figures.scored[0] == pytest.approx([2, 6], abs=0.4)
    assert figures.reachable[0, 0] == pytest.approx(8, abs=1)  # member 2 gets 8 where the learner gets 2
    assert np.isnan(figures.scored[1, 0]) and figures.scored[1, 1] == pytest.approx(4, abs=0.4)
    assert np.isnan(figures.scored[2]).all() and np.isnan(figures.variance[1, 0])
    assert figures.variance[0] == pytest.approx([2 / 3, 2 / 3], abs=0.1)
