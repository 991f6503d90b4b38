"""The game as a task of Inspect, which lighteval runs too: ``inspect eval partners/negotiate --model PROVIDER/NAME``.

The model plays both seats in turn, against an occupant, or, with ``opponent=None``, against the model of the role
``opponent``. The scorer reports means over all games with standard errors clustered by scenario: own points, the
partner's points, deals, and the model's refused replies; against an occupant with an enumerable policy also ``lost``,
the exact regret of the model's acts in points of ten. Tested with Inspect 0.3.285; not in the extras:
``pip install inspect-ai``.
"""

from __future__ import annotations

from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, get_model
from inspect_ai.scorer import Score, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, TaskState, solver

from dond_marl.game import SEATS
from dond_marl.occupants import SpecLike, seat_occupant
from dond_marl.seats import Partner
from partners.adapters.spoken import AS_SHIPPED, GameRow, Manner, SpokenGame, rows
from partners.best_response import ActValues, act_values_against
from partners.llm.prompt import SYSTEM

CLUSTER = "scenario"
CUT_OFF = ("max_tokens", "model_length")  # stop reasons of a reply that was cut off
_MEANS = [mean(), stderr(cluster=CLUSTER)]
_VALUES = ("points", "partner_points", "deal", "refused")
_LOST = "lost"
_RESULT = "result"


@task  # type: ignore[untyped-decorator]
def negotiate(
    opponent: SpecLike | Partner | None = "heuristic",
    games: int = 200,
    scenarios: Any = "lewis",
    split: str | None = "test",
    seed: int = 0,
    max_turns: int = 10,
    disagree: Any = "ends",
    prompt: Any = "full",
    re_asks: int = 1,
    reading: Any = "strict",
) -> Task:
    """An Inspect task: bargain for own points, by default over held-out scenarios, each in both seats."""
    manner = Manner(max_turns, disagree, prompt, re_asks, reading)
    seated = None if opponent is None else seat_occupant(opponent, one_game=True)
    drawn = rows(games, scenarios=scenarios, split=split, seed=seed)
    example = SpokenGame(drawn[0], manner).state.scenario
    act_values = None if seated is None else act_values_against(seated, manner.rules, drawn[0]["prior"], example)
    return Task(
        dataset=MemoryDataset([_sample(row) for row in drawn], name=f"Deal or No Deal, {drawn[0]['prior']}"),
        solver=bargain(manner, seated, act_values),
        scorer=own_points(*([] if act_values is None else [_LOST])),
    )


@solver  # type: ignore[untyped-decorator]
def bargain(manner: Manner = AS_SHIPPED, opponent: Partner | None = None, act_values: ActValues | None = None) -> Any:
    """A solver that plays the sample's game, one prompt per act with the history so far."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001  # Inspect's signature
        row = state.metadata["row"]
        game = SpokenGame(row, manner, opponent)
        seat, models = game.seat, [get_model(), get_model()]
        if opponent is None:
            models[1 - seat] = get_model(role="opponent", required=True)
        refusals, lost = 0, 0.0
        state.messages.insert(0, ChatMessageSystem(content=SYSTEM))  # as it is sent before each prompt
        while not game.is_over:
            mover, before = game.state.mover, game.state
            messages = [ChatMessageSystem(content=SYSTEM), ChatMessageUser(content=game.prompt)]
            output = await models[mover].generate(messages)
            refused = game.read(output.completion, finished=output.stop_reason not in CUT_OFF)
            if mover == seat:
                state.messages += [messages[1], ChatMessageAssistant(content=output.completion)]
                state.output, refusals = output, refusals + (refused is not None)
                if act_values is not None and (refused is None or game.is_over):
                    lost += act_values.regret_between(before, game.state)
        outcome = game.state.outcome
        assert outcome is not None
        values = {
            "points": game.points[seat],
            "partner_points": game.points[1 - seat],
            "deal": float(outcome.deal),
            "refused": float(refusals),
        }
        values |= {} if act_values is None else {_LOST: lost}
        ended = f"{outcome.ending.name} after {len(game.state.history)} acts"
        shares = f": seat {seat} gets {outcome.allocation[seat]} of {row['counts']}" if outcome.allocation else ""
        state.metadata[_RESULT] = {"values": values, "ending": outcome.ending.name, "explanation": ended + shares}
        return state

    return solve


def own_points(*more: str) -> Any:
    """A scorer of both seats' points, deals and refused replies, and ``more`` of the values."""

    @scorer(metrics=dict.fromkeys((*_VALUES, *more), _MEANS), name="own_points")  # type: ignore[untyped-decorator]
    def score_games() -> Any:
        async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001  # Inspect's signature
            result = state.metadata[_RESULT]
            return Score(value=result["values"], answer=result["ending"], explanation=result["explanation"])

        return score

    return score_games()


def _sample(row: GameRow) -> Sample:
    scenario = f"{row['counts']} {row['utilities']}"
    words = f"Deal or No Deal in {SEATS[row['seat']]}: pool {row['counts']}, values {row['utilities'][row['seat']]}"
    return Sample(input=words, id=f"game {row['seed']}", metadata={"row": dict(row), CLUSTER: scenario})
