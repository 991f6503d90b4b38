"""People's talks as games: exact ones replay, all others say why they are none, and no word of theirs is kept."""

from __future__ import annotations

from collections import Counter

import pytest

from dond_marl.dialogues.annotator import Utterance
from dond_marl.dialogues.games import HUMAN_RULES, Negotiation, acts, game_of, games, negotiations
from dond_marl.game import Act, Action, Ending, Scenario
from dond_marl.records.record import GameRecord, InexactGame, game_from_line, replay, to_line
from dond_marl.scenarios.data import DIALOGUE_SPLITS, load_dialogues

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
