"""Environments compared with their peers: the batched engine, the AEC environment and the vector environment.

- Engine: complete ``Turns`` at every step (history, masks, features), compared with OpenSpiel's ``bargaining`` stepped
  from Python. One unit is one dialogue act; both sides replay acts that were drawn beforehand.
- AEC: ``env()`` compared with PettingZoo's ``connect_four_v3`` and with OpenSpiel's ``bargaining`` through Shimmy. All
  three run PettingZoo's loop, ``agent_iter`` with ``last``, over ready-made legal actions. One unit is one act of a
  living agent; the steps with ``None`` that end a game are made and not counted.
- Vector: ``DealVectorEnv`` compared with Gymnasium's ``SyncVectorEnv`` of the single-agent view. One unit is one act of
  the agent; observations, masks and the partner's answers are made on both sides.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from dond_marl import DealVectorEnv, SingleAgentView, deal_or_no_dialog_v0
from dond_marl.batch import GameBatch
from dond_marl.envs.features import BaseLayout, encode
from dond_marl.envs.views import view
from dond_marl.game import Act, legal_actions
from dond_marl.randomness import generator
from dond_marl.scenarios.sources import Scenarios, open_source
from dond_marl.seats import Decisions, decide
from dond_marl.splits import action_at, legal_action_mask
from scripts.bench.report import Timed

ENGINE_GAMES, AEC_GAMES = 4096, 300
VECTOR_GAMES, VECTOR_STEPS, VECTOR_PEERS = 4096, 40, 16
LAYOUT = BaseLayout(max_count=4, max_turns=10)
OFFERS_OF_20 = 19  # of twenty acts that are PROPOSE in the second kind of play
PLAYS = ("uniform-legal", "95 % PROPOSE")
VECTOR_PARTNERS = ("heuristic", "boulware")


def engine(play: str) -> Timed:
    """Replay scripted tables of 4,096 games, complete Turns each step."""
    rng = np.random.default_rng(0)
    scripts = [_engine_script(rng, play) for _ in range(8)]

    def work() -> int:
        acts = 0
        for scenarios, decisions in scripts:
            table = GameBatch(scenarios)
            for step in decisions:
                turns = table.turns()
                history = turns.history  # with every array that a network with memory reads
                _ = history.act, history.oA, turns.act_mask, turns.caps, encode(turns, LAYOUT)
                acts += turns.size
                table.step(step)
            table.games()
        return acts

    return work


def _engine_script(rng: np.random.Generator, play: str) -> tuple[Scenarios, list[Decisions]]:
    scenarios = open_source("lewis").draw(rng, ENGINE_GAMES)
    table, decisions = GameBatch(scenarios), []
    while table.open:
        turns = table.turns()
        numbers = legal_action_mask(turns.counts, turns.act_mask[:, Act.AGREE], 4)
        act, oA = action_at((rng.random(numbers.shape) * numbers).argmax(axis=1), 4)
        if play != PLAYS[0]:
            offers = rng.integers(20, size=turns.size) < OFFERS_OF_20
            closing = np.where(turns.act_mask[:, Act.AGREE], Act.AGREE, Act.END)
            act = np.where(offers, Act.PROPOSE, closing).astype(np.int8)
            oA = (rng.random((turns.size, 3)) * (turns.counts + 1)).astype(np.int8)
        decisions.append(decide(act, oA))
        table.step(decisions[-1])
    return scenarios, decisions


def engine_openspiel(play: str) -> Timed:
    """Replay scripted games of ``bargaining`` one by one, as it is stepped from Python."""
    import pyspiel

    game = pyspiel.load_game("bargaining")
    draw = random.Random(0)  # noqa: S311 (a script of acts, not a secret)
    agree = game.num_distinct_actions() - 1
    scripts = []
    for _ in range(ENGINE_GAMES):
        chance = draw.randrange(1000)
        state, acts = game.new_initial_state(), []
        state.apply_action(chance)
        while not state.is_terminal():
            legal = state.legal_actions()
            offers = [act for act in legal if act != agree]
            closes = play != PLAYS[0] and draw.randrange(20) >= OFFERS_OF_20 and agree in legal
            act = agree if closes else draw.choice(legal if play == PLAYS[0] else offers)
            acts.append(act)
            state.apply_action(act)
        scripts.append((chance, acts))

    def work() -> int:
        count = 0
        for chance, acts in scripts:
            state = game.new_initial_state()
            state.apply_action(chance)
            for act in acts:
                state.observation_tensor(state.current_player())
                state.apply_action(act)
            count += len(acts)
        return count

    return work


def aec() -> Timed:
    """``deal_or_no_dialog_v0.env()`` on the legal scenario space."""
    env = deal_or_no_dialog_v0.env(scenarios="lewis")

    def uniform(draw: random.Random, _agent: str) -> dict[str, Any]:
        act, oA = draw.choice(legal_actions(env.negotiation))
        return {"act_type": int(act), "oA": np.array(oA)}

    return _replay_aec(env, uniform)


def aec_connect_four() -> Timed:
    """``connect_four_v3.env()``, a board game of similar size."""
    from pettingzoo.classic import connect_four_v3

    env = connect_four_v3.env()
    return _replay_aec(env, _draw_legal(env))


def aec_shimmy() -> Timed:
    """OpenSpiel's ``bargaining`` as an AEC environment."""
    import pyspiel
    from shimmy import OpenSpielCompatibilityV0

    env = OpenSpielCompatibilityV0(env=pyspiel.load_game("bargaining"))
    return _replay_aec(env, _draw_legal(env))


