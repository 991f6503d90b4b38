"""The best reply to a crowd is what brute force finds, earns what it says, and costs what not knowing costs."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dond_marl.errors import InputError
from dond_marl.game import Rules, Scenario
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.space import Scenarios, lewis_space, pack
from dond_marl.seats import Traits
from dond_marl.splits import one_hot_probabilities
from dond_marl.statistics import points_of_ten
from dond_marl.yardsticks.contexts import contexts_in
from experiments.mixture_response import (
    GAMBLES,
    REMEMBERS,
    enumerable_mixture,
    measure_mixture,
    member_response_value,
    mixture_response,
    mixture_section,
    read_mixtures,
    store_mixture_row,
)
from partners.best_response import BestResponse
from tests.command import in_process as dond
from tests.dond_marl.yardsticks.test_adaptive import by_brute_force
from tests.dond_marl.yardsticks.test_odds import Moody
from tests.dond_marl.yardsticks.test_odds import by_brute_force as gambled

FEW = ("heuristic", "tough", "linear(floor=0.35)", "naive_tit_for_tat", "pushover")
TINY = [
    Scenario((1, 1, 1), ((6, 4, 0), (2, 3, 5))),
    Scenario((1, 1, 1), ((6, 4, 0), (8, 1, 1))),
    Scenario((1, 1, 1), ((3, 3, 4), (0, 0, 10))),
    Scenario((2, 1, 0), ((5, 0, 0), (3, 4, 0))),
]


class Sure:
    """A partner that does not gamble, and does not say so: it says its odds, each 0 or 1."""

    traits = Traits(memoryless=True)

    def __init__(self, of):
        self.of = of

    def act(self, turns):
        return self.of.act(turns)

    def probs(self, turns, max_count):
        decisions = self.of.act(turns)
        return one_hot_probabilities(decisions.act_type, decisions.oA, max_count)


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("turns", [2, 3, 4])
def test_mixture_response_equals_expectimax(turns, seat):
    """The plain rules, every history apart; in the shorter games one member is drawn for each game itself."""
    members = [seat_occupant(name) for name in (FEW[:2] if turns == 4 else (*FEW, "personas"))]
    drawn = [member.personas() if place == 5 else [(1.0, member)] for place, member in enumerate(members)]
    personas = [(chance / len(members), who) for each in drawn for chance, who in each]
    expected = by_brute_force(personas, TINY, seat, Rules(turns))
    found = mixture_response(members, seat, pack(TINY), rules=Rules(turns))
    assert found.value == pytest.approx((expected, expected), abs=1e-9)


@pytest.mark.parametrize("seat", [0, 1])
def test_played_response_earns_the_computed_points(seat):
    space = lewis_space()
    rows = np.flatnonzero((space.counts == space.counts[700]).all(axis=1))
    table = Scenarios(*(array[rows] for array in space))
    reply = mixture_response([seat_occupant(name) for name in FEW], seat, table)
    player = BestResponse(f"mixture(of=[{', '.join(FEW)}])", contexts_in(table, seat))
    assert player.value(seat, Rules(), "lewis") == pytest.approx(reply.value.high, abs=1e-9)
    for name, earned in zip(FEW, reply.against, strict=True):
        pair = (player, seat_occupant(name)) if seat == 0 else (seat_occupant(name), player)
        scores = rollout(pair, table, seed=0, prior="lewis").scores
        assert points_of_ten(scores, table.pool_values)[:, seat].mean() == pytest.approx(earned, abs=1e-9)
    assert np.mean(reply.against) == pytest.approx(reply.value.high, abs=1e-9)


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("turns", [2, 3])
def test_response_to_stochastic_members_equals_brute_force(turns, seat):
    """The plain rules and every chance; what is found without remembering much earns no more."""
    members = [Moody(1), seat_occupant("heuristic"), Moody(2)]
    table = TINY[:3] if seat == 0 else [scenario.swap_seats() for scenario in TINY[:3]]
    expected = gambled(members, table, seat, Rules(turns))
    found = mixture_response(members, seat, pack(table), rules=Rules(turns))
    assert found.value == pytest.approx((expected, expected), abs=1e-9)
    assert 0.9 * expected < np.mean(found.against) <= expected + 1e-9
    if turns == 2:  # nothing to remember yet
        assert np.mean(found.against) == pytest.approx(expected, abs=1e-9)


def test_bounds_contain_the_exact_value():
    """The same crowd, followed as one that gambles for certain, and as one that does not gamble at all."""
    members = [seat_occupant(name) for name in FEW[:3]]
    table = pack(TINY)
    for seat in (0, 1):
        truth = mixture_response(members, seat, table, rules=Rules(6)).value
        bounds = mixture_response([*members[:2], Sure(members[2])], seat, table, rules=Rules(6))
        assert bounds.value.low - 1e-9 <= truth.low == truth.high <= bounds.value.high + 1e-9
        assert np.mean(bounds.against) == pytest.approx(bounds.value.low, abs=1e-9)
        assert bounds.value.high - bounds.value.low < 1.0


def test_lower_bound_is_reached_in_play():
    """Against each member it earns at most what the best response to that member alone does."""
    space = lewis_space()
    rows = np.flatnonzero((space.counts == space.counts[700]).all(axis=1))
    table = Scenarios(*(array[rows] for array in space))
    members = [seat_occupant(name) for name in ("random", "nice", "tough")]
    reply = mixture_response(members, 1, table)
    for member, earned in zip(members, reply.against, strict=True):
        assert 0 < earned <= mixture_response([member], 1, table).value.high + 1e-9
    assert reply.value.low == pytest.approx(np.mean(reply.against)) and reply.value.low <= reply.value.high


def test_small_effort_gives_bounds():
    members = [seat_occupant(name) for name in ("heuristic", "hybrid", "versatile")]
    table = pack(TINY)
    truth = mixture_response(members, 0, table, rules=Rules(6)).value
    rough = mixture_response(members, 0, table, rules=Rules(6), effort=1).value
    assert truth.low == truth.high
    assert rough.low <= truth.low + 1e-9 and truth.high <= rough.high + 1e-9 and rough.low < rough.high


def test_intractable_members_are_left_out():
    crowd = enumerable_mixture("mine", ["linear", "versatile", "random", "personas"])
    assert crowd.members == ("linear", "personas")
    assert crowd.left_out == {"versatile": REMEMBERS, "random": GAMBLES}
    assert enumerable_mixture("mine", ["versatile"], with_memory=True).members == ("versatile",)
    with pytest.raises(InputError):
        enumerable_mixture("mine", ["random"])


def test_stochastic_members_need_the_option():
    crowd = enumerable_mixture("mine", ["linear", "random", "versatile", "micro"], with_gamblers=True)
    assert crowd.members == ("linear", "random")
    assert crowd.left_out == {"versatile": REMEMBERS, "micro": GAMBLES}
    with pytest.raises(InputError):
        enumerable_mixture("mine", ["linear"], with_memory=True, with_gamblers=True)


def test_mixture_of_one_has_no_price(tmp_path):
    row = measure_mixture(enumerable_mixture("one", ["tough"]))
    for seat, side in enumerate(row["seats"]):
        assert side["price"] == [0.0, 0.0]
        assert side["known"] == pytest.approx(member_response_value("tough", seat), abs=1e-6)
    path = tmp_path / "crowd.jsonl"
    for seconds in (1.0, 2.0):
        store_mixture_row(path, {**row, "processor_seconds": seconds})
    store_mixture_row(path, {**row, "crowd": "other"})
    assert [(each["crowd"], each["processor_seconds"]) for each in read_mixtures(path)] == [
        ("one", 2.0),
        ("other", row["processor_seconds"]),
    ]
    assert mixture_section(row).blocks[0].rows[2].cells[0].estimate.mean == 0.0
    path.write_text("{}\n")
    with pytest.raises(InputError):
        read_mixtures(path)


def test_command_prints_and_stores_the_price(tmp_path):
    done = dond(
        "experiment", "crowd", "--of", "tough", "--of", "ultimatum", "--of", "random", "--results", tmp_path / "c.jsonl"
    )
    assert done.returncode == 0, done.stderr
    row = json.loads((tmp_path / "c.jsonl").read_text())
    assert [cell["partner"] for cell in row["cells"]] == ["tough", "ultimatum"]
    for side in row["seats"]:
        (low, high), (known, _), (reply, _) = side["price"], side["known"], side["reply"]
        assert low == high == pytest.approx(known - reply, abs=2e-6)
        assert low >= 0
    assert "price of not knowing the partner" in done.stdout and "random (it gambles from act to act)" in done.stdout
    refused = dond("experiment", "crowd")
    assert refused.returncode == 2 and "--of" in refused.stderr
