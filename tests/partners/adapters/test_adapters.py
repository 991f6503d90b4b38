"""Games in words: rows, refusals and opponents; all adapters pay the same as the environment in scripted games."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import socket
import threading
from types import SimpleNamespace

import pytest

from dond_marl.envs.turn import only_action, turn_of
from dond_marl.errors import InputError
from dond_marl.game import Act, Action, Ending, IllegalAct, Rules, apply
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source, pack
from partners.adapters.spoken import Manner, SpokenGame, rows
from partners.adapters.trl_tools import Negotiation
from partners.best_response import BestResponse
from partners.llm.prompt import CORRECTIONS
from partners.llm.reply import Reason, reply_line
from tests.partners.adapters.scripted_games import Game, Scripted, played

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
    scenarios_of_split = {held_out.scenario(i) for i in range(held_out.size)}
    assert all(SpokenGame(row).state.scenario in scenarios_of_split for row in dealt)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({}, "counts"),
        ({**rows(1)[0], "seat": 2}, "a seat is 0, 1"),
        ({**rows(1)[0], "seed": -1}, "seed"),
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
        players = (other, partner) if seat == 0 else (partner, other)
        games = rollout(players, pack([scenario], "lewis"), Rules(), seed=row["seed"])
        turns = int(games.turns[0])
        offers = games.oA[0, :turns].tolist()
        said = [Action(Act(act), tuple(oA)) for act, oA in zip(games.act[0, :turns].tolist(), offers, strict=True)]
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


# ---------------------------------------------------------------- the same games through each library

FEW = 40
sizes = pytest.mark.parametrize("games", [FEW, pytest.param(1000, marks=pytest.mark.slow)])


def replayed(game: Game) -> SpokenGame:
    """The game in words, with both seats prompted."""
    spoken = SpokenGame(game.row)
    turns = [game.replies(0), game.replies(1)]
    while not spoken.is_over:
        assert spoken.read(turns[spoken.state.mover].pop(0)) is None
    assert turns == [[], []]
    return spoken


def test_script_covers_all_acts_and_endings():
    games = played(400)
    assert {action.act_type for game in games for action in game.said} == set(Act)
    endings = {replayed(game).state.outcome.ending for game in games}
    assert endings == {Ending.AGREE, Ending.END, Ending.DISAGREE, Ending.TURN_LIMIT}
    assert sum(sum(game.returns) > 0 for game in games) > 100


@sizes
def test_two_seats_in_words(games):
    for game in played(games):
        assert replayed(game).points == game.returns


class AgainstScript(Negotiation):
    """TRL's environment with a scripted opponent."""

    opponent = Scripted()


def say_by_tool(env: Negotiation, action) -> str:
    tool = getattr(env, action.act_type.name.lower())
    return tool(*action.oA) if action.act_type.is_offer else tool()


@sizes
def test_trl(games):
    env = AgainstScript()
    for game in played(games):
        env.reset(**game.row)
        for action in game.own():
            say_by_tool(env, action)
        assert env.get_reward() == game.returns[game.row["seat"]]
        with pytest.raises(ValueError, match="is over"):
            env.end()


@sizes
def test_textarena(games):
    pytest.importorskip("textarena", reason="pip install textarena")
    from partners.adapters.textarena_env import DealOrNoDealEnv

    for game in played(games):
        env = DealOrNoDealEnv(row=game.row)
        env.reset(num_players=2)
        is_over, turns = False, [game.replies(0), game.replies(1)]
        while not is_over:
            player, _ = env.get_observation()
            is_over, _ = env.step(turns[player].pop(0))
        rewards, info = env.close()
        assert (rewards[0], rewards[1]) == game.returns and turns == [[], []]
        assert info[0]["reason"] in Ending.__members__ and not info[0]["invalid_move"]


@sizes
def test_openenv(games):
    pytest.importorskip("openenv", reason="pip install openenv")
    from partners.adapters.openenv_server import NegotiationReply, NegotiationServer

    env = NegotiationServer(Scripted())
    for game in played(games):
        asked = env.reset(**game.row)
        for reply in game.replies():
            asked = env.step(NegotiationReply(reply=reply))
        assert asked.done and asked.reward == game.returns[game.row["seat"]]


def test_openenv_over_its_own_client_and_server():
    pytest.importorskip("openenv", reason="pip install openenv")
    import uvicorn
    from openenv.core.generic_client import GenericEnvClient

    from partners.adapters.openenv_server import server

    ours = socket.create_server(("127.0.0.1", 0))
    served = uvicorn.Server(uvicorn.Config(server(Scripted()), log_level="error"))
    thread = threading.Thread(target=served.run, kwargs={"sockets": [ours]})
    thread.start()

    async def play(games: list[Game]) -> None:
        async with GenericEnvClient(base_url=f"ws://127.0.0.1:{ours.getsockname()[1]}") as env:
            for game in games:
                asked = await env.reset(**game.row)
                for reply in ["hello", *game.replies()] if not asked.done else []:  # the first is refused, once
                    asked = await env.step({"reply": reply})
                    assert asked.observation["refused"] == ("unparsable" if reply == "hello" else None)
                assert asked.done and asked.reward == game.returns[game.row["seat"]]

    try:
        asyncio.run(play(played(6)))
    finally:
        served.should_exit = True
        thread.join()


