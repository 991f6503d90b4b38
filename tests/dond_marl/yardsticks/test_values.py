"""What could be had: values with bounds, exploitability, the value of information, safety."""

from __future__ import annotations

import pytest

from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import open_source
from dond_marl.yardsticks.values import exploitability, played_value, response_value, safety, told_value

LEWIS = open_source("lewis", split="heldout")


def test_a_partner_that_forgets_has_an_exact_best_response():
    for seat, expected in ((0, 7.1042), (1, 7.6402)):
        value = response_value(seat_occupant("boulware"), LEWIS, Rules(), seat)
        assert value.exact and value.low == value.high == pytest.approx(expected, abs=1e-4)


def test_the_split_makes_no_difference_to_what_a_seat_believes():
    partner = seat_occupant("stubborn")
    whole = response_value(partner, open_source("lewis", split="all"), Rules(4), 0)
    assert response_value(partner, LEWIS, Rules(4), 0) == whole


def test_a_partner_that_gambles_has_bounds_in_long_games():
    partner = seat_occupant("random")
    played = seat_occupant("best_response(to=random)")
    value = response_value(partner, LEWIS, Rules(), 1, {"its response": played, "tough": seat_occupant("tough")})
    assert not value.exact and "its response played" in value.how
    assert value.high - 0.1 < value.low <= value.high
    assert response_value(partner, LEWIS, Rules(3), 1).exact


def test_a_partner_that_remembers_has_only_what_was_played_below():
    partner = seat_occupant("nash_seeker")
    responses = {name: seat_occupant(name) for name in ("tough", "heuristic", "linear")}
    value = response_value(partner, LEWIS, Rules(), 0, responses)
    best = max(played_value((other, partner), LEWIS, Rules(), 0) for other in responses.values())
    assert (value.low, value.high, value.exact) == (pytest.approx(best), 10, False)
    assert response_value(partner, LEWIS, Rules(), 0).low == 0
    assert response_value(partner, LEWIS, Rules(3), 0).exact


def test_the_uniform_source_has_no_end_to_be_exact_about():
    value = response_value(
        seat_occupant("heuristic"), open_source("uniform"), Rules(), 0, {"self": seat_occupant("heuristic")}
    )
    assert not value.exact and 0 < value.low < value.high == 10


def test_to_know_the_partners_values_is_worth_something():
    """Exact, and never negative; against who takes anything there is nothing to know."""
    for name, least in (("boulware", 0.05), ("pushover", 0.0)):
        partner = seat_occupant(name)
        for seat in (0, 1):
            told, hidden = (f(partner, LEWIS, Rules(), seat) for f in (told_value, response_value))
            assert told.exact and told.low - hidden.low >= least - 1e-9
    gambling = seat_occupant("random")
    assert told_value(gambling, LEWIS, Rules(3), 1).low >= response_value(gambling, LEWIS, Rules(3), 1).low
    with pytest.raises(ValueError, match="without memory"):
        told_value(seat_occupant("nash_seeker"), LEWIS, Rules(), 0)


def test_exploitability_is_what_a_response_gains_over_self_play():
    """In both bounds, which meet where the response is exact."""
    for seat in (0, 1):
        found = exploitability(seat_occupant("stubborn"), LEWIS, Rules(), seat)
        alone = played_value((seat_occupant("stubborn"),) * 2, LEWIS, Rules(), seat)
        assert found.self_play == pytest.approx(alone, abs=1e-6)
        assert found.gain == (pytest.approx(found.response.low - alone),) * 2 and found.gain[0] > 0.4
    # Tough leaves only what it does not value itself, and against itself takes nothing of that.
    assert exploitability(seat_occupant("tough"), LEWIS, Rules(), 0).gain[0] == pytest.approx(2.7728, abs=1e-4)


def test_exploitability_of_who_remembers_is_at_least_zero():
    found = exploitability(seat_occupant("nash_seeker"), LEWIS, Rules(), 1, {"tough": seat_occupant("tough")})
    assert 0 <= found.gain[0] <= found.gain[1] and not found.response.exact


def test_safety_names_the_one_that_leaves_least():
    zoo = {name: seat_occupant(name) for name in ("pushover", "tough", "heuristic")}
    worst = safety(seat_occupant("pushover"), zoo, LEWIS, Rules())
    assert worst.responder == "tough" and worst.points < 3
    assert safety(seat_occupant("tough"), zoo, LEWIS, Rules()).responder == "tough"
