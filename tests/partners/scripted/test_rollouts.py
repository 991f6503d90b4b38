"""Rollouts: the best of all acts in simulated games, exact where nothing is left to chance."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.batch import GameBatch
from dond_marl.conformance import VARIANTS, check_partner
from dond_marl.game import Act, Rules, Scenario
from dond_marl.occupants import seat_occupant
from dond_marl.randomness import derive_uniforms, generator
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import lewis_space, pack
from dond_marl.seats import Traits, decide
from partners.scripted.rollouts import Rollouts
from partners.scripted.time_based import Linear

# seat_0 values books at 1, hats at 3, the ball at 1; seat_1 values books at 2 and balls at 4.
TABLE = Scenario((3, 2, 1), ((1, 3, 1), (2, 0, 4)))


def test_on_the_last_turn_it_takes_what_is_offered_where_that_is_worth_a_point():
    for keeps, points in (((3, 2, 0), 4), ((3, 0, 1), 0)):  # the ball is worth 4, the hats nothing
        table = GameBatch(pack([TABLE], "lewis"), Rules(2))
        table.step(decide(np.array([Act.PROPOSE]), np.array([keeps])))
        said = Rollouts("linear").act(table.turns(np.full((1, 8), 0.5), np.full((1, 8), 0.5)))
        table.step(said)
        assert table.games().scores[0, 1] == points  # by AGREE, or by a claim that leaves what the other claimed


def test_rollouts_approach_best_response():
    rows = np.arange(0, 5295, 7)
    scenarios, rules = lewis_space().rows(rows), Rules(2)

    def points(spec: str) -> float:
        games = rollout((seat_occupant(spec), seat_occupant("linear")), scenarios, rules, seed=0)
        return float(games.scores[:, 0].mean())

    best = points("best_response(to=linear)")
    assert points("rollouts(model=linear, simulations=26)") > best - 0.1
    assert points("rollouts(model=linear, simulations=1)") < best - 0.4  # it takes one guess for the truth


def opening(values: tuple[int, int, int]) -> tuple[int, ...]:
    table = GameBatch(pack([Scenario(TABLE.counts, (values, TABLE.utilities[1]))], "lewis"), Rules())
    return tuple(seat_occupant("linear").act(table.turns()).oA[0].tolist())


def test_rollouts_infer_values_from_history():
    table = GameBatch(pack([TABLE], "lewis"), Rules())
    table.step(decide(np.array([Act.PROPOSE]), np.array([opening(TABLE.utilities[0])])))
    turns = table.turns(np.full((1, 8), 0.5), np.full((1, 8), 0.5))
    drawn = [{tuple(values) for values in Rollouts(m, 64)._types(turns)[0].tolist()} for m in ("linear", "micro")]
    assert TABLE.utilities[0] in drawn[0] and drawn[0] < drawn[1]  # micro does not know its chances: all that may be
    assert {opening(values) for values in drawn[0]} == {opening(TABLE.utilities[0])}


@pytest.mark.parametrize(
    "spec", ["rollouts(model=linear, simulations=2)", "rollouts(model=sniper, simulations=2, candidates=3, own=nice)"]
)
def test_it_keeps_to_the_contract(spec):
    check_partner(seat_occupant(spec), games=4, sources=("lewis",), variants=VARIANTS[1:3])


def test_candidates_are_sampled_from_own():
    partner = Rollouts("nice", candidates=5, own="linear")
    table = GameBatch(pack([TABLE] * 3, "lewis"), Rules())
    luck = generator(0, "test").random((3, 8))
    said, would = partner.act(table.turns(luck, luck)), seat_occupant("linear").act(table.turns())
    assert (said.oA == would.oA).all() and (said.act_type == would.act_type).all()


class Costly(Linear):
    traits = Traits(costly=True)


def test_rollouts_refuse_costly_models():
    for who in ({"model": Costly()}, {"model": "nice", "own": Costly()}):
        with pytest.raises(ValueError, match="thousands of times"):
            Rollouts(**who)
    for wrong in ({"simulations": 0}, {"candidates": -1}, {"simulations": 1.5}):
        with pytest.raises(ValueError, match=r"must be a whole number in [01]\.\.4096"):
            Rollouts("nice", **wrong)


def test_uniforms_are_unfolded_evenly_and_without_a_trace_of_each_other():
    one = generator(0, "test").random((500, 1))
    many = derive_uniforms(one, 3, np.arange(40))
    assert many.shape == (500, 40) and (many == derive_uniforms(one, 3, np.arange(40))).all()
    assert many.min() >= 0 and many.max() < 1
    assert abs(many.mean() - 0.5) < 0.01 and abs(many.var() - 1 / 12) < 0.005
    assert (
        np.abs(np.corrcoef(np.column_stack([one, many, derive_uniforms(one, 4, np.arange(40))]).T) - np.eye(81)).max()
        < 0.2
    )