@sizes
def test_verifiers(games):
    pytest.importorskip("verifiers", reason="pip install verifiers")
    from verifiers.v1 import Segment
    from verifiers.v1.types import AssistantMessage

    from partners.adapters.verifiers_env import DealData, DealTask, NegotiationEnv, TwoSeats

    class Speaker:
        """An agent of a seat that says its lines, as verifiers' interactions say theirs."""

        def __init__(self, lines: list[str]) -> None:
            self.lines, self.rewards = lines, {}
            self.trace = SimpleNamespace(record_reward=self.rewards.__setitem__, record_metric=lambda *_: None)

        @contextlib.asynccontextmanager
        async def interaction(self, task):
            yield self

        async def turn(self, message: str) -> Segment:
            assert "Acts open to you now" in message
            return Segment(messages=[AssistantMessage(content=self.lines.pop(0))])

    env = NegotiationEnv.__new__(NegotiationEnv)  # of itself a game asks its configuration alone
    env.config = TwoSeats()
    for game in played(games):
        seats = Speaker(game.replies(0)), Speaker(game.replies(1))
        fields = {name: value for name, value in game.row.items() if name != "seat"}
        task = DealTask(DealData(**fields))
        asyncio.run(env.run(task, SimpleNamespace(seat_0=seats[0], seat_1=seats[1])))
        assert tuple(seat.rewards["points"] for seat in seats) == game.returns
        assert [seat.lines for seat in seats] == [[], []]


def evaluated(lines: list[str], games: int, opponent, folder):
    from inspect_ai import eval as evaluate
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from partners.adapters.inspect_task import negotiate

    def says(line: str) -> ModelOutput:
        output = ModelOutput.from_content("mockllm", line)
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # or its tokenizer is downloaded
        return output

    model = get_model("mockllm/model", custom_outputs=(says(line) for line in lines))
    task = negotiate(opponent=opponent, games=games, split="train")
    (log,) = evaluate(task, model=model, max_samples=1, display="none", log_dir=str(folder), log_level="error")
    assert log.status == "success", log.error
    return log


@sizes
@pytest.mark.filterwarnings("ignore")  # Inspect's own, of its dependencies
def test_inspect(games, tmp_path):
    pytest.importorskip("inspect_ai", reason="pip install inspect-ai")
    scripted = played(games)
    lines = [line for game in scripted for line in game.replies()]
    log = evaluated(lines, games, Scripted(), tmp_path)
    paid = {sample.id: sample.scores["own_points"].value for sample in log.samples}
    assert len(paid) == games
    for game in scripted:
        seat = game.row["seat"]
        values = paid[f"game {game.row['seed']}"]
        assert (values["points"], values["partner_points"]) == (game.returns[seat], game.returns[1 - seat])
        assert values["refused"] == 0


def replies_to_heuristic(player, games: int, best: BestResponse):
    """Replies of ``player`` against the heuristic, and the regret of its acts by the best response, by game."""
    lines, lost = list[str](), dict[str, float]()
    for row in rows(games):
        game, seat = SpokenGame(row, opponent=seat_occupant("heuristic")), row["seat"]
        while not game.is_over:
            action = only_action(player.act(turn_of(game.state, prior=row["prior"])))
            lines.append(reply_line(action, 0.5))
            game.act(action)
        state = SpokenGame(row).state
        total = 0.0
        for action in game.state.history:
            if state.mover == seat:
                worths = best.worth_of_acts(state, row["prior"])
                total += (max(worths.values()) - worths[action]) * 10 / state.scenario.pool_value(seat)
            state = apply(state, action)
        lost[f"game {row['seed']}"] = total
    return lines, lost


@pytest.mark.filterwarnings("ignore")  # Inspect's own, of its dependencies
def test_inspect_reports_regret(tmp_path):
    """Nothing by who plays the best response, and by others what each act is worth less than the best one."""
    pytest.importorskip("inspect_ai", reason="pip install inspect-ai")
    games, best = 8, BestResponse("heuristic")
    for player in (best, Scripted()):
        lines, lost = replies_to_heuristic(player, games, best)
        log = evaluated(lines, games, "heuristic", tmp_path / type(player).__name__)
        told = {sample.id: sample.scores["own_points"].value["lost"] for sample in log.samples}
        assert told == pytest.approx(lost, abs=1e-9)
        assert (max(told.values()) < 1e-9) == (player is best)
