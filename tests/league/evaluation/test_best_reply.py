"""Best responses to a policy: exact ones, and those that an adversary learns."""

from __future__ import annotations

from functools import partial

import pytest

from dond_marl.errors import NotComputable
from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import lewis_space, open_source
from dond_marl.solvers.best_response import best_response_value
from dond_marl.solvers.contexts import prior_contexts
from dond_marl.solvers.values import response_value
from league.bench.run import exploitability_of, submission_of_spec
from league.evaluation.adversary import adversary_gains, exploiter_points
from league.evaluation.exploitability import best_known_response, response_values

LEWIS = open_source("lewis", split="paper_test")
RULES = Rules(6)


@pytest.mark.parametrize(
    "name", ["tough", *(pytest.param(name, marks=pytest.mark.slow) for name in ("linear", "pushover"))]
)
def test_response_value_is_exact(name):
    partner = seat_occupant(name)
    reply = best_known_response(partner, LEWIS, RULES)
    assert reply.exact
    for seat, value in enumerate(response_values(partner, LEWIS, RULES, reply, {})):
        expected = best_response_value(partner, prior_contexts(LEWIS, seat), seat, RULES, prior=LEWIS.prior)
        assert value.exact and value.low == value.high == expected
        assert value == response_value(partner, LEWIS, RULES, seat)


def test_memory_has_no_response_by_odds():
    assert not best_known_response(seat_occupant("random"), LEWIS, Rules()).exact
    assert best_known_response(seat_occupant("random"), LEWIS, Rules(4)).exact
    with pytest.raises(NotComputable):
        best_known_response(seat_occupant("micro"), LEWIS, Rules())
    with pytest.raises(NotComputable):
        best_known_response(seat_occupant("linear"), open_source("uniform"), Rules())


def test_revealed_values_replace_the_prior():
    reply = best_known_response(seat_occupant("linear"), LEWIS, RULES, revealed=True)
    hidden, linear = best_known_response(seat_occupant("linear"), LEWIS, RULES), seat_occupant("linear")
    noise = {"seed": 0, "index": (0,)}
    games = rollout((reply.players[0], linear), LEWIS.table, RULES, reveal_partner_utilities=True, **noise)
    blind = rollout((hidden.players[0], linear), LEWIS.table, RULES, **noise)
    assert games.scores[:, 0].mean() > blind.scores[:, 0].mean()


@pytest.mark.slow
def test_declared_memory_is_exact():
    """Over the whole space there is no chance left: played, it earns its value."""
    partner = seat_occupant("punisher")
    reply = best_known_response(partner, LEWIS, Rules())
    assert reply.exact
    for seat, value in enumerate(response_values(partner, LEWIS, Rules(), reply, {})):
        assert value.exact and value == response_value(partner, LEWIS, Rules(), seat)._replace(how=value.how)
        pair = (reply.players[0], partner) if seat == 0 else (partner, reply.players[1])
        games = rollout(pair, lewis_space(), seed=0)
        assert games.scores[:, seat].mean() == pytest.approx(value.low, abs=1e-9)


# -- A trained exploiter gains from policies with and without memory, at most what an exact bes


FEW = 1_000  # decisions


def test_best_of_the_seeds_gains_from_an_easy_policy():
    first, second = (
        adversary_gains(partial(seat_occupant, "pushover"), seeds=seeds, decisions=FEW) for seeds in ((1, 2), (2,))
    )
    assert all(few <= many for few, many in zip(second["gain"], first["gain"], strict=True))  # the better of the seeds
    assert first["at_least"] == pytest.approx(sum(first["gain"])) and min(first["gain"]) > 0
    assert (first["decisions"], first["seeds"]) == (FEW, [1, 2]) and set(first["chosen"]) <= {1, 2}
    submission = submission_of_spec("pushover")
    exact = exploitability_of(submission.player, submission.blobs)
    assert exact is not None and first["self_play"] == pytest.approx(exact["self_play"])
    assert all(found <= most + 1e-9 for found, most in zip(first["gain"], exact["gain"], strict=True))


def test_choice_and_measurement_of_a_random_policy_have_other_noise():
    chosen, measured = exploiter_points(partial(seat_occupant, "random"), 1, FEW)
    assert chosen != measured and chosen == pytest.approx(measured, abs=0.5)


def test_gain_from_a_policy_with_memory_is_not_negative():
    gains = adversary_gains(partial(seat_occupant, "concession_rule"), seeds=(1,), decisions=FEW)
    assert min(gains["gain"]) >= 0


@pytest.mark.slow
def test_trained_exploiter_nearly_gains_what_a_best_response_does():
    submission = submission_of_spec("heuristic")
    exact = exploitability_of(submission.player, submission.blobs)
    gains = adversary_gains(submission.partner, workers=2)
    assert exact is not None and 0.9 <= gains["at_least"] / exact["nashconv"] <= 1 + 1e-9
