"""Decisions of partners with preferences, beliefs and moods, by hand; see :mod:`tests.partners.scripted.talk`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dond_marl.errors import InputError
from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.splits import action_count, action_index
from tests.partners.scripted.talk import INS, POOL, TRIPLE, A, D, E, P, says, turns_after

ONE_POINT = {"pool": TRIPLE, "values": (4, 3, 3), "prior": "uniform(budget=1)"}  # the partner values one item, at 1
NOTHING, HAT, HATS = (P, POOL), (P, (1, 1, 3)), (P, (1, 0, 3))  # claims of the partner: what they leave is named


def chance(partner, act, oA=(0, 0, 0), *talk, **view):
    """The probability of an act that ``partner`` itself gives."""
    turns = turns_after(*talk, **view)
    top = int(turns.counts.max())
    number = action_index(np.array([act]), np.array([oA]), top)
    return float(seat_occupant(partner).probs(turns, top)[0, number[0]])


# -- quantal responses ----------------------------------------------------------------------------------------------


def test_a_quantal_response_says_what_it_likes_better_more_often():
    # With two turns left a claim is worth its share times the chance, a third for each item left, that it is taken:
    # book .4 * 2/3 = .267, book and hat .7 * 1/3 = .233, nothing 0, everything 0.
    view = {**ONE_POINT, "rules": Rules(2)}
    book, book_and_hat, nothing, all_ = (
        chance("quantal_response", P, oA, **view) for oA in ((1, 0, 0), (1, 1, 0), (0, 0, 0), TRIPLE)
    )
    assert book / nothing == pytest.approx(math.exp(15 * 0.4 * 2 / 3), rel=0.03)
    assert book_and_hat / nothing == pytest.approx(math.exp(15 * 0.7 / 3), rel=0.03)
    assert all_ == nothing
    assert chance("quantal_response", E, **view) == chance("quantal_response", INS, (1, 0, 0), **view) == 0


def test_a_quantal_response_hopes_for_more_while_it_has_a_turn_left():
    # Refused it expects .3: everything is then worth .3, the book .267 + .3 / 3 = .367.
    ratio = chance("quantal_response", P, (1, 0, 0), **ONE_POINT) / chance("quantal_response", P, TRIPLE, **ONE_POINT)
    assert ratio == pytest.approx(math.exp(15 * (0.8 / 3 + 0.1 - 0.3)), rel=0.03)


def test_on_the_last_turn_only_agreeing_is_worth_anything_to_a_quantal_response():
    offer = (P, (1, 1, 0))  # leaves a ball: .3; each of eight claims is worth nothing
    view = {**ONE_POINT, "rules": Rules(2)}
    assert chance("quantal_response", A, (0, 0, 0), offer, **view) == pytest.approx(
        math.exp(4.5) / (8 + math.exp(4.5)), rel=0.02
    )
    assert chance("quantal_response(rationality=0)", A, (0, 0, 0), offer, **view) == pytest.approx(1 / 9)


# -- levels of reasoning --------------------------------------------------------------------------------------------


def test_level_one_claims_the_largest_product_and_takes_what_is_as_good():
    # Book .4 * 2/3 = .267; book and hat .7 * 1/3 = .233; hat .3 * 2/3 = .2.
    assert says("level_k(level=1)", **ONE_POINT) == (P, (1, 0, 0))
    assert says("level_k(level=1)", (P, (1, 0, 1)), **ONE_POINT) == A  # a hat: .3
    assert says("level_k(level=1)", (P, TRIPLE), **ONE_POINT) == (P, (1, 0, 0))


def test_level_two_knows_that_level_one_takes_any_item():
    # Half of the others are level 1, who take a third, more than .267: of two items .7 * (1/2 * 1/3 + 1/2) = .467.
    level = "level_k(level=2, tau=1.)"
    assert says(level, **ONE_POINT) == (P, (1, 0, 1))
    assert says(level, (P, (0, 1, 1)), **ONE_POINT) == (P, (1, 0, 1))  # the book: .4
    assert says(level, (P, (1, 0, 0)), **ONE_POINT) == A  # hat and ball: .6
    assert says(level, (P, (1, 0, 1)), **ONE_POINT, rules=Rules(2)) == A  # a hat, on the last turn of all
    assert says(level, (P, TRIPLE), **ONE_POINT, rules=Rules(2)) == (P, (1, 0, 1))


def test_level_three_mixes_the_levels_below_it():
    # Level 2 wants .467, so two items. Two levels in five are 0, two are 1, one is 2:
    # two items .7 * (.4 / 3 + .4) = .373, the book .4 * (.4 * 2/3 + .4 + .2) = .347.
    assert says("level_k(level=3, tau=1.)", **ONE_POINT) == (P, (1, 0, 1))
    # With tau 4 level 2 wants .7 * (.2 / 3 + .8) = .607, and two of three others are level 2 itself.
    assert says("level_k(level=3, tau=4.)", **ONE_POINT) == (P, (1, 0, 0))


# -- preferences ----------------------------------------------------------------------------------------------------

SHOWN = {"partner_values": (1, 0, 3), "reveal": True}  # the partner values the book at 1 of 10, each ball at 3


@pytest.mark.parametrize(
    ("angle", "claim"),
    [
        (-30, (1, 2, 3)),  # a competitor grudges it the balls
        (0, (1, 2, 0)),
        (45, (1, 2, 0)),
        (80, (0, 2, 0)),  # the book: .17 * .4 is less than .98 * .1
        (90, (0, 0, 0)),
    ],
)
def test_the_angle_says_how_much_the_partners_share_weighs(angle, claim):
    assert says(f"social_value(angle={angle})", **SHOWN) == (P, claim)


def test_a_social_value_takes_a_share_of_what_its_claim_is_worth_to_it():
    # At 45 degrees its claim is worth 1 + .9; the two hats .6 with the partner's 1.0: .842 of that.
    assert says("social_value(angle=45, accept_ratio=0.84)", HATS, **SHOWN) == A
    assert says("social_value(angle=45, accept_ratio=0.85)", HATS, **SHOWN) == (P, (1, 2, 0))
    assert says("social_value(angle=0, accept_ratio=0.6)", HATS, **SHOWN) == A
    assert says("social_value(angle=0, accept_ratio=0.61)", HATS, **SHOWN) == (P, (1, 2, 0))


def test_a_social_value_learns_from_claims():
    # Each item is worth 1/3 to the partner; after two claims of the book more than 2/5 of it.
    talk = [(P, (1, 0, 0)), (P, (1, 1, 1)), (D, (0, 0, 0))]
    view = {**ONE_POINT, "rules": Rules(9, "rejects")}
    assert says("social_value(angle=45)", **view) == (P, (1, 0, 0))
    assert says("social_value(angle=45)", *talk, **view) == (P, (0, 1, 1))


def test_envy_refuses_even_at_the_end_what_is_worse_than_nothing():
    last = {**SHOWN, "rules": Rules(2)}
    # Book and hats leave the partner .9: 1 - .25 * .1 is best. A hat is .3 against 1.0: .3 - .7 < 0.
    assert says("inequity_averse", **SHOWN) == (P, (1, 2, 0))
    assert says("inequity_averse", HAT, **last) == (P, (1, 2, 0))
    assert says("inequity_averse", HATS, **last) == A  # .6 - .4
    assert says("inequity_averse(alpha=2.)", HATS, **last) == (P, (1, 2, 0))  # .6 - .8
    assert says("inequity_averse", HATS, **SHOWN) == (P, (1, 2, 0))  # not yet
    # Third of five own turns, t = 1/2: .4875 is enough. The hats are .2; book and hat .7 with the partner's .9: .5.
    half = [(P, (1, 2, 0)), HAT, (P, (1, 2, 0)), HATS, (P, (1, 2, 0))]
    assert says("inequity_averse", *half[:4], **SHOWN, rules=Rules(9)) == (P, (1, 2, 0))
    assert says("inequity_averse", *half[:3], (P, (0, 1, 3)), **SHOWN, rules=Rules(9)) == A


def test_guilt_gives_and_envy_expects_to_be_envied():
    # Book 4, hats 3 to it; the partner wants the book alone and would rather have nothing than leave it all.
    alone = {"partner_values": (10, 0, 0), "reveal": True}
    assert says("inequity_averse", **alone) == (P, (0, 2, 0))  # .6 - .4
    # Both want the hats (.3 and .45 each): without guilt it keeps as much as the partner will bear.
    table = {"partner_values": (1, 4, 0), "reveal": True, "pool": (1, 2, 1)}
    # All but a hat: .7 against 4/9: U' = .444 - .256 > 0. All but the book: .6 against .111: U' < 0.
    assert says("inequity_averse(alpha=1., beta=0.)", **table) == (P, (1, 1, 0))
    # Guilt of .9: a hat each and the partner the book, .3 and 5/9, costs .256; the above .7 - .9 * .256 = .47.
    assert says("inequity_averse(alpha=1., beta=0.9)", **table) == (P, (1, 1, 0))


def test_guilt_beyond_envy_is_refused():
    with pytest.raises(InputError, match="beta must be less than 1 and at most alpha"):
        seat_occupant("inequity_averse(alpha=0.5, beta=0.6)")
    with pytest.raises(InputError, match="beta must be less than 1"):
        seat_occupant("inequity_averse(alpha=2., beta=1.)")


# -- chance ---------------------------------------------------------------------------------------------------------


def test_mixed_thresholds_and_demands_are_drawn_on_each_turn():
    # The thresholds are .3, .371, ... .8, the demands .5, .571, ... 1.
    assert says("mixed_thresholds", draw=0.0) == (P, (0, 2, 0))  # 5 of 10: the hats are 6
    assert says("mixed_thresholds", draw=0.99) == (P, (1, 2, 0))
    assert says("mixed_thresholds", HATS, draw=0.5) == A  # 6 against .3 + 4/7 * .5 = .586
    assert says("mixed_thresholds", HATS, draw=0.625) == (P, (1, 2, 0))  # against .657; it asks for .857
    assert chance("mixed_thresholds", A, (0, 0, 0), HATS) == 5 / 8
    # Not agreeing it asks for 6 twice (.5, .571), for 7 once (.643; .714 is more) and else for all.
    assert chance("mixed_thresholds", P, (0, 2, 0)) == 2 / 8
    assert chance("mixed_thresholds", P, (1, 1, 0)) == 1 / 8
    assert chance("mixed_thresholds", P, (1, 2, 0), HATS) == pytest.approx(3 / 8 * 5 / 8)


def test_a_sniper_is_ready_the_more_often_the_nearer_the_deadline():
    # Of nine turns its third is t = 1/2, where patience 2 makes it ready on one of four.
    talk, partner = [(P, (1, 2, 0)), NOTHING, (P, (1, 2, 0))], "sniper(patience=2.)"
    nine = {"rules": Rules(9)}
    assert says(partner, **nine, draw=0.0) == (P, (1, 2, 0))  # never at first
    assert says(partner, *talk, NOTHING, **nine, draw=0.24) == (P, (0, 2, 0))
    assert says(partner, *talk, NOTHING, **nine, draw=0.25) == (P, (1, 2, 0))
    assert says(partner, *talk, HATS, **nine, draw=0.24) == A
    assert says(partner, *talk, HATS, **nine, draw=0.25) == (P, (1, 2, 0))
    assert says(partner, HATS, rules=Rules(2), draw=0.99) == A  # its only turn is its last
    assert chance(partner, A, (0, 0, 0), *talk, HATS, **nine) == 1 / 4
    assert chance(partner, P, (1, 2, 0), *talk, HATS, **nine) == 3 / 4
    assert says("sniper(fair=0.7)", HATS, rules=Rules(2)) == (P, (1, 1, 0))


def test_a_trembling_hand_says_anything_now_and_then():
    assert says("trembling", draw=0.1) == (P, (1, 2, 0))  # the heuristic's opening
    assert says("trembling", draw=0.05) == (P, (0, 0, 0))  # what random says with that draw
    assert says("trembling(rate=1)", draw=0.99) == E
    assert chance("trembling", E) == pytest.approx(0.1 / 4)
    assert chance("trembling", P, (1, 2, 0)) == pytest.approx(0.9 + 0.1 / 4 / 24)
    assert chance("trembling(of=nice, rate=0.5)", A, (0, 0, 0), HAT) == pytest.approx(0.5 + 0.5 / 5)


def test_the_confidence_of_a_trembling_partner_hides_mistakes():
    turns = turns_after(HAT, draw=0.05)
    meant, slip = seat_occupant("heuristic").act(turns), seat_occupant("trembling").act(turns)
    assert (slip.act_type, slip.oA.tolist()) != (meant.act_type, meant.oA.tolist())
    assert slip.confidence == meant.confidence


def test_a_trembling_partner_may_tremble_itself():
    assert not hasattr(seat_occupant("trembling(of=micro)"), "probs")  # micro does not know its own
    # Trembling twice: one in four of the half that does not tremble at first.
    twice = "trembling(of='trembling(rate=0.25)', rate=0.5)"
    assert chance(twice, E) == pytest.approx(0.5 / 4 + 0.5 * 0.25 / 4)
    assert (
        says(twice, draw=0.6) == D
    )  # .6 is a fifth of the rest, so the inner hand trembles: random's third act of four
    assert says(twice, draw=0.7) == (P, (1, 2, 0))


@pytest.mark.parametrize("name", ["quantal_response", "mixed_thresholds", "sniper", "trembling(of=sniper)"])
def test_random_partners_match_their_probs(name):
    partner, size = seat_occupant(name), 60_000
    rng = np.random.default_rng(0)
    for talk in ([], [HATS], [(P, (1, 1, 0)), NOTHING, (P, (1, 2, 0)), HAT]):
        one = turns_after(*talk, prior="lewis", rules=Rules(7))
        many = one.rows(np.zeros(size, dtype=np.int64))
        many = many._replace(noise=rng.random((size, 8)), game_noise=rng.random((size, 8)))
        said = partner.act(many)
        played = np.bincount(action_index(said.act_type, said.oA, 3), minlength=action_count(3)) / size
        probs = partner.probs(one, 3)[0]
        assert probs.sum() == pytest.approx(1)
        assert played == pytest.approx(probs, abs=0.012)


# -- personas -------------------------------------------------------------------------------------------------------


def test_each_game_has_one_of_sixteen_personas_to_its_end():
    partner = seat_occupant("personas")
    every = partner.personas()
    assert sum(share for share, _ in every) == pytest.approx(1)
    assert len(every) == 16
    assert {round(who.exponent, 3) for _, who in every} == {0.25, 0.63, 1.587, 4.0}
    assert {round(who.floor, 3) for _, who in every} == {0.2, 0.4, 0.6, 0.8}
    draws = np.random.default_rng(0).random((160, 8))
    for talk in ([], [NOTHING], [(P, (1, 2, 0)), HAT], [(P, (1, 2, 0)), HAT, (P, (1, 1, 0)), HATS]):
        turns = turns_after(*talk, rules=Rules(6)).rows(np.zeros(160, dtype=np.int64))._replace(game_noise=draws)
        said = partner.act(turns)
        for row, who in enumerate(partner.persona_numbers(turns)):
            alone = every[who][1].act(turns.rows(np.array([row])))
            assert (said.act_type[row], said.oA[row].tolist()) == (alone.act_type[0], alone.oA[0].tolist())
    assert len(set(partner.persona_numbers(turns).tolist())) == 16


# -- trading off ----------------------------------------------------------------------------------------------------


def test_of_what_is_as_good_the_most_similar_to_the_offer_is_claimed():
    # On its last turn half is enough: the book is worth 5, hat and ball too.
    view = {"pool": TRIPLE, "values": (5, 3, 2), "prior": "uniform(budget=1)"}
    assert says("similarity", rules=Rules(1), **view) == (P, (1, 0, 0))  # it was offered nothing: the fewest items
    assert says("similarity", (P, (1, 1, 0)), rules=Rules(2), **view) == (P, (0, 1, 1))  # a ball: one item apart
    assert says("similarity", (P, (1, 0, 0)), rules=Rules(2), **view) == A
    # Book 6, hat 3, ball 1. Offered the ball: the book alone is two apart, with the ball, worth 7, one.
    wide = {**view, "values": (6, 3, 1), "rules": Rules(2)}
    assert says("similarity(slack=0.)", (P, (1, 1, 0)), **wide) == (P, (1, 0, 0))
    assert says("similarity(slack=0.2)", (P, (1, 1, 0)), **wide) == (P, (1, 0, 1))


def test_a_frequency_model_leaves_what_is_claimed_most():
    # On its second and last turn half is enough: the book is worth 5, hat and ball too.
    view = {"pool": TRIPLE, "values": (5, 3, 2), "rules": Rules(4)}
    talk = [(P, (1, 0, 0)), (P, TRIPLE), (P, (1, 1, 0))]  # the book claimed twice, the hat once: weights 7, 4, 1
    model = "frequency_model(floor=0.5, slack=0.)"
    assert says(model, *talk, **view) == (P, (0, 1, 1))  # keeps 5, not 7
    assert says("frequency_model(floor=0.5, slack=0., learning=0)", *talk, **view) == (P, (1, 0, 0))  # 1, not 2
    # Balls and hats claimed: the book.
    assert says(model, (P, (0, 1, 1)), (P, TRIPLE), (P, (0, 1, 1)), **view) == A  # which is what it was left
    assert says(model, (P, (0, 1, 1)), (P, TRIPLE), (P, (1, 1, 1)), **view) == (P, (1, 0, 0))
    # Before any claim each type weighs the same: both hats, worth 6, weigh 1, book and hat, worth 7, 1 + 1/2.
    last = {"rules": Rules(2), "prior": "lewis"}
    assert says("frequency_model(floor=0.6, slack=0.1)", (D, (0, 0, 0)), rules=Rules(2, "rejects")) == (P, (0, 2, 0))
    # After one claim of everything 4 against 6; of both hats but not the book 4 against 1 + 2.
    assert says("frequency_model(floor=0.6, slack=0.1)", (P, (1, 2, 3)), **last) == (P, (0, 2, 0))
    assert says("frequency_model(floor=0.6, slack=0.1)", (P, (0, 2, 3)), **last) == (P, (1, 1, 0))


# -- moods ----------------------------------------------------------------------------------------------------------


def test_an_aspiration_falls_without_a_better_offer_and_rises_after_a_generous_one():
    # 9 at first, then 8, 7, 6 after three offers of nothing; a hat (3) lifts it to 7.
    nine, claim = {"rules": Rules(11)}, (P, (1, 2, 0))
    said, talk = [], []
    for offer in (NOTHING, NOTHING, NOTHING, HAT, HAT):
        said.append(says("aspiration_adaptation", *talk, **nine)[1])
        talk += [claim, offer]
    assert said == [(1, 2, 0), (1, 2, 0), (1, 1, 0), (0, 2, 0), (1, 1, 0)]
    assert says("aspiration_adaptation", *talk, **nine) == (P, (0, 2, 0))  # the same hat again: 6
    assert says("aspiration_adaptation", *talk[:-1], HATS, **nine) == (P, (1, 2, 0))  # 6 points lift it to 8


def test_a_small_improvement_leaves_an_aspiration_where_it_is():
    # Steps of 4: 9, after nothing 5; a hat (3) is better but by less than a step; nothing new: 3, its floor.
    partner, talk = "aspiration_adaptation(step=0.4)", [(P, (1, 2, 0)), NOTHING, (P, (1, 2, 0)), HAT]
    assert says(partner, *talk[:2]) == says(partner, *talk) == (P, (0, 2, 0))
    assert says(partner, *talk, (P, (1, 2, 0)), NOTHING) == (P, (0, 1, 0))


def test_a_punisher_ends_the_game_after_one_insult_too_many():
    fair = (P, (0, 2, 0))
    assert says("punisher") == fair
    assert says("punisher", NOTHING) == fair  # it bears one
    assert says("punisher", NOTHING, fair, HAT) == fair  # 3 of 10 is none
    assert says("punisher", NOTHING, fair, NOTHING) == E
    assert says("punisher", NOTHING, fair, HAT, fair, NOTHING) == E
    assert says("punisher(patience=0)", NOTHING) == E
    assert says("punisher(insult=0.31, patience=0)", HAT) == E
    assert says("punisher", HATS) == A
    assert says("punisher(fair=0.7)", HATS) == (P, (1, 1, 0))
    assert says("punisher", NOTHING, fair, NOTHING, fair, HATS) == E  # too late


def test_zeuthen_concedes_while_it_has_more_to_lose():
    # The partner wants the book alone. All it values leaves the partner nothing, as does the partner's claim.
    alone = {"partner_values": (10, 0, 0), "reveal": True}
    assert says("zeuthen", **alone) == (P, (1, 2, 0))
    talk = [(P, (1, 2, 0)), NOTHING]
    assert says("zeuthen", *talk, **alone) == (P, (0, 2, 0))  # 6 * 1 is more than nothing
    talk += [(P, (0, 2, 0)), HAT]
    assert says("zeuthen", *talk, **alone) == (P, (0, 2, 0))  # 6 * 1 against 3 * 1: it is the partner's turn
    assert says("zeuthen", *talk[:3], HATS, **alone) == A
    assert says("zeuthen", *talk, **alone, rules=Rules(5)) == A  # on the last turn of all


def test_zeuthen_makes_the_smallest_concession_that_is_enough():
    # One of each at 5, 3, 2; the partner's values are 2, 3, 5. Products of both shares, in hundredths:
    # book and hat 8 * 5 = 40, book 5 * 8 = 40, book and ball 7 * 3 = 21, all 0.
    view = {"pool": TRIPLE, "values": (5, 3, 2), "partner_values": (2, 3, 5), "reveal": True}
    assert says("zeuthen", (P, TRIPLE), (P, (0, 1, 1)), **view) == A  # it leaves the book: nothing is more
    # It leaves the hat, 3 * 7 = 21: book and hat are the best with more.
    assert says("zeuthen", (P, TRIPLE), (P, (1, 0, 1)), **view) == (P, (1, 1, 0))


def test_a_bluffer_gives_up_first_what_is_worthless_to_it():
    talk, said = [], []
    for _ in range(4):
        said.append(says("bluffer", *talk)[1])
        talk += [(P, POOL), NOTHING]
    assert said == [(1, 2, 3), (1, 2, 1), (1, 1, 0), (1, 1, 0)]  # 7 points: without another hat less than 6
    assert says("bluffer(floor=0.3)", *talk[:6]) == (P, (1, 0, 0))
    assert says("bluffer(pace=1)", *talk[:6]) == (P, (1, 2, 0))
    assert says("bluffer", talk[0], (P, (0, 1, 3))) == (P, (1, 2, 1))  # 7 points
    assert says("bluffer", talk[0], (P, (0, 0, 3))) == A
    assert says("bluffer", *talk[:5], (P, (0, 1, 3))) == A
