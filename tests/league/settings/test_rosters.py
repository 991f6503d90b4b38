"""The rosters in a league's settings: what their names stand for, and who may not be met before the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from league.settings.read import ConfigError, dump, load_config, parse
from partners.rosters import DEV, TEST, TRAIN, plain_name, roster

ROOT = Path(__file__).resolve().parents[3]
LEAGUES = [*sorted((ROOT / "configs").glob("league*.yaml")), ROOT / "configs" / "pool_ppo.yaml"]
SOMEBODY = roster(TEST)[0]


@pytest.mark.parametrize("path", LEAGUES, ids=lambda path: path.name)
def test_no_shipped_league_practices_with_those_who_are_held_out(path):
    config = load_config(path)
    met = {plain_name(member.spec) for member in (*config.members, *config.gate)}
    assert met.isdisjoint(roster(DEV)) and met.isdisjoint(roster(TEST))
    held = {plain_name(member.spec) for member in config.heldout}
    assert held <= set(roster(DEV)) and held.isdisjoint(met)


@pytest.mark.parametrize(
    "text",
    [
        "members: test",
        "members: [heuristic, test]",
        f"members: [heuristic, '{SOMEBODY}']",
        f"members: [heuristic, {{spec: '{SOMEBODY}', name: friend}}]",
        "members: [heuristic]\ngate: test",
        f"members: [heuristic]\ngate: ['{SOMEBODY}']",
        "members: [heuristic, 'linear(exponent=1, floor=0.35)']",
    ],
)
def test_nobody_of_the_roster_test_is_met_before_the_end(text):
    with pytest.raises(ConfigError) as refused:
        parse(f"{text}\n")
    assert "is in the roster test, which nobody meets before the end: leave it out" in str(refused.value)
    line = str(refused.value).splitlines()[0]
    assert line.startswith(("settings:1: members", "settings:2: gate"))


def test_all_whom_a_list_names_wrongly_are_told_at_once():
    with pytest.raises(ConfigError) as refused:
        parse("members: [heuristic, test]\n")
    assert len(refused.value.complaints) == len(roster(TEST))


def test_the_roster_test_may_be_met_at_the_end():
    config = parse("members: zoo\nheldout: test\n")
    assert tuple(member.spec for member in config.heldout) == roster(TEST)
    assert parse(dump(config)) == config


def test_what_is_installed_beside_does_not_join_the_zoo(monkeypatch):
    from dond_marl import occupants

    before = parse("members: zoo\n")
    known = {**occupants.catalogue(), "aaa_stranger": occupants.catalogue()["tough"]}
    monkeypatch.setattr(occupants, "catalogue", lambda: known)
    assert parse("members: [aaa_stranger]\n").members[0].name == "aaa_stranger"
    assert parse("members: zoo\n") == before
    assert tuple(member.spec for member in before.members) == roster(TRAIN)


def test_a_word_that_is_no_roster_is_an_occupant_that_nobody_has():
    for text, told in (("members: [trian]", "no occupant is called 'trian'"), ("heldout: tset", "must be a list")):
        with pytest.raises(ConfigError, match=told):
            parse(f"{text}\n")
