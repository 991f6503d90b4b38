"""Copies and pickles of environments in mid-game, for every API and view, and the memory of many resets."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from dond_marl import SingleAgentView, deal_or_no_dialog_v0
from dond_marl.envs.aec import NegotiationEnv
from dond_marl.envs.views import view
from dond_marl.game import State, legal_actions
from dond_marl.splits import action_index
from hints import HintInjectorEnv


class Api(NamedTuple):
    """One API of the environment: its constructor, and the game inside."""

    make: Callable[[], Any]
    game: Callable[[Any], NegotiationEnv]
    form: str  # of its actions

    def step(self, env: Any, action: object) -> Any:
        return env.step({self.game(env).agent_selection: action} if self.game is _parallel else action)

    def legal(self, env: Any, rng: np.random.Generator) -> object:
        """A random legal action in the form of this API, mostly offers."""
        legal = legal_actions(self.game(env).negotiation)
        act, oA = legal[int(rng.integers(len(legal) - 2 if rng.random() < 0.8 else len(legal)))]
        if self.form == "dict":
            return {"act_type": int(act), "oA": list(oA)}
        return [act, *oA] if self.form == "flat" else action_index(np.array([act]), np.array([oA]), 4)[0]


def _aec(env: Any) -> NegotiationEnv:
    return env.unwrapped


def _parallel(env: Any) -> NegotiationEnv:
    return env.unwrapped.negotiation_env


def _seat(env: Any) -> NegotiationEnv:
    return env.unwrapped.game


def _one_seat() -> SingleAgentView:
    return SingleAgentView(deal_or_no_dialog_v0.env(), "linear")


APIS = {
    "aec, forfeits": Api(lambda: deal_or_no_dialog_v0.env(illegal="forfeit", disagree="rejects"), _aec, "dict"),
    "aec, hints": Api(lambda: HintInjectorEnv(deal_or_no_dialog_v0.env()), _aec, "dict"),
    "aec, flat": Api(lambda: view(deal_or_no_dialog_v0.env(), infos="arrays"), _aec, "flat"),
    "parallel": Api(lambda: view(deal_or_no_dialog_v0.parallel_env(), "discrete", "masked"), _parallel, "discrete"),
    "one seat, hints": Api(lambda: HintInjectorEnv(_one_seat()), _seat, "dict"),
    "one seat, discrete": Api(lambda: view(_one_seat(), "discrete"), _seat, "discrete"),
}


@pytest.mark.parametrize("name", APIS)
@pytest.mark.parametrize(
    "copy_of", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"]
)
def test_copy_in_mid_game_plays_the_same_games(name, copy_of):
    api, env = APIS[name], APIS[name].make()
    env.reset(seed=3)
    rng = np.random.default_rng(3)
    while len(api.game(env).negotiation.history) < 2:
        if api.game(env).negotiation.is_over:
            env.reset()
        api.step(env, api.legal(env, rng))
    duplicate = copy_of(env)
    first, second = play_on(api, env), play_on(api, duplicate)
    assert len({repr(game) for game in first}) > 3 and first == second


def play_on(api: Api, env: Any) -> list[State]:
    """Play the rest of the game and the five after it with acts that depend on the seed only."""
    rng, games = np.random.default_rng(4), []
    while len(games) < 6:
        game = api.game(env)
        if game.negotiation.is_over:
            games.append(game.negotiation)
            env.reset()
        api.step(env, api.legal(env, rng)) if not game.negotiation.is_over else None
    return games
