"""Rosters in a league's settings: expansion, and the refusal of dev2 and test2 where they are not allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from league.settings.read import ConfigError, dump, load_config, parse
from partners.rosters import DEV, DEV2, TEST2, TRAIN, plain_name, roster

ROOT = Path(__file__).resolve().parents[3]
LEAGUES = [*sorted((ROOT / "configs").glob("league*.yaml")), ROOT / "configs" / "pool_ppo.yaml"]
TEST_MEMBER = roster(DEV2)[0]


@pytest.mark.parametrize("path", LEAGUES, ids=lambda path: path.name)
def test_shipped_leagues_keep_held_out_members_apart(path):
    config = load_config(path)
    opponents = {plain_name(member.spec) for member in (*config.members, *config.gate)}
    assert all(opponents.isdisjoint(roster(name)) for name in (DEV, DEV2, TEST2))
    held = {plain_name(member.spec) for member in config.heldout}
    assert held <= set(roster(DEV)) and held.isdisjoint(opponents)


@pytest.mark.parametrize(
    "text",
    [
        "members: dev2",
        "members: [heuristic, dev2]",
        f"members: [heuristic, '{TEST_MEMBER}']",
        f"members: [heuristic, {{spec: '{TEST_MEMBER}', name: friend}}]",
        "members: [heuristic]\ngate: dev2",
        f"members: [heuristic]\ngate: ['{TEST_MEMBER}']",
        "members: [heuristic, 'linear(exponent=1, floor=0.35)']",
    ],
)
def test_roster_dev2_is_refused_outside_of_heldout(text):
    with pytest.raises(ConfigError) as refused:
        parse(f"{text}\n")
    assert {origin.label for origin, _ in refused.value.complaints} <= {"settings:1", "settings:2"}
    assert all(complaint.startswith(("members[", "gate[")) for _, complaint in refused.value.complaints)
    assert len(refused.value.complaints) == (len(roster(DEV2)) if "dev2" in text else 1)


def test_roster_dev2_can_be_held_out():
    config = parse("members: zoo\nheldout: dev2\n")
    assert tuple(member.spec for member in config.heldout) == roster(DEV2)
    assert parse(dump(config)) == config


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("members: zoo\nheldout: [linear, test2]", "--reason"),
        (f"members: zoo\nheldout: [{roster(TEST2)[-1]!r}]" if roster(TEST2) else "heldout: test2", "--reason"),
    ],
)
def test_rosters_that_no_league_plays_are_refused_with_the_way_out(text, said):
    with pytest.raises(ConfigError) as refused:
        parse(f"{text}\n")
    assert any(said in complaint for _, complaint in refused.value.complaints)


def test_installed_packages_do_not_join_the_zoo(monkeypatch):
    from dond_marl import occupants

    before = parse("members: zoo\n")
    known = {**occupants.catalogue(), "aaa_stranger": occupants.catalogue()["tough"]}
    monkeypatch.setattr(occupants, "catalogue", lambda: known)
    assert parse("members: [aaa_stranger]\n").members[0].name == "aaa_stranger"
    assert parse("members: zoo\n") == before
    assert tuple(member.spec for member in before.members) == roster(TRAIN)


@pytest.mark.parametrize(("text", "key"), [("members: [trian]", "members[0]"), ("heldout: tset", "heldout")])
def test_misspelt_roster_is_refused(text, key):
    with pytest.raises(ConfigError) as refused:
        parse(f"{text}\n")
    assert [complaint.partition(":")[0] for _, complaint in refused.value.complaints] == [key]
