"""The game as an environment of TRL's trainers: ``GRPOTrainer(environment_factory=Negotiation)``, acts as tools.

TRL (1.16) makes one instance per rollout of a batch, calls ``reset`` with the row of the data set, if there is one,
appends its result to the last message, offers every other public method as a tool, returns errors of tools to the model
and calls ``get_reward`` at the end. TRL is not imported here. Rows: :func:`partners.adapters.spoken.rows`, each
with a ``prompt`` of at least one message.
"""

from __future__ import annotations

from typing import Any, ClassVar

from dond_marl.game import Act, Action, IllegalAct, Triple
from dond_marl.occupants import SpecLike, seat_occupant
from dond_marl.seats import Partner
from partners.adapters.spoken import AS_SHIPPED, Manner, SpokenGame, rows
from partners.llm.prompt import Template

OPENING = Template("""You bargain with a partner over books, hats and balls; lists are in this order. You are paid \
your own points only, the partner by values of its own. Without a deal you both get 0 points.
Say each of your acts by calling one tool: propose, insist, agree, disagree or end. disagree means: {disagree_rule}
Pool: {counts_csv}
Your values: {my_utils_csv}, in all {whole} points; the partner's: {p}
""")
UPDATE = Template("""Turns left: {turns} of {max_turns}
So far:
{history_str}
The partner's latest offer leaves you {last_offer_csv}, worth {offer_points} points.""")


class Negotiation:
    """One negotiation against :attr:`opponent`; the reward is the model's own points, 0 until the game ends.

    A subclass with other class attributes is another environment: another opponent, or another :class:`Manner`.
    """

    opponent: ClassVar[SpecLike | Partner] = "heuristic"
    manner: ClassVar[Manner] = AS_SHIPPED

    def __init__(self) -> None:
        self._partner = seat_occupant(self.opponent, one_game=True)
        self._game: SpokenGame | None = None
        self._number = 0  # of the next game that has no row

    def reset(self, **row: Any) -> str:
        """Begin the game of ``row``, without one the next training game; other fields of ``row`` are ignored.

        Without a data set the instances of a trainer, which it resets together, begin the same game in each step.
        """
        if "counts" not in row:
            row = dict(rows(1, start=self._number)[0])
            self._number += 1
        game = self._game = SpokenGame(row, self.manner, self._partner)
        return self._update() if game.is_over else f"{game.render(OPENING)}{self._update()}"

    def propose(self, books: int, hats: int, balls: int) -> str:
        """Offer a split: what you keep. The partner would get the rest of the pool.

        Args:
            books: How many books you keep.
            hats: How many hats you keep.
            balls: How many balls you keep.

        Returns:
            The partner's answer.
        """
        return self._play(Act.PROPOSE, (books, hats, balls))

    def insist(self, books: int, hats: int, balls: int) -> str:
        """Offer a split with more weight: what you keep. The partner would get the rest of the pool.

        Args:
            books: How many books you keep.
            hats: How many hats you keep.
            balls: How many balls you keep.

        Returns:
            The partner's answer.
        """
        return self._play(Act.INSIST, (books, hats, balls))

    def agree(self) -> str:
        """Take the partner's offer, which must be its last act. It ends the game with a deal."""
        return self._play(Act.AGREE)

    def disagree(self) -> str:
        """Refuse; the first message explains whether that ends the game."""
        return self._play(Act.DISAGREE)

    def end(self) -> str:
        """Stop talking: both latest claims are a deal only if together they are exactly the pool."""
        return self._play(Act.END)

    def get_reward(self) -> float:
        """The model's own points, 0 if the game has not ended."""
        return 0.0 if self._game is None else self._game.points[self._game.seat]

    def _play(self, act: Act, keep: Triple = (0, 0, 0)) -> str:
        if self._game is None or self._game.is_over:
            raise IllegalAct("the game is over")
        self._game.act(Action(act, keep))
        return self._update()

    def _update(self) -> str:
        assert self._game is not None
        game = self._game
        if not game.is_over:
            return game.render(UPDATE)
        return f"The game is over. You get {game.points[game.seat]:g} points."
