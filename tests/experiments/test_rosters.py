"""The shipped rosters: members by the published seed, without near copies; and the check of candidates."""

from __future__ import annotations

import csv
import hashlib
import json
from itertools import islice, product

import numpy as np
import pytest

from dond_marl.game import Act, Rules
from dond_marl.occupants import Spec, parse_spec, seat_occupant
from dond_marl.randomness import generator
from dond_marl.rollout import rollout
from dond_marl.seats import decide
from experiments.rosters import (
    DRAWN,
    LIMIT,
    PLAY_SEED,
    TWIN,
    USED_BEFORE,
    Assessment,
    CandidatePlay,
    Comparisons,
    same_decisions,
    scenario_sample,
)
from league.bench.held_out import IN_CHECKOUT
from partners.rosters import (
    DEV,
    DEV2,
    FILE,
    HELD_OUT,
    ROSTERS,
    TEST2,
    TRAIN,
    author_of,
    load_rosters,
    plain_name,
    roster,
)
from partners.scripted.generated import DIALS, Generated, digest_of
from tests.command import experiment

SIZES = {TRAIN: 24, DEV: 12, DEV2: 24}
SEED = 2017  # of the draw
# Numbers of families in one roster only; the others are shared.
ALONE = {"dev2": 6, "dev": 5, "train": 4}
TRIES = 24  # members of a family that were considered, in the order of a shuffle
DEFAULT = "heuristic"  # always in train
TRAINED_WITH = {"train": ["conceder", "heuristic", "linear", "stubborn(floor=0.9)"], "dev": [], "dev2": []}


def read_admission() -> list[Assessment]:
    """The recorded assessments: members of all rosters, then refused candidates."""
    _, *lines = csv.reader(FILE.with_name("admission.csv").read_text(encoding="utf-8").splitlines())
    return [
        Assessment(member, roster, reason, (near, float(share)), (among, float(most)))
        for roster, member, reason, near, share, among, most in lines
    ]


RECORD = read_admission()
FEW = scenario_sample(60)


@pytest.fixture(scope="module")
def compared():
    return Comparisons()


def roles_of(families, seed):
    """The role of each family, by a shuffle of their names; the family of the default partner is shared.

    Families in dev2 only have no member in :data:`USED_BEFORE`.
    """
    names = sorted(families.keys() - {DEFAULT})
    order = [names[i] for i in generator(seed, "families of partners").permutation(len(names))]
    used = {parse_spec(member).kind for member in USED_BEFORE}
    roles = dict.fromkeys(islice((name for name in order if name not in used), ALONE["dev2"]), "dev2")
    rest = (name for name in order if name not in roles)
    for role in ("dev", "train"):
        roles |= dict.fromkeys(islice(rest, ALONE[role]), role)
    return {name: roles.get(name, "shared") for name in sorted(families)}


def candidates(families, family, seed):
    """Up to :data:`TRIES` members of a family: its default first, then others in the order of a shuffle."""
    parameters = families[family]
    members = [dict(zip(parameters, values, strict=True)) for values in product(*parameters.values())]
    order = generator(seed, f"members of {family}").permutation(len(members))
    names = [plain_name(Spec(family, members[i])) for i in order]
    return sorted(names, key=lambda name: name != plain_name(Spec(family)))[:TRIES]


# --- Agreement ------------------------------------------------------------------------------------------------------


def play(name: str) -> CandidatePlay:
    return CandidatePlay(seat_occupant(name), FEW)


def test_insist_is_propose_and_a_split_counts_only_in_offers():
    one = decide(np.array([Act.PROPOSE, Act.PROPOSE, Act.INSIST, Act.AGREE, Act.AGREE, Act.END]), np.eye(6, 3))
    two = decide(np.array([Act.INSIST, Act.PROPOSE, Act.AGREE, Act.AGREE, Act.END, Act.END]), np.eye(6, 3, k=0))
    assert same_decisions(one, two).tolist() == [True, True, False, True, False, True]
    moved = decide(two.act_type, np.eye(6, 3, k=1))
    assert same_decisions(one, moved).tolist() == [False, False, False, True, False, True]


