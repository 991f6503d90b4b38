"""The rules, worked by hand, and what they refuse.

The drawings read: who says what, always naming what the *speaker* keeps. The pool of most games is 1 book, 2 hats,
3 balls; seat_0 values them 4, 3, 0 (10 in all), seat_1 values them 1, 0, 3 (10 in all).
"""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from dond_marl.game import (
    Act,
    Action,
    Ending,
    IllegalAct,
    Rules,
    Scenario,
    State,
    apply,
    forfeit,
    legal_actions,
)

TABLE = Scenario((1, 2, 3), ((4, 3, 0), (1, 0, 3)))
AGREE, DISAGREE, END = Action(Act.AGREE), Action(Act.DISAGREE), Action(Act.END)


def propose(*oA: int) -> Action:
    return Action(Act.PROPOSE, oA)


def insist(*oA: int) -> Action:
    return Action(Act.INSIST, oA)


def played(*said: Action, rules: Rules = Rules(), scenario: Scenario = TABLE) -> State:
    state = State(scenario, rules)
    for action in said:
        assert not state.over, f"the game was over before {action}"
        state = apply(state, action)
    return state


def result(state: State) -> tuple[Ending, tuple | None, tuple[int, int]]:
    assert state.outcome is not None
    return state.outcome.ending, state.outcome.allocation, state.outcome.scores


# --- Worked games ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offer", [propose, insist])
def test_agree_gives_the_speaker_of_the_offer_what_it_claimed_and_the_rest_to_the_other(offer):
    #   seat_0: PROPOSE/INSIST  keep 1 book 2 hats 0 balls   -> offers 0 0 3
    #   seat_1: AGREE           seat_0: 4 + 2*3 = 10         seat_1: 3*3 = 9
    assert result(played(offer(1, 2, 0), AGREE)) == (Ending.AGREE, ((1, 2, 0), (0, 0, 3)), (10, 9))


def test_seat_0_may_agree_to_seat_1():
    #   seat_0: PROPOSE  keep 1 2 3
    #   seat_1: PROPOSE  keep 1 0 3    -> offers 0 2 0
    #   seat_0: AGREE    seat_0: 2*3 = 6    seat_1: 1 + 3*3 = 10
    state = played(propose(1, 2, 3), propose(1, 0, 3), AGREE)
    assert result(state) == (Ending.AGREE, ((0, 2, 0), (1, 0, 3)), (6, 10))


def test_only_the_latest_offer_is_on_the_table():
    #   seat_0: PROPOSE  keep 1 2 3
    #   seat_1: PROPOSE  keep 1 2 3
    #   seat_0: INSIST   keep 0 2 0    replaces keep 1 2 3
    #   seat_1: AGREE    seat_0: 6    seat_1: 1 + 9 = 10
    state = played(propose(1, 2, 3), propose(1, 2, 3), insist(0, 2, 0), AGREE)
    assert result(state) == (Ending.AGREE, ((0, 2, 0), (1, 0, 3)), (6, 10))


def test_agree_requires_an_offer():
    #   seat_0: AGREE    nothing was said yet
    with pytest.raises(IllegalAct, match="AGREE needs"):
        played(AGREE)


def test_disagree_ends_the_game_without_pay():
    #   seat_0: PROPOSE  keep 0 0 0    a gift
    #   seat_1: DISAGREE
    assert result(played(propose(0, 0, 0), DISAGREE)) == (Ending.DISAGREE, None, (0, 0))
    assert result(played(DISAGREE)) == (Ending.DISAGREE, None, (0, 0))


def test_disagree_ends_the_game_even_with_claims_that_add_up():
    #   seat_0: PROPOSE  keep 1 2 0
    #   seat_1: PROPOSE  keep 0 0 3    adds up to the pool
    #   seat_0: DISAGREE
    assert result(played(propose(1, 2, 0), propose(0, 0, 3), DISAGREE)) == (Ending.DISAGREE, None, (0, 0))


def test_disagree_that_only_rejects_lets_play_go_on_and_withdraws_the_offer():
    #   seat_0: PROPOSE   keep 1 2 0
    #   seat_1: DISAGREE  goes on
    #   seat_0: AGREE     illegal: seat_1's last act is no offer
    rules = Rules(disagree="rejects")
    state = played(propose(1, 2, 0), DISAGREE, rules=rules)
    assert not state.over and state.mover == 0
    with pytest.raises(IllegalAct, match="DISAGREE"):
        apply(state, AGREE)
    #   seat_0: DISAGREE  rejects nothing, which is legal
    #   seat_1: AGREE     illegal: the rejected offer cannot be agreed to any more
    state = apply(state, DISAGREE)
    with pytest.raises(IllegalAct, match="DISAGREE"):
        apply(state, AGREE)


