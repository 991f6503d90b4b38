"""A person's games against one partner, act by act: the state machine under the terminal, the play page and studies.

:class:`TableGame` is one game as a value: whose turn it is, what the person sees, and the game after an act.
:class:`TableSession` holds the games of one person under the settings of a :class:`Sitting`: the partner's answers,
hints, the end of a game with its record, and the next game. Both play exactly as :func:`dond_marl.rollout.rollout`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dond_marl.envs.turn import only_action, only_message, turn_for, turn_of
from dond_marl.errors import Blame, NotComputable
from dond_marl.files import append_lines
from dond_marl.game import Act, Action, Rules, Scenario, State, Triple, apply
from dond_marl.occupants import short_names
from dond_marl.randomness import generator
from dond_marl.records.record import GameRecord, record_of, records_of, to_line
from dond_marl.rollout import Noise, OccupantError, rollout
from dond_marl.scenarios.sources import ScenarioSource
from dond_marl.seats import Cause, Floats, HintSource, Partner
from dond_marl.solvers.best_response import exact_by_answers
from dond_marl.statistics import TEN
from league.play.occupant_kinds import is_free
from partners.best_response import BestResponse
from partners.human import View
from partners.scripted.generated import Generated, nickname

NAME = "human"  # in records
STRANGER = "a stranger"  # a generated program that is drawn for a game
RECORDS = Path("runs/human/games.jsonl")  # where games are written unless another file is named
INEXACT = b'"inexact":'  # in lines of games that are recorded in part; inside a text its quotes are escaped


@dataclass(frozen=True)
class TableGame:
    """One game at one moment: its state, and what each act's record needs besides the act."""

    state: State
    causes: tuple[int, ...] = ()  # a Cause for each act
    words: tuple[str | None, ...] = ()  # the sentence that a person typed for each act; None for none

    def state_known_to(self, seat: int) -> State:
        """The state as ``seat`` knows it: the partner's values are zeros."""
        scenario, zeros = self.state.scenario, (0, 0, 0)
        values = scenario.utilities[seat]
        seen_from_seat = Scenario(scenario.counts, (values, zeros) if seat == 0 else (zeros, values))
        return replace(self.state, scenario=seen_from_seat)

    def view(self, seat: int) -> View | None:
        """The game as ``seat`` sees it on its turn; ``None`` on the other's turn and after the end."""
        return None if self.state.is_over or self.state.mover != seat else View(self.state_known_to(seat))

    def play(self, action: Action, words: str | None = None, message: str = "", cause: int = Cause.FREE) -> TableGame:
        """The game after an act. Raises :class:`~dond_marl.game.IllegalAct`."""
        return TableGame(apply(self.state, action, message), (*self.causes, cause), (*self.words, words))

    def answer(self, partner: Partner, noise: Noise, prior: str) -> TableGame:
        """The game after the act of ``partner``, which is to move; ``noise``: that of this game.

        Raises :class:`~dond_marl.rollout.OccupantError` if the partner fails or its act is not legal.
        """
        with Blame(lambda error: OccupantError(self.state.mover, error)):
            decisions = partner.act(turn_for(partner, self.state, noise, prior=prior))
            action, message = only_action(decisions), only_message(decisions, self.state)
            return self.play(action, None, message, int(decisions.cause[0]))

    def record(self, names: tuple[str, str], source: str, seed: int) -> GameRecord:
        """The record of the finished game. ``names``: the occupants', seat_0's first."""
        record = record_of(self.state, names, source=source, seed=seed)
        causes = self.causes if any(self.causes) else ()
        return replace(record, causes=causes, words=self.words if any(self.words) else ())


class Hint(NamedTuple):
    """A hint before an act."""

    action: Action
    confidence: float  # 0..1

    @property
    def sureness(self) -> str:
        """The confidence, to follow the action: ``, 80% sure``; empty for none."""
        return f", {self.confidence:.0%} sure" if self.confidence else ""


def hint_at(source: HintSource, state: State, noise: Noise, prior: str) -> Hint | None:
    """The hint of ``source`` to the seat to move; ``None`` if it gives none. Errors of the source pass through."""
    drawn = None if source.deterministic else noise.hint_noise(len(state.history))
    turn = turn_of(state, prior=prior, reveal_partner_utilities=source.privileged, noise=drawn)
    return decode_hint(source.hint_features(turn)[0], state.scenario.counts)


def decode_hint(features: Floats, counts: Triple) -> Hint | None:
    """The hint in the ten features of :func:`hints.schedule.hint_features`; ``None`` if they hold none."""
    if not features[9]:
        return None
    act = Act(int(np.argmax(features[:5])))
    a, b, c = (round(float(share) * count) for share, count in zip(features[5:8], counts, strict=True))
    return Hint(Action(act, (a, b, c)) if act.is_offer else Action(act), float(features[8]))


