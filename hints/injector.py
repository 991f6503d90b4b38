"""Hints in the environments' ``info``: ``HintInjectorEnv`` for the AEC environment and for ``SingleAgentView``.

``info["hint_features"]`` (float32, 10 numbers in [0, 1], see :func:`hints.schedule.hint_features`) of a hinted seat
holds its hint after ``reset`` and every ``step`` if the seat is to move and a hint is due, zeros otherwise. Hints have
their own random stream, a function of the ``reset`` seed: the same seed gives the same hints, and the environment's own
random numbers do not change.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs, seeding
from pettingzoo.utils import BaseWrapper
from pettingzoo.utils.env import AECEnv

from dond_marl.envs.aec import NegotiationEnv
from dond_marl.envs.single_agent import SingleAgentView
from dond_marl.envs.spaces import Info, read_seed
from dond_marl.envs.turn import turn_of
from dond_marl.game import SEATS, as_seat
from dond_marl.occupants import OccupantNameError, seat_occupant
from dond_marl.rollout import Noise
from dond_marl.seats import HINT_WIDTH, Floats, Hinter
from hints.providers import ExpertHinter, RandomHinter
from hints.schedule import HintSchedule

KEY = "hint_features"


def HintInjectorEnv(
    env: Any,
    hinter: Hinter | str = "random",
    cadence_k: int = 1,
    seats: Collection[int | str] | None = None,
    *,
    privileged: bool = False,
) -> Any:
    """Wrap ``env`` so that its infos hold hints; the API of ``env`` stays.

    ``env``: the AEC environment or a :class:`SingleAgentView`, wrapped or not. ``hinter``: any
    :class:`dond_marl.seats.Hinter`, ``"random"``, or the name of an occupant whose choice is hinted, such as
    ``"expert"`` and ``"llm(provider=hf)"``. ``cadence_k``: a seat gets a hint on every ``cadence_k``-th own
    step, its first included. ``seats``: seats that get hints, by number or name; ``None`` for all (of a
    ``SingleAgentView``, the agent's). To play one seat against a partner, wrap the view and not its environment, which
    would also make hints for the partner, which reads none. Two wrappers can give two seats different hints.
    ``privileged``: the hinter observes the other seat's values; state this with every result.

    The wrapper's ``schedule.tally`` counts hints by cause. Raises ``TypeError`` for another environment or hinter,
    ``ValueError`` for settings out of range.
    """
    if isinstance(env, AECEnv) and isinstance(env.unwrapped, NegotiationEnv):
        return AECHintInjector(env, hinter, cadence_k, seats, privileged)
    if isinstance(env, gymnasium.Env) and isinstance(env.unwrapped, SingleAgentView):
        return SeatHintInjector(env, hinter, cadence_k, seats, privileged)
    raise TypeError(
        "HintInjectorEnv takes the AEC environment of dond_marl (deal_or_no_dialog_v0.env()) or a SingleAgentView, "
        f"wrapped or not; got {type(env).__name__}"
    )


class AECHintInjector(BaseWrapper):  # type: ignore[misc]  # PettingZoo ships no types
    """Hints for the seats of the AEC environment; made by :func:`HintInjectorEnv`."""

    def __init__(
        self, env: Any, hinter: Hinter | str, cadence_k: int, seats: Collection[int | str] | None, privileged: bool
    ) -> None:
        super().__init__(env)
        self.schedule = HintSchedule(_hinter(hinter), cadence_k, privileged=privileged)
        self._prompter = _Prompter(env.unwrapped, self.schedule, seats)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self.env.reset(seed=seed, options=options)
        self._prompter.start(seed)
        self._update_infos()

    def step(self, action: object) -> None:
        self.env.step(action)
        self._update_infos()

    def _update_infos(self) -> None:
        self.infos = {agent: self._prompter.inform(agent, info) for agent, info in self.env.infos.items()}


class SeatHintInjector(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Hints for the agent of a :class:`SingleAgentView`; made by :func:`HintInjectorEnv`."""

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        hinter: Hinter | str,
        cadence_k: int,
        seats: Collection[int | str] | None,
        privileged: bool,
    ) -> None:
        RecordConstructorArgs.__init__(self, hinter=hinter, cadence_k=cadence_k, seats=seats, privileged=privileged)
        gymnasium.Wrapper.__init__(self, env)
        self.schedule = HintSchedule(_hinter(hinter), cadence_k, privileged=privileged)
        self._view: SingleAgentView = env.unwrapped  # type: ignore[assignment]  # checked by HintInjectorEnv
        self._prompter = _Prompter(self._view.game, self.schedule, seats)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._prompter.start(seed)
        return observation, self._prompter.inform(self._view.agent, info)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        observation, reward, ended, cut, info = self.env.step(action)
        return observation, reward, ended, cut, self._prompter.inform(self._view.agent, info)


class _Prompter:
    """Shared by both wrappers: the hint of each seat at this point of the game, with the hints' own random stream."""

    def __init__(self, game: NegotiationEnv, schedule: HintSchedule, seats: Collection[int | str] | None) -> None:
        self._game, self._schedule, self._agents = game, schedule, _agents(seats)
        self._seed: int | None = None
        self._episode = 0

    def start(self, seed: int | None) -> None:
        """Start a new game: the first of a ``seed``, or the next one of the previous seed."""
        seed = read_seed(seed)
        if seed is None and self._seed is not None:
            self._episode += 1
        else:
            self._seed, self._episode = seeding.np_random(seed)[1], 0
        self._noise = Noise(self._seed, (self._episode,), 1)

    def inform(self, agent: str, info: Info) -> Info:
        """The info with the hint features of ``agent``; for a seat without hints those of an inner wrapper stay."""
        if agent not in self._agents:
            return {KEY: np.zeros(HINT_WIDTH, dtype=np.float32), **info}
        state = self._game.negotiation
        to_move = not state.is_over and SEATS[state.mover] == agent
        return {**info, KEY: self._features() if to_move else np.zeros(HINT_WIDTH, dtype=np.float32)}

    def _features(self) -> Floats:
        """The hint features of the seat to move, ``[10]``, as a new array."""
        game, state = self._game, self._game.negotiation
        turn = turn_of(
            state,
            prior=game.source.prior,
            reveal_partner_utilities=game.reveal_partner_utilities or self._schedule.privileged,
            noise=None if self._schedule.deterministic else self._noise.hint_noise(len(state.history)),
        )
        features: Floats = self._schedule.hint_features(turn)[0]
        return features.copy()


def _hinter(hinter: Hinter | str) -> Hinter:
    if not isinstance(hinter, str):
        return hinter  # HintSchedule checks the type
    if hinter == "random":
        return RandomHinter()
    try:
        return ExpertHinter(seat_occupant(hinter, one_game=True, runs=True))
    except OccupantNameError as error:
        message = f"a hinter is named 'random' or like an occupant, whose action is suggested: {error}"
        raise ValueError(message) from None


def _agents(seats: Collection[int | str] | None) -> tuple[str, ...]:
    if seats is None:
        return SEATS
    return tuple(SEATS[seat] for seat in sorted({as_seat(seat) for seat in seats}))
