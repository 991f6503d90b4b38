"""One negotiation in words, the basis of all adapters: prompts, replies, and an optional opponent from this project.

All adapters pay as the environment does: the seats' own points, once, when the game ends. A reply that is unreadable or
illegal is requested again; after that the game is forfeited, as with the environment's ``illegal="forfeit"``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypedDict, get_args

from dond_marl.envs.turn import choose_action, turn_of
from dond_marl.errors import InputError, quote
from dond_marl.game import (
    DEFAULT_MAX_TURNS,
    Action,
    Disagree,
    Rules,
    Scenario,
    State,
    apply,
    as_integer,
    as_seat,
    forfeit,
)
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Partner
from partners.llm.prompt import Shipped, Template, load_template, with_correction
from partners.llm.reply import LegalReply, Reading, Reason, legal_rows, read_reply
from partners.parameters import check_choice, check_whole_number


class GameRow(TypedDict):
    """One game as plain values, for data sets and requests."""

    counts: list[int]  # 3
    utilities: list[list[int]]  # [2][3], points an item, by seat
    seat: int  # 0 or 1: the model's seat, if an opponent has the other
    seed: int  # of the opponent's random numbers
    prior: str  # name of the scenario distribution, part of both seats' view


def rows(
    games: int, *, scenarios: str = "lewis", split: str | None = None, seed: int = 0, start: int = 0
) -> list[GameRow]:
    """Games ``start`` to ``start + games`` of the endless sequence of ``seed``: each scenario twice, the seat swapped.

    ``split`` is by default ``train`` where the source has one. Raises :class:`~dond_marl.scenarios.ScenarioError`.
    """
    check_whole_number("games", games, 1, 10**6)
    check_whole_number("start", start, 0, 2**31)
    source = open_source(scenarios, split=split)
    drawn = []
    for number in range(start, start + games):
        scenario = source.block(seed, number // 2, 1).scenario(0)  # a draw depends on its block's start: one block each
        utilities = [list(values) for values in scenario.utilities]
        drawn.append(
            GameRow(counts=list(scenario.counts), utilities=utilities, seat=number % 2, seed=number, prior=source.prior)
        )
    return drawn


@dataclass(frozen=True)
class Manner:
    """Rules, prompt and reading of games in words; raises ``ValueError``.

    ``max_turns``, ``disagree``: the rules (:class:`dond_marl.game.Rules`). ``prompt``: the shipped template.
    ``re_asks``: further requests for one act after refused replies. ``reading``: see
    :func:`partners.llm.reply.read_reply`.
    """

    max_turns: int = DEFAULT_MAX_TURNS
    disagree: Disagree = "ends"
    prompt: Shipped = "full"
    re_asks: int = 1
    reading: Reading = "strict"

    def __post_init__(self) -> None:
        check_whole_number("re_asks", self.re_asks, 0, 10)
        check_choice("reading", self.reading, get_args(Reading))
        _ = self.rules, self.template  # they check themselves

    @cached_property
    def rules(self) -> Rules:
        return Rules(self.max_turns, self.disagree)

    @cached_property
    def template(self) -> Template:
        return load_template(shipped=self.prompt)


AS_SHIPPED = Manner()


class SpokenGame:
    """The game of ``row``. With an ``opponent`` only the row's seat is prompted; without, both seats in turn.

    Raises ``InputError`` for an invalid row, and the opponent's exceptions.
    """

    def __init__(self, row: Mapping[str, Any], manner: Manner = AS_SHIPPED, opponent: Partner | None = None) -> None:
        try:
            scenario = Scenario(row["counts"], row["utilities"])
            self.seat, seed = as_seat(row.get("seat", 0)), as_integer(row.get("seed", 0))
            if seed is None or seed < 0:
                raise ValueError(f"seed must be a whole number from 0 up; got {quote(row['seed'])}")
        except (KeyError, ValueError) as error:
            mistake = f"has no {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(f"a row needs counts, utilities, and may have seat, seed and prior: {mistake}") from None
        self.manner, self.opponent, self.seed = manner, opponent, seed
        self.prior = str(row.get("prior", "lewis"))
        self.state = State(scenario, manner.rules)
        self.refused: Reason | None = None  # why the last reply was refused
        self.refusals = 0  # refused replies so far
        self._in_a_row = 0
        self._play_opponent()

    @property
    def is_over(self) -> bool:
        return self.state.is_over

    @property
    def points(self) -> tuple[float, float]:
        """Both seats' own points; zeros until the end."""
        first, second = (0, 0) if self.state.outcome is None else self.state.outcome.scores
        return float(first), float(second)

    @property
    def prompt(self) -> str:
        """The prompt of the seat to move; after a refused reply with a correction."""
        text = self.render(self.manner.template)
        return text if self.refused is None else with_correction(text, self.refused)

    def render(self, template: Template) -> str:
        """``template``, filled in from the view of the seat to move."""
        return template.render(turn_of(self.state, prior=self.prior))[0]

    def read(self, text: str, *, finished: bool = True) -> Reason | None:
        """Play the act in ``text``, or return why it is refused. More than ``re_asks`` refusals forfeit the game."""
        legal = legal_rows(turn_of(self.state, prior=self.prior))[0]
        result = read_reply(text, legal, finished=finished, reading=self.manner.reading)
        if isinstance(result, LegalReply):
            self.act(result.action)
            return None
        self.refused, self.refusals, self._in_a_row = result, self.refusals + 1, self._in_a_row + 1
        if self._in_a_row > self.manner.re_asks:
            self.give_up(f"its reply was refused: {result}")
        return result

    def act(self, action: Action) -> None:
        """Play ``action`` and let the opponent answer. Raises :class:`~dond_marl.game.IllegalAct`, nothing changed."""
        self.state = apply(self.state, action)
        self.refused, self._in_a_row = None, 0
        self._play_opponent()

    def give_up(self, reason: str) -> None:
        """Forfeit the game: both seats get 0 points."""
        self.state = forfeit(self.state, reason)

    def _play_opponent(self) -> None:
        while self.opponent is not None and not self.is_over and self.state.mover != self.seat:
            self.state = apply(self.state, choose_action(self.opponent, self.state, seed=self.seed, prior=self.prior))
