"""Best-response references: stored equals computed, file format, responses of a league."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dond_marl.errors import InputError
from dond_marl.game import Rules
from dond_marl.occupants import Spec, parse_spec, seat_occupant
from dond_marl.scenarios.sources import PARTS, lewis_space, open_source, view_parts
from experiments.reference_values import (
    fingerprint_of,
    reference_to,
    references_to_ship,
    ship_references,
    write_references,
)
from league.settings.read import parse
from league.standings.references import (
    STORED,
    Reference,
    Side,
    exact_responses,
    part_sizes,
    reference_of,
    reference_points,
    responses_of,
    stored_references,
    stored_responses,
)
from partners.provenance import identity
from partners.rosters import DEV, DEV2, TRAIN, roster
from tests.command import dond

POINTS = st.floats(0, 10)
NETWORKS = ("expert",)  # whose play may differ in the last digit from machine to machine

WITH_REFERENCES = (TRAIN, DEV, DEV2)  # rosters


@st.composite
def sides(draw):
    low, gap = draw(st.tuples(*[POINTS] * 4)), draw(st.tuples(*[st.floats(0, 1)] * 4))
    exact = draw(st.booleans())
    high = low if exact else tuple(a + b for a, b in zip(low, gap, strict=True))
    return Side(exact, draw(st.text(max_size=20)), low[0], high[0], low[1:], high[1:], 1.5)


@given(st.dictionaries(st.text(min_size=1), st.builds(lambda a, b: Reference((a, b), "ab"), sides(), sides())))
def test_references_are_read_back(tmp_path_factory, references):
    path = tmp_path_factory.mktemp("references") / "r.json"
    write_references(path, references)
    found = stored_references(path)
    assert found.keys() == references.keys()
    for name, reference in references.items():
        for side, own in zip(found[name].seats, reference.seats, strict=True):
            assert (side.exact, side.how, side.seconds) == (own.exact, own.how, own.seconds)
            assert (side.high, *side.high_in) == pytest.approx((own.high, *own.high_in), abs=1e-9)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 99, "partners": {}}', '{"version": 1, "partners": 3}'])
def test_damaged_references_file(tmp_path, text):
    path = tmp_path / "references.json"
    path.write_text(text)
    with pytest.raises(InputError, match="dond ship references"):
        stored_references(path)
    assert stored_references(tmp_path / "nowhere.json") == {}


def test_parts_of_references_add_up():
    assert part_sizes().sum(axis=1).tolist() == [lewis_space().size] * 2
    for name, reference in stored_references().items():
        for seat, side in enumerate(reference.seats):
            if side is None:
                continue
            low, high = side.values_over(seat, range(len(PARTS)))
            # What was played with luck counts up to the bound, of each part apart: the parts may hold a little less.
            assert low == pytest.approx(side.low, abs=1e-6) if side.exact else side.low - 0.1 < low < side.low + 1e-6, (
                name
            )
            assert high == pytest.approx(side.high, abs=1e-6) if side.exact else high >= side.low - 1e-6, name
            assert side.low <= side.high + 1e-9 and all(
                a <= b + 1e-9 for a, b in zip(side.low_in, side.high_in, strict=True)
            )


@pytest.mark.parametrize("name", WITH_REFERENCES)
def test_roster_members_have_references(name):
    """A partner whose program has changed since must be computed anew: `dond ship references`."""
    for member in roster(name):
        found = reference_of(parse_spec(member))
        assert found is not None, f"{member} has no reference: run dond ship references --roster {name}"
        assert found.fingerprint == fingerprint_of(seat_occupant(member)), f"{member} plays otherwise than it did"


@pytest.mark.parametrize(
    "spec",
    [
        "boulware(floor=0.6)",
        "punisher",
        *(pytest.param(m, marks=pytest.mark.slow) for name in WITH_REFERENCES for m in roster(name)),
    ],
)
def test_stored_reference_equals_computed(spec):
    stored, found = reference_of(parse_spec(spec)), reference_to(seat_occupant(spec))
    for own, side in zip(found.seats, stored.seats, strict=True):
        assert (own is None) == (side is None)
        if own is not None:
            assert own.exact == side.exact
            assert (own.low, own.high, *own.high_in) == pytest.approx((side.low, side.high, *side.high_in), abs=1e-6)


def test_held_out_part_of_a_reference():
    side = reference_of(parse_spec("boulware(floor=0.6)")).seats[1]
    which = view_parts(lewis_space(), 1)
    sizes = np.bincount(which)
    assert side.values_over(1, (1, 2))[1] == pytest.approx(np.dot(side.high_in[1:], sizes[1:]) / sizes[1:].sum())


def test_partners_without_reference():
    assert reference_to(seat_occupant("micro")).seats == (None, None)
    assert not Reference((None, None), "").exact


def test_ship_references_resumes(tmp_path, capsys):
    target = tmp_path / "mine.json"
    assert dond("ship", "references", "pushover", "stubborn", "--out", target) == 0
    first = json.loads(target.read_text())
    assert dond("ship", "references", "pushover", "--out", target) == 0
    assert json.loads(target.read_text()) == first  # the seconds too: nothing was computed
    name = identity("pushover")
    changed = {**stored_references(target)}
    changed[name] = changed[name]._replace(fingerprint="0" * 16, seats=(None, None))
    write_references(target, changed)
    ship_references(["pushover"], target)
    again = stored_references(target)
    assert again[name].seats[0].high == 10 and again.keys() == changed.keys()
    assert "as seat_0: 10.000" in capsys.readouterr().out
    assert dond("ship", "references", "nobody", "--out", target) == 2
    assert "occupant" in capsys.readouterr().err


def test_shipped_references_cover_rosters_and_defaults():
    every = {identity(spec) for spec in references_to_ship(())}
    assert {identity(member) for name in WITH_REFERENCES for member in roster(name)} <= every
    assert identity("boulware") in every and len(references_to_ship(("linear",))) == 1
    assert len(references_to_ship((), ("dev",))) == len(roster("dev"))
    assert STORED.is_file() and not math.isnan(next(iter(stored_references().values())).seats[0].high)


# The third has no exact reference, the fourth none at all.
SETTINGS = """
env: {scenarios: lewis, split: train}
members: [heuristic, {kind: tough, name: my rival}, quantal_response, "boulware(exponent=7)"]
"""


def settings(*lines):
    return parse(SETTINGS + "\n".join(lines), "settings")


def stored(spec):
    return tuple(side.high for side in reference_of(parse_spec(spec)).seats)


def test_stored_responses_by_member_name():
    assert stored_responses(settings()) == {"heuristic": stored("heuristic"), "my rival": stored("tough")}


@pytest.mark.parametrize(
    "line",
    [
        "env: {scenarios: uniform}",
        "env: {scenarios: lewis, max_turns: 9}",
        "env: {scenarios: lewis, disagree: rejects}",
    ],
)
def test_no_stored_responses_under_other_rules(line):
    config = parse(SETTINGS.replace("env: {scenarios: lewis, split: train}", line), "settings")
    assert stored_responses(config) == {}


def test_exact_adds_missing_responses():
    exact = settings("league: {responses: exact}")
    found = responses_of(exact)
    assert found.keys() == {"heuristic", "my rival", "boulware(exponent=7)"}  # quantal_response gambles
    first, second = found["boulware(exponent=7)"]
    assert 6 < first < second < 8
    assert responses_of(settings()).keys() == {"heuristic", "my rival"}


def test_exact_responses_to_partners_with_memory():
    source = open_source("lewis", split="train")
    first, second = exact_responses(parse_spec("punisher(patience=2)"), source, Rules(6))
    assert 5 < first < 8 and 5 < second < 8
    assert exact_responses(parse_spec("punisher(patience=2)"), source, Rules(6, "rejects")) is None


def test_reference_points_of_a_training():
    source = open_source("lewis", split="train")
    found = reference_points(Spec("heuristic"), source, Rules(), False)
    assert found.response == pytest.approx(sum(stored("heuristic")) / 2) and found.nash > 5
    assert (
        reference_points(Spec("heuristic"), source, Rules(9), False).response != found.response
    )  # nan: nothing is stored
