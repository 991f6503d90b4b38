"""This game as two games of OpenSpiel, for its algorithms: import this module, then ``pyspiel.load_game(NAME)``.

:data:`SMALL` is for exact solvers: one book, one hat, one ball, worth 3 points in all to each seat, which 100 scenarios
are; two turns by default. Its beliefs are those of the prior ``uniform(budget=3)``. The states have OpenSpiel's struct
API (``to_struct``, ``to_json``, ``to_observation_struct``), which harnesses of language models read.

Parameters: ``max_turns``, ``disagree`` and, not of SMALL, ``split``, the part of the ``lewis`` scenarios that chance
deals from with equal probability. Acts are numbered as in the discrete view (:mod:`dond_marl.splits`), player k is
``seat_k``, returns are own points. The observation tensor is the box view's; the information state is a text with the
seat's own cards and all acts so far. Information-set search resamples the deal exactly: the other seat's values are
uniform over the scenarios that agree with the seat's own view. Needs the package ``open_spiel``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyspiel

from dond_marl.envs.features import BaseLayout, ObservationEncoder
from dond_marl.envs.spaces import observe
from dond_marl.envs.turn import choose_action
from dond_marl.game import SEATS, Act, Action, Rules, State, Triple, apply, may_agree
from dond_marl.records.transcript import transcript_lines
from dond_marl.scenarios.sources import LEWIS_MAX_COUNT, LEWIS_POOL_VALUE, Scenarios, open_source, value_vectors
from dond_marl.seats import Partner
from dond_marl.splits import action_at, action_count, action_index, legal_action_mask

NAME = "python_deal_or_no_dialog"
SMALL = "deal_or_no_dialog_small"
SMALL_POINTS = 3  # that its pool of one item a type is worth to each seat


def _type(name: str, long_name: str, defaults: dict[str, Any]) -> pyspiel.GameType:
    return pyspiel.GameType(
        short_name=name,
        long_name=long_name,
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.GENERAL_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=len(SEATS),
        min_num_players=len(SEATS),
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=defaults,
    )


TYPE = _type(NAME, "Deal or No Deal over dialogue acts", {"max_turns": 10, "disagree": "ends", "split": "train"})
SMALL_TYPE = _type(SMALL, "Deal or No Deal over dialogue acts, one item a type", {"max_turns": 2, "disagree": "ends"})


class DealGame(pyspiel.Game):  # type: ignore[misc]  # OpenSpiel ships no types
    """The game's rules and the split of its scenarios. Raises ``ValueError`` for invalid parameters."""

    type, max_count, pool_value, prior = TYPE, LEWIS_MAX_COUNT, LEWIS_POOL_VALUE, "lewis"

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        parameters = {**self.type.parameter_specification, **(params or {})}
        self.rules = Rules(parameters["max_turns"], parameters["disagree"])
        self.split = parameters.get("split", SMALL)
        info = pyspiel.GameInfo(
            num_distinct_actions=action_count(self.max_count),
            max_chance_outcomes=_scenarios(self.split).size,
            num_players=len(SEATS),
            min_utility=0.0,
            max_utility=float(self.pool_value),
            max_game_length=self.rules.max_turns,
        )
        super().__init__(self.type, info, parameters)

    def new_initial_state(self) -> DealState:
        return DealState(self)

    def make_py_observer(self, kind: Any = None, params: dict[str, Any] | None = None) -> DealObserver:
        if params:
            raise ValueError(f"observations take no parameters; got {params}")
        return DealObserver(self.rules, self.max_count, recalls=kind is not None and kind.perfect_recall)


class SmallDealGame(DealGame):
    """The game :data:`SMALL`."""

    type, max_count, pool_value, prior = SMALL_TYPE, 1, SMALL_POINTS, f"uniform(budget={SMALL_POINTS})"


class DealStruct(SimpleNamespace):
    """Plain values by name, as OpenSpiel's structs have them."""

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    def to_json(self) -> str:
        return json.dumps(vars(self), sort_keys=True, separators=(",", ":"))


