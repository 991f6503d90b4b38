"""Best responses to partners that gamble: against brute force, against the deterministic solver, against their play."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.batch import GameBatch
from dond_marl.errors import NotComputable
from dond_marl.game import Act, Rules, Scenario
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import lewis_space, open_source, pack
from dond_marl.seats import Traits, decide
from dond_marl.solvers.best_response import OutOfReach, best_response_value
from dond_marl.solvers.contexts import contexts_in, contexts_of
from dond_marl.solvers.odds import Odds, exact_value, upper_bound
from dond_marl.solvers.values import informed_value
from dond_marl.splits import action_at, action_count, action_index, legal_action_mask
from partners.best_response import BestResponse
from partners.mixture import Mixture
from partners.scripted.chance import Random
from tests.dond_marl.solvers.brute_force import by_brute_force

POOL = (1, 1, 1)
TINY = [
    Scenario(POOL, ((2, 3, 5), (4, 2, 4))),
    Scenario(POOL, ((2, 3, 5), (9, 1, 0))),
    Scenario(POOL, ((2, 3, 5), (0, 5, 5))),
    Scenario(POOL, ((6, 4, 0), (4, 2, 4))),
]


class Moody:
    """A memoryless partner with some probability for every legal act, which sees all that it may see."""

    traits = Traits(memoryless=True)

    def __init__(self, mood: int) -> None:
        self.mood = mood

    def probs(self, turns, max_count):
        rows = np.column_stack(
            [turns.counts, turns.my_utilities, turns.last_partner_act, turns.last_partner_offer_for_me]
        )
        turns_left = turns.rules.max_turns - turns.turns_taken
        seeds = [[self.mood, turns_left, *row.tolist()] for row in rows.astype(np.int64)]
        size = action_count(max_count)
        weights = np.array([np.random.default_rng(seed).exponential(size=size) ** 3 for seed in seeds])
        weights[:, -3] *= 9  # AGREE, among so many offers
        weights *= legal_action_mask(turns.counts, turns.act_mask[:, Act.AGREE], max_count)
        return weights / weights.sum(axis=1, keepdims=True)

    def act(self, turns):
        chances = self.probs(turns, 4).cumsum(axis=1)
        number = (chances <= turns.noise[:, :1] * chances[:, -1:]).sum(axis=1)
        return decide(*action_at(number, 4))


def seen_from(seat):
    return [s if seat == 0 else Scenario(s.counts, s.utilities[::-1]) for s in TINY]


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("turns", [1, 2, 3])
def test_value_equals_brute_force(seat, turns):
    table = seen_from(seat)
    for partner in (Moody(1), Moody(2)) if turns < 3 else (Moody(1),):
        expected = by_brute_force([(1, partner)], table, seat, Rules(turns))
        odds = Odds(partner, contexts_in(pack(table), seat), Rules(turns), "")
        assert exact_value(odds, seat) == pytest.approx(expected)
        assert upper_bound(odds, seat) >= expected - 1e-9
        assert (expected == 0) == (turns == 1)


@pytest.mark.parametrize(("turns", "seat"), [(2, 0), (2, 1), (3, 0), pytest.param(3, 1, marks=pytest.mark.slow)])
def test_drawn_partner_equals_brute_force(seat, turns):
    """The drawn member, of two stochastic and two deterministic ones, has to be inferred as well."""
    table, rules = seen_from(seat), Rules(turns)
    members = [Moody(1), seat_occupant("heuristic"), Moody(2), seat_occupant("tough")]
    odds = Odds(Mixture(members), contexts_in(pack(table), seat), rules, "")
    expected = by_brute_force([(1 / 4, member) for member in members], table, seat, rules)
    assert exact_value(odds, seat) == pytest.approx(expected, abs=1e-9)
    assert expected <= upper_bound(odds, seat) + 1e-9
    alone = np.mean([by_brute_force([(1, member)], table, seat, rules) for member in members])
    # Who knows whom it faces gets more, but for a seat that can only take what is offered.
    assert alone >= expected - 1e-9 and (alone > expected + 1e-3 or (turns, seat) == (2, 1))


def test_informed_value_of_a_drawn_partner_is_refused():
    """The value would reveal the drawn member as well."""
    with pytest.raises(NotComputable, match="probs"):
        informed_value(Mixture(["random", "heuristic"]), open_source("lewis"), Rules(2), 0)


@pytest.mark.slow
@pytest.mark.parametrize("seat", [0, 1])
def test_four_turns_are_what_brute_force_finds(seat):
    table = seen_from(seat)[:2]
    expected = by_brute_force([(1, Moody(3))], table, seat, Rules(4))
    assert exact_value(Odds(Moody(3), contexts_in(pack(table), seat), Rules(4), ""), seat) == pytest.approx(expected)


@pytest.mark.parametrize("turns", [2, 3, 4])
@pytest.mark.parametrize("name", ["heuristic", "stubborn(late=2)"])
def test_deterministic_partner_has_the_same_value(name, turns):
    """Two ways to one number, over a part of the legal space."""
    partner, table = seat_occupant(name), lewis_space().rows(np.arange(0, 5295, 60))
    for seat in (0, 1):
        contexts = contexts_in(table, seat)
        odds = Odds(partner, contexts, Rules(turns), "lewis")
        expected = best_response_value(partner, contexts, seat, Rules(turns))
        assert exact_value(odds, seat) == pytest.approx(expected, abs=1e-9)
        assert upper_bound(odds, seat) >= expected - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "turns"),
    [("expert(greedy=False)", 3), ("random", 4), ("mixture(of=[random, nice, tough])", 4)],
)
def test_played_points_lie_in_the_interval(name, turns):
    partner, space = seat_occupant(name), lewis_space()
    for seat in (0, 1):
        odds = Odds(partner, contexts_in(space, seat), Rules(turns), "lewis")
        pair = (BestResponse(partner), partner) if seat == 0 else (partner, BestResponse(partner))
        earned = rollout(pair, space, Rules(turns), seed=1).scores[:, seat]
        assert abs(earned.mean() - exact_value(odds, seat)) < 3.3 * earned.std() / space.size**0.5


@pytest.mark.slow
def test_long_games_stay_below_the_upper_bound():
    partner, space = seat_occupant("expert(greedy=False)"), lewis_space()
    for seat in (0, 1):
        bound = upper_bound(Odds(partner, contexts_in(space, seat), Rules(), "lewis"), seat)
        pair = (BestResponse(partner), partner) if seat == 0 else (partner, BestResponse(partner))
        earned = rollout(pair, space, seed=1).scores[:, seat]
        assert bound - 0.3 < earned.mean() < bound + 3 * earned.std() / space.size**0.5


def test_stated_probabilities_match_play():
    """Their probabilities against how often each act comes, on one table."""
    scenario = pack([Scenario((1, 2, 1), ((2, 3, 2), (4, 1, 4)))], "lewis")
    many = scenario.rows(np.zeros(40_000, dtype=np.int64))
    for name in ("random", "nice"):
        partner, table = seat_occupant(name), GameBatch(many)
        for turn in range(2):
            rng = np.random.default_rng(turn)
            turns = table.turns(rng.random((many.size, 8)), rng.random((many.size, 8)))
            decisions, chances = partner.act(turns), partner.probs(turns, 2)[0]
            numbers = action_index(decisions.act_type, decisions.oA, 2)
            often = np.bincount(numbers, minlength=action_count(2)) / many.size
            assert chances.sum() == pytest.approx(1)
            assert np.abs(often - chances).max() < 0.01 and (often[chances == 0] == 0).all()
            table.step(decide(np.zeros(many.size), np.tile([1, 0, 1], (many.size, 1))))


def test_probabilities_that_are_none_are_refused():
    class Odd(Random):
        def probs(self, turns, max_count):
            return 2 * super().probs(turns, max_count)

    with pytest.raises(NotComputable):
        exact_value(Odds(Odd(), contexts_in(pack(TINY), 0), Rules(2), ""), 0)


def test_partners_without_probabilities_are_refused():
    contexts = contexts_in(pack(TINY), 0)
    for name, rules in (("micro", Rules()), ("nash_seeker", Rules()), ("random", Rules(4, "rejects"))):
        with pytest.raises(NotComputable):
            Odds(seat_occupant(name), contexts, rules, "")
    with pytest.raises(NotComputable):
        exact_value(Odds(seat_occupant("random"), contexts, Rules(5), ""), 0)
    scenarios = open_source("uniform").draw(np.random.default_rng(0), 20)
    wide = contexts_of("uniform", scenarios.counts, scenarios.utilities[:, 0])
    with pytest.raises(OutOfReach):
        Odds(seat_occupant("random"), wide, Rules(), "uniform")
