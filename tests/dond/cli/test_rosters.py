"""dond rosters: the members and the hashes."""

from __future__ import annotations

from partners.rosters import ROSTERS, load_rosters, roster
from tests.command import in_process as dond


def test_list_has_members_and_hashes():
    done = dond("rosters")
    assert done.returncode == 0 and done.stderr == ""
    for name in ROSTERS:
        assert load_rosters().hashes[name] in done.stdout and all(member in done.stdout for member in roster(name))


def test_list_of_one_roster_and_an_unknown_one():
    done = dond("rosters", "dev")
    hashes = load_rosters().hashes
    assert hashes["dev"] in done.stdout and hashes["dev2"] not in done.stdout
    done = dond("rosters", "test")
    assert done.returncode == 2 and "dev2" in done.stderr and "test2" in done.stderr
    done = dond("rosters", "sealed")
    assert done.returncode == 2 and "sealed" in done.stderr
