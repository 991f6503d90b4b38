"""The game as an environment of TextArena, whose rewards are own points (0 to the pool's value), not win and loss.

Import this module, then ``textarena.make("DealOrNoDeal-v0")``; ``-train`` shows the latest board only, ``-raw`` has no
wrappers. Each seat gets the shipped prompt at its first turn, then both sides' acts and a board, and replies with one
JSON object. Neither sees the other's text. Tested with TextArena 0.7.4; not in the extras: ``pip install textarena``.
"""

from __future__ import annotations

from typing import Any

import textarena as ta
from textarena.wrappers import GameMessagesAndCurrentBoardObservationWrapper, LLMObservationWrapper

from dond_marl.records.transcript import describe_act, transcript
from partners.adapters.spoken import Manner, SpokenGame, rows
from partners.llm.prompt import CORRECTIONS, Template

NAME = "DealOrNoDeal-v0"
# Wrappers by the suffix of the name; -raw, which has none, is added by TextArena.
WRAPPERS = {"default": [LLMObservationWrapper], "-train": [GameMessagesAndCurrentBoardObservationWrapper]}
BOARD = Template("""Turns remaining, this one included: {turns} of {max_turns}
The partner's latest offer leaves you: {last_offer_csv} (worth {offer_points} points to you)
Acts open to you now: {legal_acts}""")


class DealOrNoDealEnv(ta.Env):  # type: ignore[misc]  # TextArena ships no types
    """A TextArena environment of two seats that bargain in words.

    ``scenarios``, ``split``: the games (:func:`partners.adapters.spoken.rows`); ``reset(seed=n)`` begins game
    ``n``, without a seed the next. The other arguments are those of :class:`Manner`. ``row`` plays one game.
    """

    def __init__(
        self,
        *,
        scenarios: str = "lewis",
        split: str | None = None,
        row: dict[str, Any] | None = None,
        **manner: Any,
    ) -> None:
        self.scenarios, self.split, self.row, self.manner = scenarios, split, row, Manner(**manner)
        self._next = 0

    def reset(self, num_players: int = 2, seed: int | None = None) -> None:
        """Begin a game and show the first player its prompt."""
        number = self._next if seed is None else seed
        self._next = number + 1
        row = self.row or rows(1, scenarios=self.scenarios, split=self.split, start=number)[0]
        self.game = SpokenGame(row, self.manner)
        # No seed for TextArena, which would seed Python's generator with it.
        self.state = ta.TwoPlayerState(
            num_players, max_turns=self.manner.max_turns, error_allowance=self.manner.re_asks
        )
        self.state.reset(game_state={})
        self._show()

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        """Play the reply ``action`` of the player to move; whether the game is over, and TextArena's info."""
        player = self.state.current_player_id
        self.state.logs.append((player, action))
        refused = self.game.read(action)
        if refused is None:
            self._describe_last_act(player)
        if refused is not None and not self.game.is_over:
            self.state.set_invalid_move(reason=CORRECTIONS[refused])
        elif self.game.is_over:
            self._end(player if refused else None)
        is_over, info = self.state.step()
        if not is_over:
            self._show()
        return bool(is_over), dict(info)

    def get_board_str(self) -> str:
        """The game so far with both players' values, for TextArena's render wrappers."""
        return transcript(self.game.state)

    def _show(self) -> None:
        if self.game.refused is not None:  # TextArena shows the correction
            return
        player = self.state.current_player_id
        if len(self.game.state.history) == player:  # its first turn
            prompt = f"You are Player {player}.\n{self.game.prompt}"
            self.state.add_observation(prompt, ta.ObservationType.PROMPT, to_id=player)
        self.state.add_observation(self.game.render(BOARD), ta.ObservationType.GAME_BOARD, to_id=player)

    def _describe_last_act(self, mover: int) -> None:
        """Show the last act to the players who have their prompt; the prompt of player 1 holds the first act."""
        turn = len(self.game.state.history) - 1
        message = f"Player {mover}: {describe_act(self.game.state, turn)}"
        for player in (0, 1) if turn else (0,):
            self.state.add_observation(message, ta.ObservationType.GAME_ACTION_DESCRIPTION, to_id=player)

    def _end(self, given_up_by: int | None) -> None:
        outcome = self.game.state.outcome
        assert outcome is not None
        self.state.rewards = dict(enumerate(self.game.points))
        for player in (0, 1):
            self.state.game_info[player]["reason"] = outcome.rule_broken or outcome.ending.name
            self.state.game_info[player]["invalid_move"] = player == given_up_by
        self.state.done = True


ta.envs.register_with_versions(NAME, DealOrNoDealEnv, WRAPPERS)
