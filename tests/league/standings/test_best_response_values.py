"""What a best response earns against the members of a league: stored, computed, and shown."""

from __future__ import annotations

import pytest

from dond_marl.game import Rules
from dond_marl.scenarios.sources import open_source
from league.settings.read import parse
from league.standings.references import exact_responses, reference_of, reference_points, responses_of, stored_responses

# The third has no exact reference, the fourth none at all.
SETTINGS = """
env: {scenarios: lewis, split: train}
members: [heuristic, {kind: tough, name: my rival}, quantal_response, "boulware(exponent=7)"]
"""


def settings(*lines):
    return parse(SETTINGS + "\n".join(lines), "settings")


def stored(spec):
    return tuple(side.high for side in reference_of(spec).seats)


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
    first, second = exact_responses("punisher(patience=2)", source, Rules(6))
    assert 5 < first < 8 and 5 < second < 8
    assert exact_responses("punisher(patience=2)", source, Rules(6, "rejects")) is None


def test_reference_points_of_a_training():
    source = open_source("lewis", split="train")
    found = reference_points("heuristic", source, Rules(), False)
    assert found.response == pytest.approx(sum(stored("heuristic")) / 2) and found.nash > 5
    assert reference_points("heuristic", source, Rules(9), False).response != found.response  # nan: nothing is stored
