"""The rules: worked by hand, what they refuse, exact counts of histories, legality by brute force, and properties.

The drawings read: who says what, always naming what the *speaker* keeps. The pool of most games is 1 book, 2 hats,
3 balls; seat_0 values them 4, 3, 0 (10 in all), seat_1 values them 1, 0, 3 (10 in all).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dond_marl.batch import GameBatch
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
    rule_against,
)
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import decide
from dond_marl.splits import action_at, action_count, action_index, grid, legal_action_mask

TABLE = Scenario((1, 2, 3), ((4, 3, 0), (1, 0, 3)))
AGREE, DISAGREE, END = Action(Act.AGREE), Action(Act.DISAGREE), Action(Act.END)


def propose(*oA: int) -> Action:
    return Action(Act.PROPOSE, oA)


def insist(*oA: int) -> Action:
    return Action(Act.INSIST, oA)


def played(*said: Action, rules: Rules = Rules(), scenario: Scenario = TABLE) -> State:
    state = State(scenario, rules)
    for action in said:
        assert not state.is_over, f"the game was over before {action}"
        state = apply(state, action)
    return state


def result(state: State) -> tuple[Ending, tuple | None, tuple[int, int]]:
    assert state.outcome is not None
    return state.outcome.ending, state.outcome.allocation, state.outcome.scores


# --- Worked games ---------------------------------------------------------------------------------------------------


# Each game: the rules, what is said, the ending, and the items and scores of both seats.
#   keep 1 2 0 by seat_0 is worth 4 + 2*3 = 10 and leaves 0 0 3, 3*3 = 9 to seat_1
#   keep 1 0 3 by seat_1 is worth 1 + 3*3 = 10 and leaves 0 2 0, 2*3 = 6 to seat_0
HATS, BALLS = (((0, 2, 0), (1, 0, 3)), (6, 10)), (((1, 2, 0), (0, 0, 3)), (10, 9))
NO_DEAL, GIFT, ALL = (None, (0, 0)), (((0, 0, 0), (1, 2, 3)), (0, 10)), (((1, 2, 3), (0, 0, 0)), (10, 0))
WORKED = {
    "a proposal is agreed to": (Rules(), [propose(1, 2, 0), AGREE], Ending.AGREE, BALLS),
    "INSIST is an offer": (Rules(), [insist(1, 2, 0), AGREE], Ending.AGREE, BALLS),
    "seat_0 agrees": (Rules(), [propose(1, 2, 3), propose(1, 0, 3), AGREE], Ending.AGREE, HATS),
    "latest offer": (Rules(), [propose(1, 2, 3), propose(1, 2, 3), insist(0, 2, 0), AGREE], Ending.AGREE, HATS),
    "a gift": (Rules(), [propose(0, 0, 0), AGREE], Ending.AGREE, GIFT),
    "everything": (Rules(), [propose(1, 2, 3), AGREE], Ending.AGREE, ALL),
    "DISAGREE to a gift": (Rules(), [propose(0, 0, 0), DISAGREE], Ending.DISAGREE, NO_DEAL),
    "DISAGREE at once": (Rules(), [DISAGREE], Ending.DISAGREE, NO_DEAL),
    "though claims add up": (Rules(), [propose(1, 2, 0), propose(0, 0, 3), DISAGREE], Ending.DISAGREE, NO_DEAL),
    "a rejected claim stays its owner's selection": (
        Rules(disagree="rejects"),
        [propose(1, 2, 0), DISAGREE, DISAGREE, propose(0, 0, 3), END],
        Ending.END,
        BALLS,
    ),
    "claims add up": (Rules(), [propose(1, 2, 3), propose(0, 0, 3), insist(1, 2, 0), END], Ending.END, BALLS),
    "no turn is left": (Rules(2), [propose(1, 2, 0), propose(0, 0, 3)], Ending.TURN_LIMIT, BALLS),
    "more than the pool": (Rules(2), [propose(1, 2, 0), propose(1, 0, 3)], Ending.TURN_LIMIT, NO_DEAL),
    "a single turn": (Rules(1), [propose(1, 2, 3)], Ending.TURN_LIMIT, NO_DEAL),
    "agreeing with the last turn": (Rules(2), [propose(1, 2, 0), AGREE], Ending.AGREE, BALLS),
    "rejecting with the last turn": (
        Rules(3, "rejects"),
        [propose(1, 2, 0), propose(0, 0, 3), DISAGREE],
        Ending.TURN_LIMIT,
        BALLS,
    ),
}


@pytest.mark.parametrize(("rules", "said", "ending", "deal"), WORKED.values(), ids=WORKED)
def test_a_worked_game_ends_as_worked_by_hand(rules, said, ending, deal):
    assert result(played(*said, rules=rules)) == (ending, *deal)


def test_agree_requires_an_offer():
    #   seat_0: AGREE    nothing was said yet
    with pytest.raises(IllegalAct, match="AGREE needs"):
        played(AGREE)


def test_rejecting_disagree_withdraws_the_offer():
    #   seat_0: PROPOSE   keep 1 2 0
    #   seat_1: DISAGREE  goes on
    #   seat_0: AGREE     illegal: seat_1's last act is no offer
    rules = Rules(disagree="rejects")
    state = played(propose(1, 2, 0), DISAGREE, rules=rules)
    assert not state.is_over and state.mover == 0
    with pytest.raises(IllegalAct, match="DISAGREE"):
        apply(state, AGREE)
    #   seat_0: DISAGREE  rejects nothing, which is legal
    #   seat_1: AGREE     illegal: the rejected offer cannot be agreed to any more
    state = apply(state, DISAGREE)
    with pytest.raises(IllegalAct, match="DISAGREE"):
        apply(state, AGREE)


@pytest.mark.parametrize(
    "said",
    [
        (END,),  # nobody has claimed
        (propose(1, 2, 3), END),  # seat_1 has not claimed, though seat_0 claimed the whole pool
        (propose(1, 2, 1), propose(0, 0, 3), END),  # both claim a ball
        (propose(1, 2, 0), propose(0, 0, 3), propose(1, 1, 0), END),  # they added up before the latest claim
    ],
)
def test_end_pays_zero_if_claims_do_not_add_up(said):
    assert result(played(*said)) == (Ending.END, None, (0, 0))


def test_oA_of_other_acts_is_stored_as_zeros():
    state = played(propose(1, 2, 0), Action(Act.AGREE, (99, -5, 7)))
    assert state.history[-1] == Action(Act.AGREE, (0, 0, 0))
    assert result(state)[2] == (10, 9)


@pytest.mark.parametrize("action", [propose(0, 0, 0), END])
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
        (Action(5, (0, 0, 0)), r"0\.\.4; got 5"),
        (AGREE, "AGREE needs the partner's last act"),
    ],
)
def test_illegal_act_names_the_rule(action, complaint):
    state = State(TABLE)
    with pytest.raises(IllegalAct, match=complaint):
        apply(state, action)
    assert state == State(TABLE)


@pytest.mark.parametrize(
    ("counts", "utilities", "complaint"),
    [
        ((0, 0, 0), ((1, 1, 1), (1, 1, 1)), "at least one item"),
        ((1, 2, 11), ((1, 1, 1), (1, 1, 1)), r"in 0\.\.10"),
        ((1, 2, 3), ((1, 1, 1),), "one vector per seat"),
        ((1, 2, 3), ((1, 1, 1), (1, 1, 11)), "utilities of seat_1"),
    ],
)
def test_a_scenario_that_cannot_be_is_refused(counts, utilities, complaint):
    with pytest.raises(ValueError, match=complaint):
        Scenario(counts, utilities)


def test_rules_that_cannot_be_are_refused():
    for max_turns in (0, 101, 2.0):
        with pytest.raises(ValueError, match=r"1\.\.100"):
            Rules(max_turns)
    with pytest.raises(ValueError, match="'ends' or 'rejects'"):
        Rules(disagree="end")


def test_states_are_plain_and_frozen():
    scenario = Scenario(np.array([1, 2, 3], dtype=np.int8), np.array([[4, 3, 0], [1, 0, 3]]))
    assert scenario == TABLE and all(type(n) is int for n in scenario.counts)
    state = played(Action(Act.PROPOSE, np.array([1, 2, 0])), scenario=scenario)
    assert state.history == (propose(1, 2, 0),) and hash(state) == hash(played(propose(1, 2, 0)))
    with pytest.raises(FrozenInstanceError):
        state.history = ()


# --- Exact counts ---------------------------------------------------------------------------------------------------


def enumerated(state: State) -> tuple[int, int, int]:
    """Open histories, finished games and deals from ``state`` on."""
    if state.outcome is not None:
        return 0, 1, int(state.outcome.deal)
    below = [enumerated(apply(state, action)) for action in legal_actions(state)]
    return 1 + sum(b[0] for b in below), sum(b[1] for b in below), sum(b[2] for b in below)


@pytest.mark.parametrize(("counts", "max_turns"), [((1, 1, 0), 3), ((0, 2, 1), 3), ((1, 1, 1), 2)])
@pytest.mark.parametrize("disagree", ["ends", "rejects"])
def test_number_of_histories_follows_the_formula(counts, max_turns, disagree):
    offers = 2 * math.prod(n + 1 for n in counts)
    on = offers if disagree == "ends" else offers + 1  # ways to go on
    opened = [on**t for t in range(max_turns)]
    agreeable = [offers * on ** (t - 1) for t in range(1, max_turns)]
    finished = on**max_turns + sum(opened) * (2 if disagree == "ends" else 1) + sum(agreeable)
    found = enumerated(State(Scenario(counts, ((1, 1, 1), (1, 1, 1))), Rules(max_turns, disagree)))
    assert found[:2] == (sum(opened), finished)


def test_number_of_deals_of_one_book():
    # 2 shares, so 4 offers. AGREE closes every open history of 1 to 3 offers: 4 + 16 + 64. Of 16 pairs of latest claims
    # 8 add up, which END after 2 or 3 offers and the fourth offer make a deal: 8 + 8 * 4 + 8 * 16.
    book = Scenario((1, 0, 0), ((10, 0, 0), (10, 0, 0)))
    assert enumerated(State(book, Rules(4))) == (85, 510, 84 + 168)


# --- Legality by brute force ----------------------------------------------------------------------------------------


def random_play(rng: np.random.Generator, scenario: Scenario, rules: Rules, stop: float = 0.0) -> State:
    """Random legal play to the end, or (with chance ``stop`` per turn) to somewhere in the middle."""
    state = State(scenario, rules)
    while not state.is_over and rng.random() >= stop:
        actions = legal_actions(state)
        others = actions[-3:] if actions[-3].act_type is Act.AGREE else actions[-2:]
        pool = actions if rng.random() < 0.7 else others
        state = apply(state, pool[rng.integers(len(pool))])
    return state


def is_legal(state: State, action: Action) -> bool:
    try:
        apply(state, action)
    except IllegalAct:
        return False
    return True


def test_mask_list_and_rules_agree():
    rng = np.random.default_rng(1)
    source, cube = open_source("uniform"), list(itertools.product(range(-1, 6), repeat=3))
    every = [Action(act, oA) for act in Act for oA in (cube if act.is_offer else [(0, 0, 0)])]
    seen = set()
    for number in range(60):
        rules = Rules(int(rng.integers(1, 11)), ("ends", "rejects")[number % 2])
        state = random_play(rng, source.draw_one(rng), rules, stop=0.3)
        legal = {action for action in every if is_legal(state, action)}
        assert legal == set(legal_actions(state)) == {a for a in every if rule_against(state, a) is None}
        if state.is_over:
            assert not legal
            continue
        may_agree = AGREE in legal
        seen.add(may_agree)
        mask = legal_action_mask(np.array([state.scenario.counts], dtype=np.int8), np.array([may_agree]), 4)[0]
        act, oA = action_at(np.flatnonzero(mask), 4)
        assert {Action(Act(int(a)), tuple(o.tolist())) for a, o in zip(act, oA, strict=True)} == legal
    assert seen == {True, False}


@pytest.mark.parametrize("disagree", ["ends", "rejects"])
@pytest.mark.parametrize(("source", "max_turns"), [("uniform", 10), ("uniform", 3), ("lewis", 10), ("lewis", 1)])
def test_random_games_conserve_items_and_end(source, max_turns, disagree):
    games_each = 12_500  # 8 variants: 100,000 games
    rng = np.random.default_rng([max_turns, source == "lewis", disagree == "ends"])
    scenarios = open_source(source).draw(rng, games_each)
    table = GameBatch(scenarios, Rules(max_turns, disagree))
    while table.open:
        turns = table.turns()
        legal = turns.last_partner_act <= Act.INSIST
        assert (turns.act_mask[:, Act.AGREE] == legal).all() and turns.act_mask[:, [0, 1, 3, 4]].all()
        act = (rng.random((turns.size, 5)) * turns.act_mask * [8, 4, 1, 1, 1]).argmax(axis=1).astype(np.int8)
        oA = rng.integers(0, turns.counts + 1, dtype=np.int8)
        fits = rng.random(turns.size) < 0.2
        oA[fits] = turns.last_partner_offer_for_me[fits]
        table.step(decide(act, oA))
    games = table.games()
    whole, deal = scenarios.pool_values, games.deal
    assert (games.turns >= 1).all() and (games.turns <= max_turns).all()
    assert (games.allocation >= 0).all()
    assert (games.allocation[deal].sum(axis=1) == scenarios.counts[deal]).all()
    assert not games.allocation[~deal].any() and not games.scores[~deal].any()
    assert (games.scores >= 0).all() and (games.scores <= whole).all()
    assert (games.scores == (games.allocation * scenarios.utilities.astype(int)).sum(axis=2)).all()
    assert 0 < deal.sum() < games_each or max_turns == 1


# --- Properties -----------------------------------------------------------------------------------------------------

triples = st.tuples(*[st.integers(0, 4)] * 3)
values = st.tuples(*[st.integers(0, 10)] * 3)
scenarios = st.builds(Scenario, triples.filter(any), st.tuples(values, values))
rules_of_any_kind = st.builds(Rules, st.integers(1, 10), st.sampled_from(["ends", "rejects"]))


@settings(max_examples=100)
@given(scenarios, st.integers(1, 9), st.integers(0, 2**32))
def test_swapping_the_seats_swaps_the_payoffs(scenario, max_turns, seed):
    # A DISAGREE that rejects nothing hands the opening to seat_1: the same words then are the other seat's.
    #   seat_0  seat_1  seat_0 ...          seat_0    seat_1  seat_0  seat_1 ...
    #   a       b       c           ->      DISAGREE  a       b       c           with the values exchanged
    state = random_play(np.random.default_rng(seed), scenario, Rules(max_turns, "rejects"))
    mirrored = played(DISAGREE, *state.history, scenario=scenario.swap_seats(), rules=Rules(max_turns + 1, "rejects"))
    ending, allocation, scores = result(state)
    assert result(mirrored) == (ending, allocation and allocation[::-1], scores[::-1])


@settings(max_examples=100)
@given(scenarios, rules_of_any_kind, st.integers(0, 2**32), values)
def test_legal_acts_do_not_depend_on_values(scenario, rules, seed, other):
    state = random_play(np.random.default_rng(seed), scenario, rules, stop=0.2)
    elsewhere = played(*state.history, rules=rules, scenario=Scenario(scenario.counts, (other, other[::-1])))
    assert legal_actions(state) == legal_actions(elsewhere)


# -- The numbering of acts and the grid of offers----------------------------------------------------------------


def test_grid_order():
    assert grid(4).shape == (125, 3)
    assert grid(4)[:6].tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 2], [0, 0, 3], [0, 0, 4], [0, 1, 0]]
    with pytest.raises(ValueError, match="read-only"):
        grid(4)[0, 0] = 1


@pytest.mark.parametrize("max_count", [1, 3, 4, 10])
def test_action_numbers_round_trip(max_count):
    numbers = np.arange(action_count(max_count))
    act, oA = action_at(numbers, max_count)
    assert (action_index(act, oA, max_count) == numbers).all()
    size = (max_count + 1) ** 3
    assert np.bincount(act, minlength=5).tolist() == [size, size, 1, 1, 1]


def test_oA_of_other_acts_is_ignored_in_numbers():
    anything = np.array([[4, 2, 1], [0, 0, 0]], dtype=np.int8)
    for act in (Act.AGREE, Act.DISAGREE, Act.END):
        assert len(set(action_index(np.full(2, act, dtype=np.int8), anything, 4).tolist())) == 1
