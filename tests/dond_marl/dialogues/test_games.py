"""The published dialogues as games and as positions to learn from."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from dond_marl.dialogues.annotator import Utterance
from dond_marl.dialogues.games import HUMAN_RULES, Negotiation, acts, game_of, games, negotiations
from dond_marl.dialogues.positions import choices, human_positions, positions_of
from dond_marl.envs.features import BaseLayout, encode
from dond_marl.envs.turn import turn_of
from dond_marl.game import Act, Action, Ending, Rules, Scenario, State, apply
from dond_marl.occupants import seat_occupant
from dond_marl.records.record import GameRecord, InexactGame, game_from_line, replay, to_line
from dond_marl.scenarios.data import DIALOGUE_SPLITS, load_dialogues
from dond_marl.scenarios.sources import HELD_OUT_VIEWS, Scenarios, view_numbers

TABLE = Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1)))
CLICK = "<selection>"


def talk(*lines: str, selected=None, tag: str = "") -> Negotiation:
    """A negotiation in words of ours, seat_0 opening."""
    utterances = tuple(Utterance(number % 2, line) for number, line in enumerate(lines))
    return Negotiation(TABLE, utterances, selected, tag or ("" if selected else "<no_agreement>"), 1)


def test_an_offer_and_a_yes_are_an_exact_game():
    # seat_0 keeps the book and both balls; seat_1 takes it; the click only confirms.
    record = game_of(talk("i want the book and both balls , you get the hats", "deal", CLICK, selected=(1, 0, 2)))
    assert isinstance(record, GameRecord)
    assert record.actions == (Action(Act.PROPOSE, (1, 0, 2)), Action(Act.AGREE))
    assert record.outcome.allocation == ((1, 0, 2), (0, 2, 0)) and record.outcome.scores == (8, 8)
    assert record.rules == HUMAN_RULES and record.occupants == ("human", "human")
    assert replay(record).outcome == record.outcome


def test_a_no_only_refuses_and_a_repeated_offer_insists():
    no = "no , that does not work for me"
    offer = "i want the book and both balls , you get the hats"
    record = game_of(talk(offer, no, offer, "deal", CLICK, selected=(1, 0, 2)))
    assert isinstance(record, GameRecord)
    assert [action.act_type for action in record.actions] == [Act.PROPOSE, Act.DISAGREE, Act.INSIST, Act.AGREE]


OFFER = "i want the book and both balls , you get the hats"


@pytest.mark.parametrize(
    ("selected", "tag", "expected"),
    [
        ((1, 0, 2), "", Act.AGREE),  # the one who clicks took what the offer leaves
        ((1, 1, 2), "", Act.END),  # took something else
        (None, "<no_agreement>", Act.END),  # walked away
        (None, "<disagree>", None),  # what was selected is not in the file
        (None, "<disconnect>", None),
    ],
)
def test_closing_click_is_agree_or_end_by_the_selection(selected, tag, expected):
    closing = acts(talk(OFFER, CLICK, selected=selected, tag=tag))[-1]
    assert (closing.action.act_type if closing.action else None) == expected
    assert closing.action or closing.reason


@pytest.mark.parametrize(
    ("negotiation", "reason"),
    [
        (talk("hello there", OFFER, CLICK, selected=(0, 2, 0)), "utterance 1 was not read: no act"),
        (talk(OFFER, "deal", "i want everything", CLICK, selected=(1, 0, 2)), "utterance 3 goes on after the deal"),
        (talk(OFFER, "deal", CLICK, selected=(1, 2, 0)), "another outcome than people selected"),
        (talk(OFFER, "deal", CLICK), "another outcome than people selected"),
        (talk("deal", OFFER, CLICK, selected=(0, 2, 0)), "utterance 1 is no legal act: AGREE needs"),
        (talk(OFFER, CLICK, tag="<disconnect>"), "utterance 2 was not read: a side was disconnected"),
    ],
)
def test_inexact_dialogues_have_a_reason(negotiation, reason):
    game = game_of(negotiation)
    assert isinstance(game, InexactGame) and reason in game.inexact
    assert len(game.actions) == len(negotiation.talk)
    assert game.selected == (None if negotiation.selected is None else (negotiation.selected, rest_of(negotiation)))


def rest_of(negotiation):
    return tuple(n - kept for n, kept in zip(TABLE.counts, negotiation.selected, strict=True))


@pytest.mark.parametrize(
    ("split", "both_sides", "exact"),
    [("val", 562, 237), ("test", 545, 236), pytest.param("train", 5211, 2238, marks=pytest.mark.slow)],
)
def test_published_dialogues_are_games_and_exact_ones_replay(data_dir, split, both_sides, exact):
    records, rows = list(games(split, data_dir)), load_dialogues(split, data_dir)
    assert len(records) == both_sides
    count: Counter[type] = Counter(map(type, records))
    assert (count[GameRecord], count[InexactGame]) == (exact, both_sides - exact)
    words = {word for row in rows for word in row.words if len(word) > 9 and word.isalpha()}
    for game in records:
        line = to_line(game)
        assert game_from_line(line) == game
        if isinstance(game, GameRecord):
            assert replay(game).outcome.ending in (Ending.AGREE, Ending.END)
            assert not words & set(line.replace('"', " ").split())


def test_both_perspectives_give_one_negotiation(data_dir):
    rows = {split: load_dialogues(split, data_dir) for split in DIALOGUE_SPLITS[1:]}
    for split, lines in rows.items():
        unique = negotiations(split, data_dir)
        assert len({(negotiation.scenario, negotiation.talk) for negotiation in unique}) == len(unique) < len(lines)
        for negotiation in unique:
            row = lines[negotiation.line - 1]
            opener = row.words[0]
            assert negotiation.scenario.utilities[0] == (row.my_values if opener == "YOU:" else row.partner_values)


# -- Positions hold a seat's observations and acts, no more, and give partners the same turns a


REJECTS, ENDS = Rules(10, "rejects"), Rules(10)
HELLO, UNCLEAR = "hello there", "i want a hat or a ball"
MINE, YOURS = OFFER, "i want the hats and one ball , you get the rest"
NO, DEAL = "no , that does not work for me", "deal"


def observations(positions):
    """Act, last act, offer for me and turns remaining of every position."""
    return [
        (Act(act).name, Act(last).name, tuple(offer), turns_remaining)
        for act, last, offer, turns_remaining in zip(
            positions.act.tolist(),
            positions.last_partner_act.tolist(),
            positions.last_partner_offer_for_me.tolist(),
            positions.turns_remaining.tolist(),
            strict=True,
        )
    ]


def test_position_holds_observation_and_act():
    positions = positions_of([talk(MINE, NO, YOURS, DEAL, CLICK, selected=(0, 2, 1))], REJECTS)
    # The last yes is the deal: the click after it belongs to no position.
    assert observations(positions) == [
        ("PROPOSE", "END", (0, 0, 0), 10),
        ("DISAGREE", "PROPOSE", (0, 2, 0), 9),
        ("PROPOSE", "DISAGREE", (0, 0, 0), 8),
        ("AGREE", "PROPOSE", (1, 0, 1), 7),
    ]
    assert positions.oA.tolist() == [[1, 0, 2], [0, 0, 0], [0, 2, 1], [0, 0, 0]]
    assert positions.my_utilities.tolist() == [[4, 1, 2], [0, 4, 1]] * 2
    assert positions.share.tolist() == [0.4, 0.1, 0.4, 0.1]  # two hats and a ball; the book and a ball
    assert positions.replies.tolist() == [False, True, True, True]


def test_no_refusals_where_disagree_ends_the_game():
    positions = positions_of([talk(MINE, NO, YOURS, DEAL, CLICK, selected=(0, 2, 1))], ENDS)
    assert [name for name, *_ in observations(positions)] == ["PROPOSE", "AGREE"]


def test_unread_utterances_leave_no_position():
    # seat_1 greets: seat_0 has seen no act of it. Its own next offer is a certain position.
    greeted = positions_of([talk(MINE, HELLO, MINE, DEAL, CLICK, selected=(1, 0, 2))], REJECTS)
    assert [row[3] for row in observations(greeted)] == [
        10,
        7,
    ]
    # seat_1 says something that may be an offer, then refuses: which claim of it stands is not known.
    unclear = positions_of([talk(MINE, UNCLEAR, MINE, NO, MINE, CLICK)], REJECTS)
    assert [row[3] for row in observations(unclear)] == [10, 7, 5]
    assert observations(unclear)[-1][:2] == ("END", "INSIST")


def test_turn_limit_and_cut_dialogues():
    long = talk(*[MINE, YOURS] * 3, CLICK)
    assert [row[3] for row in observations(positions_of([long], Rules(4, "rejects")))] == [4, 3, 2, 1]
    cut = positions_of([talk(MINE, YOURS, CLICK, tag="<disconnect>")], REJECTS)
    assert cut.size == 2 and all(math.isnan(share) for share in cut.share.tolist())
    assert positions_of([talk(MINE, YOURS, CLICK)], REJECTS).share.tolist() == [0.0] * 3


def test_any_order_of_the_items_is_as_good():
    positions = positions_of([talk(MINE, DEAL, CLICK, selected=(1, 0, 2))], REJECTS)
    every = positions.in_every_order()
    assert every.size == 6 * positions.size
    worths = [(rows.my_utilities * rows.oA).sum(axis=1)[rows.act == Act.PROPOSE] for rows in (positions, every)]
    assert set(worths[0].tolist()) == set(worths[1].tolist()) == {8}
    assert len({tuple(row) for row in every.counts.tolist()}) == 3


@pytest.fixture(scope="module")
def val(data_dir):
    return human_positions("val", REJECTS, data_dir)


def test_training_positions_hold_no_held_out_view(data_dir, val):
    trainable = human_positions("val", REJECTS, data_dir, trainable_only=True)
    drawn = Scenarios(trainable.counts, np.stack([trainable.my_utilities] * 2, axis=1))
    every = Scenarios(val.counts, np.stack([val.my_utilities] * 2, axis=1))
    assert not np.isin(view_numbers(drawn), HELD_OUT_VIEWS).any() and np.isin(view_numbers(every), HELD_OUT_VIEWS).any()
    assert 0 < trainable.size < val.size


def test_positions_of_exact_games_are_their_turns(data_dir, val):
    layout, rows = BaseLayout(4, 10), {}
    for index, turns in val.turns():
        for i, row in zip(index.tolist(), encode(turns, layout), strict=True):
            rows.setdefault((val.act[i], row.tobytes()), i)
    compared = 0
    for game in games("val", data_dir):
        if not isinstance(game, GameRecord):
            continue
        state = State(game.scenario, REJECTS)
        for action in game.actions:
            if state.turns_remaining == 0 or state.is_over:
                break
            turn = turn_of(state, prior="")
            i = rows[(action.act_type, encode(turn, layout)[0].tobytes())]
            assert val.counts[i].tolist() == list(game.scenario.counts)
            state = apply(state, action)
            compared += 1
    assert compared > 600


def test_human_acts_are_legal(val):
    for places, turns in val.turns():
        assert turns.act_mask[np.arange(turns.size), val.act[places]].all()
    assert (val.oA <= val.counts).all() and not val.oA[val.act > Act.INSIST].any()
    assert np.bincount(val.act).tolist() == [1141, 56, 421, 184, 9]


def test_positions_give_the_same_turns_as_games(val):
    heuristic = seat_occupant("heuristic")
    act, oA = choices(heuristic, val)
    for i in range(0, val.size, 97):
        state, turns_taken = (
            State(Scenario(tuple(val.counts[i].tolist()), (tuple(val.my_utilities[i].tolist()),) * 2)),
            0,
        )
        if val.replies[i] and val.last_partner_act[i] <= Act.INSIST:
            offered = tuple((val.counts - val.last_partner_offer_for_me)[i].tolist())
            state, turns_taken = apply(state, Action(Act(int(val.last_partner_act[i])), offered)), 1
        elif val.replies[i]:
            continue
        decisions = heuristic.act(turn_of(state, prior=""))
        assert int(decisions.act_type[0]) == act[i], (i, turns_taken)
        assert (decisions.oA[0] == oA[i]).all() or act[i] > Act.INSIST
    for other in ("random", "versatile"):
        with pytest.raises(ValueError, match="deterministic and memoryless"):
            choices(seat_occupant(other), val)
