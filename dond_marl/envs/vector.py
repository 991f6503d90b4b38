"""Gymnasium's vector API over the batched engine: thousands of games at once for other trainers.

Each row is a game of :class:`~dond_marl.envs.single_agent.SingleAgentView`: one seat, drawn per game or fixed, a
partner in the other, illegal acts forfeit, games that end before the agent moves are replaced. Games that
began together stay in one :class:`dond_marl.batch.GameBatch`, so the partner is queried a few times per step instead of
once per game.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from dond_marl.batch import GameBatch
from dond_marl.envs.aec import NegotiationEnv, OrderError
from dond_marl.envs.features import encode, encode_history
from dond_marl.envs.single_agent import PATIENCE, PartnerError
from dond_marl.envs.spaces import (
    InvalidAction,
    action_mask_arrays,
    integer_array,
    read_action_arrays,
    read_seed,
)
from dond_marl.envs.views import ActionView, Forms, ObservationView, Translation
from dond_marl.errors import Blame, InputError, error_line, quote
from dond_marl.game import ITEMS, SEATS, Act, Ending, as_integer, as_seat
from dond_marl.occupants import SpecLike, seat_occupant
from dond_marl.rollout import Noise, observe_turns
from dond_marl.seats import NO_ACT_YET, History, Int8s, Partner, Rows, Turns, are_offers, constant, decide, no_hints
from dond_marl.seats import no_noise as without_noise
from dond_marl.splits import action_index, grid, grid_size

MOST = 1_000_000  # games at once
_PROPOSE = np.array(Act.PROPOSE, dtype=np.int8)


class _Cohort(NamedTuple):
    """Games that began together with the agent in one seat; game i of ``table`` is row ``rows[i]`` of the vector."""

    table: GameBatch
    rows: Rows
    seat: int
    noise: Noise


class DealVectorEnv(VectorEnv[Any, Any, NDArray[Any]]):
    """A Gymnasium vector environment of ``num_envs`` games against ``partner``; finished games restart.

    ``partner`` and ``seat`` as for :class:`SingleAgentView`, ``settings`` those of :class:`NegotiationEnv`.
    ``actions``: ``"dict"``, ``"flat"`` or ``"discrete"``; ``observations``: ``"dict"`` or ``"box"``, with ``history``,
    as :func:`dond_marl.envs.views.view` has them. ``autoreset``: ``"same_step"`` (the step that ends a game returns the
    first observation of the next, and the last one in ``infos["final_obs"]``) or ``"next_step"``, Gymnasium's own
    default, which its vector wrappers of observations require.

    ``infos`` holds arrays with a row per game: ``action_mask``, the legal acts (int8 ``[N, 2K + 3]`` for discrete
    actions, otherwise ``[N, 5 + 3 * (max_count + 1)]``, act types, then each entry of ``oA``); ``seat``, 0 or 1;
    ``skipped_games``, the number that ended before the agent could move, since the row's last step; and for the games
    that ended in this step, where ``_scores`` is true, ``scores`` ``[N, 2]`` in points, ``ending`` (:class:`Ending`)
    and ``deal``. Rewards are points ``[N]``, float64, at the end of a game; nothing is ever truncated. Raises
    :class:`PartnerError` if the partner fails, and :class:`InvalidAction`, before anything changes, for an invalid
    action.
    """

    def __init__(
        self,
        num_envs: int = 1,
        partner: SpecLike | Partner = "heuristic",
        seat: int | str | None = None,
        *,
        actions: ActionView = "dict",
        observations: ObservationView = "dict",
        history: bool = False,
        autoreset: str | AutoresetMode = "same_step",
        **settings: Any,
    ) -> None:
        if settings.pop("render_mode", None) is not None:
            raise InputError("this vector draws no games: make_vec(..., vectorization_mode='sync') makes one that does")
        number = as_integer(num_envs)
        if number is None or not 1 <= number <= MOST:
            raise InputError(f"num_envs must be a whole number in 1..{MOST:,}; got {quote(num_envs)}")
        if observations == "masked":
            raise InputError("the vector's masks are in infos['action_mask']: take observations='box' or 'dict'")
        self.num_envs = number
        self.metadata = {"autoreset_mode": _mode(autoreset)}
        self._same_step = self.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
        game = NegotiationEnv(**settings)
        self._game, self._rules, self._source, self._max_count = game, game.rules, game.source, game.max_count
        self.partner = seat_occupant(partner, runs=True)
        self._fixed_seat = None if seat is None else as_seat(seat)
        self._actions = actions
        forms = Translation(game, Forms(actions, observations, history=history))
        if game.rules.message_length:
            raise InputError("a vector supports no messages: leave message_length out, or use SingleAgentView")
        if game.illegal != "forfeit":
            raise InputError("in a vector illegal acts forfeit: leave illegal out, or sample with infos['action_mask']")
        self.single_action_space = forms.action_space(game.action_space(SEATS[0]))
        self.single_observation_space = forms.observation_space(game.observation_space(SEATS[0]))
        self.action_space = batch_space(self.single_action_space, number)
        self.observation_space = batch_space(self.single_observation_space, number)
        self.layout, self._boxes = forms.layout, observations == "box"
        # The acts of each game so far, -1 for none, and what their seats would keep.
        self._acts = np.full((game.rules.max_turns, number), -1, dtype=np.int8)
        self._keeps = np.zeros((game.rules.max_turns, len(ITEMS), number), dtype=np.int8)
        self._cohorts: list[_Cohort] = []
        self._seed: int | None = None
        self._begun = 0  # cohorts
        self._over = np.zeros(number, dtype=bool)
        self._skipped = np.zeros(number, dtype=np.int64)
        self._seat = np.zeros(number, dtype=np.int64)
        # The agent's observation of each game, at its end too.
        self._seen: dict[str, Int8s] = {
            name: np.zeros((number, *(space.shape or ())), dtype=np.int8)
            for name, space in game.observation_space(SEATS[0]).items()
        }
        pools = grid(self._max_count)
        masks = action_mask_arrays(pools, np.ones((len(pools), len(Act)), dtype=bool), actions, self._max_count)
        self._pools = masks.astype(np.int8)  # the mask of every pool, AGREE being legal in all
        self._mask = np.ones((number, self._pools.shape[1]), dtype=np.int8)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Restart every game. One ``seed`` for all; the same seed and acts give the same games."""
        if isinstance(seed, list | tuple):
            raise InputError("the games of this vector share one seed: give reset(seed=NUMBER)")
        if options:
            raise InputError(f"reset takes no options here; got {quote(options)}. A SingleAgentView takes a scenario")
        super().reset(seed=read_seed(seed), options=options)
        if seed is not None or self._seed is None:
            self._seed, self._begun = int(self.np_random.integers(2**63)), 0
        self._cohorts = []
        self._over[:] = False
        self._skipped[:] = 0
        self._begin(np.arange(self.num_envs))
        return self._observation(), self._infos()

    def step(self, actions: Any) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Play the agent's act in each game, then the partner's."""
        if self._seed is None:
            raise OrderError("there is no game to step: call reset() first")
        act, oA = self._read(actions)
        rewards = np.zeros(self.num_envs)
        ended = np.zeros(self.num_envs, dtype=bool)
        outcome: dict[str, NDArray[Any]] = {
            "scores": np.zeros((self.num_envs, 2), dtype=np.int64),
            "ending": np.zeros(self.num_envs, dtype=np.int64),
            "deal": np.zeros(self.num_envs, dtype=np.int8),
        }
        begin = np.flatnonzero(self._over)  # with next_step only; their actions are ignored
        self._over[:] = False
        self._skipped[:] = 0
        for cohort in self._cohorts:
            for rows, columns in (self._play_agent(cohort, act, oA), self._play_partner(cohort)):
                if len(rows):
                    ending, allocation, scores = cohort.table.outcomes(columns)
                    ended[rows], rewards[rows] = True, scores[:, cohort.seat]
                    outcome["scores"][rows], outcome["ending"][rows] = scores, ending
                    outcome["deal"][rows] = allocation.any(axis=(1, 2))
        self._cohorts = [cohort for cohort in self._cohorts if cohort.table.open]
        last: dict[str, Any] = {}
        if self._same_step:
            begin = np.flatnonzero(ended)
            if len(begin):
                last = {"final_obs": self._observation(), "_final_obs": ended.copy()}
        else:
            self._over[:] = ended
        self._begin(begin)
        infos = self._infos() | last
        for name, values in outcome.items():
            infos |= {name: values, f"_{name}": ended.copy()}
        return self._observation(), rewards, ended, np.zeros(self.num_envs, dtype=bool), infos

    def action_masks(self) -> NDArray[np.bool_]:
        """``infos["action_mask"]`` of the latest step as bools, for sb3-contrib."""
        return self._mask.astype(bool)

    def _read(self, actions: Any) -> tuple[Int8s, Int8s]:
        """Act types ``[N]`` and offers ``[N, 3]`` of the actions. Raises :class:`InvalidAction`."""
        n, top = self.num_envs, self._max_count
        if self._actions == "dict":
            if not isinstance(actions, Mapping) or actions.keys() != {"act_type", "oA"}:
                raise InvalidAction(
                    f"actions of {n} games are {{'act_type': [{n}], 'oA': [{n}, 3]}}; got {quote(actions)}"
                )
            act = integer_array(actions["act_type"], (n,), len(Act) - 1)
            return act.astype(np.int8), integer_array(actions["oA"], (n, len(ITEMS)), top).astype(np.int8)
        return read_action_arrays(actions, self._actions, n, top)

    def _begin(self, rows: Rows) -> None:
        """New games in ``rows``; those that the partner ends before the agent can move are replaced."""
        for _ in range(PATIENCE):
            if not len(rows):
                return
            rows = np.concatenate([self._begin_in(seat, part) for seat, part in self._seats(rows)])
            self._skipped[rows] += 1
        if len(rows):
            single = self._rules.max_turns == 1
            reason = "with max_turns=1 only seat_0 moves" if single else "the partner ends them at once"
            raise PartnerError(f"{PATIENCE} games in a row ended before the agent could move: {reason}; set seat=0")

    def _seats(self, rows: Rows) -> list[tuple[int, Rows]]:
        if self._fixed_seat is not None:
            return [(self._fixed_seat, rows)]
        drawn = self.np_random.integers(2, size=len(rows))
        return [(seat, part) for seat in (0, 1) if len(part := rows[drawn == seat])]

    def _begin_in(self, seat: int, rows: Rows) -> Rows:
        """Begin one cohort; returns the rows whose game is over already."""
        assert self._seed is not None
        scenarios = self._source.draw(self.np_random, len(rows))
        table = GameBatch(
            scenarios,
            self._rules,
            reveal_partner_utilities=self._game.reveal_partner_utilities,
            illegal="forfeit",
        )
        cohort = _Cohort(table, rows, seat, Noise(self._seed, (self._begun,), len(rows)))
        self._begun += 1
        observed = self._seen
        self._acts[:, rows] = -1
        self._seat[rows] = seat
        observed["counts"][rows], observed["my_utilities"][rows] = scenarios.counts, scenarios.utilities[:, seat]
        if self._game.reveal_partner_utilities:
            observed["partner_utilities"][rows] = scenarios.utilities[:, 1 - seat]
        observed["last_partner_act"][rows] = NO_ACT_YET
        observed["last_partner_offer_for_me"][rows] = 0
        observed["turns_remaining"][rows] = self._rules.max_turns
        self._mask[rows] = self._pools[action_index(_PROPOSE, scenarios.counts, self._max_count)]
        over = self._play_partner(cohort)[0] if seat == 1 else rows[:0]
        if table.open:
            self._cohorts.append(cohort)
        return over

    def _play_agent(self, cohort: _Cohort, act: Int8s, oA: Int8s) -> tuple[Rows, Rows]:
        """Play the agent's acts; returns the rows of the games that end, and their columns in the cohort."""
        table, live = cohort.table, cohort.table.live
        rows = cohort.rows[live]
        self._write_acts(table.turns_taken, rows, act[rows], oA[rows])
        table.step(decide(act[rows], oA[rows]))
        columns = _find_removed(live, table.live)
        remaining = self._seen["turns_remaining"]
        remaining[rows] -= 1
        if len(columns):
            illegal = table.outcomes(columns)[0] == Ending.ILLEGAL
            remaining[cohort.rows[columns[illegal]]] += 1  # an illegal act does not count
            self._acts[table.turns_taken - 1, cohort.rows[columns[illegal]]] = -1
        return cohort.rows[columns], columns

    def _play_partner(self, cohort: _Cohort) -> tuple[Rows, Rows]:
        """Play the partner's acts; returns the rows of the games that end, and their columns in the cohort."""
        table, live, observations = cohort.table, cohort.table.live, self._seen
        if not table.open:
            return live, live
        rows = cohort.rows[live]
        where = f"the partner in {SEATS[1 - cohort.seat]}"
        with Blame(lambda error: PartnerError(f"{where} failed: {error_line(error)}")):
            turns = observe_turns(table, cohort.noise, deterministic=self.partner.traits.deterministic)
            decisions = self.partner.act(turns)
            table.step(decisions)
        columns = _find_removed(live, table.live)
        if len(columns) and (table.outcomes(columns)[0] == Ending.ILLEGAL).any():
            raise PartnerError(f"{where} answered an illegal act")
        act = np.asarray(decisions.act_type)
        self._write_acts(table.turns_taken - 1, rows, act, np.asarray(decisions.oA))
        observations["last_partner_act"][rows] = act
        observations["turns_remaining"][rows] -= 1
        offers = are_offers(act)
        offered = rows[offers]
        observations["last_partner_offer_for_me"][offered] = (
            observations["counts"][offered] - np.asarray(decisions.oA)[offers]
        )
        return cohort.rows[columns], columns

    def _write_acts(self, turn: int, rows: Rows, act: Int8s, oA: Int8s) -> None:
        if self.layout.history:
            self._acts[turn, rows], self._keeps[turn][:, rows] = act, oA.T

    def _observation(self) -> Any:
        """The agent's observations of all games, as fresh arrays."""
        if not self._boxes:
            return {name: values.astype(np.int64) for name, values in self._seen.items()}
        n = self.num_envs
        turns = Turns(
            rules=self._rules,
            prior="",
            history=History(np.zeros((0, n), dtype=np.int8), np.zeros((0, 3, n), dtype=np.int8), 0),
            act_mask=constant(True, np.bool_, n, len(Act)),
            hint_features=no_hints(n),
            noise=without_noise(n),
            game_noise=without_noise(n),
            **self._seen,
        )
        boxes = np.ascontiguousarray(encode(turns, self.layout))
        if self.layout.history:
            for seat in (0, 1):
                rows = np.flatnonzero(self._seat == seat)
                acts, keeps, counts = self._acts[:, rows], self._keeps[..., rows], self._seen["counts"][rows].T
                boxes[rows, self.layout.base_width :] = encode_history(acts, keeps, counts, seat, self.layout)
        return boxes

    def _infos(self) -> dict[str, Any]:
        agree = 2 * grid_size(self._max_count) if self._actions == "discrete" else int(Act.AGREE)
        self._mask[:, agree] = are_offers(self._seen["last_partner_act"])
        infos = {"action_mask": self._mask.copy(), "seat": self._seat.copy(), "skipped_games": self._skipped.copy()}
        return infos | {f"_{name}": np.ones(self.num_envs, dtype=bool) for name in infos}


def _mode(autoreset: object) -> AutoresetMode:
    names = {"same_step": AutoresetMode.SAME_STEP, "next_step": AutoresetMode.NEXT_STEP}
    mode = names.get(autoreset.lower()) if isinstance(autoreset, str) else autoreset
    if mode not in names.values():
        raise InputError(f"autoreset must be one of {', '.join(names)}; got {quote(autoreset)}")
    return cast("AutoresetMode", mode)


def _find_removed(before: Rows, after: Rows) -> Rows:
    """The columns of ``before`` that are not in ``after``; both sorted."""
    if len(before) == len(after):
        return before[:0]
    stays = np.zeros(int(before[-1]) + 1, dtype=bool)
    stays[after] = True
    return before[~stays[before]]
