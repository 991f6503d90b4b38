"""Every occupant of the catalogue keeps to the contract, and the checks notice those that do not."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace

import numpy as np
import pytest

from dond_marl.conformance import VARIANTS, check_in_another_process, check_partner, positions
from dond_marl.errors import InputError
from dond_marl.game import Act, Scenario
from dond_marl.occupants import catalogue, seat_occupant
from dond_marl.rollout import OccupantError, rollout
from dond_marl.scenarios.sources import pack
from dond_marl.seats import Traits, constant, decide

NAMES = sorted(catalogue())
PLAIN = [
    name
    for name in NAMES
    if all(given.default is not given.empty for given in inspect.signature(catalogue()[name]).parameters.values())
]  # those that need no parameters
PLAIN.remove("llm")  # it needs a key
PLAIN.remove("bayes_reply")  # it knows few games: tests/partners/test_bayes_reply.py
PLAIN.remove("equilibrium")  # it knows few games: tests/partners/test_equilibrium.py
SIMPLE = Traits(deterministic=True, memoryless=True)
NOTHING = Traits()


@pytest.mark.parametrize("name", PLAIN)
def test_every_occupant_conforms(name):
    check_partner(seat_occupant(name), games=6, sources=("uniform",), variants=VARIANTS[1:3])


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAIN)
def test_every_occupant_conforms_in_all_variants(name):
    check_partner(seat_occupant(name))


@pytest.mark.slow
def test_another_process_gets_the_same_answers():
    partners = {name: seat_occupant(name) for name in PLAIN}
    check_in_another_process(partners, games=2, sources=("uniform",), variants=VARIANTS[1:3])


def sized(value, dtype, turns):
    return constant(value, dtype, turns.size)


def fail(turns, said):
    raise ZeroDivisionError("out of ideas")


def write(turns, said):
    turns.counts.flags.writeable = True
    turns.counts[0, 0] += 1
    return said


def keep_all_if(condition, turns, said):
    return said._replace(oA=np.where(condition[:, None], turns.counts, np.int8(0)))


FAULTS = {  # what changes the decisions, and the complaint
    "none": (lambda turns, said: said, ""),
    "agrees": (lambda turns, said: said._replace(act_type=sized(Act.AGREE, np.int8, turns)), "AGREE"),
    "asks too much": (lambda turns, said: said._replace(oA=turns.counts + np.int8(1)), "the pool"),
    "unknown act": (lambda turns, said: said._replace(act_type=sized(5, np.int8, turns)), r"outside 0\.\.4"),
    "wide integers": (lambda turns, said: said._replace(oA=said.oA.astype(np.int64)), "oA as int8"),
    "too few rows": (lambda turns, said: said._replace(act_type=said.act_type[:-1]), "act_type as int8"),
    "too sure": (lambda turns, said: said._replace(confidence=sized(1.5, np.float32, turns)), r"outside 0\.\.1"),
    "no number": (lambda turns, said: said._replace(confidence=sized(np.nan, np.float32, turns)), r"outside 0\.\.1"),
    "no cause": (lambda turns, said: said._replace(cause=sized(99, np.int8, turns)), "no Cause"),
    "raises": (fail, "ZeroDivisionError"),
    "writes": (write, "wrote|ValueError"),
    "a list": (lambda turns, said: [list(field) for field in said[:4]], "Decisions .*; got list"),
    "other rows": (
        lambda turns, said: said._replace(oA=np.minimum(turns.counts, turns.counts.min(axis=0))),
        "differently",
    ),
    "needs a crowd": (lambda turns, said: said._replace(oA=said.oA * np.int8(turns.size > 1)), "differently alone"),
    "reads noise": (lambda turns, said: keep_all_if(turns.noise[:, 0] < 0.5, turns, said), "declares none"),
    "reads game noise": (lambda turns, said: keep_all_if(turns.game_noise[:, 0] < 0.5, turns, said), "declares none"),
    "remembers": (
        lambda turns, said: keep_all_if(turns.history.oA.sum(axis=(1, 2)) % 2 == 0, turns, said),
        "no memory",
    ),
    "remembers its own acts": (
        lambda turns, said: keep_all_if(turns.history.oA[:, turns.seat :: 2].sum(axis=(1, 2)) % 2 == 0, turns, said),
        "no memory",
    ),
}


@dataclass(frozen=True)
class Faulty:
    """Proposes to keep everything, with one fault."""

    fault: str
    traits: Traits = SIMPLE

    def act(self, turns):
        return FAULTS[self.fault][0](turns, decide(np.zeros(turns.size), turns.counts))


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "none"])
def test_violations_are_named(fault):
    with pytest.raises(AssertionError, match=FAULTS[fault][1]):
        check_partner(Faulty(fault))


@pytest.mark.parametrize("fault", ["remembers", "reads noise"])
def test_declared_traits_are_allowed(fault):
    partner = Faulty(fault, Traits(deterministic=fault == "remembers", memoryless=fault != "remembers"))
    check_partner(partner, variants=VARIANTS[:4])


class Counts:
    """Answers by the number of earlier queries."""

    def __init__(self, traits: Traits = NOTHING) -> None:
        self.traits, self.asked = traits, 0

    def act(self, turns):
        self.asked += 1
        return decide(np.zeros(turns.size), turns.counts * (self.asked % 2))


class CountsInPlace(Counts):
    """As ``Counts``, always in the same array."""

    buffer = np.zeros((100, 3), np.int8)

    def act(self, turns):
        decisions, kept = super().act(turns), self.buffer[: turns.size]
        kept[:] = decisions.oA
        return decisions._replace(oA=kept)


def test_stateful_partner_fails_unless_remote():
    with pytest.raises(AssertionError, match="answers differently when asked twice"):
        check_partner(Counts())
    with pytest.raises(AssertionError, match="answers differently when asked twice"):
        check_partner(CountsInPlace())
    check_partner(Counts(Traits(remote=True)))


@pytest.mark.parametrize("games", [0, 1.5])
def test_no_whole_number_of_games_is_refused(games):
    with pytest.raises(InputError):
        check_partner(Faulty("none"), games=games)


def test_positions_change_what_is_hidden_and_nothing_else():
    partner = Faulty("none")
    checked = 0
    for position in positions(partner, games=8):
        shown, hidden = position.turns, position.hidden
        assert (shown.counts == hidden.counts).all()
        assert (shown.my_utilities == hidden.my_utilities).all()
        assert (shown.history.oA == hidden.history.oA).all()
        checked += 1
    assert checked > 50


def test_no_partner_is_refused():
    with pytest.raises(AssertionError, match="is no partner"):
        check_partner("heuristic")  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="is no partner"):
        check_partner(replace(Faulty("none"), traits=None))
    for check in (check_partner, lambda kind: check_in_another_process({"one": kind})):
        with pytest.raises(AssertionError, match=r"Counts is a class: pass an instance, Counts\(\)"):
            check(Counts)


def test_unpicklable_partner_is_refused():
    class Local(Counts):
        """No other process can find this class."""

    for check in (check_partner, lambda partner: check_in_another_process({"one": partner})):
        with pytest.raises(AssertionError, match="must be picklable: define its class at the top of a module"):
            check(Local())


class Writes:
    """Keeps everything, and writes somewhere in what it is shown."""

    traits = Traits(deterministic=True)

    def __init__(self, where):
        self.where = where

    def act(self, turns):
        for array in self.where(turns):
            array[:] = 10
        return decide(np.zeros(turns.size), turns.counts)


@pytest.mark.parametrize("name", ["counts", "my_utilities"])
def test_partner_cannot_write_into_the_scenarios(name):
    table = Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1)))
    scenarios = pack([table, table.swap_seats()], "lewis")
    partner = Writes(lambda turns: [getattr(turns, name)])
    with pytest.raises(OccupantError, match=r"the occupant of seat_1 failed: ValueError: .* read-only"):
        rollout((seat_occupant("tough"), partner), scenarios, seed=0)
    assert [scenarios.scenario(row) for row in range(2)] == [table, table.swap_seats()]
