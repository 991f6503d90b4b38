"""dond rosters and dond ship rosters: the members, checks of occupants, and another draw."""

from __future__ import annotations

import pytest

from partners.rosters import FILE, ROSTERS, members_hash, roster, roster_hash
from partners.rosters.draw import admission_path, read_admission
from tests.command import in_process as dond


@pytest.fixture
def small(tmp_path):
    """A file of two rosters that are apart, and an empty one."""
    import yaml

    members = {"train": ["heuristic"], "dev": ["micro"], "test": []}
    held = {name: {"sha256": members_hash(members[name]), "members": members[name]} for name in ROSTERS}
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump({"seed": 1, "families": {}, **held}))
    return path


def test_list_has_members_and_hashes():
    done = dond("rosters")
    assert done.returncode == 0 and done.stderr == ""
    for name in ROSTERS:
        assert roster_hash(name) in done.stdout and all(member in done.stdout for member in roster(name))


def test_list_of_one_roster_as_csv():
    done = dond("rosters", "dev", "--format", "csv")
    assert tuple(row.member for row in read_admission(done.stdout)) == roster("dev")


def test_check_of_occupants_names_the_most_similar_member():
    done = dond("rosters", "--check", "first_acceptable_offer", "nash_seeker", "--as", "dev")
    first, second = done.stdout.splitlines()
    assert done.returncode == 0 and "heuristic" in first and "apart: " in second


def test_check_refuses_a_copy_among_the_members(small):
    text = small.read_text().replace("- micro", "- first_acceptable_offer")
    small.write_text(text.replace(members_hash(["micro"]), members_hash(["first_acceptable_offer"])))
    done = dond("rosters", "--check", "--file", str(small))
    assert done.returncode == 2 and "first_acceptable_offer" in done.stderr


def test_check_of_a_sound_file(small):
    done = dond("rosters", "--check", "--file", str(small))
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.count("apart") == 2


def test_check_finds_a_file_changed_by_hand(small):
    small.write_text(small.read_text().replace("- micro", "- first_acceptable_offer"))
    done = dond("rosters", "--check", "--file", str(small))
    assert done.returncode == 2 and "dev" in done.stderr


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("rosters", "sealed"), "sealed"),
        (("rosters", "--check", "heuristik"), "'heuristic'"),
        (("rosters", "--file", "nowhere.yaml"), "nowhere.yaml"),
        (("rosters", "--file", "README.md"), "README.md"),
        (("ship", "rosters", "--out", "nowhere/mine.yaml"), "nowhere/mine.yaml"),
    ],
)
def test_mistake_names_the_value(words, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README.md").write_text("# Nothing\n")
    done = dond(*words)
    assert done.returncode in (1, 2) and named in done.stderr and "Traceback" not in done.stderr


def test_record_of_admissions_is_shipped():
    assert admission_path(FILE).is_file()