class DealState(pyspiel.State):  # type: ignore[misc]  # OpenSpiel ships no types
    """``table`` is the negotiation as a value of :mod:`dond_marl.game`, ``None`` before the deal."""

    def __init__(self, game: DealGame) -> None:
        super().__init__(game)
        self.rules, self.split = game.rules, game.split  # small values: OpenSpiel copies them with the state
        self.max_count, self.prior = game.max_count, game.prior
        self.table: State | None = None

    def current_player(self) -> int:
        if self.table is None:
            return int(pyspiel.PlayerId.CHANCE)
        return int(pyspiel.PlayerId.TERMINAL) if self.table.is_over else self.table.mover

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return _deals(self.split)

    def _legal_actions(self, player: int) -> list[int]:
        assert self.table is not None
        return _legal(self.table.scenario.counts, may_agree(self.table, player), self.max_count)

    def _apply_action(self, action: int) -> None:
        if self.table is None:
            self.table = State(_scenarios(self.split).scenario(action), self.rules)
        else:
            self.table = apply(self.table, action_of(action, self.max_count))

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            return f"scenario {action}"
        act_type, oA = action_of(action, self.max_count)
        return f"{act_type.name} {oA}" if act_type <= Act.INSIST else act_type.name

    def is_terminal(self) -> bool:
        return self.table is not None and self.table.is_over

    def returns(self) -> list[float]:
        """Own points of both players; zeros until the end."""
        outcome = None if self.table is None else self.table.outcome
        return [0.0, 0.0] if outcome is None else [float(points) for points in outcome.scores]

    def resample_from_infostate(self, player: int, sampler: Callable[[], float]) -> DealState:
        """A state with the same information for ``player``; all of its deals are equally likely.

        ``sampler`` returns a number of [0, 1). The acts so far tell nothing about the other seat's values: no policy
        of the other seat is assumed.
        """
        assert self.table is not None
        scenario = self.table.scenario
        deals = _deals_in_view(self.split, scenario.counts, player, scenario.utilities[player])
        state: DealState = self.get_game().new_initial_state()
        for action in (deals[int(sampler() * len(deals))], *self.history()[1:]):
            state.apply_action(action)
        return state

    def to_struct(self) -> DealStruct:
        """The whole state: ``counts``, ``utilities`` by seat, ``history`` of acts, ``turns_remaining``, and so on."""
        shown = self._shown()
        values = None if self.table is None else [list(values) for values in self.table.scenario.utilities]
        return DealStruct(**shown, utilities=values)

    def to_json(self) -> str:
        return self.to_struct().to_json()

    def to_observation_struct(self, player: int | None = None) -> DealStruct:
        """The view of ``player``, by default the one to move: as :meth:`to_struct`, with its own values alone."""
        player = self.current_player() if player is None else player
        if player not in (0, 1):
            raise ValueError(f"player is 0 or 1; got {player}")
        values = None if self.table is None else list(self.table.scenario.utilities[player])
        return DealStruct(**self._shown(), player=SEATS[player], my_utilities=values)

    def _shown(self) -> dict[str, Any]:
        """The public part of the state."""
        table, mover = self.table, self.current_player()
        acts = enumerate(() if table is None else table.history)
        return {
            "counts": None if table is None else list(table.scenario.counts),
            "current_player": "chance" if table is None else "terminal" if table.is_over else SEATS[mover],
            "history": [
                {"player": SEATS[turn % 2], "act": act.act_type.name, "keeps": list(act.oA)} for turn, act in acts
            ],
            "returns": self.returns(),
            "turns_remaining": self.rules.max_turns if table is None else table.turns_remaining,
        }

    def __str__(self) -> str:
        return "before the deal" if self.table is None else "\n".join(transcript_lines(self.table))


class DealObserver:
    """A player's observation: the tensor of the box view, and a text; with ``recalls`` the text holds all acts."""

    def __init__(self, rules: Rules, max_count: int, *, recalls: bool) -> None:
        self._encode = ObservationEncoder(BaseLayout(max_count, rules.max_turns))
        self._recalls = recalls
        self.tensor = np.zeros(self._encode.width, dtype=np.float32)
        self.dict = {"observation": self.tensor}

    def set_from(self, state: DealState, player: int) -> None:
        """Write the observation of ``player`` into ``tensor``; zeros before the deal."""
        self.tensor[:] = 0.0 if state.table is None else self._encode(observe(state.table, player))

    def string_from(self, state: DealState, player: int) -> str:
        table = state.table
        if table is None:
            return "before the deal"
        view = f"{SEATS[player]}, pool {table.scenario.counts}, own values {table.scenario.utilities[player]}"
        if self._recalls:
            return f"{view}: {'; '.join(f'{action.act_type.name} {action.oA}' for action in table.history)}"
        observation = observe(table, player)
        offered, last = (
            tuple(observation["last_partner_offer_for_me"].tolist()),
            Act(observation["last_partner_act"]).name,
        )
        return f"{view}, partner {last}, offered {offered}, {observation['turns_remaining']} turns left"


def answer(partner: Partner, state: DealState, seed: int = 0) -> int:
    """The number of the act that ``partner`` plays in ``state``. ``seed``: of its noise, constant through a game."""
    assert state.table is not None
    action = choose_action(partner, state.table, seed=seed, prior=state.prior)
    return int(action_index(np.array(action.act_type), np.array(action.oA), state.max_count))


def action_of(number: int, max_count: int = LEWIS_MAX_COUNT) -> Action:
    """The numbered act as a value of the game."""
    act, oA = action_at(number, max_count)
    a, b, c = oA.tolist()
    return Action(Act(int(act)), (a, b, c))


@lru_cache(maxsize=4)
def _scenarios(split: str) -> Scenarios:
    if split == SMALL:
        values = value_vectors((1, 1, 1), SMALL_POINTS)
        pairs = np.stack([np.repeat(values, len(values), axis=0), np.tile(values, (len(values), 1))], axis=1)
        return Scenarios(np.ones((len(pairs), 3), dtype=np.int8), pairs, SmallDealGame.prior)
    table = open_source("lewis", split=split).table
    assert table is not None
    return table


@lru_cache(maxsize=4)
def _deals(split: str) -> list[tuple[int, float]]:
    size = _scenarios(split).size
    return [(deal, 1 / size) for deal in range(size)]


@lru_cache(maxsize=4096)
def _deals_in_view(split: str, counts: Triple, player: int, utilities: Triple) -> list[int]:
    """The scenarios in which ``player`` sees these counts and these own values."""
    table = _scenarios(split)
    same = (table.counts == counts).all(axis=1) & (table.utilities[:, player] == utilities).all(axis=1)
    return np.flatnonzero(same).tolist()


@lru_cache(maxsize=1024)
def _legal(counts: Triple, agree: bool, max_count: int) -> list[int]:
    mask = legal_action_mask(np.array([counts], dtype=np.int8), np.array([agree]), max_count)[0]
    return np.flatnonzero(mask).tolist()


for _type_of, _game in ((TYPE, DealGame), (SMALL_TYPE, SmallDealGame)):
    if _type_of.short_name not in pyspiel.registered_names():  # a reloaded module
        pyspiel.register_game(_type_of, _game)
