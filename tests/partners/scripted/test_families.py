"""The table of families, and what every scripted partner says of itself: it is true whatever the parameters."""

from __future__ import annotations

import inspect
from functools import cache
from itertools import product

import numpy as np
import pytest

from dond_marl.conformance import check_partner, positions
from dond_marl.game import Act, Rules
from dond_marl.occupants import catalogue, seat_occupant
from dond_marl.randomness import generator
from dond_marl.seats import turns_after
from partners.catalogue import scripted_names
from partners.rosters import load_rosters

FAMILIES = load_rosters().families
VARIANTS = ((Rules(5, "rejects"), False), (Rules(4), True))  # of the one and the other extreme


def extremes(name):
    """The specs with each combination of the smallest and the largest value of each parameter."""
    ends = [(values[0], values[-1]) for values in FAMILIES[name].values()]
    return [{"kind": name, **dict(zip(FAMILIES[name], corner, strict=True))} for corner in product(*ends)]


@cache
def random_talk():
    """Turns of 100 games of random talk over legal scenarios."""
    rules = ((Rules(11), False),)
    random = seat_occupant("random")
    return [position.turns for position in positions(random, games=100, sources=("lewis",), variants=rules)]


def decisions_of(partner):
    """The acts and claims of ``partner`` in positions of random talk."""
    for turns in random_talk():
        decisions = partner.act(turns)
        yield decisions.act_type, decisions.oA * (decisions.act_type <= Act.INSIST)[:, None]


def test_every_family_is_a_scripted_partner():
    assert set(FAMILIES) <= set(scripted_names())


@pytest.mark.parametrize("name", FAMILIES)
def test_every_default_is_among_the_values_of_its_family(name):
    defaults = inspect.signature(catalogue()[name]).parameters
    assert list(defaults) == list(FAMILIES[name]), "a parameter that no roster varies"
    for parameter, values in FAMILIES[name].items():
        assert defaults[parameter].default in values
        assert len(set(values)) == len(values) > 1


@pytest.mark.parametrize(("name", "parameter"), [(name, key) for name, keys in FAMILIES.items() for key in keys])
def test_every_parameter_of_a_family_changes_decisions(name, parameter):
    plays = [list(decisions_of(seat_occupant({"kind": name, parameter: value}))) for value in FAMILIES[name][parameter]]
    flat = {b"".join(np.ascontiguousarray(array).tobytes() for turn in play for array in turn) for play in plays}
    assert len(flat) > 1


@pytest.mark.parametrize("name", [name for name in FAMILIES if FAMILIES[name]])
def test_extreme_members_of_a_family_keep_to_the_contract(name):
    for spec, variant in zip((extremes(name)[0], extremes(name)[-1]), VARIANTS, strict=True):
        check_partner(seat_occupant(spec), games=4, sources=("by_hand",), variants=[variant])


def histories(turns_before, games, rng):
    """Random talk of so many turns over one table and its own values, ``PROPOSE`` and ``INSIST`` of any split."""
    pool, values = np.array([1, 2, 1], dtype=np.int8), np.array([4, 2, 2], dtype=np.int8)
    acts = rng.integers(0, 2, size=(turns_before, games)).astype(np.int8)
    offers = rng.integers(0, pool[None, :, None] + 1, size=(turns_before, 3, games)).astype(np.int8)
    return turns_seen(pool, values, acts, offers)


def turns_seen(pool, own_values, acts, offers, length=8):
    """The turns of the seat to move after these acts."""
    counts, values = (np.tile(row, (acts.shape[1], 1)) for row in (pool, own_values))
    return turns_after(Rules(length), "lewis", counts, values, acts, offers, pool - offers[-1].T)


def members(attribute, deterministic=True):
    """The families whose members have this attribute, at their defaults."""
    partners = {name: seat_occupant(name) for name in FAMILIES}
    return {
        name: partner
        for name, partner in partners.items()
        if getattr(partner, attribute, False) and partner.traits.deterministic >= deterministic
    }


REMEMBERING = members("summary")


@pytest.mark.parametrize("name", REMEMBERING)
def test_a_summary_holds_all_that_a_partner_needs_of_the_past(name):
    # Histories with equal summaries and the same last claim: the answer is the same, and so it is after more talk.
    partner, rng, equal = REMEMBERING[name], generator(0, "summaries"), 0
    for turns_taken in (2, 3, 4):
        turns = histories(turns_taken, 1500, rng)
        acts, offers = turns.history.act.T, turns.history.oA.transpose(1, 2, 0)
        own_claim = offers[turns_taken - 2]  # the seat's own latest claim is known besides
        keys = np.vstack([acts[-1], offers[-1], own_claim, np.asarray(partner.summary(turns)).T])
        _, inverse, sizes = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
        inverse = inverse.reshape(-1)
        order = np.argsort(inverse, kind="stable")
        first = order[np.cumsum(sizes) - sizes][inverse]  # a history of the same summary for each
        equal += int((first != np.arange(len(first))).sum())
        later = rng.integers(0, 2, size=(2, 1)).astype(np.int8), rng.integers(0, 2, size=(2, 3, 1)).astype(np.int8)
        for more in (0, 2):
            longer = (
                np.concatenate([acts, np.tile(later[0][:more], (1, acts.shape[1]))]),
                np.concatenate([offers, np.tile(later[1][:more], (1, 1, acts.shape[1]))]),
            )
            turns = turns_seen(turns.counts[0], turns.my_utilities[0], *longer)
            answer = partner.act(turns)
            same = answer.act_type == answer.act_type[first]
            same &= ((answer.oA == answer.oA[first]) | (answer.act_type > Act.INSIST)[:, None]).all(axis=1)
            assert same.all(), f"{name} after {turns_taken} and {more} turns"
    assert equal > 100


DEAF = members("insist_is_propose", deterministic=False)


@pytest.mark.parametrize("name", DEAF)
def test_insist_is_propose_trait_holds(name):
    partner, rng = DEAF[name], generator(0, "insisting")
    for turns_taken in range(1, 6):
        turns = histories(turns_taken, 500, rng)
        acts, offers = turns.history.act.T.copy(), turns.history.oA.transpose(1, 2, 0)
        other = turns_seen(turns.counts[0], turns.my_utilities[0], 1 - acts, offers)
        if not partner.traits.deterministic:
            noise = {name: rng.random((turns.size, 8)) for name in ("noise", "game_noise")}
            turns, other = turns._replace(**noise), other._replace(**noise)
        for one, two in zip(partner.act(turns)[:4], partner.act(other)[:4], strict=True):
            assert (one == two).all()
