"""Generated programs: every one is a conforming partner, and the dials say what it does."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dond_marl.conformance import _another_past, check_partner, positions
from dond_marl.game import Rules
from dond_marl.occupants import OccupantNameError, seat_occupant
from dond_marl.randomness import generator
from dond_marl.rollout import OccupantError, rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import turns_after
from experiments.rosters import scenario_sample
from partners.independent import Independent, programs
from partners.scripted.generated import (
    DIALS,
    GROUPS,
    PROGRAMS,
    Generated,
    describe,
    describe_spec,
    dials_of,
    digest_of,
    name_programs,
)

RULES = ((Rules(8), False), (Rules(5, "rejects"), False))
NUMBERS = generator(7, "programs").integers(0, PROGRAMS, 4000, dtype=np.uint64)


def acts(partner, games=40, seed=0):
    for position in positions(seat_occupant("random"), games=games, sources=("lewis",), variants=RULES, seed=seed):
        yield position.turns, partner.act(position.turns)


@pytest.mark.slow
def test_program_drawn_for_every_game_conforms():
    check_partner(Generated(), games=4)


@pytest.mark.parametrize("number", NUMBERS[:4].tolist())
def test_named_program_conforms_to_its_declared_traits(number):
    check_partner(Generated(number), games=2, sources=("lewis",), variants=RULES)


def test_game_plays_the_program_of_its_noise():
    drawn = Generated()
    for turns, decisions in acts(drawn):
        for row in range(0, turns.size, 7):
            one = turns.rows(slice(row, row + 1))
            alone = Generated(int(one.game_noise[0, 0] * PROGRAMS)).act(one)
            assert alone.act_type[0] == decisions.act_type[row] and (alone.oA[0] == decisions.oA[row]).all()


@pytest.mark.slow
def test_fixed_number_of_programs_is_drawn_from():
    few = Generated(programs=3)
    drawn = few.draw_programs(np.linspace(0, 1, 600, endpoint=False))
    assert len(set(drawn.tolist())) == 3 and (np.bincount(np.unique(drawn, return_inverse=True)[1]) == 200).all()
    for turns, decisions in acts(few):
        alone = [Generated(int(number)) for number in sorted(set(drawn.tolist()))]
        played = np.array([partner.act(turns).act_type == decisions.act_type for partner in alone])
        assert played.any(axis=0).all()
    check_partner(few, games=4)


def test_dials_follow_their_declared_distributions():
    dials = dials_of(NUMBERS)
    for dial in DIALS:
        value = dials[dial.name]
        assert abs(sum(chance for chance, _, _ in dial.pieces) - 1) < 1e-9
        assert min(low for _, low, _ in dial.pieces) <= value.min() and value.max() <= max(h for *_, h in dial.pieces)
        if dial.name != "end":  # which is at most the start
            expected = sum(chance * (low + high) / 2 for chance, low, high in dial.pieces)
            assert abs(value.mean() - expected) < 5 * value.std() / len(value) ** 0.5 + 1e-12
    table = np.stack([value for value in dials.values() if value.std() > 0])
    correlations = np.corrcoef(table) - np.eye(len(table))
    names = list(dials)
    correlations[names.index("start"), names.index("end")] = correlations[names.index("end"), names.index("start")] = 0
    assert np.abs(correlations).max() < 0.08


@pytest.mark.parametrize("group", GROUPS)
def test_every_group_of_dials_changes_what_is_played(group):
    without = Generated(without=group)
    pairs = zip(acts(Generated()), acts(without), strict=True)
    assert any((one.act_type != other.act_type).any() or (one.oA != other.oA).any() for (_, one), (_, other) in pairs)


def test_programs_differ():
    played = {b"".join(d.act_type.tobytes() + d.oA.tobytes() for _, d in acts(Generated(int(n)))) for n in NUMBERS[:20]}
    assert len(played) >= 19


def opening_by_hand(dials, counts, values):
    """The claim of a program's first turn by its rule of choice, split by split, in whole numbers as the dials say."""
    pool_value = sum(c * v for c, v in zip(counts, values, strict=True))
    splits = list(itertools.product(*(range(count + 1) for count in counts)))
    points = {split: sum(n * v for n, v in zip(split, values, strict=True)) for split in splits}
    enough = math.ceil(dials["start"] * pool_value - 1e-9)
    least = min(p for p in points.values() if p >= enough)
    most = max(least, enough + int(dials["slack"] * pool_value))
    good = [split for split in splits if enough <= points[split] <= most]
    wants = {0: lambda c, v: 1.0, 1: lambda c, v: 1 / max(c, 1), 2: lambda c, v: v + 0.01}
    wants[3] = lambda c, v: max(values) - v + 0.01
    weights = [wants[dials["model"]](c, v) for c, v in zip(counts, values, strict=True)]
    total = sum(w * c for w, c in zip(weights, counts, strict=True))
    costs = {split: sum(n * int(w / total * 4096) for n, w in zip(split, weights, strict=True)) for split in splits}
    scores = {
        0: lambda split: -points[split],
        1: lambda split: -sum(split),
        2: lambda split: -costs[split],
        3: lambda split: -costs[split],  # the partner has offered nothing yet
        4: lambda split: min(points[split] * 4096 // max(pool_value, 1), 4096 - costs[split]),
        5: lambda split: points[split],
        6: lambda split: -sum(0 < n < c for n, c in zip(split, counts, strict=True)),
    }
    return max(good, key=lambda split: (scores[dials["choice"]](split), -points[split]))


def test_opening_is_the_favourite_split_of_its_rule_of_choice():
    scenarios = open_source("lewis").draw(generator(1, "scenarios"), 12)
    counts, values, none = scenarios.counts, scenarios.utilities[:, 0], np.zeros((0, 12), np.int8)
    start = turns_after(Rules(), "lewis", counts, values, none, np.zeros((0, 3, 12), np.int8), counts * 0)
    table, covered = dials_of(NUMBERS), set()
    plain = (table["perception"] == 0) & (table["slip"] == 0) & (table["jitter"] == 0) & (table["fold"] == 1)
    for i in np.flatnonzero(plain)[:100]:
        dials = {name: float(value[i]) for name, value in table.items()}
        claim = Generated(int(NUMBERS[i])).act(start).oA
        for row in range(12):
            assert tuple(claim[row]) == opening_by_hand(dials, counts[row].tolist(), values[row].tolist()), dials
        covered.add((dials["choice"], dials["model"]))
    assert len(covered) >= 25


def test_digest_pins_a_program():
    assert seat_occupant({"kind": "generated", "program": 5, "digest": digest_of(5)}) == Generated(5, digest_of(5))
    for wrong in (
        {"program": -1},
        {"program": 5, "digest": "0" * 16},
        {"digest": digest_of(5)},
        {"without": "luck"},
        {"program": 5, "programs": 3},
    ):
        with pytest.raises(OccupantNameError):
            seat_occupant({"kind": "generated", **wrong})


def test_programs_are_described_by_their_dials():
    texts = [describe(number) for number in NUMBERS[:300].tolist()]
    assert len(set(texts)) == len(texts)
    dials = dials_of(NUMBERS[:300])
    for i, text in enumerate(texts):
        assert f"{dials['start'][i]:.0%}" in text
        assert ("wavers" in text) == (dials["jitter"][i] > 0)
    jitters = int(NUMBERS[dials_of(NUMBERS)["jitter"] > 0][0])
    assert "wavers" not in describe_spec(f"generated(program={jitters}, without=mistakes)")


def test_drawn_programs_are_named():
    noise = generator(3, "noise").random(50)
    for spec in ("generated", "generated(programs=5)", "generated(without=choice)"):
        drawn = seat_occupant(spec).draw_programs(noise).tolist()
        named = [seat_occupant(name) for name in name_programs(spec, noise)]
        assert named == [Generated(number, without=seat_occupant(spec).without) for number in drawn]
    assert name_programs("generated(program=7)", noise[:2]) == ["generated(program=7)"] * 2
    assert name_programs("a person", noise[:1]) == ["a person"]


# -- Programs by independent authors: the contract, their declared traits, and whole games under several rules---


NAMES = list(programs())
VARIANTS = ((Rules(2, "rejects"), False), (Rules(5, "rejects"), False), (Rules(10), False))
FEW = scenario_sample(20)


@pytest.mark.parametrize("name", NAMES)
def test_every_program_keeps_to_the_contract_and_to_its_traits(name):
    partner = Independent(name)
    assert partner.traits.deterministic != programs()[name].chance
    assert partner.traits.memoryless != programs()[name].memory
    check_partner(partner, games=2, sources=("lewis",), variants=VARIANTS)


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
        if uses:  # that the others do not is part of the contract
            pairs = zip(answers(partner), answers(partner, change), strict=True)
            assert any((one != two).any() for one, two in pairs)


def test_longer_games_than_the_authors_knew_are_refused():
    with pytest.raises(OccupantError, match="at most 10 turns"):
        rollout((Independent(NAMES[0]), seat_occupant("random")), FEW, Rules(11), seed=1)


def test_an_unknown_program_is_refused_with_the_nearest_names():
    with pytest.raises(OccupantNameError, match="56 programs, as a_step_for_step"):
        seat_occupant("independent(program=step_for_step)")