def test_a_rejected_claim_stays_its_owners_selection():
    #   seat_0: PROPOSE   keep 1 2 0
    #   seat_1: DISAGREE
    #   seat_0: DISAGREE
    #   seat_1: PROPOSE   keep 0 0 3
    #   seat_0: END       1 2 0 + 0 0 3 = the pool: a deal
    rules = Rules(disagree="rejects")
    state = played(propose(1, 2, 0), DISAGREE, DISAGREE, propose(0, 0, 3), END, rules=rules)
    assert result(state) == (Ending.END, ((1, 2, 0), (0, 0, 3)), (10, 9))


def test_end_is_a_deal_where_the_latest_claims_add_up_to_the_pool():
    #   seat_0: PROPOSE  keep 1 2 3
    #   seat_1: PROPOSE  keep 0 0 3
    #   seat_0: INSIST   keep 1 2 0    replaces keep 1 2 3
    #   seat_1: END      1 2 0 + 0 0 3 = 1 2 3
    state = played(propose(1, 2, 3), propose(0, 0, 3), insist(1, 2, 0), END)
    assert result(state) == (Ending.END, ((1, 2, 0), (0, 0, 3)), (10, 9))


@pytest.mark.parametrize(
    "said",
    [
        (END,),  # nobody has claimed
        (propose(1, 2, 3), END),  # seat_1 has not claimed, though seat_0 claimed the whole pool
        (propose(0, 0, 0), END),  # nor though seat_0 claimed nothing
        (propose(1, 2, 0), propose(0, 0, 2), END),  # a ball is left over
        (propose(1, 2, 1), propose(0, 0, 3), END),  # both claim a ball
        (propose(1, 2, 0), propose(0, 0, 3), propose(1, 1, 0), END),  # they added up before the latest claim
    ],
)
def test_end_pays_zero_if_claims_do_not_add_up(said):
    assert result(played(*said)) == (Ending.END, None, (0, 0))


def test_the_turn_limit_selects_like_end():
    #   max_turns 2
    #   seat_0: PROPOSE  keep 1 2 0
    #   seat_1: PROPOSE  keep 0 0 3    adds up; no turn is left
    state = played(propose(1, 2, 0), propose(0, 0, 3), rules=Rules(2))
    assert result(state) == (Ending.TURN_LIMIT, ((1, 2, 0), (0, 0, 3)), (10, 9))
    #   seat_1: PROPOSE  keep 1 0 3    does not add up
    assert result(played(propose(1, 2, 0), propose(1, 0, 3), rules=Rules(2))) == (Ending.TURN_LIMIT, None, (0, 0))


def test_a_single_turn_leaves_the_only_offer_unanswered():
    assert result(played(propose(1, 2, 3), rules=Rules(1))) == (Ending.TURN_LIMIT, None, (0, 0))


def test_agreeing_with_the_last_turn_is_a_deal_not_a_time_out():
    #   max_turns 2:  seat_0: PROPOSE keep 1 2 0;  seat_1: AGREE
    assert result(played(propose(1, 2, 0), AGREE, rules=Rules(2)))[0] is Ending.AGREE


def test_a_rejection_with_the_last_turn_still_selects():
    #   max_turns 3, disagree rejects
    #   seat_0: PROPOSE  keep 1 2 0
    #   seat_1: PROPOSE  keep 0 0 3
    #   seat_0: DISAGREE    the last turn: the claims add up, so it is a deal
    state = played(propose(1, 2, 0), propose(0, 0, 3), DISAGREE, rules=Rules(3, "rejects"))
    assert result(state) == (Ending.TURN_LIMIT, ((1, 2, 0), (0, 0, 3)), (10, 9))


def test_the_default_limit_is_ten_acts_of_both_seats_together():
    state = played(*[propose(1, 2, 3)] * 9)
    assert state.turns_remaining == 1 and not state.over
    assert result(apply(state, insist(1, 2, 3))) == (Ending.TURN_LIMIT, None, (0, 0))


def test_seat_0_opens_and_seats_alternate():
    state = State(TABLE, Rules(disagree="rejects"))
    for turn, action in enumerate([propose(0, 0, 0), DISAGREE, DISAGREE, insist(1, 1, 1), propose(0, 1, 0)]):
        assert state.mover == turn % 2 and state.turns_remaining == 10 - turn
        state = apply(state, action)
    assert state.last_act(0) is Act.PROPOSE and state.last_act(1) is Act.INSIST


