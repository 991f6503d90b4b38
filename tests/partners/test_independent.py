"""Programs by independent authors: the contract, their declared traits, and whole games under several rules."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.conformance import _another_past, check_partner, positions
from dond_marl.game import Ending, Rules
from dond_marl.occupants import OccupantNameError, find_factory, seat_occupant
from dond_marl.randomness import generator
from dond_marl.rollout import OccupantError, rollout
from dond_marl.seats import Cause
from experiments.rosters import scenario_sample
from partners.independent import AUTHORS, Independent, Position, programs

NAMES = list(programs())
VARIANTS = ((Rules(2, "rejects"), False), (Rules(5, "rejects"), False), (Rules(10), False))
FEW = scenario_sample(20)


def test_each_author_wrote_fourteen_programs_with_names_of_their_own():
    assert [sum(name.startswith(f"{author[-1]}_") for name in NAMES) for author in AUTHORS] == [14] * 4


@pytest.mark.parametrize("name", NAMES)
def test_every_program_keeps_to_the_contract_and_to_its_traits(name):
    partner = Independent(name)
    assert partner.traits.deterministic != programs()[name].chance
    assert partner.traits.memoryless != programs()[name].memory
    check_partner(partner, games=4, sources=("lewis",), variants=VARIANTS)


def answers(partner, changed=lambda turns: turns):
    rules = ((Rules(10, "rejects"), False),)
    for position in positions(partner, games=24, sources=("lewis",), variants=rules):
        decisions = partner.act(changed(position.turns))
        yield np.column_stack([decisions.act_type, decisions.oA])


@pytest.mark.parametrize("name", NAMES)
def test_declared_memory_and_chance_are_used(name):
    partner, declared, rng = Independent(name), programs()[name], generator(0, "other noise")

    def lucky(turns):
        return turns._replace(noise=rng.random(turns.noise.shape), game_noise=rng.random(turns.game_noise.shape))

    for change, uses in ((lambda turns: _another_past(turns, rng), declared.memory), (lucky, declared.chance)):
        pairs = zip(answers(partner), answers(partner, change), strict=True)
        assert any((one != two).any() for one, two in pairs) == uses


@pytest.mark.parametrize("rules", [Rules(turns, how) for turns in (2, 4, 10) for how in ("ends", "rejects")], ids=str)
def test_every_program_plays_whole_games(rules):
    for name in NAMES:
        partner, other = Independent(name), seat_occupant("random")
        for seat, pair in enumerate([(partner, other), (other, partner)]):
            games = rollout(pair, FEW, rules, seed=1, index=(seat,))
            assert not np.isin(games.cause, [Cause.ILLEGAL, Cause.FORFEIT]).any(), name
            assert np.isin(games.ending, list(Ending)).all(), name


def test_a_position_counts_in_points_and_lists_all_splits():
    position = Position((1, 2, 0), (4, 3, 7), 3, 10, None, (0, 0, 0), False, (), (), ())
    assert position.whole == 10 and position.worth((1, 1, 0)) == 7
    assert position.splits() == [(0, 0, 0), (0, 1, 0), (0, 2, 0), (1, 0, 0), (1, 1, 0), (1, 2, 0)]


def test_longer_games_than_the_authors_knew_are_refused():
    with pytest.raises(OccupantError, match="at most 10 turns"):
        rollout((Independent(NAMES[0]), seat_occupant("random")), FEW, Rules(11), seed=1)


def test_an_unknown_program_is_refused_with_the_nearest_names():
    find_factory("independent(program=a_step_for_step)")
    with pytest.raises(ValueError, match="56 programs, as a_step_for_step"):
        Independent("step_for_step")
    with pytest.raises(OccupantNameError, match="program"):
        seat_occupant("independent(program=b_nothing_of_the_kind)")
