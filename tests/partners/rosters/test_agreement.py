"""How often two partners do the same, where one of them plays."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.game import Act, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.seats import decide
from partners.rosters.draw import CandidatePlay, same_decisions, scenario_sample

FEW = scenario_sample(60)


def play(name: str) -> CandidatePlay:
    return CandidatePlay(seat_occupant(name), FEW)


def test_insist_is_propose_and_a_split_counts_only_in_offers():
    one = decide(np.array([Act.PROPOSE, Act.PROPOSE, Act.INSIST, Act.AGREE, Act.AGREE, Act.END]), np.eye(6, 3))
    two = decide(np.array([Act.INSIST, Act.PROPOSE, Act.AGREE, Act.AGREE, Act.END, Act.END]), np.eye(6, 3, k=0))
    assert same_decisions(one, two).tolist() == [True, True, False, True, False, True]
    moved = decide(two.act_type, np.eye(6, 3, k=1))
    assert same_decisions(one, moved).tolist() == [False, False, False, True, False, True]


@pytest.mark.parametrize("name", ["heuristic", "nice_tit_for_tat", "random", "mixture(of=['tough', 'nice'])"])
def test_self_agreement_is_one(name):
    assert play(name).share(seat_occupant(name)) == 1.0


def test_insist_only_difference_is_a_copy():
    # Stubborn never comes down if none but the first of its turns is late: it INSISTs on all that it values, as tough
    # PROPOSEs it, and neither takes less than everything.
    assert play("tough").share(seat_occupant("stubborn(floor=1.0)")) == 1.0


def test_agreement_is_asymmetric():
    # All that nice agrees to it agrees to at once, pushover too; pushover's own claims are nobody's but its own.
    nice, pushover = seat_occupant("nice"), seat_occupant("pushover")
    assert play("nice").share(pushover) != play("pushover").share(nice)


def test_the_share_is_over_all_decisions_in_both_seats():
    # In one turn seat_0 claims and that is all: half of the decisions are never asked for.
    opening = CandidatePlay(seat_occupant("heuristic"), FEW, Rules(max_turns=1))
    assert opening.decisions == FEW.size and opening.share(seat_occupant("first_acceptable_offer")) == 1.0
    whole = play("heuristic")
    assert whole.decisions > 2 * FEW.size and 0.9 < whole.share(seat_occupant("first_acceptable_offer")) < 1


def test_the_scenarios_are_at_equal_distances():
    assert (
        scenario_sample(5295).size == 5295
        and scenario_sample(1324).size == 1324
        and scenario_sample(10**6).size == 5295
    )
