"""Scripted games: the acts of both seats are a function of their view; the environment gives the outcome."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from dond_marl import deal_or_no_dialog_v0
from dond_marl.envs.turn import only_action, turn_of
from dond_marl.game import Act, Action
from dond_marl.seats import Decisions, Traits, Turns, decide
from partners.adapters.spoken import GameRow, rows
from partners.llm.reply import legal_rows, reply_line


@dataclass(frozen=True)
class Scripted:
    """Says an act that looks drawn: offers mostly, AGREE in every third answer to one, seldom the other two."""

    traits: ClassVar = Traits(deterministic=True)

    def act(self, turns: Turns) -> Decisions:
        chosen = [self._choose(turns, row) for row in range(turns.size)]
        act = np.array([action.act_type for action in chosen], dtype=np.int8)
        return decide(act, np.array([action.oA for action in chosen], dtype=np.int8))

    def _choose(self, turns: Turns, row: int) -> Action:
        view = [turns.counts[row], turns.my_utilities[row], turns.history.act[row], turns.history.oA[row].ravel()]
        number = zlib.crc32(np.concatenate(view).astype(np.int8).tobytes())
        legal = legal_rows(turns)[row]
        if Act.AGREE in legal.acts and number % 3 == 0:
            return Action(Act.AGREE)
        if number % 16 < 2:
            return Action((Act.DISAGREE, Act.END)[number % 16])
        offers = [action for action in legal.actions() if action.act_type.is_offer]
        return offers[number // 16 % len(offers)]


class Game(NamedTuple):
    """One game as the environment played it."""

    row: GameRow
    said: tuple[Action, ...]  # by both seats, in order
    returns: tuple[float, float]

    def own(self, seat: int | None = None) -> list[Action]:
        """The acts of one seat, by default the row's."""
        return list(self.said[self.row["seat"] if seat is None else seat :: 2])

    def replies(self, seat: int | None = None) -> list[str]:
        """The same as a language model's replies."""
        return [reply_line(action, 0.5) for action in self.own(seat)]


def played(games: int) -> list[Game]:
    """``games`` scripted games in the AEC environment."""
    env, script = deal_or_no_dialog_v0.env(scenarios="lewis", illegal="raise"), Scripted()
    games_played = []
    for row in rows(games):
        env.reset(options={"scenario": {"counts": row["counts"], "utilities": row["utilities"]}})
        while not (state := env.unwrapped.negotiation).is_over:
            action = only_action(script.act(turn_of(state, prior=row["prior"])))
            env.step({"act_type": int(action.act_type), "oA": np.array(action.oA)})
        games_played.append(Game(row, state.history, (env.rewards["seat_0"], env.rewards["seat_1"])))
    return games_played
