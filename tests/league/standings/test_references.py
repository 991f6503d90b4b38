"""Best-response references: stored equals computed, file format, responses of a league."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from dond_marl.game import Rules
from dond_marl.occupants import Spec, parse_spec, seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import PARTS, lewis_space, open_source, view_parts
from dond_marl.seats import Partner
from dond_marl.solvers.values import response_value
from league.settings.read import parse
from league.standings.references import (
    Reference,
    part_sizes,
    reference_of,
    reference_points,
    stored_references,
    stored_responses,
)
from partners.rosters import DEV, DEV2, TRAIN, roster

WITH_REFERENCES = (TRAIN, DEV, DEV2)  # rosters


def fingerprint_of(partner: Partner) -> str:
    """A digest of a partner's scores on 353 scenarios against two others, 16 hexadecimal digits, as stored.

    The digest of a network may differ between kinds of machines, by rounding between nearly equal actions.
    """
    scenarios = lewis_space().rows(slice(None, None, 15))
    digest = hashlib.sha256()
    for i, name in enumerate(("heuristic", "random")):
        other = seat_occupant(name)
        for seat in (0, 1):
            pair = (partner, other) if seat == 0 else (other, partner)
            games = rollout(pair, scenarios, seed=0, index=(i, seat))
            digest.update(np.ascontiguousarray(games.scores, dtype=np.int16).tobytes())
    return digest.hexdigest()[:16]


def test_missing_file_holds_no_references(tmp_path):
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
    for member in roster(name):
        found = reference_of(member)
        assert found is not None, member
        assert found.fingerprint == fingerprint_of(seat_occupant(member)), f"{member} plays otherwise than it did"


@pytest.mark.parametrize(
    "spec",
    [
        "boulware(floor=0.6)",
        *(pytest.param(m, marks=pytest.mark.slow) for name in WITH_REFERENCES for m in roster(name)),
    ],
)
def test_stored_reference_equals_the_solved_value(spec):
    for seat, side in enumerate(reference_of(parse_spec(spec)).seats):
        if side is not None and side.exact:
            value = response_value(seat_occupant(spec), open_source("lewis"), Rules(), seat)
            assert value.exact and (side.low, side.high) == pytest.approx((value.low, value.high), rel=5e-5)


def test_held_out_part_of_a_reference():
    side = reference_of(parse_spec("boulware(floor=0.6)")).seats[1]
    which = view_parts(lewis_space(), 1)
    sizes = np.bincount(which)
    assert side.values_over(1, (1, 2))[1] == pytest.approx(np.dot(side.high_in[1:], sizes[1:]) / sizes[1:].sum())


def test_partners_without_reference():
    assert reference_of(parse_spec("micro")) is None or not reference_of(parse_spec("micro")).exact
    assert not Reference((None, None), "").exact


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


def test_reference_points_of_a_training():
    source = open_source("lewis", split="train")
    found = reference_points(Spec("heuristic"), source, Rules(), False)
    assert found.response == pytest.approx(sum(stored("heuristic")) / 2) and found.nash > 5
    assert (
        reference_points(Spec("heuristic"), source, Rules(9), False).response != found.response
    )  # nan: nothing is stored