@pytest.mark.parametrize("name", ["nice_tit_for_tat", "random", "mixture(of=['tough', 'nice'])"])
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
    assert [(row.roster, row.member) for row in taken] == [(name, m) for name in (*DRAWN, TEST2) for m in roster(name)]
    for row in taken:
        if row.roster != TRAIN:
            assert row.nearest_train[1] < LIMIT and row.nearest_train[0] in roster(TRAIN)
        assert row.nearest[1] < (LIMIT if row.roster in HELD_OUT and row.nearest[0] not in roster(row.roster) else TWIN)
    assert all(row.nearest_train[1] <= row.nearest[1] for row in taken)


@pytest.mark.slow
def test_every_member_of_the_shipped_rosters_is_admitted_again(compared):
    again = compared.assess_all(load_rosters().members)
    taken = [row for row in RECORD if not row.reason and row.roster in DRAWN]
    assert [row.reason for row in again] == [""] * len(again)
    for row, told in zip(again, taken, strict=True):
        assert row[:2] == told[:2] and row.nearest_train[0] == told.nearest_train[0]
        assert row.nearest_train[1] == pytest.approx(told.nearest_train[1], abs=1e-3)
        assert row.nearest[1] == pytest.approx(told.nearest[1], abs=1e-3)


def test_held_out_is_by_others_and_at_new_values():
    rosters, authors = load_rosters(), [author_of(member) for member in roster(TEST2)]
    assert authors.count("negmas") == 10 and authors.count("project") == 14
    assert all(authors.count(author) >= 10 for author in "abcd") and set(authors) == {*"abcd", "negmas", "project"}
    for member in (member for member in roster(TEST2) if author_of(member) == "project"):
        spec = parse_spec(member)
        family, given = spec.kind, spec.parameters
        fractions = {name for name, values in rosters.families[family].items() if isinstance(values[0], float)}
        assert fractions <= given.keys()
        assert not any(given[name] in rosters.families[family][name] for name in fractions)


def test_generated_partners_are_those_that_were_fixed_before_test2():
    """Digests of the dials, and of the acts in games of generated partners with each other."""
    fixed = json.loads((IN_CHECKOUT / "generated_grammar.json").read_text(encoding="utf-8"))
    games = rollout((Generated(), Generated()), scenario_sample(), seed=PLAY_SEED)
    acts = hashlib.sha256(games.act.tobytes() + games.oA.tobytes()).hexdigest()
    text = repr([dial[:4] for dial in DIALS]) + " ".join(map(digest_of, range(256)))
    grammar = hashlib.sha256(text.encode()).hexdigest()
    found = {"dials": len(DIALS), "grammar_sha256": grammar, "games": games.size, "acts_sha256": acts}
    assert fixed.items() >= found.items() and fixed["commit"] and fixed["date"]


# --- Admission ------------------------------------------------------------------------------------------------------


def test_known_copies_are_refused(compared):
    found = compared.assess("first_acceptable_offer", DEV, TRAINED_WITH)
    assert found.nearest_train[0] == "heuristic" and found.nearest_train[1] > 0.93
    assert found.reason == f"{found.nearest_train[1]:.1%} like heuristic, in train"


@pytest.mark.parametrize("candidate", ["micro", "nash_seeker"])
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


# --- The command ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_check_names_the_most_similar_member_and_an_unknown_occupant(capsys):
    assert experiment("rosters", "check", "first_acceptable_offer", "nash_seeker", "--as", "dev") == 0
    first, second = capsys.readouterr().out.splitlines()
    assert "heuristic" in first and "apart: " in second
    assert experiment("rosters", "check", "heuristik") == 2
    assert "'heuristic'" in capsys.readouterr().err
