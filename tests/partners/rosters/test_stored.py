"""The rosters that the package ships, and files that hold none."""

from __future__ import annotations

import pytest

from dond_marl.occupants import CHALLENGE, parse_spec, seat_occupant
from partners.provenance import held_out_rosters
from partners.rosters import (
    CLONE,
    DEV2,
    HELD_OUT,
    OF_PEOPLE,
    PEOPLE_DEV,
    PEOPLE_STRONG,
    PEOPLE_TRAIN,
    ROSTERS,
    TEST2,
    author_of,
    load_rosters,
    members_hash,
    occupants_named,
    plain_name,
    roster,
)


def test_the_rosters_are_disjoint_sorted_and_written_plainly():
    everybody = [member for name in ROSTERS for member in roster(name)]
    assert len(everybody) == len(set(everybody))
    assert (
        [plain_name(member) for member in everybody] == everybody == [parse_spec(member).text for member in everybody]
    )
    assert all(list(roster(name)) == sorted(roster(name)) for name in ROSTERS)


def test_every_member_can_be_seated_and_costs_nothing_to_ask():
    members = [member for name in ROSTERS for member in roster(name)]
    scripted = [member for member in members if author_of(member) not in ("negmas", "people")]
    for member in scripted:
        traits = seat_occupant(member).traits
        assert not (traits.remote or traits.human or traits.privileged or traits.costly)


def test_the_shipped_rosters_are_those_of_their_hashes():
    assert load_rosters().hashes == {name: members_hash(roster(name)) for name in ROSTERS}


def test_dev2_has_the_published_members():
    assert {DEV2, TEST2} < set(HELD_OUT)
    published = "5e69b62f8ac4c48c13c3553ad46575fee638c1ce23b4cf19340e08e61b9ec5af"
    assert load_rosters().hashes[DEV2] == members_hash(roster(DEV2)) == published


@pytest.mark.parametrize(
    ("spec", "plain"),
    [
        ("linear(exponent=1, floor=0.5)", "linear"),
        ("linear(exponent=1.0)", "linear"),
        ("linear(exponent=2)", "linear(exponent=2.0)"),
        ({"kind": "stubborn", "late": 3, "floor": 1}, "stubborn(floor=1.0)"),
        ("stubborn(late=2)", "stubborn(late=2)"),
    ],
)
def test_a_partner_has_one_plain_name(spec, plain):
    assert plain_name(parse_spec(spec)) == plain


def test_rosters_of_people_are_disjoint_and_pinned():
    rosters = [roster(name) for name in OF_PEOPLE]
    assert [len(members) for members in rosters] == [64, 64, 50]
    digests = [member.parameters["sha256"] for members in rosters for member in members]
    assert len(set(digests)) == 178
    assert held_out_rosters([roster(PEOPLE_DEV)[0]]) == {PEOPLE_DEV}
    assert held_out_rosters([roster(PEOPLE_TRAIN)[0]]) == set()
    strong = occupants_named(PEOPLE_STRONG)
    assert len(strong) == 23 and set(strong) < set(roster(PEOPLE_TRAIN))


@pytest.mark.skipif(not CLONE.is_dir(), reason=f"{CHALLENGE} is not cloned here")
def test_programs_of_people_take_a_seat_with_their_files_as_they_were():
    for member in (*roster(PEOPLE_TRAIN), *roster(PEOPLE_DEV)):
        assert seat_occupant(member).name == member.parameters["path"].split("/")[2]
