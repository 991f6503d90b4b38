"""The table of families: every value that it holds makes a partner of the catalogue."""

from __future__ import annotations

import inspect

import pytest

from dond_marl.occupants import catalogue, seat_occupant
from partners.catalogue import scripted
from partners.scripted.families import FAMILIES


def test_every_scripted_partner_is_a_family_and_nobody_else():
    assert list(FAMILIES) == scripted()


@pytest.mark.parametrize("name", FAMILIES)
def test_every_value_of_a_family_makes_another_partner(name):
    made = [
        seat_occupant({"kind": name, parameter: value})
        for parameter, values in FAMILIES[name].items()
        for value in values
    ]
    defaults = inspect.signature(catalogue()[name]).parameters
    assert list(defaults) == list(FAMILIES[name]), "a parameter that no roster varies"
    for parameter, values in FAMILIES[name].items():
        assert defaults[parameter].default in values
        assert len(set(values)) == len(values) > 1
    assert len({repr(partner) for partner in made}) >= len(made) - max(len(FAMILIES[name]) - 1, 0)
