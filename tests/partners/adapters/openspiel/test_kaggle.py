"""Our partners as agents of Kaggle's arena: its observation read, its acts answered, games in it where it is there."""

from __future__ import annotations

import json

import pytest

from dond_marl.occupants import seat_occupant
from partners.adapters.openspiel_bargaining import (
    AGREE,
    ENVIRONMENT,
    OFFERS,
    ArenaError,
    agent,
    choose_act,
    parse_observation,
)


def observation(*offers: dict[str, int], player: int, to_move: int | None = None) -> dict[str, object]:
    """The arena's observation of a player; written by hand after one of its own."""
    history = [{"player": turn % 2, "type": "offer", "items": items} for turn, items in enumerate(offers)]
    told = {
        "pool": {"book": 1, "hat": 3, "basketball": 1}, "my_values": {"book": 1, "hat": 1, "basketball": 6},
        "offer_history": history, "max_turns": 10,
    }  # fmt: skip
    moving = len(offers) % 2 if to_move is None else to_move
    return {"observationString": json.dumps(told), "playerId": player, "currentPlayer": moving}


ALL = {"book": 1, "hat": 3, "basketball": 1}
FAIR = {"book": 1, "hat": 3, "basketball": 0}


def test_an_observation_is_the_table_and_what_was_offered():
    assert parse_observation(observation(ALL, FAIR, ALL, player=1)) == (
        (1, 3, 1), (1, 1, 6), [(1, 3, 1), (1, 3, 0), (1, 3, 1)], 10,
    )  # fmt: skip
    assert parse_observation(observation(ALL, player=0)) is None
    assert parse_observation({"observationString": "", "playerId": 0, "currentPlayer": 0}) is None


def test_arena_agent_plays_its_partners_act():
    heuristic = seat_occupant("heuristic")
    answer = agent(heuristic, seed=7)
    asked = answer(observation(ALL, player=1), {})["submission"]
    assert asked == choose_act(heuristic, (1, 3, 1), (1, 1, 6), [(1, 3, 1)], seed=7) != AGREE
    assert OFFERS[asked][2] == 1  # it asks for the ball, which it values
    assert answer(observation(FAIR, player=1), {}) == {"submission": AGREE}  # the ball is offered
    assert answer(observation(FAIR, player=0), {}) == {"submission": -1}  # not its turn


def test_foreign_observation_is_refused():
    with pytest.raises(ArenaError, match=ENVIRONMENT):
        agent(seat_occupant("heuristic"))({"observationString": "{}", "playerId": 0, "currentPlayer": 0}, {})
