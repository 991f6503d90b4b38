"""The draw of the rosters: a function of the seed, without near copies among the members, and its command."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

from dond_marl.game import Act, Rules
from dond_marl.occupants import parse_spec, seat_occupant
from dond_marl.seats import decide
from experiments.rosters import (
    AGENTS,
    ALONE,
    DRAWN,
    GRAMMAR,
    LIMIT,
    NEGMAS,
    NEW_MEMBERS,
    SEED,
    SIZES,
    TRIES,
    TWIN,
    USED_BEFORE,
    CandidatePlay,
    Comparisons,
    admission_csv,
    admission_markdown,
    candidates,
    draw,
    draw_test2,
    fixed_grammar,
    labels_markdown,
    new_members,
    read_admission,
    roles_of,
    rosters_text,
    same_decisions,
    scenario_sample,
)
from partners.rosters import DEV, DEV2, FILE, HELD_OUT, ROSTERS, TEST2, TRAIN, author_of, load_rosters, roster
from tests.command import in_process as dond

# The training members of the default league at the time when copies of them were found among its held-out members.
TRAINED_WITH = {
    "train": [
        *("conceder", "concession_rule", "heuristic", "linear", "naive_tit_for_tat", "nice_tit_for_tat", "prosocial"),
        *("pushover", "stubborn", "heuristic(accept_ratio=0.7, insist_ratio=0.7)"),
        *("heuristic(accept_ratio=0.8, insist_ratio=0.8)", "heuristic(accept_ratio=0.9, insist_ratio=0.9)"),
        *("conceder(floor=0.9)", "linear(floor=0.75)", "linear(floor=0.9)", "stubborn(floor=0.8)"),
        "stubborn(floor=0.9)",
    ],
    "dev": [],
    "dev2": [],
    "test2": [],
}
SMALL = {
    "heuristic": {"accept_ratio": (0.55, 0.8), "insist_ratio": (0.5, 0.8)},
    "first_acceptable_offer": {"tau": (5.0, 8.0)},
    "linear": {"exponent": (0.7, 1.0, 1.4), "floor": (0.2, 0.5)},
    "tough": {},
    "zeuthen": {"rationality": (0.0, 8.0)},
    "sniper": {"patience": (1.0, 3.0), "fair": (0.3, 0.5, 0.7)},
}
RECORD = read_admission()
FEW = scenario_sample(60)


@pytest.fixture(scope="module")
def compared():
    return Comparisons()


# --- Agreement ------------------------------------------------------------------------------------------------------


def play(name: str) -> CandidatePlay:
    return CandidatePlay(seat_occupant(name), FEW)


def test_insist_is_propose_and_a_split_counts_only_in_offers():
    one = decide(np.array([Act.PROPOSE, Act.PROPOSE, Act.INSIST, Act.AGREE, Act.AGREE, Act.END]), np.eye(6, 3))
    two = decide(np.array([Act.INSIST, Act.PROPOSE, Act.AGREE, Act.AGREE, Act.END, Act.END]), np.eye(6, 3, k=0))
    assert same_decisions(one, two).tolist() == [True, True, False, True, False, True]
    moved = decide(two.act_type, np.eye(6, 3, k=1))
    assert same_decisions(one, moved).tolist() == [False, False, False, True, False, True]


@pytest.mark.parametrize("name", ["heuristic", "nice_tit_for_tat", "random", "mixture(of=['tough', 'nice'])"])
def test_self_agreement_is_one(name):
    assert play(name).share(seat_occupant(name)) == 1.0


def test_agreement_is_asymmetric_and_over_all_decisions_in_both_seats():
    nice, pushover = seat_occupant("nice"), seat_occupant("pushover")
    assert play("nice").share(pushover) != play("pushover").share(nice)
    # In one turn seat_0 claims and that is all: half of the decisions are never made.
    opening = CandidatePlay(seat_occupant("heuristic"), FEW, Rules(max_turns=1))
    assert opening.decisions == FEW.size and opening.share(seat_occupant("first_acceptable_offer")) == 1.0
    assert play("heuristic").decisions > 2 * FEW.size


# --- The shipped rosters --------------------------------------------------------------------------------------------


def test_the_shipped_rosters_have_the_sizes_that_were_published():
    assert {name: len(roster(name)) for name in DRAWN} == SIZES and load_rosters().seed == SEED


def test_half_of_dev2_has_new_families():
    known = {parse_spec(member).kind for member in roster(TRAIN)}
    strangers = [member for member in roster(DEV2) if parse_spec(member).kind not in known]
    assert len(roster(DEV2)) * 0.4 <= len(strangers) <= len(roster(DEV2)) * 0.6


def test_families_are_in_the_rosters_of_their_roles_alone():
    rosters = load_rosters()
    assert rosters.roles == roles_of(rosters.families, rosters.seed)
    for name in DRAWN:
        assert {rosters.roles[parse_spec(member).kind] for member in roster(name)} <= {"shared", name}


def test_every_member_was_drawn_from_its_family():
    rosters = load_rosters()
    for name in DRAWN:
        for member in roster(name):
            assert member in candidates(rosters.families, parse_spec(member).kind, rosters.seed)


def test_record_matches_shipped_rosters():
    taken = [row for row in RECORD if not row.reason]
    assert [(row.roster, row.member) for row in taken] == [(name, m) for name in ROSTERS for m in roster(name)]
    for row in taken:
        if row.roster != TRAIN:
            assert row.nearest_train[1] < LIMIT and row.nearest_train[0] in roster(TRAIN)
        assert row.nearest[1] < (LIMIT if row.roster in HELD_OUT and row.nearest[0] not in roster(row.roster) else TWIN)
    assert all(row.nearest_train[1] <= row.nearest[1] for row in taken)


def test_test_roster_excludes_used_partners():
    assert not set(USED_BEFORE) & set(roster(DEV2))
    assert {parse_spec(member).kind for member in USED_BEFORE}.isdisjoint(
        f for f, role in load_rosters().roles.items() if role == DEV2
    )


@pytest.mark.parametrize("name", [DEV, DEV2])
def test_some_members_of_the_shipped_rosters_are_admitted_again(name, compared):
    members = {key: list(roster(key)) for key in ROSTERS}
    for member in roster(name)[:: len(roster(name)) // 2]:
        share = compared.nearest(member, members[TRAIN])
        (row,) = [row for row in RECORD if row.member == member and not row.reason]
        assert share == (row.nearest_train[0], pytest.approx(row.nearest_train[1], abs=1e-3))


@pytest.mark.slow
def test_every_member_of_the_shipped_rosters_is_admitted_again(compared):
    again = compared.assess_all(load_rosters().members)
    taken = [row for row in RECORD if not row.reason and row.roster in DRAWN]
    assert [row.reason for row in again] == [""] * len(again)
    for row, told in zip(again, taken, strict=True):
        assert row[:2] == told[:2] and row.nearest_train[0] == told.nearest_train[0]
        assert row.nearest_train[1] == pytest.approx(told.nearest_train[1], abs=1e-3)
        assert row.nearest[1] == pytest.approx(told.nearest[1], abs=1e-3)


@pytest.mark.slow
def test_the_published_seed_draws_the_shipped_rosters():
    rosters = load_rosters()
    drawn = draw(rosters.families, rosters.seed)
    assert all(drawn.rosters.members[name] == rosters.members[name] for name in DRAWN)
    assert [row[:2] for row in drawn.refused] == [row[:2] for row in RECORD if row.reason and row.roster in DRAWN]


def test_test2_is_by_others_and_at_new_values():
    rosters, authors = load_rosters(), [author_of(member) for member in roster(TEST2)]
    assert authors.count("negmas") == AGENTS and authors.count("project") == NEW_MEMBERS
    assert all(authors.count(author) >= 10 for author in "abcd") and set(authors) == {*"abcd", "negmas", "project"}
    assert all(parse_spec(m).parameters["agent"] in NEGMAS for m in roster(TEST2) if author_of(m) == "negmas")
    for member in (member for member in roster(TEST2) if author_of(member) == "project"):
        family, given = parse_spec(member)
        assert member in new_members(rosters.families[family], family, rosters.test2_seed)
        fractions = {name for name, values in rosters.families[family].items() if isinstance(values[0], float)}
        assert fractions <= given.keys()
        assert not any(given[name] in rosters.families[family][name] for name in fractions)


def test_new_members_lie_between_the_old_values():
    for member in new_members({"demand": (0.7, 1.0), "floor": (0.2, 0.25), "late": (1, 3)}, "stubborn", 1):
        given = parse_spec(member).parameters
        assert 0.7 < given["demand"] < 1 and 0.2 < given["floor"] < 0.25 and given.get("late", 2) == 2
    for member in new_members({"of": ("nice", "tough"), "rate": (0.1, 0.3)}, "trembling", 1):
        assert parse_spec(member).parameters["of"] in ("nice", "tough")
    assert new_members({}, "tough", 1) == new_members({"late": (1, 2)}, "stubborn", 1) == []


def test_generated_partners_are_those_that_were_fixed_before_test2():
    fixed = json.loads(GRAMMAR.read_text(encoding="utf-8"))
    assert fixed.items() >= fixed_grammar().items() and fixed["commit"] and fixed["date"]


def test_draw_of_test2_is_a_function_of_the_seed():
    few = load_rosters()._replace(families={"versatile": {"accept_ratio": (0.4, 0.9)}})
    few = few._replace(members={name: members[:4] for name, members in few.members.items()})
    sample = partial(Comparisons, scenario_sample(6))
    programs = ("a_zeuthen_reader", "c_limit_tester")
    one, again, other = (draw_test2(few, seed, (), comparisons=sample(), programs=programs) for seed in (1, 1, 2))
    assert {author_of(parse_spec(name)) for name in one.rosters.members[TEST2]} >= {"a", "project"}
    assert one == again and one.rosters.members[TEST2] != other.rosters.members[TEST2]
    assert [row.member for row in one.admitted] == list(one.rosters.members[TEST2])
    assert all(row.reason for row in one.refused)


@pytest.mark.parametrize("author", ["c", "project"])
def test_some_members_of_test2_are_admitted_again(author, compared):
    (row,) = [
        row for row in RECORD if not row.reason and row.roster == TEST2 and author_of(parse_spec(row.member)) == author
    ][:1]
    near = compared.nearest(row.member, roster(TRAIN))
    assert near == (row.nearest_train[0], pytest.approx(row.nearest_train[1], abs=1e-3))


# --- Admission ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("candidate", "like"),
    [("first_acceptable_offer", "heuristic"), ("tough", "heuristic(accept_ratio=0.9, insist_ratio=0.9)")],
)
def test_known_copies_are_refused(candidate, like, compared):
    found = compared.assess(candidate, DEV, TRAINED_WITH)
    assert found.nearest_train[0] == like and found.nearest_train[1] > 0.93
    assert found.reason == f"{found.nearest_train[1]:.1%} like {like}, in train"


@pytest.mark.parametrize("candidate", ["hybrid", "micro", "nash_seeker", "ultimatum", "versatile"])
def test_distinct_candidates_are_taken(candidate, compared):
    assert compared.assess(candidate, DEV, TRAINED_WITH).reason == ""


def test_used_partners_are_refused_in_test(compared):
    nobody = {name: [] for name in ROSTERS}
    assert "met before" in compared.assess("micro", DEV2, nobody).reason
    assert compared.assess("micro", DEV, nobody).reason == ""
    assert "like heuristic, met before" in compared.assess("first_acceptable_offer(tau=5.5)", DEV2, nobody).reason


def test_a_twin_within_a_roster_is_refused_on_either_of_the_two(compared):
    for pair in (("heuristic", "first_acceptable_offer"), ("first_acceptable_offer", "heuristic")):
        reason = compared.assess(pair[1], TRAIN, {"train": [pair[0]], "dev": [], "dev2": []}).reason
        assert f"like {pair[0]}" in reason


# --- The draw -------------------------------------------------------------------------------------------------------


def test_the_same_seed_draws_the_same_rosters_and_another_seed_others():
    heard = []
    few = {"sizes": {"train": 4, "dev": 2, "dev2": 2}, "scenarios": FEW}
    one, again = draw(SMALL, 3, report=heard.append, **few), draw(dict(reversed(SMALL.items())), 3, **few)
    assert one == again and one.rosters != draw(SMALL, 4, **few).rosters
    assert not any(row.reason for row in one.admitted) and all(row.reason for row in one.refused)
    assert sum(map(len, one.rosters.members.values())) == len(one.admitted) >= 5
    assert len(heard) == len(one.refused) + len(one.admitted) - 1  # the default partner is in train unasked
    assert "heuristic" in one.rosters.members["train"]


def test_a_roster_stays_short_where_the_families_hold_no_more():
    drawn = draw({"heuristic": {}, "tough": {}}, 1, {"train": 5, "dev": 5, "dev2": 5}, scenarios=FEW)
    assert sorted(sum(drawn.rosters.members.values(), ())) == ["heuristic", "tough"]


def test_the_roles_hang_on_the_names_alone_and_the_default_family_is_shared():
    families = load_rosters().families
    for seed in range(20):
        roles = roles_of(families, seed)
        assert roles["heuristic"] == "shared"
        assert {role: list(roles.values()).count(role) for role in ALONE} == dict(ALONE)
        assert roles == roles_of(dict(reversed(families.items())), seed)
    assert len({tuple(roles_of(families, seed).items()) for seed in range(20)}) > 15


def test_candidates_begin_with_the_default_and_are_all_different():
    families = load_rosters().families
    for family in families:
        every = candidates(families, family)
        combinations = int(np.prod([len(values) for values in families[family].values()]))
        assert every[0] == family and len(set(every)) == len(every) == min(combinations, TRIES)
        assert all(seat_occupant(member) for member in every)


# --- The record and the command -------------------------------------------------------------------------------------


def test_record_and_rosters_are_read_back_as_they_were_written(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(admission_csv(RECORD))
    assert read_admission(path) == RECORD
    assert rosters_text(load_rosters()) == FILE.read_text()


@pytest.mark.parametrize(
    ("member", "family_in_train"),
    [
        ("boulware(floor=0.6)", "yes"),  # linear under another name
        ("trembling(of=linear, rate=0.2)", "yes"),  # linear is inside
        ("nash_seeker", "no"),
        ("punisher", "no"),
    ],
)
def test_table_compares_programs(member, family_in_train):
    text = admission_markdown(RECORD)
    assert text.count("\n| `") == sum(len(roster(name)) for name in ROSTERS)
    assert f"| `{member}` | {family_in_train} |" in text


def test_check_names_the_most_similar_member_and_an_unknown_occupant():
    done = dond("experiment", "rosters", "check", "first_acceptable_offer", "nash_seeker", "--as", "dev")
    first, second = done.stdout.splitlines()
    assert done.returncode == 0 and "heuristic" in first and "apart: " in second
    done = dond("experiment", "rosters", "check", "heuristik")
    assert done.returncode == 2 and "'heuristic'" in done.stderr


def test_members_that_pay_for_a_label_are_listed():
    members = [("train", "heuristic"), ("train", "linear"), ("dev", "heuristic(accept_ratio=0.7, insist_ratio=0.7)")]
    _, _, *lines = labels_markdown(members).splitlines()
    assert lines == ["| `heuristic` | train | 0.37 / 0.37 | 0.00 / 0.00 |"]
