"""The Bayes reply: exact where nothing is approximated, a posterior by hand, its tables, and its bank."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.conformance import check_partner
from dond_marl.errors import NotComputable
from dond_marl.game import Rules, Scenario
from dond_marl.occupants import OccupantNameError, parse_spec, seat_occupant
from dond_marl.rollout import OccupantError, rollout
from dond_marl.scenarios.sources import lewis_space, open_source, pack
from dond_marl.seats import Traits, decide, turns_after
from dond_marl.solvers.best_response import OutOfReach
from partners.bayes_reply import BayesReply, has_tables
from partners.best_response import BestResponse
from partners.mixture import Mixture
from partners.rosters import BANK_FILE, TRAIN, bank, load_rosters, members_hash, roster

POOL = (1, 2, 1)  # 12 splits
SPACE = lewis_space()
SOME = SPACE.rows(np.flatnonzero((SPACE.counts == POOL).all(axis=1) | (SPACE.counts == (1, 3, 2)).all(axis=1))[::3])


def points(response, partner, seat, rules, **options):
    pair = (response, partner) if seat == 0 else (partner, response)
    return rollout(pair, SOME, rules, seed=0, **options).scores[:, seat].mean()


@pytest.mark.parametrize("spec", ["heuristic", "level_k"])
def test_a_known_program_with_revealed_values_gets_the_exact_best_response(spec):
    partner = seat_occupant(spec)
    for seat in (0, 1):
        exact, approximate = (
            points(response, partner, seat, Rules(), reveal_partner_utilities=True)
            for response in (BestResponse(spec), BayesReply([spec]))
        )
        assert approximate == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("specs", [["quantal_response"], ["heuristic", "pushover", "frequency_model"]])
def test_the_last_offer_is_exact(specs):
    """Two turns: one offer and the answer. Nothing can be revealed in between."""
    for seat in (0, 1):
        exact, approximate = (
            np.mean([points(response, seat_occupant(spec), seat, Rules(2)) for spec in specs])
            for response in (BestResponse(Mixture(specs)), BayesReply(specs))
        )
        assert approximate == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("spec", ["linear", "quantal_response"])
def test_a_long_game_against_a_known_program_is_nearly_exact(spec):
    """The search for what it takes is found although revealed values see no use in asking."""
    partner = seat_occupant(spec)
    for seat in (0, 1):
        exact = points(BestResponse(spec), partner, seat, Rules())
        assert points(BayesReply([spec]), partner, seat, Rules()) > 0.97 * exact


def after_one_claim(claim):
    """The turns of seat_1 with revealed values, after the other has proposed to keep ``claim``."""
    offers = np.array(claim, dtype=np.int8)[None, :, None]
    counts, values, partner_values = (np.array([vector], dtype=np.int8) for vector in (POOL, (2, 3, 2), (4, 3, 0)))
    acts, offer = np.zeros((1, 1), np.int8), counts - offers[0].T
    return turns_after(Rules(), "lewis", counts, values, acts, offers, offer, partner_values)


def test_the_posterior_of_two_programs_by_hand():
    """``tough`` keeps the book and both hats; ``pushover`` the split of at least 3 points that is worth least to it."""
    response, floor = BayesReply(["tough", "pushover(demand=0.25)"], temper=0.24), 0.24 / 12
    tough, pushover, neither = ((1, 2, 0), (0, 1, 0), (0, 0, 1))
    for claim, likely in ((tough, (0.76 + floor, floor)), (pushover, (floor, 0.76 + floor)), (neither, (1, 1))):
        posterior = response.posterior(after_one_claim(claim))[0]
        assert posterior[0] == pytest.approx(np.array(likely) / sum(likely))
    random = BayesReply(["nice", "tough"], temper=0.24).posterior(after_one_claim(tough))[0][0]
    assert random == pytest.approx(np.array([0.76 + floor, 1 / 12]) / (0.76 + floor + 1 / 12))  # deterministic first


def test_without_temper_an_unexplained_claim_restores_the_prior():
    posterior = BayesReply(["tough", "pushover"], temper=0).posterior(after_one_claim((0, 0, 1)))[0]
    assert posterior[0].tolist() == [0.5, 0.5]


class Repeats:
    """Makes one claim on all of its turns."""

    traits = Traits(deterministic=True)

    def act(self, turns):
        return decide(np.zeros(turns.size), np.broadcast_to([1, 1, 1], (turns.size, 3)))


@pytest.mark.parametrize("spec", ["hybrid", "nice_tit_for_tat"])
def test_a_program_with_memory_is_tabled_against_a_repeated_claim(spec):
    partner = seat_occupant(spec)
    table = pack([Scenario(POOL, ((2, 3, 2), (4, 3, 0)))], "lewis")
    turns = after_one_claim((1, 1, 1))._replace(partner_utilities=np.zeros((1, 3), np.int8))
    (tables, _, _), *_ = BayesReply([spec])._by_tables(turns)
    view = np.flatnonzero((tables.contexts.partner_views.utilities == (4, 3, 0)).all(axis=1))[0]
    played = rollout((Repeats(), partner), table, seed=0)
    claim = int(np.flatnonzero((tables.splits == (1, 1, 1)).all(axis=1))[0])
    for turn in range(1, int(played.turns[0]), 2):
        number = tables.answers(10 - turn)[0][claim, view, 0]
        offer = number < 2 * tables.width
        assert played.act[0, turn] == (number // tables.width if offer else number - 2 * tables.width + 2)
        assert not offer or played.oA[0, turn].tolist() == tables.splits[number % tables.width].tolist()


@pytest.mark.slow
def test_it_conforms_to_the_partner_contract():
    variants = [(Rules(1), False), (Rules(2), True), (Rules(5), False), (Rules(10), False)]
    response = seat_occupant("bayes_reply(of=['linear', 'hybrid', 'mixed_thresholds'])")
    check_partner(response, max_count=4, games=6, sources=("lewis",), variants=variants)


def test_what_cannot_be_tabled_is_refused():
    for wrong in ("bayes_reply(of=['micro'])", "bayes_reply(of=dev)"):
        with pytest.raises(OccupantNameError):
            seat_occupant(wrong)
    pair, scenarios = (
        (BayesReply("bank"), seat_occupant("tough")),
        open_source("uniform").draw(np.random.default_rng(0), 4),
    )
    for table, rules, reason in ((scenarios, Rules(), OutOfReach), (SOME, Rules(10, "rejects"), NotComputable)):
        with pytest.raises(OccupantError) as error:
            rollout(pair, table._replace(prior="uniform" if table is scenarios else "lewis"), rules, seed=0)
        assert isinstance(error.value.__cause__, reason)
    left_out = set(roster(TRAIN)) - {"micro"}
    assert len(BayesReply("zoo").programs) == len(left_out) - 1 + 16  # personas are sixteen programs


def test_the_bank_holds_programs_of_the_families_of_train_and_no_member_of_another_roster():
    import yaml

    rosters, members = load_rosters(), bank()
    assert len(members) >= 200 and list(members) == sorted(set(members))
    assert yaml.safe_load(BANK_FILE.read_text(encoding="utf-8"))["sha256"] == members_hash(members)
    assert not set(members) & {other for name in rosters.members if name != TRAIN for other in rosters.members[name]}
    assert {rosters.roles[parse_spec(member).kind] for member in members} == {"shared", "train"}
    assert all(has_tables(seat_occupant(member)) for member in members)
