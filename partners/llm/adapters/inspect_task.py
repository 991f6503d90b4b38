"""The game as a task of Inspect, which lighteval runs too: ``inspect eval partners/negotiate --model PROVIDER/NAME``.

The model sits in both seats, against an occupant of ours, or, with ``opponent=None``, against the model of the role
``opponent``. The scorer reports means over all games: own points, the partner's, deals, and the model's replies that
were refused, with standard errors clustered by scenario; against an occupant whose answers are known also what the
model's acts lost by the exact best response: points over points and what was lost are the share of it. Tested with
Inspect 0.3.285; in no extra of ours: ``pip install inspect-ai``.
"""

from __future__ import annotations

from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, get_model
from inspect_ai.scorer import Score, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, TaskState, solver

from dond_marl.game import SEATS
from dond_marl.occupants import Spec, seat_occupant
from dond_marl.seats import Partner
from partners.llm.adapters.spoken import AS_SHIPPED, GameRow, Manner, SpokenGame, rows
from partners.llm.diagnosis import ActValues, act_values_against
from partners.llm.prompt import SYSTEM

CLUSTER = "scenario"
CUT_OFF = ("max_tokens", "model_length")  # why a reply may end before it is whole
_MEANS = [mean(), stderr(cluster=CLUSTER)]
_VALUES = ("points", "partner_points", "deal", "refused")
_LOST = "lost"
_RESULT = "result"


@task  # type: ignore[untyped-decorator]
def negotiate(
    opponent: Spec | Partner | None = "heuristic",
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
    """Bargain for own points, by default over held-out scenarios, each in both seats."""
    manner = Manner(max_turns, disagree, prompt, re_asks, reading)
    seated = None if opponent is None else seat_occupant(opponent, one_game=True)
    dealt = rows(games, scenarios=scenarios, split=split, seed=seed)
    worths = None if seated is None else _worths(seated, manner, dealt[0])
    return Task(
        dataset=MemoryDataset([_sample(row) for row in dealt]),
        solver=bargain(manner, seated, worths),
        scorer=own_points(*([] if worths is None else [_LOST])),
    )


@solver  # type: ignore[untyped-decorator]
def bargain(manner: Manner = AS_SHIPPED, opponent: Partner | None = None, worths: ActValues | None = None) -> Any:
    """Play the sample's game; every act is asked for by itself, the talk so far in the prompt."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001  # Inspect's signature
        game = SpokenGame(state.metadata["row"], manner, opponent)
        seat, models = game.seat, [get_model(), get_model()]
        if opponent is None:
            models[1 - seat] = get_model(role="opponent", required=True)
        mine, lost = 0, 0.0
        while not game.over:
            mover, before = game.state.mover, game.state
            asked = [ChatMessageSystem(content=SYSTEM), ChatMessageUser(content=game.prompt)]
            output = await models[mover].generate(asked)
            refused = game.read(output.completion, finished=output.stop_reason not in CUT_OFF)
            if mover == seat:
                state.messages += [asked[1], ChatMessageAssistant(content=output.completion)]
                state.output, mine = output, mine + (refused is not None)
                if worths is not None and (refused is None or game.over):
                    lost += worths.regret_between(before, game.state)
        outcome = game.state.outcome
        assert outcome is not None
        own, others = game.points[seat], game.points[1 - seat]
        values = {"points": own, "partner_points": others, "deal": float(outcome.deal), "refused": float(mine)}
        values |= {} if worths is None else {_LOST: lost}
        state.metadata[_RESULT] = {"values": values, "ending": outcome.ending.name}
        return state

    return solve


def own_points(*more: str) -> Any:
    """Both sides' points, whether there was a deal, how many replies were refused; and ``more`` of the values."""

    @scorer(metrics=dict.fromkeys((*_VALUES, *more), _MEANS), name="own_points")  # type: ignore[untyped-decorator]
    def of_games() -> Any:
        async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001  # Inspect's signature
            result = state.metadata[_RESULT]
            return Score(value=result["values"], answer=result["ending"])

        return score

    return of_games()


def _worths(seated: Partner, manner: Manner, row: GameRow) -> ActValues | None:
    return act_values_against(seated, manner.rules, row["prior"], SpokenGame(row, manner).state.scenario)


def _sample(row: GameRow) -> Sample:
    scenario = f"{row['counts']} {row['utilities']}"
    words = f"Deal or No Deal in {SEATS[row['seat']]}: pool {row['counts']}, values {row['utilities'][row['seat']]}"
    return Sample(input=words, id=f"game {row['seed']}", metadata={"row": dict(row), CLUSTER: scenario})