@dataclass(frozen=True)
class Sitting:
    """The settings of all games of one session."""

    partner: Partner
    name: str  # the partner's name in records
    source: ScenarioSource
    rules: Rules
    seed: int
    book: Path  # games are added to this file, a line each
    seat: int | None = None  # the person's; None: drawn for each game
    hint_source: HintSource | None = None  # who advises the person
    hints: str = "none"  # the hint provider's name, part of the person's name in records

    @property
    def short_name(self) -> str:
        """The partner's name for people: short where a path is in it, a nickname or a stranger for a program."""
        if isinstance(self.partner, Generated) and self.partner.program is None:
            return STRANGER
        return nickname(self.name) or short_names([self.name]).get(self.name, self.name)

    def of_game(self, number: int, seat: int) -> Sitting:
        """The sitting as it is in game ``number`` with the person in ``seat``: a stranger is then one program."""
        if not isinstance(self.partner, Generated) or self.partner.program is not None:
            return self
        noise = Noise(self.seed, (number,), 1).game_noise(1 - seat)[:, 0]
        partner = self.partner.play_program(int(self.partner.draw_programs(noise)[0]))
        return replace(self, partner=partner, name=partner.name)

    @property
    def person(self) -> str:
        """The person's name in records; with hints it is another one."""
        return NAME if self.hint_source is None else f"{NAME}(hints={self.hints})"

    @cached_property
    def best_response(self) -> BestResponse | None:
        """The best response to the partner; ``None`` if it is not known exactly."""
        if not (is_free(self.partner) and exact_by_answers(self.partner, self.rules)):
            return None
        try:
            return BestResponse(self.partner)
        except NotComputable:  # it is only known in games as short as these, and this partner plays all kinds
            return None

    def seat_of(self, number: int) -> int:
        """The person's seat in game ``number``: 0 or 1."""
        if self.seat is not None:
            return self.seat
        return int(generator(self.seed, "seat of the person", number).integers(2))


class TableSession:
    """The games of one person against the partner of a sitting; the first is dealt.

    A game goes on by :meth:`play` on the person's turn and by :meth:`proceed` with :meth:`next_turn` otherwise.
    """

    def __init__(self, sitting: Sitting) -> None:
        self.sitting = sitting
        self.played: list[tuple[GameRecord, int]] = []  # finished games with the person's seat
        self.seat = 0  # the person's, as of the dealt game
        self.begin(0)

    def begin(self, number: int, *, swap: bool = False) -> None:
        """Deal game ``number``, from 0; ``swap``: the items of the last game with the seats exchanged."""
        if not swap:
            self.scenarios = self.sitting.source.block(self.sitting.seed, number, 1)
        self.seat = 1 - self.seat if swap else self.sitting.seat_of(number)
        self.number = number
        self.dealt = self.sitting.of_game(number, self.seat)  # a stranger is one program in it
        self.game = TableGame(State(self.scenarios.scenario(0), self.sitting.rules))
        self.hint: Hint | None = None  # on the person's turn

    @property
    def view(self) -> View | None:
        """The game on the person's turn; ``None`` otherwise."""
        return self.game.view(self.seat)

    @property
    def is_over(self) -> bool:
        return self.game.state.is_over

    def play(self, action: Action, words: str | None = None, message: str = "") -> None:
        """Play the person's act; ``words``: the sentence that was typed for it. Raises ``IllegalAct``."""
        self.proceed((self.game.play(action, words, message), None))

    def next_turn(self) -> tuple[TableGame, Hint | None]:
        """The game once the partner has acted, if it is to move, and the hint to the person. Slow; changes nothing.

        Raises :class:`~dond_marl.rollout.OccupantError`.
        """
        game, noise, prior = self.game, Noise(self.sitting.seed, (self.number,), 1), self.scenarios.prior
        if not game.state.is_over and game.state.mover != self.seat:
            game = game.answer(self.dealt.partner, noise, prior)
        source = self.sitting.hint_source
        if source is None or game.state.is_over:
            return game, None
        with Blame(lambda error: OccupantError(self.seat, error)):
            return game, hint_at(source, game.state, noise, prior)

    def proceed(self, turn: tuple[TableGame, Hint | None]) -> None:
        """Go on with what :meth:`next_turn` gave; a finished game is added to ``played``."""
        self.game, self.hint = turn
        if self.is_over:
            record = self.game.record(
                self._names(self.sitting.person), self.sitting.source.label, seed=self.sitting.seed
            )
            self.played.append((record, self.seat))

    def best_response(self) -> GameRecord | None:
        """The game with the exact best response in the person's seat, without hints.

        ``None`` if it is not known exactly, as in scenarios that are too large, or if the partner fails.
        """
        best, partner, sitting = self.dealt.best_response, self.dealt.partner, self.sitting
        if best is None:
            return None
        pair = (best, partner) if self.seat == 0 else (partner, best)
        try:
            games = rollout(pair, self.scenarios, sitting.rules, seed=sitting.seed, index=(self.number,))
        except OccupantError:
            return None
        return records_of(games, self._names(NAME), source=sitting.source.label, seed=sitting.seed)[0]

    def _names(self, person: str) -> tuple[str, str]:
        return (person, self.dealt.name) if self.seat == 0 else (self.dealt.name, person)


def write_down(record: GameRecord, book: Path) -> int:
    """Add a game to the file, whose folder is made where there is none; the game's number in it, from 1.

    Games that cannot be replayed exactly are not counted. Raises ``OSError``.
    """
    earlier = append_lines(book, [to_line(record)])
    return 1 + sum(bool(line.strip()) and INEXACT not in line for line in earlier)


def points_of_ten(record: GameRecord, seat: int) -> float:
    """A seat's score as tenths of what the whole pool is worth to it, 0..10."""
    return record.outcome.scores[seat] * TEN / max(record.scenario.pool_value(seat), 1)


def tally(played: Sequence[tuple[GameRecord, int]]) -> tuple[int, float, float]:
    """The deals, the person's and the partner's mean points of ten in one game or more, each with the person's seat."""
    persons = sum(points_of_ten(record, seat) for record, seat in played) / len(played)
    partners = sum(points_of_ten(record, 1 - seat) for record, seat in played) / len(played)
    return sum(record.outcome.deal for record, _ in played), persons, partners
