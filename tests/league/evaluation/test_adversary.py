"""A trained exploiter gains from policies with and without memory, at most what an exact best response does."""

from __future__ import annotations

from functools import partial

import pytest

from dond_marl.occupants import seat_occupant
from league.bench.run import exploitability_of, submission_of_spec
from league.evaluation.adversary import adversary_gains, exploiter_points

FEW = 2_000  # decisions


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
    assert min(gains["gain"]) >= 0 and gains["chosen"] == [1, 1]


@pytest.mark.slow
def test_workers_change_no_gain():
    first, second = (
        adversary_gains(partial(seat_occupant, "pushover"), seeds=(1, 2), decisions=FEW, workers=workers)
        for workers in (1, 2)
    )
    assert first == second


@pytest.mark.slow
def test_trained_exploiter_nearly_gains_what_a_best_response_does():
    submission = submission_of_spec("heuristic")
    exact = exploitability_of(submission.player, submission.blobs)
    gains = adversary_gains(submission.partner, workers=2)
    assert exact is not None and 0.9 <= gains["at_least"] / exact["nashconv"] <= 1 + 1e-9
