"""Partners that tell, lie about and believe values: what they say, what is read, and what a listener makes of it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dond_marl.conformance import check_partner
from dond_marl.game import Act, Rules, Scenario
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source, pack
from partners.scripted.talking import Listener, best_claim, claim_against, parse_values, values_sentence

TALK = Rules(message_length=200)
SCENARIOS = open_source("lewis", split="test").table.rows(slice(0, None, 20))
VARIANTS = [
    (Rules(6, message_length=200), False),
    (Rules(3), True),
]


def played(first, second, rules=TALK):
    return rollout((seat_occupant(first), seat_occupant(second)), SCENARIOS, rules, seed=0)


def test_value_sentences_parse_back():
    for values in itertools.product((0, 3, 10), repeat=3):
        assert parse_values(values_sentence(values)) == values
    assert parse_values("they are worth: Books 4; hats = 1, and balls 2") == (4, 1, 2)
    for nothing in ("", "book 4, hat 1, ball 2", "my values are high", "My values: book 4, hat 1.",
                    "My values: book 40, hat 1, ball 2", "My values: hat 1, book 4, ball 2"):  # fmt: skip
        assert parse_values(nothing) is None, nothing


@pytest.mark.parametrize("spec", ["announcer", "liar", "listener(trust=0.5)", "announcer(of=listener)"])
def test_talking_partners_conform(spec):
    check_partner(seat_occupant(spec), games=6, sources=("lewis",), variants=VARIANTS)


def test_announcer_and_liar_messages():
    silent = played("heuristic", "tough")
    for name in ("announcer", "liar"):
        games = played(name, "tough")
        assert (games.act == silent.act).all() and (games.oA == silent.oA).all()
        first = [parse_values(message) for message in games.messages[:, 0]]
        mine = [tuple(values) for values in SCENARIOS.utilities[:, 0].tolist()]
        assert (first == mine) == (name == "announcer")
        assert not any(games.messages[:, 1])  # tough says nothing


def test_messages_of_a_mixture_stay_in_their_games():
    messages = played("mixture(of=['announcer', 'tough'])", "tough").messages[:, 0]
    spoken = np.flatnonzero(messages)
    assert 0.3 < len(spoken) / SCENARIOS.size < 0.7
    assert all(parse_values(messages[row]) == tuple(SCENARIOS.utilities[row, 0].tolist()) for row in spoken)


def test_no_partial_sentences():
    assert played("announcer", "liar", Rules()).messages is None
    games = played("announcer", "heuristic", Rules(message_length=10))
    assert games.messages is None or not any(games.messages.ravel())


def test_a_listener_claims_what_the_announced_values_grant():
    """The pool is 1 book, 2 hats, 2 balls; announced (4, 1, 2), 0.55 of it 5.5: the book and a ball are enough."""
    counts, mine = np.array([1, 2, 2], dtype=np.int8), np.array([0, 4, 1], dtype=np.int8)
    claim, worth = claim_against(counts, mine, np.array([[4, 1, 2]], dtype=np.int8), np.ones(1))
    assert claim == (0, 2, 1) and worth == 9.0
    games = rollout(
        (seat_occupant("announcer(of=pushover)"), Listener()),
        pack([Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1)))], "lewis"), TALK, seed=0,
    )  # fmt: skip
    assert games.messages[0, 0] == "My values: book 4, hat 1, ball 2."
    assert games.act[0, 1] in (Act.AGREE, Act.PROPOSE)


def test_what_is_claimed_changes_a_listener_as_far_as_it_trusts():
    """Liar and announcer act alike, so all that differs is their word."""
    for trust, differ in ((1.0, True), (0.0, False)):
        honest, lying = (played(f"{who}(of=tough)", f"listener(trust={trust})") for who in ("announcer", "liar"))
        assert (not (honest.oA == lying.oA).all()) == differ


def test_lies_pay_against_a_listener():
    silent, honest, lying = (played(who, "listener") for who in ("heuristic", "announcer", "liar"))
    assert honest.deal.mean() > silent.deal.mean()
    assert lying.scores[:, 0].mean() > honest.scores[:, 0].mean()
    assert best_claim((1, 1, 3), (0, 1, 3), "lewis") == (3, 1, 2)  # more of the pool is granted to it so
