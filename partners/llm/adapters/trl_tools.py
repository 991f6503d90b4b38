"""The game as an environment of TRL's trainers: ``GRPOTrainer(environment_factory=Negotiation)``, acts as tools.

TRL (1.16) makes one instance a rollout, gives ``reset`` the row of the data set, appends what it returns to the last
message, takes every other public method as a tool, feeds errors of tools back to the model and asks ``get_reward`` at
the end. Nothing of TRL is imported here. Rows: :func:`partners.llm.adapters.spoken.rows`, each with a ``prompt`` of at
least one message.
"""

from __future__ import annotations

from typing import Any, ClassVar

from dond_marl.game import Act, Action, IllegalAct, Triple
from dond_marl.occupants import Spec, seat_occupant
from dond_marl.seats import Partner
from partners.llm.adapters.spoken import AS_SHIPPED, Manner, SpokenGame, rows
from partners.llm.prompt import Template

OPENING = Template("""You bargain with a partner over books, hats and balls; lists are in this order. You are paid \
your own points only, the partner by values of its own. Without a deal you both get 0 points.
Say each of your acts by calling one tool: propose, insist, agree, disagree or end. disagree means: {disagree_rule}
Pool: {counts_csv}
Your values: {my_utils_csv}, in all {whole} points; the partner's: {p}
""")
NEWS = Template("""Turns left: {turns} of {max_turns}
So far:
{history_str}
The partner's latest offer leaves you {last_offer_csv}, worth {offer_points} points.""")


class Negotiation:
    """One negotiation against :attr:`opponent`; the reward is the model's own points, 0 until the game ends.

    A subclass with other class attributes is another environment: whom one plays, and in which :class:`Manner`.
    """

    opponent: ClassVar[Spec | Partner] = "heuristic"
    manner: ClassVar[Manner] = AS_SHIPPED

    def __init__(self) -> None:
        self._partner = seat_occupant(self.opponent, one_game=True)
        self._game: SpokenGame | None = None

    def reset(self, **row: Any) -> str:
        """Begin the game of ``row``; fields that are none of a game's are left alone. Without any, the first of all."""
        game = self._game = SpokenGame(row if "counts" in row else rows(1)[0], self.manner, self._partner)
        return self._news() if game.over else f"{game.render(OPENING)}{self._news()}"

    def propose(self, books: int, hats: int, balls: int) -> str:
        """Offer a split: what you keep. The partner would get the rest of the pool.

        Args:
            books: How many books you keep.
            hats: How many hats you keep.
            balls: How many balls you keep.

        Returns:
            What the partner answered.
        """
        return self._say(Act.PROPOSE, (books, hats, balls))

    def insist(self, books: int, hats: int, balls: int) -> str:
        """Offer a split with more weight: what you keep. The partner would get the rest of the pool.

        Args:
            books: How many books you keep.
            hats: How many hats you keep.
            balls: How many balls you keep.

        Returns:
            What the partner answered.
        """
        return self._say(Act.INSIST, (books, hats, balls))

    def agree(self) -> str:
        """Take the partner's offer, which must be its last act. It ends the game with a deal."""
        return self._say(Act.AGREE)

    def disagree(self) -> str:
        """Refuse; the first message says whether that ends the game."""
        return self._say(Act.DISAGREE)

    def end(self) -> str:
        """Stop talking: both latest claims are a deal only if together they are exactly the pool."""
        return self._say(Act.END)

    def get_reward(self) -> float:
        """The model's own points, 0 if the game has not ended."""
        return 0.0 if self._game is None else self._game.points[self._game.seat]

    def _say(self, act: Act, keep: Triple = (0, 0, 0)) -> str:
        if self._game is None or self._game.over:
            raise IllegalAct("the game is over: there is nothing left to say")
        self._game.act(Action(act, keep))
        return self._news()

    def _news(self) -> str:
        assert self._game is not None
        game = self._game
        if not game.over:
            return game.render(NEWS)
        return f"The game is over. You get {game.points[game.seat]:g} points."
