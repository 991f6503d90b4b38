"""One negotiation in words: what a seat is asked, what its reply comes to, and who of ours sits in the other seat.

Every adapter of this room plays through here, so that all pay what the environment pays: the seats' own points, once,
when the game ends. Replies that cannot be read, or are illegal, are asked for again; after that the game is given up,
as the environment's ``illegal="forfeit"`` gives it up.
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
from dond_marl.scenarios.sources import SourceName, open_source
from dond_marl.seats import Partner
from partners.llm.prompt import Shipped, Template, load_template, with_correction
from partners.llm.reply import LegalReply, Reading, Reason, legal_rows, read_reply
from partners.parameters import check_whole_number

DEFAULT_PRIOR = "lewis"


class GameRow(TypedDict):
    """One game to be played, as plain values that a data set or a request can hold."""

    counts: list[int]  # 3
    utilities: list[list[int]]  # [2][3], points an item, by seat
    seat: int  # 0 or 1: the model's, where an occupant of ours sits in the other
    seed: int  # names that occupant's chance
    prior: str  # the scenario distribution's name, known to both seats


class RowError(InputError):
    """A row that makes no game."""


def rows(
    games: int, *, scenarios: SourceName = "lewis", split: str | None = None, seed: int = 0, start: int = 0
) -> list[GameRow]:
    """Games ``start`` to ``start + games`` of the endless sequence of ``seed``: each scenario twice, the seat swapped.

    ``split`` is by default ``train`` where the source has one. Raises :class:`~dond_marl.scenarios.ScenarioError`.
    """
    check_whole_number("games", games, 1, 10**6)
    check_whole_number("start", start, 0, 2**31)
    source = open_source(scenarios, split=split)
    first, last = start // 2, (start + games - 1) // 2
    if source.table is None:  # what is drawn depends on where a block begins: each is a block of its own
        dealt = [source.block(seed, place, 1).scenario(0) for place in range(first, last + 1)]
    else:
        block = source.block(seed, first, last + 1 - first)
        dealt = [block.scenario(place) for place in range(block.size)]
    made = []
    for number in range(start, start + games):
        scenario = dealt[number // 2 - first]
        utilities = [list(values) for values in scenario.utilities]
        made.append(
            GameRow(counts=list(scenario.counts), utilities=utilities, seat=number % 2, seed=number, prior=source.prior)
        )
    return made


@dataclass(frozen=True)
class Manner:
    """How games are played in words; raises ``ValueError``.

    ``max_turns``, ``disagree``: the rules (:class:`dond_marl.game.Rules`). ``prompt``: the shipped template.
    ``re_asks``: how often one act is asked for again after a reply that was refused. ``reading``: see
    :func:`partners.llm.reply.read_reply`.
    """

    max_turns: int = DEFAULT_MAX_TURNS
    disagree: Disagree = "ends"
    prompt: Shipped = "full"
    re_asks: int = 1
    reading: Reading = "strict"

    def __post_init__(self) -> None:
        check_whole_number("re_asks", self.re_asks, 0, 10)
        if self.reading not in get_args(Reading):
            raise ValueError(f"reading must be one of {', '.join(get_args(Reading))}; got {quote(self.reading)}")
        _ = self.rules, self.template  # they check themselves

    @cached_property
    def rules(self) -> Rules:
        return Rules(self.max_turns, self.disagree)

    @cached_property
    def template(self) -> Template:
        return load_template(shipped=self.prompt)


AS_SHIPPED = Manner()


class SpokenGame:
    """The game of ``row``. With an ``opponent`` the row's seat alone is asked; without, both seats are, in turn.

    Raises :class:`RowError`, and whatever the opponent raises.
    """

    def __init__(self, row: Mapping[str, Any], manner: Manner = AS_SHIPPED, opponent: Partner | None = None) -> None:
        try:
            scenario = Scenario(row["counts"], row["utilities"])
            self.seat, seed = as_seat(row.get("seat", 0)), as_integer(row.get("seed", 0))
        except (KeyError, ValueError) as error:
            wrong = f"has no {error}" if isinstance(error, KeyError) else str(error)
            raise RowError(f"a row needs counts, utilities, and may have seat, seed and prior: {wrong}") from None
        if seed is None or seed < 0:
            raise RowError(f"the seed of a row is a whole number from 0 up; got {quote(row['seed'])}")
        self.manner, self.opponent, self.seed = manner, opponent, seed
        self.prior = str(row.get("prior", DEFAULT_PRIOR))
        self.state = State(scenario, manner.rules)
        self.refused: Reason | None = None  # why the last reply was, if it was
        self.refusals = 0  # of all replies
        self._in_a_row = 0
        self._opponent_speaks()

    @property
    def over(self) -> bool:
        return self.state.over

    @property
    def points(self) -> tuple[float, float]:
        """Both seats' own points; zeros until the end."""
        outcome = self.state.outcome
        return (0.0, 0.0) if outcome is None else (float(outcome.scores[0]), float(outcome.scores[1]))

    @property
    def prompt(self) -> str:
        """What the seat to move is asked; after a refused reply with what was wrong about it."""
        text = self.render(self.manner.template)
        return text if self.refused is None else with_correction(text, self.refused)

    def render(self, template: Template) -> str:
        """``template``, filled in from what the seat to move sees."""
        return template.render(turn_of(self.state, prior=self.prior))[0]

    def read(self, text: str, *, finished: bool = True) -> Reason | None:
        """Play the act in ``text``; otherwise why it is refused. One refusal too many gives the game up."""
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
        self._opponent_speaks()

    def give_up(self, why: str) -> None:
        """End the game: nobody is paid."""
        self.state = forfeit(self.state, why)

    def _opponent_speaks(self) -> None:
        while self.opponent is not None and not self.over and self.state.mover != self.seat:
            self.state = apply(self.state, choose_action(self.opponent, self.state, seed=self.seed, prior=self.prior))
