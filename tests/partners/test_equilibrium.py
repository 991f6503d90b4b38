"""An equilibrium in a seat says what its table says, earns what its note says, and refuses what it does not know."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dond_marl.conformance import check_partner
from dond_marl.errors import InputError
from dond_marl.game import Act, Action, Rules, Scenario, State, apply
from dond_marl.occupants import OccupantNameError, seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import lewis_space, open_source
from dond_marl.solvers.equilibria import Equilibrium, lewis_pools
from dond_marl.solvers.values import policy_value, response_value
from dond_marl.splits import action_count, action_index
from partners.equilibrium import table_for
from tests.dond_marl.solvers.table_acts import table_acts
from tests.partners.scripted.talk import INS, MINE, POOL, D, P, says, turns_after

KNOWN = (
    *((Rules(turns), reveal) for turns, reveal in ((1, False), (2, True), (5, False))),
    *((Rules(turns, "rejects"), False) for turns in (1, 4)),
)
LEWIS = ("lewis",)


def test_it_keeps_to_the_contract_in_games_that_have_a_table():
    check_partner(seat_occupant("equilibrium"), games=12, sources=LEWIS, variants=KNOWN)


@pytest.mark.slow
def test_two_of_them_earn_what_the_note_of_the_longest_table_says():
    both = policy_value((seat_occupant("equilibrium"),) * 2, lewis_space(), Rules(10)).mean(axis=0)
    assert tuple(both) == pytest.approx(Equilibrium.load(10).values, abs=1e-5)


@pytest.mark.parametrize("turns", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_shipped_tables_are_equilibria(turns):
    """Exact best responses earn what the note says, and both seats together gain less than a hundredth of a point."""
    table = Equilibrium.load(turns)
    gains = []
    for seat in (0, 1):
        value = response_value(seat_occupant("equilibrium"), open_source("lewis"), Rules(turns), seat)
        assert value.exact and (value.low, value.low) == pytest.approx(table.responses[seat], abs=2e-6)
        gains.append(value.low - table.values[seat])
    assert min(gains) > -1e-5 and sum(gains) < 0.01


def test_equilibrium_samples_match_probs():
    partner, draws = seat_occupant("equilibrium"), (np.arange(400) + 0.5) / 400
    scenarios = lewis_space().rows(np.zeros(400, dtype=np.int64))
    by_turn = {}

    class Listener:
        traits = partner.traits

        def act(self, turns):
            turns = turns._replace(noise=np.repeat(draws[:, None], 8, axis=1))
            decisions = partner.act(turns)
            numbers = action_index(decisions.act_type, decisions.oA, 4)
            chances = partner.probs(turns, 4)
            assert chances.sum(axis=1) == pytest.approx(1)
            assert decisions.confidence == pytest.approx(chances[np.arange(400), numbers], abs=1e-6)
            by_turn[turns.turns_taken] = np.bincount(numbers, minlength=chances.shape[1]) / 400, chances[0]
            return decisions._replace(
                act_type=np.zeros_like(decisions.act_type), oA=turns.counts * (turns.turns_taken == 0)
            )

    rollout((Listener(), Listener()), scenarios, Rules(2), seed=0)
    assert list(by_turn) == [0, 1]
    for often, chances in by_turn.values():
        assert often == pytest.approx(chances, abs=0.003)


def test_an_insisted_offer_is_answered_as_a_proposed_one_and_the_last_turn_takes_what_is_worth_something():
    for offer in ((1, 0, 0), (0, 0, 3)):  # the book, worth 4, or three balls, worth nothing
        kept = tuple(c - items for c, items in zip(POOL, offer, strict=True))
        proposed, insisted = (
            seat_occupant("equilibrium").probs(turns_after((act, kept), rules=Rules(2)), 4) for act in (P, INS)
        )
        assert (proposed == insisted).all()
    assert says("equilibrium", (INS, (0, 2, 3)), rules=Rules(2)) == Act.AGREE


@pytest.mark.parametrize("turns", [2, 4])
def test_equilibrium_under_rejects(turns):
    """After every history of acts that matter, against the rule in words; the pool's order of items is the table's."""
    pool = next(pool for pool in lewis_pools() if pool.counts.tolist() == list(POOL))
    view = pool.values.tolist().index(list(MINE))
    policy = next(
        policy
        for candidate, policy in zip(lewis_pools(), Equilibrium.load(turns).policies, strict=True)
        if (candidate.counts == pool.counts).all()
    )
    partner, rules, acts = seat_occupant("equilibrium"), Rules(turns, "rejects"), [(D, (0, 0, 0)), (P, POOL)]
    acts += [(P, (0, 0, 0)), (INS, (0, 2, 3)), (P, (1, 0, 0))]
    talks = [talk for length in range(turns) for talk in itertools.product(acts, repeat=length)]
    for talk in talks:
        values = (MINE, (1, 1, 1)) if len(talk) % 2 == 0 else ((1, 1, 1), MINE)
        state = State(Scenario(POOL, values), rules)
        for act, oA in talk:
            state = apply(state, Action(act, oA))
        expected = np.zeros(action_count(3))
        for (act, oA), chance in table_acts(pool, policy, state, view):
            expected[action_index(np.array([act]), np.array([oA]), 3)[0]] += chance
        assert partner.probs(turns_after(*talk, rules=rules), 3)[0] == pytest.approx(expected, abs=1e-12), talk


@pytest.mark.parametrize(
    ("rules", "values", "words"),
    [
        (Rules(11), MINE, "turns=11"),
        (Rules(4), (5, 5, 5), "the views of 'lewis' alone"),
    ],
)
def test_games_that_have_no_table_are_refused(rules, values, words):
    with pytest.raises(InputError, match=words):
        says("equilibrium", rules=rules, values=values)


def test_temperatures_that_have_no_table_are_refused():
    with pytest.raises(OccupantNameError, match=r"temperature must be one of 0.015, .*; got 0.2"):
        seat_occupant("equilibrium(temperature=0.2)")
    with pytest.raises(InputError, match="no table"):
        table_for(Rules(4), 0.1)