def test_claiming_everything_or_nothing_is_legal():
    assert result(played(propose(0, 0, 0), AGREE))[2] == (0, 10)
    assert result(played(propose(1, 2, 3), AGREE))[2] == (10, 0)


def test_oA_of_other_acts_is_stored_as_zeros():
    state = played(propose(1, 2, 0), Action(Act.AGREE, (99, -5, 7)))
    assert state.history[-1] == Action(Act.AGREE, (0, 0, 0))
    assert result(state)[2] == (10, 9)


@pytest.mark.parametrize("action", [propose(0, 0, 0), insist(0, 0, 0), AGREE, DISAGREE, END])
def test_no_act_is_legal_once_the_game_is_over(action):
    over = played(propose(1, 2, 0), AGREE)
    with pytest.raises(IllegalAct, match="the game is over"):
        apply(over, action)
    assert legal_actions(over) == ()


def test_forfeit_pays_zero_and_names_the_rule():
    state = forfeit(played(propose(1, 2, 0)), "AGREE needs ...")
    assert result(state) == (Ending.ILLEGAL, None, (0, 0))
    assert state.outcome is not None and state.outcome.rule_broken == "AGREE needs ..." and not state.outcome.deal


# --- Bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "complaint"),
    [
        (propose(2, 0, 0), r"PROPOSE must keep .* the pool \(1, 2, 3\); got oA=\(2, 0, 0\)"),
        (insist(0, 0, -1), "INSIST must keep"),
        (propose(0, 0), "3 integers"),
        (propose(0, 0, 0, 0), "3 integers"),
        (propose(0.5, 0, 0), "3 integers"),
        (propose(math.nan, 0, 0), "must keep"),
        (Action(5, (0, 0, 0)), r"0\.\.4; got 5"),
        (Action(-1, (0, 0, 0)), r"0\.\.4; got -1"),
        (AGREE, "AGREE needs the partner's last act"),
    ],
)
def test_an_illegal_act_names_the_rule_and_changes_nothing(action, complaint):
    state = State(TABLE)
    with pytest.raises(IllegalAct, match=complaint):
        apply(state, action)
    assert state == State(TABLE)


@pytest.mark.parametrize(
    ("counts", "utilities", "complaint"),
    [
        ((0, 0, 0), ((1, 1, 1), (1, 1, 1)), "at least one item"),
        ((1, 2), ((1, 1, 1), (1, 1, 1)), "counts must be 3 integers"),
        ((1, 2, 11), ((1, 1, 1), (1, 1, 1)), r"in 0\.\.10"),
        ((1, 2, -1), ((1, 1, 1), (1, 1, 1)), r"in 0\.\.10"),
        ((1, 2, 1.5), ((1, 1, 1), (1, 1, 1)), "integers"),
        ((1, 2, math.nan), ((1, 1, 1), (1, 1, 1)), "integers"),
        ((1, 2, math.inf), ((1, 1, 1), (1, 1, 1)), "integers"),
        ("123", ((1, 1, 1), (1, 1, 1)), "integers"),
        (None, ((1, 1, 1), (1, 1, 1)), "integers"),
        ((1, 2, 3), ((1, 1, 1),), "one vector per seat"),
        ((1, 2, 3), None, "one vector per seat"),
        ((1, 2, 3), ((1, 1, 1), (1, 1, 11)), "utilities of seat_1"),
        ((1, 2, 3), ((1, 1), (1, 1, 1)), "utilities of seat_0"),
    ],
)
def test_a_scenario_that_cannot_be_is_refused(counts, utilities, complaint):
    with pytest.raises(ValueError, match=complaint):
        Scenario(counts, utilities)


@pytest.mark.parametrize("max_turns", [0, -1, 101, 2.0, "10", None, True])
def test_a_turn_limit_that_cannot_be_is_refused(max_turns):
    with pytest.raises(ValueError, match=r"1\.\.100"):
        Rules(max_turns)


@pytest.mark.parametrize("disagree", ["end", "", None, 1, ["ends"]])
def test_an_unknown_meaning_of_disagree_is_refused(disagree):
    with pytest.raises(ValueError, match="'ends' or 'rejects'"):
        Rules(disagree=disagree)


def test_arrays_become_plain_integers_and_states_cannot_be_changed():
    scenario = Scenario(np.array([1, 2, 3], dtype=np.int8), np.array([[4, 3, 0], [1, 0, 3]]))
    assert scenario == TABLE and all(type(n) is int for n in scenario.counts)
    state = played(Action(Act.PROPOSE, np.array([1, 2, 0])), scenario=scenario)
    assert state.history == (propose(1, 2, 0),) and hash(state) == hash(played(propose(1, 2, 0)))
    with pytest.raises(FrozenInstanceError):
        state.history = ()
