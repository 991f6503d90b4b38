"""The game as a verifiers v1 environment of two seats, and its taskset.

verifiers finds a taskset by the name of a top-level module: put these lines in a file such as ``dond_negotiation.py``
where you start it, whose name is the taskset's id::

    from partners.adapters.verifiers_env import NegotiationEnv, NegotiationTaskset

    __all__ = ["NegotiationEnv", "NegotiationTaskset"]

Each seat is an agent in a conversation of its own, with the shipped prompt before each of its acts; both traces record
``points``, the seat's own. One model in both seats is self-play. Pin a seat's model and client to play against another
one: ``dond serve`` offers any occupant that way. Tested with verifiers 0.4.0; not in the extras:
``pip install verifiers``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import verifiers.v1 as vf

from dond_marl.game import SEATS
from partners.adapters.spoken import Manner, SpokenGame, rows
from partners.llm.prompt import SYSTEM

__all__ = ["NegotiationEnv", "NegotiationTaskset"]


class DealData(vf.TaskData):  # type: ignore[misc]  # verifiers ships no types
    """One game, as a row of :func:`partners.adapters.spoken.rows`; the environment opens."""

    counts: list[int]
    utilities: list[list[int]]
    seed: int = 0
    prior: str = "lewis"


class DealTask(vf.Task[DealData, vf.State, vf.TaskConfig]):  # type: ignore[misc]
    """One scenario to bargain over."""


class NegotiationConfig(vf.TasksetConfig):  # type: ignore[misc]
    """The scenarios, and their number."""

    scenarios: str = "lewis"
    split: str | None = None
    games: int = 1000
    seed: int = 0


class NegotiationTaskset(vf.Taskset[DealTask, NegotiationConfig]):  # type: ignore[misc]
    """The scenarios, each as it is and then with the seats' values exchanged."""

    def load(self) -> Iterator[DealTask]:
        config = self.config
        for row in rows(config.games, scenarios=config.scenarios, split=config.split, seed=config.seed):
            model_values, partner_values = row["utilities"]
            utilities = [partner_values, model_values] if row["seat"] else [model_values, partner_values]
            fields = {**row, "utilities": utilities, "system_prompt": SYSTEM}
            del fields["seat"]  # both seats are agents
            yield DealTask(DealData(**fields), config.task)


class TwoSeats(vf.EnvConfig):  # type: ignore[misc]
    """The seats, without tools and on this machine, and the :class:`Manner` of the games."""

    seat_0: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"}, runtime={"type": "subprocess"})
    seat_1: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"}, runtime={"type": "subprocess"})
    max_turns: int = 10
    disagree: str = "ends"
    prompt: str = "full"
    re_asks: int = 1
    reading: str = "strict"


class NegotiationEnv(vf.Env[TwoSeats]):  # type: ignore[misc]
    """Both seats bargain over the task's scenario."""

    async def run(self, task: DealTask, agents: vf.Agents) -> None:
        """Play one game; a seat whose conversation ends before the game forfeits it."""
        config = self.config
        manner = Manner(config.max_turns, config.disagree, config.prompt, config.re_asks, config.reading)
        game = SpokenGame(task.data.model_dump(), manner)
        async with agents.seat_0.interaction(task) as first, agents.seat_1.interaction(task) as second:
            seats: tuple[Any, Any] = first, second
            while not game.is_over:
                turn = await seats[game.state.mover].turn(game.prompt)
                if turn.terminated:
                    game.give_up(f"the conversation of {SEATS[game.state.mover]} ended")
                else:
                    game.read(turn.last_reply)
            outcome = game.state.outcome
            assert outcome is not None
            for seat, points in zip(seats, game.points, strict=True):
                seat.trace.record_reward("points", points)
                seat.trace.record_metric("deal", float(outcome.deal))
                seat.trace.record_metric("refused", float(game.refusals))
