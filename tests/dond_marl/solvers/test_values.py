"""Values of best responses with bounds, exploitability, the value of information, safety."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.errors import NotComputable
from dond_marl.game import Act, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import lewis_space, open_source
from dond_marl.seats import Traits, decide
from dond_marl.solvers.values import (
    informed_value,
    played_value,
    policy_value,
    response_value,
    safety,
)
from dond_marl.splits import action_at, action_count, grid, grid_size, legal_action_mask
from dond_marl.statistics import points_of_ten
from league.evaluation.exploitability import exploitability_by_seat

LEWIS = open_source("lewis", split="paper_test")
SOME = lewis_space().rows(np.arange(0, 5295, 40))


def test_memoryless_partner_has_an_exact_value():
    for seat, expected in ((0, 7.1042), (1, 7.6402)):
        value = response_value(seat_occupant("boulware"), LEWIS, Rules(), seat)
        assert value.exact and value.low == value.high == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
def test_stochastic_partner_has_bounds_in_long_games():
    partner = seat_occupant("random")
    played = seat_occupant("best_response(to=random)")
    value = response_value(partner, LEWIS, Rules(), 1, {"its response": played, "tough": seat_occupant("tough")})
    assert not value.exact and "its response played" in value.how
    assert value.high - 0.1 < value.low <= value.high
    assert response_value(partner, LEWIS, Rules(3), 1).exact


def test_intractable_partner_has_a_played_lower_bound():
    """The partner remembers, and games go on after a refusal: neither solver applies."""
    partner, rules = seat_occupant("nash_seeker"), Rules(10, "rejects")
    responses = {name: seat_occupant(name) for name in ("tough", "heuristic", "linear")}
    value = response_value(partner, LEWIS, rules, 0, responses)
    best = max(played_value((other, partner), LEWIS, rules, 0) for other in responses.values())
    assert (value.low, value.high, value.exact) == (pytest.approx(best), 10, False)
    assert response_value(partner, LEWIS, rules, 0).low == 0
    assert response_value(partner, LEWIS, Rules(3, "rejects"), 0).exact


def test_declared_memory_gives_exact_values():
    value = response_value(seat_occupant("punisher"), LEWIS, Rules(), 0, {"tough": seat_occupant("tough")})
    assert value.exact and 7.3 < value.low == value.high < 7.5
    drawn = response_value(seat_occupant("personas"), LEWIS, Rules(4), 1)
    assert drawn.exact and drawn.low < 10


def test_uniform_source_has_no_exact_value():
    value = response_value(
        seat_occupant("heuristic"), open_source("uniform"), Rules(), 0, {"self": seat_occupant("heuristic")}
    )
    assert not value.exact and 0 < value.low < value.high == 10


def test_information_has_positive_value():
    """The value of information is exact and never negative; it is zero against a partner that takes anything."""
    for name, turns, seat, least in (("boulware", 3, 0, 0.05), ("boulware", 3, 1, 0.05), ("pushover", 2, 0, 0.0)):
        partner = seat_occupant(name)
        informed, hidden = (f(partner, LEWIS, Rules(turns), seat) for f in (informed_value, response_value))
        assert informed.exact and informed.low - hidden.low >= least - 1e-9
    gambling = seat_occupant("random")
    informed, hidden = (f(gambling, LEWIS, Rules(2), 1) for f in (informed_value, response_value))
    assert informed.low >= hidden.low - 1e-9
    with pytest.raises(NotComputable):
        informed_value(seat_occupant("nash_seeker"), LEWIS, Rules(), 0)


def exploitability_of(name, rules, played=None):
    """Exploitability of an occupant as ``seat_0`` and as ``seat_1``."""
    return exploitability_by_seat(seat_occupant(name), LEWIS, rules, tried=played or {})


def test_exploitability_is_response_minus_self_play():
    """Both bounds are that difference; they meet where the response is exact."""
    for seat, result in enumerate(exploitability_of("stubborn", Rules())):
        alone = played_value((seat_occupant("stubborn"),) * 2, LEWIS, Rules(), seat)
        assert result.self_play == pytest.approx(alone, abs=1e-6)
        assert result.gain == (pytest.approx(result.response.low - alone),) * 2 and result.gain[0] > 0.4
    # Tough leaves only what it does not value itself, and against itself takes nothing of that.
    assert exploitability_of("tough", Rules())[0].gain[0] == pytest.approx(2.7728, abs=1e-4)


def test_safety_names_the_worst_responder():
    zoo = {name: seat_occupant(name) for name in ("pushover", "tough", "heuristic")}
    worst = safety(seat_occupant("pushover"), zoo, LEWIS, Rules())
    assert worst.responder == "tough" and worst.points < 3
    assert safety(seat_occupant("tough"), zoo, LEWIS, Rules()).responder == "tough"


class Ender:
    """Offers, mirrors what it was left, and ENDs, by fixed chances: the final selection matters."""

    traits = Traits(memoryless=True)

    def probs(self, turns, max_count):
        chances = np.zeros((turns.size, action_count(max_count)))
        chances[:, : grid_size(max_count)] = (grid(max_count) == (turns.counts // 2)[:, None]).all(axis=2)
        replying = turns.last_partner_act <= Act.INSIST
        complements = (grid(max_count) == turns.last_partner_offer_for_me[:, None]).all(axis=2)
        chances[:, : grid_size(max_count)] += 3 * complements * replying[:, None]
        chances[:, -1] = 2 * replying
        chances[:, -3] = 0.3 * replying
        chances *= legal_action_mask(turns.counts, turns.act_mask[:, Act.AGREE], max_count)
        return chances / chances.sum(axis=1, keepdims=True)

    def act(self, turns):
        chances = self.probs(turns, 4).cumsum(axis=1)
        number = (chances <= turns.noise[:, :1] * chances[:, -1:]).sum(axis=1)
        return decide(*action_at(number, 4))


@pytest.mark.parametrize("turns", [1, 3, 10])
@pytest.mark.parametrize("pair", [("heuristic", "boulware"), ("stubborn", "heuristic")])
def test_policy_value_equals_deterministic_play(pair, turns):
    partners = tuple(map(seat_occupant, pair))
    rules = Rules(turns)
    games = rollout(partners, SOME, rules, seed=0)
    expected = points_of_ten(games.scores, SOME.pool_values)
    assert policy_value(partners, SOME, rules) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "turns", [3, pytest.param(2, marks=pytest.mark.slow), pytest.param(10, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("pair", [("random", "heuristic"), ("expert(greedy=False)", "nice"), (Ender(), Ender())])
def test_policy_value_agrees_with_many_games(pair, turns):
    partners, rules = tuple(map(seat_occupant, pair)), Rules(turns)
    expected = policy_value(partners, SOME, rules)
    many = SOME.rows(np.repeat(np.arange(SOME.size), 60))
    games = rollout(partners, many, rules, seed=2)
    rare = 40 / many.size  # points of ten: of what is too rare to be seen in so many games
    for seat in (0, 1):
        points = points_of_ten(games.scores, many.pool_values)[:, seat]
        # Scenarios are the same on both sides: what is left is the chance within each.
        within = points - np.repeat(expected[:, seat], 60)
        assert abs(within.mean()) < 4 * within.std() / many.size**0.5 + rare
    if isinstance(pair[0], Ender) and turns > 2:
        assert (games.act[games.deal] == Act.END).any()  # some closed by claims that added up


def test_policy_value_needs_probabilities():
    with pytest.raises(NotComputable):
        policy_value((seat_occupant("micro"), seat_occupant("heuristic")), SOME, Rules())
    with pytest.raises(NotComputable):
        policy_value((seat_occupant("random"), seat_occupant("heuristic")), SOME, Rules(5, "rejects"))
