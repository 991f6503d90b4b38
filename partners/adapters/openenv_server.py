"""The game as an OpenEnv server: one session per game, a model in one seat, any occupant in the other.

``DOND_OPPONENT=expert uvicorn --factory partners.adapters.openenv_server:app`` serves it; :func:`server` takes any
occupant, also a member of a league by its checkpoint. Tested with openenv-core 0.3.0 and openenv 0.10.0; not in the
extras: ``pip install openenv``.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from openenv.core.env_server import Action, Environment, Observation, State, create_app
from pydantic import Field

from dond_marl.occupants import SpecLike, seat_occupant
from dond_marl.seats import Partner
from partners.adapters.spoken import AS_SHIPPED, Manner, SpokenGame, rows

OPPONENT = "DOND_OPPONENT"  # the environment variable


class NegotiationReply(Action):  # type: ignore[misc]  # OpenEnv ships no types
    """The model's reply: one JSON object with act_type, oA and confidence."""

    reply: str = Field(max_length=100_000)


class NegotiationObservation(Observation):  # type: ignore[misc]
    """The next prompt. ``reward`` is 0 until the game ends, then the model's own points."""

    prompt: str = ""  # empty once the game is over
    seat: int = 0
    refused: str | None = None  # why the last reply was refused


class NegotiationServer(Environment[NegotiationReply, NegotiationObservation, State]):  # type: ignore[misc]
    """Games against ``opponent`` in the given :class:`Manner`."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, opponent: SpecLike | Partner = "heuristic", manner: Manner = AS_SHIPPED) -> None:
        super().__init__()
        self._opponent, self._manner = seat_occupant(opponent, one_game=True), manner
        self._game: SpokenGame | None = None
        self._state = State()

    def reset(self, seed: int | None = None, episode_id: str | None = None, **row: Any) -> NegotiationObservation:
        """Begin the game of ``row``, by default number ``seed`` of the training scenarios."""
        drawn = {"seed": seed or 0, **row} if "counts" in row else rows(1, start=seed or 0)[0]
        self._game = SpokenGame(drawn, self._manner, self._opponent)
        self._state = State(episode_id=episode_id, step_count=0)
        return self._observation()

    def step(self, action: NegotiationReply, timeout_s: float | None = None, **_: Any) -> NegotiationObservation:  # noqa: ARG002  # OpenEnv's
        """Play the reply; after a refused one the model may reply again, ``manner.re_asks`` times."""
        if self._game is None or self._game.is_over:
            raise RuntimeError("there is no game to step: call reset first")
        refused = self._game.read(action.reply)
        self._state.step_count += 1
        return self._observation(None if refused is None else refused.value)

    @property
    def state(self) -> State:
        """The episode's name and its number of replies; nothing hidden from the seat."""
        return self._state

    def _observation(self, refused: str | None = None) -> NegotiationObservation:
        game = self._game
        assert game is not None
        prompt = "" if game.is_over else game.prompt
        reward = game.points[game.seat]
        return NegotiationObservation(prompt=prompt, seat=game.seat, refused=refused, done=game.is_over, reward=reward)


def server(opponent: SpecLike | Partner = "heuristic", manner: Manner = AS_SHIPPED, sessions: int = 64) -> Any:
    """The FastAPI application, with at most ``sessions`` at a time. Raises the opponent's exceptions."""
    seated = seat_occupant(opponent, one_game=True)
    make = partial(NegotiationServer, seated, manner)
    return create_app(
        make, NegotiationReply, NegotiationObservation, env_name="deal_or_no_dialog", max_concurrent_envs=sessions
    )


def app() -> Any:
    """The application of :func:`server` against the occupant ``$DOND_OPPONENT``, by default ``heuristic``."""
    return server(os.environ.get(OPPONENT, "heuristic"))
