"""The batched engine against OpenSpiel's ``bargaining``, the same kind of play, ready-made acts on both sides.

One unit is one dialogue act. Ours builds complete Turns at every step: history, masks, features. Theirs is stepped from
Python with chance by index, and its observation tensor is read before every act.
"""

from __future__ import annotations

import random

import numpy as np

from dond_marl.batch import Table
from dond_marl.envs.features import BaseLayout, encode
from dond_marl.game import Act
from dond_marl.scenarios.sources import Scenarios, open_source
from dond_marl.seats import Decisions, Turns, decide
from dond_marl.splits import action_at, legal_action_mask
from scripts.bench.report import Timed

GAMES = 4096
LAYOUT = BaseLayout(max_count=4, max_turns=10)
OFFERS_OF_20 = 19  # of twenty acts that are PROPOSE in the second kind of play
PLAYS = ("uniform-legal", "95 % PROPOSE")


def ours(play: str) -> Timed:
    """Replay scripted tables of 4,096 games, complete Turns each step."""
    rng = np.random.default_rng(0)
    scripts = [_script(rng, play) for _ in range(8)]

    def work() -> int:
        acts = 0
        for scenarios, decisions in scripts:
            table = Table(scenarios)
            for step in decisions:
                turns = table.turns()
                _read(turns)
                acts += turns.size
                table.step(step)
            table.games()
        return acts

    return work


def _read(turns: Turns) -> None:
    """Have everything that a network with memory would read."""
    history = turns.history
    _ = history.act, history.oA, turns.act_mask, turns.caps, encode(turns, LAYOUT)


def _script(rng: np.random.Generator, play: str) -> tuple[Scenarios, list[Decisions]]:
    scenarios = open_source("lewis").draw(rng, GAMES)
    table, decisions = Table(scenarios), []
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


def openspiel(play: str) -> Timed:
    """Replay scripted games of ``bargaining`` one after the other, which is how it is stepped from Python."""
    import pyspiel

    game = pyspiel.load_game("bargaining")
    draw = random.Random(0)  # noqa: S311 (a script of acts, not a secret)
    agree = game.num_distinct_actions() - 1
    scripts = []
    for _ in range(GAMES):
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
