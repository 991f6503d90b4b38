"""The game as a PettingZoo parallel environment: both seats submit an action, the active seat's is used.

The inactive seat's action is ignored. A learner that gets both seats at every step, for example through SuperSuit's
vectors, must leave those steps out; ``info["active_agent"]`` of the previous reset or step names the active seat.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from gymnasium import spaces
from pettingzoo.utils.env import ParallelEnv

from dond_marl.envs.aec import METADATA, NegotiationEnv, OrderError
from dond_marl.envs.spaces import Info, InvalidAction, Observation
from dond_marl.errors import quote
from dond_marl.game import SEATS

Results = tuple[
    dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Info]
]  # observations, rewards, terminations, truncations, infos


class ParallelNegotiationEnv(ParallelEnv):  # type: ignore[misc]  # PettingZoo ships no types
    """One negotiation as a parallel environment: both seats submit an action in each step.

    ``info["active_agent"]`` names the seat to move (``None`` at the end); only its action is used. Takes the settings
    of :class:`NegotiationEnv`, but ``illegal`` is ``"forfeit"`` by default, because users of the parallel API usually
    sample without masks.
    """

    metadata = METADATA
    __signature__ = inspect.signature(NegotiationEnv)

    def __init__(self, *values: Any, **settings: Any) -> None:
        self.negotiation_env = NegotiationEnv(*values, **settings)
        self.negotiation_env.prefer_illegal("forfeit")
        self.render_mode = self.negotiation_env.render_mode
        self.possible_agents = list(SEATS)
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> spaces.Dict:
        return self.negotiation_env.observation_space(agent)

    def action_space(self, agent: str) -> spaces.Dict:
        return self.negotiation_env.action_space(agent)

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, Info]]:
        """Start a new game, as :meth:`NegotiationEnv.reset`; observations and infos of both seats."""
        self.negotiation_env.reset(seed, options)
        self.agents = list(SEATS)
        return self._observations(), self._infos()

    def step(self, actions: Mapping[str, object]) -> Results:
        """Apply the active seat's action. Raises as :meth:`NegotiationEnv.step`, and if that action is missing."""
        env = self.negotiation_env
        if not self.agents:
            env.negotiation  # noqa: B018  # raises before the first reset
            raise OrderError("the game is over: call reset() for a new one")
        active = env.agent_selection
        if not isinstance(actions, Mapping) or active not in actions:
            raise InvalidAction(
                f"it is {active}'s turn: actions must be a dict with its action; got {quote(actions)}; "
                "info['active_agent'] names the seat to move"
            )
        env.step(actions[active])
        if env.negotiation.is_over:
            self.agents = []
        ended, cut = dict(env.terminations), dict(env.truncations)
        return self._observations(), dict(env.rewards), ended, cut, self._infos()

    def render(self) -> Any:
        return self.negotiation_env.render()

    def _observations(self) -> dict[str, Observation]:
        return {agent: self.negotiation_env.observe(agent) for agent in SEATS}

    def _infos(self) -> dict[str, Info]:
        env = self.negotiation_env
        active = env.agent_selection if self.agents else None
        return {agent: {**env.infos[agent], "active_agent": active} for agent in SEATS}
