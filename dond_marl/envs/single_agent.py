"""One seat of the game as a Gymnasium environment; a partner occupies the other seat."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium import logger

from dond_marl.envs.aec import METADATA, NegotiationEnv, OrderError, RenderMode
from dond_marl.envs.spaces import MESSAGE, Info, Observation, copy_info, read_seed
from dond_marl.envs.turn import only_action, only_message, turn_for
from dond_marl.errors import Blame, RunFailure, error_line
from dond_marl.game import SEATS, Action, as_seat, rule_against
from dond_marl.occupants import Spec, SpecLike, expand_run_name, seat_occupant
from dond_marl.rollout import Noise
from dond_marl.seats import Partner

PATIENCE = 100  # consecutive games that end before the agent moves, until PartnerError
NOTICE = 20  # such games in all, until a warning that the agent never moves in one of the seats


class PartnerError(RunFailure):
    """The partner failed, played an illegal act, or never lets the agent move. The message names the partner."""


class SingleAgentView(gymnasium.Env[Observation, dict[str, Any]]):
    """Play one seat of ``env`` against ``partner``.

    ``env``: a :class:`NegotiationEnv`, wrapped or not. It forfeits on illegal acts unless it was built with an
    ``illegal`` of its own. ``partner``: a name, also of a run (``ppo_fast/0001``), a mapping with ``kind``, or a
    partner object (:func:`dond_marl.occupants.seat_occupant`). ``seat``: by number or name (0, ``"seat_0"``), or
    ``None`` to draw it in every episode; ``info["seat"]`` names it. Observations, actions and info:
    :mod:`dond_marl.envs.spaces`. The reward is the seat's points since its last act.
    """

    metadata = METADATA

    def __init__(
        self, env: NegotiationEnv, partner: SpecLike | Partner = "heuristic", seat: int | str | None = None
    ) -> None:
        fixed = None if seat is None else as_seat(seat)
        game = getattr(env, "unwrapped", None)
        if not isinstance(game, NegotiationEnv):
            raise TypeError(
                f"SingleAgentView takes the AEC environment of dond_marl (deal_or_no_dialog_v0.env()), wrapped or not; "
                f"got {type(env).__name__}"
            )
        if not isinstance(env.action_space(SEATS[0]), gymnasium.spaces.Dict):
            raise TypeError("SingleAgentView plays with the Dict actions; take the view of it, not the other way round")
        self.env, self.game = env, game
        game.prefer_illegal("forfeit")
        if isinstance(partner, str | Mapping):
            partner = expand_run_name(partner)
        self.partner = seat_occupant(partner, one_game=True)
        self.partner_name = partner.text if isinstance(partner, Spec) else type(partner).__name__
        self.render_mode = self.game.render_mode
        self._fixed_seat = fixed
        self._seat = fixed or 0
        self._playing = False
        self._played_seats: set[int] = set()  # seats in which the agent was to move
        self._skipped = 0
        # The seats' spaces are equal; a copy, so that seeding this one does not affect the environment's.
        self.observation_space = copy.deepcopy(env.observation_space(SEATS[0]))
        self.action_space = copy.deepcopy(env.action_space(SEATS[0]))

    @property
    def agent(self) -> str:
        """The agent's seat in this episode, by name."""
        return SEATS[self._seat]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a new game; the partner moves first if it opens. Options as :meth:`NegotiationEnv.reset`.

        Games that end before the agent has moved are replaced by new ones and counted in ``info["skipped_games"]``.
        Raises :class:`PartnerError` after 100 of them in a row; warns once after 20 if the seat is drawn and the agent
        never moved in one of the seats.
        """
        seed = read_seed(seed)
        super().reset(seed=seed)
        self._playing = False  # if anything below fails, there is no game
        env_seed = None if seed is None else int(self.np_random.integers(2**32))
        for skipped in range(PATIENCE):
            if self._fixed_seat is None:
                self._seat = int(self.np_random.integers(2))
            self._noise = Noise(int(self.np_random.integers(2**63)), (), 1)
            self.env.reset(seed=env_seed, options=options)
            env_seed = None  # the environment's own random numbers continue
            self._play_partner()
            if not self.game.negotiation.is_over:
                self._playing = True
                self._played_seats.add(self._seat)
                return self.env.observe(self.agent), self._info(skipped)
            self._skip()
        raise PartnerError(f"{PATIENCE} games in a row ended before {self.agent} could move: {self._why_never()}")

    def step(self, action: dict[str, Any]) -> tuple[Observation, float, bool, bool, Info]:
        """Play ``action``, then the partner's. Raises as :meth:`NegotiationEnv.step`, and :class:`PartnerError`."""
        if not self._playing:
            raise OrderError("there is no game to step: call reset() first")
        self.env.step(action)
        self._playing = False  # if the partner fails, there is no game
        reward = self.env.rewards[self.agent] + self._play_partner()
        over = self.game.negotiation.is_over
        self._playing = not over
        return self.env.observe(self.agent), float(reward), over, False, self._info()

    def render(self) -> Any:
        return self.game.render()

    def close(self) -> None:
        self.env.close()

    def _skip(self) -> None:
        self._skipped += 1
        if self._skipped == NOTICE and self._fixed_seat is None and self._seat not in self._played_seats:
            logger.warn(
                f"{NOTICE} games ended before {self.agent} could move, so all episodes so far were played in "
                f"{SEATS[1 - self._seat]}: {self._why_never()}"
            )

    def _why_never(self) -> str:
        if self.game.rules.max_turns == 1:
            return "with max_turns=1 only seat_0 moves; raise it, or set seat=0"
        return f"{self.partner_name} ends them at once; take another partner, or set seat=0"

    def _play_partner(self) -> float:
        """Play the partner's acts until the agent is to move; returns the agent's points in that time."""
        points = 0.0
        while not (state := self.game.negotiation).is_over and state.mover != self._seat:
            action, message = self._query_partner()
            talk = {MESSAGE: message} if message else {}
            self.env.step({"act_type": int(action.act_type), "oA": action.oA, **talk})
            points += self.env.rewards[self.agent]
        return points

    def _query_partner(self) -> tuple[Action, str]:
        """The partner's legal action and message. Raises :class:`PartnerError`."""
        game, state = self.game, self.game.negotiation
        prior, revealed = game.source.prior, game.reveal_partner_utilities
        turn = turn_for(self.partner, state, self._noise, prior=prior, reveal_partner_utilities=revealed)
        where = f"the partner {self.partner_name} in {SEATS[state.mover]}"
        with Blame(lambda error: PartnerError(f"{where} failed: {error_line(error)}")):
            decisions = self.partner.act(turn)
            action, message = only_action(decisions), only_message(decisions, state)
        rule = rule_against(state, action)
        if rule is not None:
            raise PartnerError(f"{where} answered an illegal act: {rule}")
        return action, message

    def _info(self, skipped: int | None = None) -> Info:
        """A writable copy of the seat's info, because Gymnasium's users store and change infos."""
        info = copy_info(self.env.infos[self.agent])
        info["seat"] = self.agent
        if skipped is not None:
            info["skipped_games"] = skipped
        return info


def make(
    partner: SpecLike | Partner = "heuristic",
    seat: int | str | None = None,
    render_mode: RenderMode | None = None,
    **settings: Any,
) -> SingleAgentView:
    """The entry point of ``gymnasium.make("DealOrNoDialog-v0", ...)``; ``settings``: :class:`NegotiationEnv`'s."""
    return SingleAgentView(NegotiationEnv(render_mode=render_mode, **settings), partner, seat)
