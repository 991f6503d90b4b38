"""Deal or No Deal as PettingZoo environments, AEC and parallel: thin shells over :mod:`dond_marl.game`.

Both seats are agents. The environment checks order and bounds itself, so it needs no slow stack of wrappers.
Observations, actions and masks: :mod:`dond_marl.envs.spaces`. Rewards: the seats' own points, at the end of the game.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from gymnasium import logger, spaces
from gymnasium.utils import seeding
from pettingzoo.utils.env import AECEnv, AECIterable, ParallelEnv

from dond_marl.envs.spaces import (
    Info,
    InvalidAction,
    Observation,
    action_space,
    agent_entry,
    check_one_of,
    inform,
    observation_space,
    observe,
    read_action,
    read_message,
    read_seed,
    scenario_option,
)
from dond_marl.errors import RunFailure, quote, require_library
from dond_marl.game import SEATS, Disagree, IllegalAct, Rules, Scenario, State, apply, forfeit
from dond_marl.records.transcript import transcript_lines
from dond_marl.scenarios.sources import LEWIS_MAX_COUNT, LEWIS_POOL_VALUE, Scenarios, open_source

Illegal = Literal["raise", "forfeit"]
RenderMode = Literal["human", "ansi", "rgb_array"]
METADATA: dict[str, Any] = {
    "name": "deal_or_no_dialog_v0",
    "render_modes": list(get_args(RenderMode)),
    "render_fps": 2,
    "is_parallelizable": False,  # seats alternate: use parallel_env(), not a wrapper around this environment
}
AHEAD = 64  # scenarios drawn at once from a source without a table: twice as fast as one by one
Results = tuple[
    dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Info]
]  # observations, rewards, terminations, truncations, infos
_SEAT_OF = {agent: seat for seat, agent in enumerate(SEATS)}


class OrderError(RunFailure):
    """A call that comes too early (before ``reset``) or too late (after the end)."""


class NegotiationEnv(AECEnv):  # type: ignore[misc]  # PettingZoo ships no types
    """One negotiation between ``seat_0``, which opens, and ``seat_1``.

    ``max_turns``: acts of both seats together, 1..100. ``disagree``: whether DISAGREE ``"ends"`` the game or only
    ``"rejects"`` the offer. ``illegal``: whether an act that the rules forbid raises :class:`IllegalAct` (``"raise"``,
    the default, state unchanged) or ends the game with 0 points for both (``"forfeit"``). ``scenarios``,
    ``use_dataset``, ``dataset``, ``split``, ``data_dir``, ``normalize``, ``points_budget``, ``max_count``: the scenario
    source, see :func:`dond_marl.scenarios.sources.open_source`. ``reveal_partner_utilities``: each seat observes the
    other's values. ``message_length``: maximum characters of an act's message, 0 for none.
    ``render_mode``: ``"human"`` prints the transcript as play goes on, ``"ansi"`` returns it, ``"rgb_array"`` returns a
    picture.

    Raises ``ValueError`` (also :class:`ScenarioError`, :class:`DataError`) for invalid settings, ``TypeError`` for
    unknown ones.
    """

    metadata = METADATA

    def __init__(
        self,
        *,
        max_turns: int = 10,
        disagree: Disagree = "ends",
        illegal: Illegal | None = None,
        scenarios: str = "uniform",
        use_dataset: bool = False,
        dataset: Literal["self_play", "dialogues"] = "self_play",
        split: str | None = None,
        data_dir: str | Path | None = None,
        normalize: bool = False,
        points_budget: int = LEWIS_POOL_VALUE,
        max_count: int = LEWIS_MAX_COUNT,
        reveal_partner_utilities: bool = False,
        message_length: int = 0,
        render_mode: RenderMode | None = None,
    ) -> None:
        super().__init__()
        check_one_of("illegal", illegal, (None, *get_args(Illegal)))
        check_one_of("render_mode", render_mode, (None, *get_args(RenderMode)))
        check_one_of("reveal_partner_utilities", reveal_partner_utilities, (False, True))
        self.rules = Rules(max_turns, disagree, message_length)
        self.source = open_source(
            scenarios,
            use_dataset=use_dataset,
            dataset=dataset,
            split=split,
            data_dir=data_dir,
            normalize=normalize,
            points_budget=points_budget,
            max_count=max_count,
        )
        self.max_count = self.source.max_count
        self.reveal_partner_utilities = bool(reveal_partner_utilities)
        self.illegal: Illegal = illegal or "raise"
        self.render_mode = render_mode
        if render_mode == "rgb_array":
            require_library("PIL", "render_mode='rgb_array'")
        self._illegal_set = illegal is not None
        self._state: State | None = None
        self._rng: np.random.Generator | None = None
        self._ahead: Scenarios | None = None
        self._dealt = 0  # number of scenarios of ``_ahead`` already used
        self._printed = 0  # lines of the transcript already printed
        self.possible_agents = list(SEATS)
        self.agents: list[str] = []
        # One object per seat: seeding one seat's space leaves the other's alone.
        turns, length = self.rules.max_turns, self.rules.message_length
        self.observation_spaces = {agent: observation_space(self.max_count, turns, length) for agent in SEATS}
        self.action_spaces = {agent: action_space(self.max_count, length) for agent in SEATS}

    def observation_space(self, agent: str) -> spaces.Dict:
        """The observation space of ``agent``, always the same object. Raises ``ValueError`` for an unknown agent."""
        return agent_entry(self.observation_spaces, agent)

    def action_space(self, agent: str) -> spaces.Dict:
        """The action space of ``agent``, always the same object. Raises ``ValueError`` for an unknown agent."""
        return agent_entry(self.action_spaces, agent)

    @property
    def negotiation(self) -> State:
        """The negotiation so far, as a value of :mod:`dond_marl.game`; it holds both seats' values."""
        if self._state is None:
            raise self._no_agents()
        return self._state

    def prefer_illegal(self, mode: Illegal) -> None:
        """Use ``mode`` unless the environment was built with an explicit ``illegal``."""
        if not self._illegal_set:
            self.illegal = mode

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Start a new game. Without a ``seed`` the random numbers continue.

        ``options={"scenario": ...}`` sets the scenario: a :class:`Scenario`, or ``{"counts": [3 integers],
        "utilities": [[3 integers], [3 integers]]}``. Other options are ignored, unless the name is a near miss of this
        one. Raises ``ValueError`` if the scenario does not fit the spaces, and for an invalid seed.
        """
        seed, scenario = read_seed(seed), scenario_option(options, self.max_count)
        if seed is not None or self._rng is None:
            self._rng, _ = seeding.np_random(seed)
            self._ahead = None
        state = State(self._draw_scenario(self._rng) if scenario is None else scenario, self.rules)
        self._state = state
        self._printed = 0
        self.agents = list(SEATS)
        self.agent_selection = SEATS[0]
        self.rewards = dict.fromkeys(SEATS, 0.0)
        self._cumulative_rewards = dict.fromkeys(SEATS, 0.0)
        self.terminations = dict.fromkeys(SEATS, False)
        self.truncations = dict.fromkeys(SEATS, False)
        self.infos: dict[str, Info] = {agent: inform(state, _SEAT_OF[agent], self.max_count) for agent in SEATS}
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> Observation:
        """The observation of ``agent`` now, also when it is not to move; fresh arrays, without the partner's values."""
        seat = agent_entry(_SEAT_OF, agent)
        return observe(self.negotiation, seat, reveal_partner_utilities=self.reveal_partner_utilities)

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, Info]:
        """Observation, points since its last act, terminated, truncated (never) and info of the seat to move."""
        if not self.agents:
            raise self._no_agents()
        agent = self.agent_selection
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    def agent_iter(self, max_iter: int = 2**63) -> AECIterable:
        """The seats in turn, until both have left the finished game."""
        self.negotiation  # noqa: B018  # raises before the first reset
        return super().agent_iter(max_iter)

    def step(self, action: object) -> None:
        """Apply the action of the seat to move; after the end each seat leaves with ``None``.

        Raises :class:`InvalidAction` for an action outside the action space, :class:`IllegalAct` for one that the
        rules forbid (unless ``illegal="forfeit"``), :class:`OrderError` before ``reset`` and after the end. An error
        leaves the game unchanged.
        """
        state = self._state
        if state is None or not self.agents:
            raise self._no_agents()
        if state.outcome is not None:
            self._leave(action)
            return
        talks = bool(self.rules.message_length)
        act = read_action(action, self.max_count, message=talks)
        message = read_message(action, self.rules) if talks else ""  # type: ignore[arg-type]  # a dict, as checked
        try:
            after = apply(state, act, message)
        except IllegalAct as broken:
            if self.illegal == "raise":
                raise
            after = forfeit(state, str(broken))
        self._state = after
        other = 1 - len(state.history) % 2
        self.agent_selection = SEATS[other]
        if after.outcome is not None:
            self._end(after)
        else:  # a seat's info depends on its partner's acts only, so only the other seat's changes
            self.infos[SEATS[other]] = inform(after, other, self.max_count)
        if self.render_mode == "human":
            self.render()

    def render(self) -> Any:
        """``ansi``: the transcript so far. ``rgb_array``: a picture of the game, uint8 ``[480, 640, 3]``.

        ``human``: print the transcript's new lines.
        """
        if self.render_mode is None:
            modes = "'human', 'ansi' or 'rgb_array'"
            logger.warn(f"render() does nothing without a render mode: build the environment with {modes}")
            return None
        if self.render_mode == "rgb_array":
            from dond_marl.envs.drawing import draw

            return draw(self.negotiation)
        lines = transcript_lines(self.negotiation)
        if self.render_mode == "ansi":
            return "\n".join(lines)
        sys.stdout.writelines(f"{line}\n" for line in lines[self._printed :])
        sys.stdout.flush()
        self._printed = len(lines)
        return None

    def close(self) -> None:
        """Do nothing: PettingZoo's API test requires this method of an environment that renders."""

    def _draw_scenario(self, rng: np.random.Generator) -> Scenario:
        if self.source.table is not None:
            return self.source.draw_one(rng)
        if self._ahead is None or self._dealt == AHEAD:
            self._ahead, self._dealt = self.source.draw(rng, AHEAD), 0
        self._dealt += 1
        return self._ahead.scenario(self._dealt - 1)

    def _end(self, state: State) -> None:
        assert state.outcome is not None
        for seat, agent in enumerate(SEATS):
            self.rewards[agent] = self._cumulative_rewards[agent] = float(state.outcome.scores[seat])
            self.terminations[agent] = True  # the turn limit is part of the game and is observed: no truncation
            self.infos[agent] = inform(state, seat, self.max_count)

    def _leave(self, action: object) -> None:
        """A seat of the finished game leaves the table; PettingZoo's loop steps it with ``None``."""
        agent = self.agent_selection
        if action is not None:
            raise InvalidAction(f"the game is over: {agent} can only leave, with step(None); got {quote(action)}")
        for table in (self.terminations, self.truncations, self.rewards, self._cumulative_rewards, self.infos):
            del table[agent]
        self.agents.remove(agent)
        for other in self.agents:
            self.rewards[other] = 0.0
            self.agent_selection = other

    def _no_agents(self) -> OrderError:
        if self._state is None:
            return OrderError("there is no game yet: call reset() first")
        return OrderError("the game is over and both seats have left it: call reset() for a new one")


class ParallelNegotiationEnv(ParallelEnv):  # type: ignore[misc]  # PettingZoo ships no types
    """One negotiation as a parallel environment: both seats submit an action in each step.

    ``info["active_agent"]`` names the seat to move (``None`` at the end); only its action is used. Takes the settings
    of :class:`NegotiationEnv`, but ``illegal`` is ``"forfeit"`` by default, because users of the parallel API usually
    sample without masks. A learner that gets both seats at every step, for example through SuperSuit's vectors, must
    leave out the steps of the inactive seat.
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
            if isinstance(actions, Mapping) and not actions:  # no agents, no actions: as PettingZoo's converters
                return {}, {}, {}, {}, {}
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
