"""Negotiating styles of hand-made games, including the cases that the published code gets wrong."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dond_marl.batch import GameBatch, Games
from dond_marl.game import MAX_COUNT, Act, Rules, Scenario
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source, pack
from dond_marl.seats import decide
from dond_marl.statistics import TEN, points_of_ten
from partners.judges.styles import Style, count_offers, score_leads, shows_style
from partners.learning.rewards import reward_of
from partners.mixture import Mixture

torch.set_num_threads(1)
LEWIS = open_source("lewis", split="train")
P, I, AGREE, NO, END = Act.PROPOSE, Act.INSIST, Act.AGREE, Act.DISAGREE, Act.END  # noqa: E741  # short for the stories
# 1 book, 2 hats, 3 balls, worth 10 to each: (1, 0, 0) is worth 4 to seat_0 and 0 to seat_1.
TABLE = Scenario((1, 2, 3), ((4, 0, 2), (0, 2, 2)))
A, B, C = (1, 0, 0), (1, 1, 0), (0, 0, 3)


def game(*said: tuple, scenario: Scenario = TABLE, rules: Rules = Rules(10, "rejects")) -> Games:
    """One game in which the seats say ``said`` in turn: an act, or an offer (act, what the speaker keeps)."""
    table = GameBatch(pack([scenario], "uniform"), rules, illegal="forfeit")
    for act in said:
        kind, oA = act if isinstance(act, tuple) else (act, (0, 0, 0))
        table.step(decide(np.array([kind]), np.array([oA])))
    return table.games()


def styles(games: Games, seat: int) -> set[str]:
    return {str(style) for style in Style if shows_style(style, games)[0, seat]}


STORIES = {
    # seat_0 keeps the book and the balls (10 points), seat_1 is left with two hats (4 points).
    "takes it all": (((P, (1, 0, 3)), AGREE), {"competitive"}, {"push_over"}),
    "gives it all": (((P, (0, 0, 0)), AGREE), {"push_over"}, {"competitive"}),
    # the book for 4 against all else for 10
    "one offer is neither versatile nor stubborn": (((P, A), AGREE), {"push_over"}, {"competitive"}),
    "two offers, two splits": (((P, A), (P, C), (P, B), (P, C), END), {"versatile"}, {"stubborn"}),
    # A, B, A
    "back to the first": (((P, A), (P, C), (P, B), (P, B), (P, A), END), {"stubborn"}, {"versatile"}),
    "insisting is the same offer": (((P, A), (P, C), (I, A), (P, B), END), {"stubborn"}, {"versatile"}),
    "stubborn to success": (((P, (1, 0, 3)), NO, (P, (1, 0, 3)), AGREE), {"stubborn", "competitive"}, {"push_over"}),
    "claims that fit": (((P, (1, 0, 3)), (P, (0, 2, 0)), END), {"competitive"}, {"push_over"}),
}  # fmt: skip


@pytest.mark.parametrize("story", STORIES)
def test_styles_of_a_game(story):
    said, first, second = STORIES[story]
    assert styles(game(*said), 0) == first
    assert styles(game(*said), 1) == second


def test_equal_shares_are_no_lead():
    equal = Scenario((1, 2, 3), ((4, 0, 2), (0, 5, 0)))  # the book to one, a hat to the other: 4 of 10, 5 of 10
    assert score_leads(game((P, (1, 1, 3)), AGREE, scenario=equal)).tolist() == [[1, -1]]
    assert score_leads(game((P, (0, 0, 3)), AGREE, scenario=equal)).tolist() == [[-1, 1]]
    tied = Scenario((3, 1, 1), ((1, 0, 0), (0, 3, 3)))  # 1 of 3 and 2 of 6 as shares; 1 and 3 as points
    assert score_leads(game((P, (3, 1, 0)), AGREE, scenario=tied)).tolist() == [[1, -1]]
    assert score_leads(game((P, (1, 1, 1)), (P, (2, 0, 1)), NO, END, scenario=tied)).tolist() == [[0, 0]]
    third = Scenario((3, 0, 1), ((1, 0, 0), (2, 0, 0)))  # 1 of 3 to 4 of 6; never a tie by rounding
    assert score_leads(game((P, (1, 0, 0)), AGREE, scenario=third)).tolist() == [[-1, 1]]
    fair = Scenario((2, 0, 0), ((1, 0, 0), (9, 0, 0)))  # one each: half of either whole, 1 point and 9
    assert score_leads(game((P, (1, 0, 0)), AGREE, scenario=fair)).tolist() == [[0, 0]]
    worthless = Scenario((1, 0, 0), ((0, 0, 0), (1, 0, 0)))
    assert score_leads(game((P, (0, 0, 0)), AGREE, scenario=worthless)).tolist() == [[-1, 1]]


def chatter(seed: int, max_turns: int = 10, size: int = 300) -> Games:
    """Games of many styles: partners that repeat and vary offers, insist, refuse and agree."""
    crowd = Mixture(of=("random", "stubborn", "versatile", "pushover", "naive_tit_for_tat"))
    return rollout((crowd, crowd), LEWIS.block(seed, 0, size), Rules(max_turns, "rejects"), seed=seed)


def by_hand(games: Games, row: int, seat: int) -> set[str]:
    """The definitions again, from the acts of one game, as a reader would check them."""
    splits = [
        tuple(games.oA[row, turn].tolist())
        for turn in range(seat, int(games.turns[row]), 2)
        if games.act[row, turn] in (Act.PROPOSE, Act.INSIST)
    ]
    shown = set()
    if len(set(splits)) < len(splits):
        shown.add("stubborn")
    elif len(splits) >= 2:
        shown.add("versatile")
    share, other_share = (
        int(games.scores[row, who]) * int(games.scenarios.pool_values[row, 1 - who]) for who in (seat, 1 - seat)
    )
    if games.deal[row] and share != other_share:
        shown.add("competitive" if share > other_share else "push_over")
    return shown


@given(st.integers(0, 10**6), st.integers(1, 12))
def test_batched_labels_equal_single_labels(seed, max_turns):
    games = chatter(seed, max_turns, size=40)
    shown = {str(style): shows_style(style, games) for style in Style}
    for row in range(games.size):
        for seat in (0, 1):
            assert {name for name, label in shown.items() if label[row, seat]} == by_hand(games, row, seat)


def test_largest_splits_differ():
    scenario = Scenario((MAX_COUNT,) * 3, ((1, 1, 1), (1, 1, 1)))
    every = [(MAX_COUNT, 0, 0), (0, MAX_COUNT, 0), (0, 0, MAX_COUNT), (9, 10, 0), (0, 1, 0)]
    said = [act for split in every for act in ((P, split), (P, (0, 0, 0)))]
    offers = count_offers(game(*said, scenario=scenario))
    assert (offers.made.tolist(), offers.different.tolist()) == ([[5, 5]], [[5, 1]])


# -- what the published code got wrong (its files as of commit 3114a1f) ------------------------------------------------


@pytest.mark.parametrize("style", Style)
def test_style_reward_uses_the_definition(style):
    """There, versatile has two: offers A, B, A earn nothing in training and count as a success in evaluation."""
    games = chatter(11)
    earned = points_of_ten(games.scores, games.scenarios.pool_values)
    paid = reward_of(f"style({style})")(games, earned, games.scenarios)
    assert (paid == TEN * shows_style(style, games)).all() and 0 < paid.mean() < TEN
    back_to_the_first = game((P, A), (P, C), (P, B), (P, C), (P, A), END)
    assert not shows_style(Style.VERSATILE, back_to_the_first)[0, 0]


def test_illegal_acts_do_not_count():
    games = game((P, A), (P, C), (P, (1, 0, 4)))  # four balls of three
    assert count_offers(games).made.tolist() == [[1, 1]] and styles(games, 0) == styles(games, 1) == set()
