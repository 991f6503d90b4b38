"""The rules counted by full enumeration, against brute force, and held to their invariants over random games."""

from __future__ import annotations

import itertools
import math

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
    legal_actions,
    rest,
    rule_against,
    worth,
)
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import decide
from dond_marl.splits import action_at, legal_action_mask

TABLE = Scenario((1, 2, 3), ((4, 3, 0), (1, 0, 3)))
AGREE, DISAGREE, END = Action(Act.AGREE), Action(Act.DISAGREE), Action(Act.END)


def propose(*oA: int) -> Action:
    return Action(Act.PROPOSE, oA)


def played(*said: Action, rules: Rules = Rules(), scenario: Scenario = TABLE) -> State:
    state = State(scenario, rules)
    for action in said:
        assert not state.over, f"the game was over before {action}"
        state = apply(state, action)
    return state


def result(state: State) -> tuple[Ending, tuple | None, tuple[int, int]]:
    assert state.outcome is not None
    return state.outcome.ending, state.outcome.allocation, state.outcome.scores


# --- Exact counts ---------------------------------------------------------------------------------------------------


def enumerated(state: State) -> tuple[int, int, int]:
    """Open histories, finished games and deals from ``state`` on."""
    if state.outcome is not None:
        return 0, 1, int(state.outcome.deal)
    below = [enumerated(apply(state, action)) for action in legal_actions(state)]
    return 1 + sum(b[0] for b in below), sum(b[1] for b in below), sum(b[2] for b in below)


# One book: 2 shares, so 4 offers (PROPOSE or INSIST of 0 or 1). Where DISAGREE ends, a history is open as long as all
# of it is offers: 4^t of length t, each of which can be ended by DISAGREE, END and (t >= 1) AGREE, or by the last turn:
#   open(M) = 1 + 4 + ... + 4^(M-1)              finished(M) = 4^M + 2 + 3 (4 + ... + 4^(M-1)) = 2 * 4^M - 2
# Deals: AGREE closes every open history of length >= 1; the latest claims of 8 in 16 pairs (2 acts * 2 acts * 2 splits)
# add up, which END (from length 2 on) and the last turn make a deal:
#   M=2: 4 + 8     M=3: 4 + 16 + 8 + 8*4     M=4: 4 + 16 + 64 + 8 + 8*4 + 8*16
ENDS = {1: (1, 6, 0), 2: (5, 30, 12), 3: (21, 126, 60), 4: (85, 510, 252)}
# Where DISAGREE only rejects, it is a fifth way to go on: 5^t open histories of length t, of which 4 * 5^(t-1) end with
# an offer and can be agreed to:
#   open(M) = 1 + 5 + ... + 5^(M-1)              finished(M) = 5^M + sum of 5^t + sum of 4 * 5^(t-1), t = 1..M-1
REJECTS = {1: (1, 6), 2: (6, 35), 3: (31, 180), 4: (156, 905)}


@pytest.mark.parametrize("max_turns", [1, 2, 3, 4])
def test_the_game_about_one_book_has_exactly_as_many_histories_as_counted_by_hand(max_turns):
    book = Scenario((1, 0, 0), ((10, 0, 0), (10, 0, 0)))
    assert enumerated(State(book, Rules(max_turns))) == ENDS[max_turns]
    assert enumerated(State(book, Rules(max_turns, "rejects")))[:2] == REJECTS[max_turns]


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


def test_there_are_two_legal_offers_per_share_of_the_pool():
    # 1 book, 2 hats, 3 balls: 2 * 3 * 4 = 24 shares, so 48 offers, DISAGREE, END; and AGREE once there is an offer.
    assert len(legal_actions(State(TABLE))) == 50
    assert len(legal_actions(played(propose(0, 0, 0)))) == 51


# --- Legality by brute force ----------------------------------------------------------------------------------------


def random_play(rng: np.random.Generator, scenario: Scenario, rules: Rules, stop: float = 0.0) -> State:
    """Random legal play to the end, or (with chance ``stop`` per turn) to somewhere in the middle."""
    state = State(scenario, rules)
    while not state.over and rng.random() >= stop:
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


def test_the_mask_the_list_and_the_rules_agree_on_every_act_of_the_whole_space():
    rng = np.random.default_rng(1)
    source, cube = open_source("uniform"), list(itertools.product(range(-1, 6), repeat=3))
    every = [Action(act, oA) for act in Act for oA in (cube if act.is_offer else [(0, 0, 0)])]
    seen = set()
    for number in range(60):
        rules = Rules(int(rng.integers(1, 11)), ("ends", "rejects")[number % 2])
        state = random_play(rng, source.draw_one(rng), rules, stop=0.3)
        legal = {action for action in every if is_legal(state, action)}
        assert legal == set(legal_actions(state)) == {a for a in every if rule_against(state, a) is None}
        if state.over:
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
def test_a_hundred_thousand_random_games_conserve_items_and_end_in_time(source, max_turns, disagree):
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


@settings(max_examples=200, deadline=None)
@given(scenarios, rules_of_any_kind, st.integers(0, 2**32))
def test_a_deal_splits_the_pool_and_no_deal_pays_zero(scenario, rules, seed):
    state = random_play(np.random.default_rng(seed), scenario, rules)
    outcome = state.outcome
    assert outcome is not None and 1 <= len(state.history) <= rules.max_turns
    if outcome.allocation is None:
        assert outcome.scores == (0, 0)
        return
    first, second = outcome.allocation
    assert rest(scenario.counts, first) == second and min(first + second) >= 0
    assert outcome.scores == (worth(scenario.utilities[0], first), worth(scenario.utilities[1], second))
    assert all(0 <= score <= scenario.pool_value(seat) for seat, score in enumerate(outcome.scores))


@settings(max_examples=200, deadline=None)
@given(scenarios, st.integers(1, 9), st.integers(0, 2**32))
def test_swapping_the_seats_swaps_the_payoffs(scenario, max_turns, seed):
    # A DISAGREE that rejects nothing hands the opening to seat_1: the same words then are the other seat's.
    #   seat_0  seat_1  seat_0 ...          seat_0    seat_1  seat_0  seat_1 ...
    #   a       b       c           ->      DISAGREE  a       b       c           with the values exchanged
    state = random_play(np.random.default_rng(seed), scenario, Rules(max_turns, "rejects"))
    mirrored = played(DISAGREE, *state.history, scenario=scenario.swap_seats(), rules=Rules(max_turns + 1, "rejects"))
    ending, allocation, scores = result(state)
    assert result(mirrored) == (ending, allocation and allocation[::-1], scores[::-1])


@settings(max_examples=100, deadline=None)
@given(scenarios, rules_of_any_kind, st.integers(0, 2**32), values)
def test_what_may_be_said_never_depends_on_anybodys_values(scenario, rules, seed, other):
    state = random_play(np.random.default_rng(seed), scenario, rules, stop=0.2)
    elsewhere = played(*state.history, rules=rules, scenario=Scenario(scenario.counts, (other, other[::-1])))
    assert legal_actions(state) == legal_actions(elsewhere)
