"""Decisions of each scripted partner, worked by hand. The usual table: see :mod:`tests.partners.scripted.talk`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dond_marl.batch import GameBatch
from dond_marl.envs.turn import only_action, turn_of
from dond_marl.game import Act, Rules, State, apply
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import Noise, rollout
from dond_marl.scenarios.sources import lewis_space, open_source
from dond_marl.seats import decide
from partners.scripted.bayesian import NashSeeker, posterior
from tests.partners.scripted.talk import INS, POOL, TRIPLE, A, D, P, claims, says, turns_after

# -- the default heuristic ------------------------------------------------------------------------------------------


def test_the_heuristic_opens_by_proposing_to_keep_every_item_it_values():
    assert says("heuristic") == (P, (1, 2, 0))
    assert says("heuristic", (P, (1, 2, 3))) == (P, (1, 2, 0))  # as seat_1, offered nothing


@pytest.mark.parametrize(
    ("act", "offer", "accepted"),
    [
        # One book, hat, ball worth 10, 7, 3 of 20: the bar is 11, and 10 if the offer was INSISTed.
        (P, (1, 0, 0), False),  # 10
        (INS, (1, 0, 0), True),
        (P, (1, 0, 1), True),  # 13
        (INS, (0, 1, 0), False),  # 7
    ],
)
def test_the_heuristic_accepts_a_little_less_if_it_was_insisted(act, offer, accepted):
    kept = tuple(1 - items for items in offer)
    said = says("heuristic", (act, kept), pool=TRIPLE, values=(10, 7, 3))
    assert said == (A if accepted else (P, (1, 1, 1)))


def test_the_heuristics_ratios_are_parameters():
    half = (P, (1, 1, 3))  # leaves a hat: 3 of 10
    assert says("heuristic(accept_ratio=.3)", half) == A
    assert says("heuristic(accept_ratio=.31)", half) == (P, (1, 2, 0))
    assert says("heuristic(insist_ratio=.3)", half) == (P, (1, 2, 0))
    assert says("heuristic(insist_ratio=.3)", (INS, (1, 1, 3))) == A
    assert says("heuristic(accept_ratio=0)", (P, (1, 2, 3))) == A


@pytest.mark.parametrize(
    ("demand", "values", "claim"),
    [
        (1.0, (4, 3, 0), (1, 2, 0)),
        (0.7, (4, 3, 0), (1, 1, 0)),  # book 4, hat 7: exactly enough
        (0.0, (4, 3, 0), (0, 0, 0)),
        (0.5, (0, 2, 2), (0, 2, 1)),  # equal values in the order of the types: hats 4, ball 6 of 10
        (0.3, (1, 0, 3), (0, 0, 1)),  # a ball: 3 of 10
    ],
)
def test_a_demand_below_one_takes_the_most_valuable_items_first(demand, values, claim):
    assert says(f"heuristic(demand={demand})", values=values) == (P, claim)


# -- its relatives --------------------------------------------------------------------------------------------------


def test_tough_repeats_its_best_and_takes_nothing_less():
    assert claims("tough", 7) == [(1, 2, 0)] * 4
    assert says("tough", (P, (0, 1, 3))) == (P, (1, 2, 0))
    assert says("tough", (P, (0, 0, 3))) == A


def test_the_first_acceptable_offer_is_taken_at_tau_points_of_ten():
    assert says("first_acceptable_offer", (P, (1, 0, 0))) == A  # two hats: 6
    assert says("first_acceptable_offer(tau=6)", (P, (1, 0, 0))) == A
    assert says("first_acceptable_offer(tau=6.5)", (P, (1, 0, 0))) == (P, (1, 2, 0))
    assert says("first_acceptable_offer", (P, (0, 2, 0))) == (P, (1, 2, 0))  # the book: 4


def test_a_pushover_asks_for_little_and_takes_anything():
    assert says("pushover") == (P, (0, 1, 0))  # at least 2.5 points: a hat
    assert says("pushover(demand=.31)") == (P, (1, 0, 0))
    assert says("pushover", (P, POOL)) == A


def test_stubborn_insists_until_its_last_offer_that_can_be_answered():
    # Nine turns: seat_0 speaks on turns 0, 2, 4, 6, 8, so with 9, 7, 5, 3, 1 turns left.
    talk, acts = [], []
    for _ in range(5):
        acts.append(says("stubborn", *talk, rules=Rules(9)))
        talk += [acts[-1], (P, POOL)]
    assert acts == [(P, (1, 2, 0)), (INS, (1, 2, 0)), (INS, (1, 2, 0)), (P, (0, 2, 0)), (P, (0, 2, 0))]
    generous = (P, (0, 1, 3))  # leaves the book and a hat: 7
    assert says("stubborn", (P, (1, 2, 0)), generous, rules=Rules(9)) == (INS, (1, 2, 0))
    assert says("stubborn", (P, (1, 2, 0)), generous, rules=Rules(5)) == A
    assert says("stubborn(demand=.7)", (P, (1, 1, 0)), generous, rules=Rules(9)) == A


def test_versatile_never_makes_the_same_claim_twice():
    # One book, hat, ball worth 5, 3, 2. From the best: all 10, book and hat 8, book and ball 7, then 5 twice.
    table = {"pool": TRIPLE, "values": (5, 3, 2)}
    best = [(1, 1, 1), (1, 1, 0), (1, 0, 1), (1, 0, 0), (0, 1, 1), (0, 1, 0), (0, 0, 1), (0, 0, 0)]
    assert claims("versatile", 15, **table) == best
    assert claims("versatile", 17, **table) == [*best, best[0]]  # all claimed: it begins again
    assert says("versatile", (P, (0, 1, 1)), **table) == (P, (1, 1, 1))  # the book: 5 of 10
    assert says("versatile(accept_ratio=.5)", (P, (0, 1, 1)), **table) == A
    assert claims("versatile", 3) == [(1, 2, 0), (1, 1, 0)]  # no balls: they are worth nothing to it


# -- time -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("partner", "expected"),
    [
        # Five own turns, t = 0, 1/4, 1/2, 3/4, 1. Aspirations in points of ten, then what is worth the least above:
        ("linear", [(1, 2, 0), (1, 2, 0), (1, 2, 0), (1, 1, 0), (0, 2, 0)]),  # 10, 8.75, 7.5, 6.25, 5
        ("boulware", [(1, 2, 0), (1, 2, 0), (1, 2, 0), (1, 2, 0), (0, 2, 0)]),  # 10, 9.98, 9.69, 8.42, 5
        ("conceder", [(1, 2, 0), (1, 1, 0), (0, 2, 0), (0, 2, 0), (0, 2, 0)]),  # 10, 6.46, 5.80, 5.35, 5
        ("linear(floor=0)", [(1, 2, 0), (1, 2, 0), (0, 2, 0), (0, 1, 0), (0, 0, 0)]),  # 10, 7.5, 5, 2.5, 0
        ("boulware(exponent=1, floor=0.7)", [(1, 2, 0), (1, 2, 0), (1, 2, 0), (1, 2, 0), (1, 1, 0)]),
    ],
)
def test_time_based_partners_follow_their_curve(partner, expected):
    assert claims(partner, 9) == expected
    assert claims(partner, 10) == expected


def test_time_runs_on_the_seats_own_turns():
    # Seat_1 of three turns speaks once, on turn 1: its first is its last, t = 1.
    assert says("linear", (P, POOL), rules=Rules(3)) == (P, (0, 2, 0))
    # Of five turns it speaks on turns 1 and 3: t = 0 and 1.
    assert says("linear", (P, POOL), rules=Rules(5)) == (P, (1, 2, 0))
    assert says("linear", (P, POOL), (P, POOL), (P, POOL), rules=Rules(5)) == (P, (0, 2, 0))


def test_time_based_partners_accept_at_their_aspiration():
    # Seat_0's third turn of five: linear aspires to 7.5, conceder to 5.8.
    talk = [(P, POOL), (P, POOL), (P, POOL)]
    assert says("linear", *talk, (P, (0, 1, 0))) == (P, (1, 2, 0))  # 7
    assert says("conceder", *talk, (P, (1, 0, 0))) == A  # 6
    assert says("conceder", *talk, (P, (0, 2, 0))) == (P, (0, 2, 0))  # 4


# -- reactions ------------------------------------------------------------------------------------------------------


def test_naive_tit_for_tat_mirrors_concessions():
    opening, nothing, hat, hats = (P, (1, 2, 0)), (P, POOL), (P, (1, 1, 3)), (P, (1, 0, 3))
    assert says("naive_tit_for_tat") == opening
    # Second turn, forced to give its cheapest item: 10 - 3.
    assert says("naive_tit_for_tat", opening, nothing) == (P, (1, 1, 0))
    assert says("naive_tit_for_tat", opening, hat) == (P, (1, 1, 0))
    # Later: offered nothing, it wants 10; a hat (3), 7; two hats (6) is more than the 4 left to want.
    assert says("naive_tit_for_tat", opening, nothing, opening, nothing) == opening
    assert says("naive_tit_for_tat", opening, nothing, opening, hat) == (P, (1, 1, 0))
    assert says("naive_tit_for_tat", opening, nothing, opening, hats) == A
    assert says("naive_tit_for_tat(kindness=.4)", opening, nothing, opening, hat) == A  # 10 - 4 - 3 = 3
    # On its first turn it concedes nothing, whatever it is offered.
    assert says("naive_tit_for_tat", hats) == opening


def test_micro_makes_as_many_different_claims_as_it_receives():
    # One book, hat, ball worth 5, 3, 2: the ranking is 10, 8, 7, then the book and the rest for 5 each.
    table = {"pool": TRIPLE, "values": (5, 3, 2)}
    talk = [(P, (1, 1, 1)), (P, (1, 1, 1))]
    assert says("micro", **table) == talk[0]
    assert says("micro", *talk, **table) == (P, (1, 1, 0))  # 1 made, 1 received: the next one
    talk += [(P, (1, 1, 0)), (INS, (1, 1, 1))]  # the partner repeats itself
    assert says("micro", *talk, **table, draw=0.0) == (P, (1, 1, 1))  # 2 made, 1 received: one of its two
    assert says("micro", *talk, **table, draw=0.9) == (P, (1, 1, 0))
    assert says("micro", *talk[:-1], (P, (1, 0, 1)), **table) == (P, (1, 0, 1))  # 2 made, 2 received: the third
    assert says("micro", *talk[:-1], (P, (0, 1, 0)), **table) == A  # offered 7, and ready to claim 7
    assert says("micro", (P, (0, 0, 1)), **table) == (P, (1, 1, 1))  # as seat_1 it begins at its best: 8 is less


def test_hybrid_mixes_time_with_the_concessions_it_receives():
    # One book, hat, ball worth 5, 3, 2. It can get 0, 2, 3, 5, 7, 8 or 10.
    table = {"pool": TRIPLE, "values": (5, 3, 2)}
    everything, nothing, ball, hat, ball_and_hat = (
        (P, (1, 1, 1)),
        (P, (1, 1, 1)),
        (P, (1, 1, 0)),
        (P, (1, 0, 1)),
        (P, (1, 0, 0)),
    )
    assert says("hybrid", **table) == (P, (1, 1, 1))
    # t = 1/4, one offer: (9/16) 1 + (3/8) .75 + (1/16) .8 = .89375, nearest 8.
    assert says("hybrid", everything, nothing, **table) == (P, (1, 1, 0))
    # t = 3/4; offers worth 2, 3, 5: concessions 1 and 2, weighted .25 and .75: 1.75, times .5 + .375: 1.53.
    # Behavior: 8 - 1.53 = 6.47. Time: (1/16) 1 + (3/8) .75 + (9/16) .8 = .79375.
    # Target: (7/16) 6.47 + (9/16) 7.94 = 7.29, nearest 7.
    talk = [everything, ball, (P, (1, 1, 0)), hat, (P, (1, 1, 0))]
    assert says("hybrid", *talk, ball_and_hat, **table) == (P, (1, 0, 1))
    # The same with the offers 2, 2, 8 (concessions 0 and 6: 4.5, 3.94): target (7/16) 4.06 + 4.46 = 6.24: 7 again,
    # and the 8 on the table is better.
    assert says("hybrid", everything, ball, (P, (1, 1, 0)), ball, (P, (1, 1, 0)), (P, (0, 0, 1)), **table) == A


def test_the_concession_rule_gives_up_what_it_misses_least():
    # It values no balls, so it opens with all the rest.
    assert says("concession_rule") == (P, (1, 2, 0))
    # The partner asks for everything twice and leaves a hat (3): interest 2 in each. Book 4 - 2, hat 3 - 2: a hat goes.
    wants = (P, (1, 1, 3))
    assert says("concession_rule", (P, (1, 2, 0)), wants) == (P, (1, 1, 0))
    # Then interest 3: book 1, hat 0: the other hat goes, 4 points are its bottom line.
    talk = [(P, (1, 2, 0)), wants, (P, (1, 1, 0)), wants]
    assert says("concession_rule", *talk) == (P, (1, 0, 0))
    # Without the book it has less than 4, and so has the offer: it insists.
    assert says("concession_rule", *talk, (P, (1, 0, 0)), wants) == (INS, (1, 0, 0))
    # The partner leaves the hats: interest 2, 0, 2. Book 4 - 2, hat 3: giving the book leaves 6, which is on the table.
    assert says("concession_rule", (P, (1, 2, 0)), (P, (1, 0, 3))) == A
    # Where no item is worthless it fills up to its target: 5 + 3 = 8.
    assert says("concession_rule", pool=TRIPLE, values=(5, 3, 2)) == (P, (1, 1, 0))
    assert says("concession_rule(target=9)", pool=TRIPLE, values=(5, 3, 2)) == (P, (1, 1, 1))


# -- beliefs --------------------------------------------------------------------------------------------------------

LOG2 = math.log(2)
ONE_POINT = {"pool": TRIPLE, "values": (4, 3, 3), "prior": "uniform(budget=1)"}  # the partner values one item, at 1


def test_the_likelihood_of_a_claim_counts_every_split_that_could_have_been_claimed():
    # One book, one hat, two balls; by brute force over the 12 splits and every type of the prior.
    pool, claim, beta = (1, 1, 2), (1, 0, 1), 3.0
    turns = turns_after((P, claim), pool=pool, values=(1, 1, 1), prior="uniform(budget=3)")
    belief = posterior(turns, beta)
    splits = [(a, b, c) for a in range(2) for b in range(2) for c in range(3)]
    types = [tuple(v) for v in belief.types[0].tolist()]
    likelihood = []
    for v in types:
        force = [math.exp(beta * np.dot(v, split) / 3) for split in splits]
        likelihood.append(math.exp(beta * np.dot(v, claim) / 3) / sum(force))
    assert belief.weights[0] == pytest.approx(np.array(likelihood) / sum(likelihood))


def test_the_nash_seeker_maximizes_the_expected_product():
    seeker = NashSeeker(rationality=LOG2)
    # Each item is worth 1/3 to the partner: book 4 * 2/3, book and hat 7 * 1/3, hat 3 * 2/3.
    assert says(seeker, **ONE_POINT) == (P, (1, 0, 0))
    # After a claim of the book: 1/2, 1/4, 1/4. Book 4 * 1/2, hat and ball 6 * 1/2.
    assert says(seeker, (P, (1, 0, 0)), **ONE_POINT) == A  # hat and ball are on the table
    rejects = {**ONE_POINT, "rules": Rules(9, "rejects")}
    talk = [(P, (1, 0, 0)), (P, (1, 1, 1)), (D, (0, 0, 0))]
    assert says(seeker, *talk, **rejects) == (P, (0, 1, 1))
    # After a claim of book and hat: 2/5, 2/5, 1/5. Book and ball 7 * 2/5, book 4 * 3/5, ball 3 * 4/5.
    assert says(seeker, (P, (1, 1, 0)), **ONE_POINT) == (P, (1, 0, 1))


def test_the_nash_seeker_knows_values_that_are_revealed():
    # The partner values a book at 1, a ball at 3. Hats and book for 10 leave it 9 of 10: 90. Hats alone: 6 * 10.
    assert says("nash_seeker", partner_values=(1, 0, 3), reveal=True) == (P, (1, 2, 0))
    # It values the book alone: hats 6 * 10, all 10 * 0.
    assert says("nash_seeker", partner_values=(10, 0, 0), reveal=True) == (P, (0, 2, 0))


def test_prosocial_gives_each_item_to_the_seat_that_needs_it_more():
    partner = f"prosocial(rationality={LOG2})"
    # Its own shares .4, .3, .3 against 1/3 each; after a claim of the book against 1/2, 1/4, 1/4.
    assert says(partner, **ONE_POINT) == (P, (1, 0, 0))
    rejects = {**ONE_POINT, "rules": Rules(9, "rejects")}
    assert says(partner, (P, (1, 0, 0)), (P, (1, 1, 1)), (D, (0, 0, 0)), **rejects) == (P, (0, 1, 1))
    assert says(partner, (P, (1, 0, 0)), **ONE_POINT) == A


def test_an_ultimatum_leaves_the_partner_probably_something():
    # Each of three items equally likely the one that it values: book 4 * 2/3, book and hat 7 * 1/3, two thirds of 3.
    assert says("ultimatum", **ONE_POINT) == (P, (1, 0, 0))
    talk = [(P, (1, 0, 0)), (P, (1, 1, 1))]
    assert says("ultimatum", *talk, **ONE_POINT) == (INS, (1, 0, 0))
    assert says("ultimatum", (P, (1, 0, 1)), **ONE_POINT) == A  # a hat is 3, the claim is expected to bring 2.67
    # Hat 4 * 2/3, the book likewise, both 8 * 1/3: the first of equals. Two points are less, but not on the last turn.
    low = {"pool": TRIPLE, "values": (4, 4, 2), "prior": "uniform(budget=1)"}
    offer = (P, (1, 1, 0))  # leaves the ball: 2
    assert says("ultimatum", offer, **low) == (P, (0, 1, 0))
    assert says("ultimatum", offer, **low, rules=Rules(2)) == A


def test_nice_tit_for_tat_moves_to_the_nash_point_as_far_as_its_partner_does():
    # The partner values the book alone: the Nash point is the two hats, .6. First offered a hat, .3: the gap is .7,
    # so that .6 * (1.4 - .42) = .588 is what it counts on.
    view = {"partner_values": (10, 0, 0), "reveal": True}
    first, hats = (P, (1, 1, 3)), (P, (1, 0, 3))
    assert says("nice_tit_for_tat", **view) == (P, (1, 2, 0))
    talk = [(P, (1, 2, 0)), first]
    # No concession yet: 1 less a tenth of the way to .588 is .96; only all is worth that.
    assert says("nice_tit_for_tat", *talk, **view) == (P, (1, 2, 0))
    # Two hats, .6: all the way. Its target is .588, the two hats, which are on the table.
    assert says("nice_tit_for_tat", *talk, (P, (1, 2, 0)), hats, **view) == A
    # They no longer are, but were its best offer: it claims them.
    assert says("nice_tit_for_tat", *talk, (P, (1, 2, 0)), hats, (P, (1, 2, 0)), first, **view) == (P, (0, 2, 0))
    # On its last turn anything worth a point will do.
    assert says("nice_tit_for_tat", *talk, **view, rules=Rules(3)) == A


# -- chance ---------------------------------------------------------------------------------------------------------


def test_random_says_each_legal_act_and_each_part_of_a_type_equally_often():
    scenarios = lewis_space().rows(np.zeros(40_000, dtype=np.int64))
    rng = np.random.default_rng(0)
    table = GameBatch(scenarios)
    for legal in (4, 5):
        said = seat_occupant("random").act(table.turns(rng.random((40_000, 8)), rng.random((40_000, 8))))
        shares = np.bincount(said.act_type, minlength=5) / 40_000
        expected = [1 / legal, 1 / legal, (legal - 4) / legal, 1 / legal, 1 / legal]
        assert shares == pytest.approx(expected, abs=0.01)
        offers = said.act_type <= Act.INSIST
        for item, count in enumerate(scenarios.counts[0]):
            kept = np.bincount(said.oA[offers, item], minlength=count + 1) / offers.sum()
            assert kept == pytest.approx(np.full(count + 1, 1 / (count + 1)), abs=0.015)
        assert not said.oA[~offers].any()
        pool = np.prod(scenarios.counts[0] + 1)
        assert said.confidence == pytest.approx(np.where(offers, 1 / pool / legal, 1 / legal))
        table.step(decide(np.zeros(40_000), scenarios.counts))


def test_nice_takes_anything_and_proposes_anything():
    assert says("nice", draw=0.0) == (P, (0, 0, 0))
    assert says("nice", (P, POOL)) == A


# -- together -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["micro", "personas"])  # with memory; drawn for a game
def test_rollout_plays_as_the_environment_does(name):
    """Game by game, every turn made as the environments make it, with the source's prior."""
    source, pair = open_source("lewis"), (seat_occupant(name), seat_occupant("boulware(exponent=2)"))
    scenarios, noise = source.block(0, 0, 8), Noise(3, (), 8)
    played = rollout(pair, scenarios, seed=3).scores.tolist()
    for row in range(scenarios.size):
        state = State(scenarios.scenario(row))
        while state.outcome is None:
            partner, drawn = pair[state.mover], {}
            if not partner.traits.deterministic:
                numbers = noise.turn_noise(len(state.history)), noise.game_noise(state.mover)
                drawn = dict(zip(("noise", "game_noise"), (row_noise[[row]] for row_noise in numbers), strict=True))
            state = apply(state, only_action(partner.act(turn_of(state, prior=source.prior, **drawn))))
        assert list(state.outcome.scores) == played[row]
