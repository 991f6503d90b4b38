"""A session of a person: the settings that its games share, and how each game is played, recorded and scored.

The terminal and the page both use it; they differ only in the prompt for an act and in the display.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from dond.table.game import LeftTheTable
from dond_marl.errors import NotComputable
from dond_marl.files import append_lines
from dond_marl.game import Rules
from dond_marl.occupants import short_names
from dond_marl.randomness import generator
from dond_marl.records.record import GameRecord, records_of, to_line
from dond_marl.rollout import Noise, OccupantError, rollout
from dond_marl.scenarios.sources import Scenarios, ScenarioSource
from dond_marl.seats import HintSource, Partner
from dond_marl.solvers.best_response import OutOfReach, exact_by_answers
from dond_marl.statistics import TEN
from league.tasks.occupant_kinds import is_free
from partners.best_response import BestResponse
from partners.scripted.generated import Generated

NAME = "human"  # in records
STRANGER = "a stranger"  # a generated program that is drawn for a game
RECORDS = Path("runs/human/games.jsonl")  # where games are written unless another file is named
INEXACT = b'"inexact":'  # in lines of games that are recorded in part; inside a text its quotes are escaped


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
        """The partner's name for people: short where a path is in it, a stranger where a program is drawn."""
        if isinstance(self.partner, Generated) and self.partner.program is None:
            return STRANGER
        return short_names([self.name]).get(self.name, self.name)

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


def play_game(
    sitting: Sitting, person: Partner, seat: int, number: int, scenarios: Scenarios | None = None
) -> GameRecord:
    """Game ``number`` with ``person`` in ``seat``, on the scenario that the source deals or on the given one.

    Raises :class:`~dond.table.game.LeftTheTable`, :class:`~dond_marl.rollout.OccupantError` where the partner
    fails, and ``OSError`` where the person's screen does.
    """
    sitting = sitting.of_game(number, seat)
    try:
        return _record(sitting, person, sitting.person, seat, number, scenarios, sitting.hint_source)
    except OccupantError as error:
        if isinstance(error.__cause__, LeftTheTable):
            raise LeftTheTable from None
        if isinstance(error.__cause__, OSError) and error.seat == seat:
            raise error.__cause__ from None  # not the fault of an act
        raise


def best_response_game(
    sitting: Sitting, seat: int, number: int, scenarios: Scenarios | None = None
) -> GameRecord | None:
    """The same game with the best response in the person's seat, without hints.

    ``None`` if it is not known exactly, as in scenarios that are too large. Raises
    :class:`~dond_marl.rollout.OccupantError`.
    """
    sitting = sitting.of_game(number, seat)
    if sitting.best_response is None:
        return None
    try:
        return _record(sitting, sitting.best_response, NAME, seat, number, scenarios, None)
    except OccupantError as error:
        if isinstance(error.__cause__, OutOfReach):
            return None
        raise


def _record(
    sitting: Sitting,
    player: Partner,
    name: str,
    seat: int,
    number: int,
    scenarios: Scenarios | None,
    hint_source: HintSource | None,
) -> GameRecord:
    partner, source = sitting.partner, sitting.source
    games = rollout(
        (player, partner) if seat == 0 else (partner, player),
        source.block(sitting.seed, number, 1) if scenarios is None else scenarios,
        sitting.rules,
        seed=sitting.seed,
        index=(number,),
        hints=(hint_source, None) if seat == 0 else (None, hint_source),
    )
    names = (name, sitting.name) if seat == 0 else (sitting.name, name)
    return records_of(games, names, source=source.label, seed=sitting.seed)[0]


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
    mine = sum(points_of_ten(record, seat) for record, seat in played) / len(played)
    theirs = sum(points_of_ten(record, 1 - seat) for record, seat in played) / len(played)
    return sum(record.outcome.deal for record, _ in played), mine, theirs