def _draw_legal(env: Any) -> Callable[[random.Random, str], int]:
    """Uniform play over the legal actions of a Discrete space, wherever the environment puts its mask."""

    def uniform(draw: random.Random, _agent: str) -> int:
        observation, _, _, _, info = env.last()
        masked = isinstance(observation, dict) and "action_mask" in observation
        mask = observation["action_mask"] if masked else info["action_mask"]
        return int(draw.choice(np.flatnonzero(mask).tolist()))

    return uniform


def _replay_aec(env: Any, uniform: Callable[[random.Random, str], Any]) -> Timed:
    """Script games by uniform play over all legal actions from fixed seeds, then time playing them again."""
    draw, scripts = random.Random(0), []  # noqa: S311  # a script of acts, not a secret
    for seed in range(AEC_GAMES):
        env.reset(seed=seed)
        actions: list[Any] = []
        for agent in env.agent_iter():
            over = env.terminations[agent] or env.truncations[agent]
            actions.append(None if over else uniform(draw, agent))
            env.step(actions[-1])
        scripts.append((seed, actions))
    living = sum(action is not None for _, actions in scripts for action in actions)

    def work() -> int:
        for seed, actions in scripts:
            env.reset(seed=seed)
            for _, action in zip(env.agent_iter(), actions, strict=False):
                env.last()
                env.step(action)
        return living

    return work


def vector(partner: str) -> Timed:
    """4,096 games, box observations, numbered acts."""
    return _replay_vector(
        DealVectorEnv(VECTOR_GAMES, partner, actions="discrete", observations="box", scenarios="lewis")
    )


def vector_of_single_views(partner: str) -> Timed:
    """16 games, the same observations and acts."""

    def make_view() -> Any:
        return view(SingleAgentView(deal_or_no_dialog_v0.env(scenarios="lewis"), partner), "discrete")

    return _replay_vector(SyncVectorEnv([make_view] * VECTOR_PEERS, autoreset_mode=AutoresetMode.SAME_STEP))


def _replay_vector(env: VectorEnv[Any, Any, Any]) -> Timed:
    """Uniform legal acts of a fixed seed, drawn once and replayed in every repeat."""
    _, infos = env.reset(seed=0)
    chance = generator(0, "benchmark").random((VECTOR_STEPS, *infos["action_mask"].shape), dtype=np.float32)
    acts = []
    for draws in chance:
        acts.append((draws * np.asarray(infos["action_mask"])).argmax(axis=1))
        *_, infos = env.step(acts[-1])

    def work() -> int:
        env.reset(seed=0)
        for act in acts:
            env.step(act)
        return len(acts) * env.num_envs

    return work
