"""Games in words: rows, refusals, opponents, and the tools of TRL."""

from __future__ import annotations

import inspect

import pytest

from dond_marl.errors import InputError
from dond_marl.game import Act, Action, Ending, IllegalAct, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source, pack
from partners.llm.adapters.spoken import Manner, SpokenGame, rows
from partners.llm.adapters.trl_tools import Negotiation
from partners.llm.prompt import CORRECTIONS
from partners.llm.reply import Reason, reply_line

OFFER = reply_line(Action(Act.PROPOSE, (0, 0, 0)), 0.5)


def test_rows():
    ten = rows(10)
    assert [row["seat"] for row in ten] == [0, 1] * 5 and [row["seed"] for row in ten] == list(range(10))
    assert all(ten[i]["counts"] == ten[i + 1]["counts"] for i in range(0, 10, 2))
    assert ten[0]["utilities"] == ten[1]["utilities"] and {row["prior"] for row in ten} == {"lewis"}
    for scenarios in ("lewis", "uniform"):
        assert rows(4, scenarios=scenarios, start=3) == rows(10, scenarios=scenarios)[3:7]
    assert rows(1, seed=1) != ten[:1]
    held_out = open_source("lewis", split="test").table
    dealt = rows(20, split="test")
    assert held_out is not None
    known = {held_out.scenario(place) for place in range(held_out.size)}
    assert all(SpokenGame(row).state.scenario in known for row in dealt)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({}, "counts"),
        ({"counts": [1, 1, 1], "utilities": [[1, 2, 3]]}, "one vector per seat"),
        ({"counts": [0, 0, 0], "utilities": [[1, 2, 3]] * 2}, "at least one item"),
        ({**rows(1)[0], "seat": 2}, "a seat is 0, 1"),
        ({**rows(1)[0], "seed": -1}, "from 0 up"),
    ],
)
def test_invalid_rows_are_refused(row, said):
    with pytest.raises(InputError, match=said):
        SpokenGame(row)


def test_refusals_then_forfeit():
    game = SpokenGame(rows(1)[0], Manner(re_asks=1))
    first = game.prompt
    assert game.read("I propose everything") is Reason.UNPARSABLE and not game.is_over
    assert game.prompt.startswith(first.rstrip()) and CORRECTIONS[Reason.UNPARSABLE] in game.prompt
    assert game.read(OFFER) is None and game.refused is None  # a good reply, and the next seat starts afresh
    assert game.read("") is Reason.EMPTY and game.read(OFFER) is None
    assert game.read(reply_line(Action(Act.PROPOSE, (9, 9, 9)), 0.5)) is Reason.ILLEGAL
    assert game.read("{") is Reason.TRUNCATED and game.is_over and game.points == (0.0, 0.0)
    assert game.state.outcome.ending is Ending.ILLEGAL and game.refusals == 4


@pytest.mark.parametrize("opponent", ["boulware", "random", "mixture(of=[boulware, conceder])"])
def test_opponent_plays_as_in_a_rollout(opponent):
    partner, other = seat_occupant(opponent), seat_occupant("heuristic")
    for row in rows(12):
        seat = row["seat"]
        scenario = SpokenGame(row).state.scenario
        both = (other, partner) if seat == 0 else (partner, other)
        games = rollout(both, pack([scenario]), Rules(), seed=row["seed"], prior="lewis")
        taken = int(games.turns[0])
        offers = games.oA[0, :taken].tolist()
        said = [Action(Act(act), tuple(oA)) for act, oA in zip(games.act[0, :taken].tolist(), offers, strict=True)]
        game = SpokenGame(row, opponent=partner)
        for action in said[seat::2]:
            assert game.read(reply_line(action, 1.0)) is None
        assert list(game.state.history) == said and game.points == tuple(games.scores[0])


def test_trl_tools():
    names = {name for name, _ in inspect.getmembers(Negotiation, inspect.isfunction) if not name.startswith("_")}
    assert names == {"reset", "get_reward", "propose", "insist", "agree", "disagree", "end"}
    get_json_schema = pytest.importorskip("transformers.utils").get_json_schema
    env = Negotiation()
    offer = get_json_schema(env.propose)["function"]
    assert offer["parameters"]["required"] == ["books", "hats", "balls"]
    assert {value["type"] for value in offer["parameters"]["properties"].values()} == {"integer"}
    for name in ("agree", "disagree", "end"):
        assert get_json_schema(getattr(env, name))["function"]["description"]


def test_trl_illegal_act_raises_and_game_goes_on():
    env = Negotiation()
    assert env.get_reward() == 0.0
    with pytest.raises(IllegalAct, match="is over"):
        env.agree()
    row = {**rows(1)[0], "prompt": [{"role": "user", "content": ""}]}  # fields of the data set that are not the game's
    opening = env.reset(**row)
    assert ",".join(map(str, row["utilities"][0])) in opening and "hidden" in opening and "JSON" not in opening
    with pytest.raises(ValueError, match="AGREE needs"):
        env.agree()
    with pytest.raises(ValueError, match="keep between"):
        env.propose(9, 9, 9)
    told = env.propose(*row["counts"])
    assert "you keep" in told or "over" in told
    assert env.reset().startswith("You bargain") and env.get_reward() == 0.0


def test_trl_without_a_data_set_deals_another_game_each_time():
    first, second = Negotiation(), Negotiation()
    openings = [first.reset() for _ in range(4)]
    assert len(set(openings)) == 4 and openings == [second.reset() for _ in range(4)]
    assert openings[1] == Negotiation().reset(**rows(2)[1])
