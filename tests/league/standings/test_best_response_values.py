"""What a best response earns against the members of a league: stored, computed, and shown."""

from __future__ import annotations

import json

import pytest

from dond_marl.game import Rules
from dond_marl.scenarios.sources import open_source
from league.settings.read import parse
from league.standings.best_response_values import STORED, exact_responses, known_responses, responses_of

SETTINGS = """
env: {scenarios: lewis, split: train}
members: [heuristic, {kind: tough, name: my rival}, nash_seeker, "boulware(exponent=2)"]
"""


def settings(*lines):
    return parse(SETTINGS + "\n".join(lines), "settings")


def stored():
    return json.loads(STORED.read_text())["points_of_ten"]


@pytest.mark.parametrize(
    "name",
    ["pushover", *(pytest.param(name, marks=pytest.mark.slow) for name in sorted(stored()))],
)
def test_what_is_stored_is_what_is_computed(name):
    found = exact_responses(name, open_source("lewis", split="all"), Rules())
    assert found == pytest.approx(tuple(stored()[name]), abs=1e-6)


def test_a_league_knows_what_is_stored_under_whatever_name():
    found = known_responses(settings())
    assert found == {"heuristic": tuple(stored()["heuristic"]), "my rival": tuple(stored()["tough"])}


@pytest.mark.parametrize(
    "line",
    [
        "env: {scenarios: uniform}",
        "env: {scenarios: lewis, max_turns: 9}",
        "env: {scenarios: lewis, disagree: rejects}",
    ],
)
def test_under_other_rules_nothing_is_known(line):
    config = parse(SETTINGS.replace("env: {scenarios: lewis, split: train}", line), "settings")
    assert known_responses(config) == {}


@pytest.mark.slow
def test_exact_computes_what_is_missing_where_it_can():
    exact = settings("league: {responses: exact}")
    found = responses_of(exact)
    assert found.keys() == {"heuristic", "my rival", "boulware(exponent=2)"}  # nash_seeker uses the history
    first, second = found["boulware(exponent=2)"]
    assert 6.5 < first < second < 8
    assert responses_of(settings()).keys() == {"heuristic", "my rival"}
