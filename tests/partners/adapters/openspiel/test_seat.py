"""OpenSpiel: agents in a seat, and Kaggle."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

import numpy as np
import pytest

from dond_marl.game import Act
from dond_marl.occupants import seat_occupant
from dond_marl.seats import Decisions, Traits, Turns, decide
from partners.adapters.openspiel_bargaining import (
    AGREE,
    ENVIRONMENT,
    OFFERS,
    ArenaError,
    agent,
    choose_act,
    parse_observation,
)

POOL, VALUES = (1, 2, 2), (4, 1, 2)
FREE = Traits()


@dataclass
class Says:
    """Says one thing and keeps what it saw."""

    act_type: Act
    oA: tuple[int, int, int] = (0, 0, 0)
    traits: Traits = FREE
    seen: list[Turns] = field(default_factory=list)

    def act(self, turns: Turns) -> Decisions:
        self.seen.append(turns)
        return decide(np.array([self.act_type]), np.array([self.oA]))


@pytest.mark.bench
def test_the_numbers_are_openspiels():
    pyspiel = pytest.importorskip("pyspiel", reason="pip install -e '.[examples]' brings OpenSpiel")
    game = pyspiel.load_game("bargaining")
    state = game.new_initial_state()
    state.apply_action(0)
    told = [state.action_to_string(0, number) for number in range(game.num_distinct_actions())]
    assert told[AGREE] == "Agree" and len(told) == AGREE + 1 == 121
    assert [tuple(map(int, re.findall(r"\d+", text))) for text in told[:AGREE]] == list(OFFERS)


def test_act_numbers_and_leaving_asks_for_everything():
    for act, oA, said in (
        (Act.PROPOSE, (1, 0, 2), OFFERS.index((1, 0, 2))),
        (Act.INSIST, (0, 2, 0), OFFERS.index((0, 2, 0))),
        (Act.AGREE, (0, 0, 0), AGREE),
        (Act.DISAGREE, (0, 0, 0), OFFERS.index(POOL)),
        (Act.END, (0, 0, 0), OFFERS.index(POOL)),
    ):
        assert choose_act(Says(act, oA), POOL, VALUES, [(1, 2, 2)]) == said


def test_partner_observes_its_values_the_offers_and_the_turns_left():
    partner = Says(Act.PROPOSE, (1, 0, 2))
    choose_act(partner, POOL, VALUES, [(1, 1, 2), (1, 0, 2), (0, 2, 2)], max_turns=6)
    (turns,) = partner.seen
    assert turns.seat == 1 and turns.turns_remaining.tolist() == [3] and turns.prior == "lewis"
    assert turns.my_utilities.tolist() == [list(VALUES)] and not turns.partner_utilities.any()
    assert turns.history.oA.tolist() == [[[1, 1, 2], [1, 0, 2], [0, 2, 2]]]
    assert turns.last_partner_offer_for_me.tolist() == [[1, 0, 0]]


def test_chance_is_the_games_and_fresh_in_every_turn():
    partner = Says(Act.PROPOSE)
    for seed, offers in ((1, []), (1, []), (1, [(0, 0, 0)] * 2), (2, [])):
        choose_act(partner, POOL, VALUES, offers, seed=seed)
    first, again, later, other = partner.seen
    assert (first.noise == again.noise).all() and (first.game_noise == later.game_noise).all()
    assert (first.noise != later.noise).all() and (first.game_noise != other.game_noise).all()


def test_a_pool_that_no_offer_can_name_is_refused():
    with pytest.raises(ValueError, match=r"names up to 7 items; the pool is \(3, 3, 2\)"):
        choose_act(seat_occupant("tough"), (3, 3, 2), (1, 1, 2), [])


# -- Our partners as agents of Kaggle's arena


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
