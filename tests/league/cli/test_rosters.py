"""dond rosters: the members, whether somebody may be among them, and another draw."""

from __future__ import annotations

import pytest

from partners.rosters import FILE, ROSTERS, load_rosters, members_hash, roster, roster_hash
from partners.rosters.draw import admission_path, read_admission
from tests.command import in_process as dond


@pytest.fixture
def small(tmp_path):
    """A file of two rosters that are apart, and one of nobody."""
    import yaml

    members = {"train": ["heuristic"], "dev": ["micro"], "test": []}
    held = {name: {"sha256": members_hash(members[name]), "members": members[name]} for name in ROSTERS}
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump({"seed": 1, "families": {}, **held}))
    return path


def test_the_members_are_listed_with_their_hashes():
    done = dond("rosters", "list")
    assert done.returncode == 0 and done.stderr == ""
    for name in ROSTERS:
        assert f"{len(roster(name))} members, sha256 {roster_hash(name)}" in done.stdout
        assert all(member in done.stdout for member in roster(name))
    assert f"drawn from {len(load_rosters().families)} families by the seed {load_rosters().seed}" in done.stdout


def test_one_roster_is_listed_for_programs():
    done = dond("rosters", "list", "dev", "--format", "csv")
    assert tuple(row.member for row in read_admission(done.stdout)) == roster("dev")


def test_of_somebody_it_is_said_whom_it_is_like():
    done = dond("rosters", "check", "first_acceptable_offer", "nash_seeker", "--as", "dev")
    first, second = done.stdout.splitlines()
    assert done.returncode == 0 and "% like heuristic, in train" in first and "apart: " in second


def test_a_copy_among_the_members_of_a_file_is_an_error(small):
    text = small.read_text().replace("- micro", "- first_acceptable_offer")
    small.write_text(text.replace(members_hash(["micro"]), members_hash(["first_acceptable_offer"])))
    done = dond("rosters", "check", "--file", str(small))
    assert done.returncode == 2 and "1 of 2 may not be there: first_acceptable_offer" in done.stderr


def test_the_members_of_a_file_are_checked_again(small):
    done = dond("rosters", "check", "--file", str(small))
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.count("apart") == 2


def test_a_file_that_was_changed_by_hand_is_found_out(small):
    small.write_text(small.read_text().replace("- micro", "- first_acceptable_offer"))
    done = dond("rosters", "check", "--file", str(small))
    assert done.returncode == 2 and "the members of dev are not those of its hash" in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("list", "sealed"), "'sealed' is not one of 'train', 'dev', 'test'"),
        (("check", "heuristik"), "did you mean 'heuristic'"),
        (("list", "--file", "nowhere.yaml"), "nowhere.yaml"),
        (("list", "--file", "README.md"), "README.md holds no rosters"),
        (("draw", "--out", "nowhere/mine.yaml"), "no file can be written there"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(words, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README.md").write_text("# Nothing\n")
    done = dond("rosters", *words)
    assert done.returncode in (1, 2) and told in done.stderr and "Traceback" not in done.stderr


def test_the_record_lies_beside_its_rosters():
    assert admission_path(FILE).is_file()
