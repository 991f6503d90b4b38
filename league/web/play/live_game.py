"""A person's game in the background: the one play loop in a thread, which waits while the person thinks.

The page hears of the game through events, :class:`Asked`, then :class:`Ended` or :class:`Broken`, and answers with
:meth:`LiveGame.say`. Nothing here knows what a page looks like: a test, or another window, can sit down the same way.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dond_marl.game import Act, Action, Rules, Triple
from dond_marl.records.record import GameRecord, records, to_line
from dond_marl.rollout import OccupantError, rollout
from dond_marl.scenarios.sources import Scenarios, ScenarioSource
from dond_marl.seats import Decisions, Floats, Partner, Traits, Turns, Whisper
from dond_marl.yardsticks.best_response import exact_by_answers
from league.cli.play import NAME
from league.display.game import LeftTheTable
from partners.best_response import BestResponse
from partners.human import Human, View

_ONE_WRITER = threading.Lock()


class Sitting(NamedTuple):
    """What all games of a person at the page have in common."""

    partner: Partner
    name: str  # the partner's, as it is recorded
    source: ScenarioSource
    rules: Rules
    seed: int
    book: Path  # games are added here, a line each
    whisper: Whisper | None = None  # who advises the person
    hints: str = "none"  # under which name

    @property
    def person(self) -> str:
        """How the person is recorded: what somebody was told is part of who it was."""
        return NAME if self.whisper is None else f"{NAME}(hints={self.hints})"


class Hint(NamedTuple):
    """What the person was told before an act."""

    action: Action
    confidence: float  # 0..1


class Asked(NamedTuple):
    """It is the person's turn; ``hint`` is ``None`` without an adviser, or where it has nothing to say."""

    view: View
    hint: Hint | None


class Ended(NamedTuple):
    """The game is over; ``unwritten`` says why it could not be written down, if so."""

    record: GameRecord
    unwritten: str | None


class Broken(NamedTuple):
    """The game cannot go on, in one line."""

    why: str


Event = Asked | Ended | Broken


class LiveGame:
    """Game ``number`` of a sitting with the person in ``seat``; ``hear`` is called from the game's own thread.

    ``scenarios`` sets another table than the one that the source deals: one scenario.
    """

    def __init__(
        self,
        sitting: Sitting,
        number: int,
        seat: int,
        hear: Callable[[Event], None],
        scenarios: Scenarios | None = None,
    ) -> None:
        self.sitting, self.number, self.seat = sitting, number, seat
        self.scenarios = sitting.source.block(sitting.seed, number, 1) if scenarios is None else scenarios
        self._hear = hear
        self._said: queue.SimpleQueue[Action | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"game {number}", daemon=True)

    def start(self) -> None:
        """Let it begin."""
        self._thread.start()

    def say(self, action: Action) -> None:
        """The person's act, a legal one, once it was asked for."""
        self._said.put(action)

    def leave(self) -> None:
        """The person has gone: nothing is recorded."""
        self._said.put(None)

    def ask(self, view: View, hint: Hint | None) -> Action:
        """Wait for the person's act. Raises :class:`LeftTheTable`."""
        self._hear(Asked(view, hint))
        action = self._said.get()
        if action is None:
            raise LeftTheTable
        return action

    def _run(self) -> None:
        try:
            record = self._play()
        except OccupantError as error:
            if not isinstance(error.__cause__, LeftTheTable):
                self._hear(Broken(str(error)))
            return
        self._hear(Ended(record, write_down(record, self.sitting.book)))

    def _play(self) -> GameRecord:
        told = self.sitting
        person, whisper = Person(self), told.whisper
        games = rollout(
            (person, told.partner) if self.seat == 0 else (told.partner, person),
            self.scenarios,
            told.rules,
            seed=told.seed,
            index=(self.number,),
            prior=told.source.prior,
            whispers=(whisper, None) if self.seat == 0 else (None, whisper),
        )
        names = (told.person, told.name) if self.seat == 0 else (told.name, told.person)
        return records(games, names, source=told.source.label, seed=told.seed)[0]


def best_response_score(game: LiveGame) -> int | None:
    """What the best response to the partner gets in the person's place; ``None`` where it is not known exactly."""
    told, seat = game.sitting, game.seat
    if not exact_by_answers(told.partner, told.rules):
        return None
    try:
        best = BestResponse(told.partner)
        games = rollout(
            (best, told.partner) if seat == 0 else (told.partner, best),
            game.scenarios,
            told.rules,
            seed=told.seed,
            index=(game.number,),
            prior=told.source.prior,
        )
    except (OccupantError, ValueError):  # the scenarios are too rich, or the partner plays other games
        return None
    return int(games.scores[0, seat])


class Person:
    """A person who is told what an adviser whispers, then asked: an occupant of a seat."""

    traits = Traits(human=True)

    def __init__(self, game: LiveGame) -> None:
        self._game = game
        self._hint: Hint | None = None

    def act(self, turns: Turns) -> Decisions:
        """One decision per row."""
        self._hint = whispered(turns.hint_features[0], turns.counts[0].tolist())
        return Human(self).act(turns)

    def ask(self, view: View) -> Action:
        """The person's act, through the page."""
        return self._game.ask(view, self._hint)


def whispered(features: Floats, counts: Triple) -> Hint | None:
    """The hint in ten features of :func:`hints.schedule.hint_features`; ``None`` where they say nothing."""
    if not features[9]:
        return None
    act = Act(int(np.argmax(features[:5])))
    a, b, c = (round(float(share) * count) for share, count in zip(features[5:8], counts, strict=True))
    return Hint(Action(act, (a, b, c)) if act.is_offer else Action(act), float(features[8]))


def write_down(record: GameRecord, book: Path) -> str | None:
    """Add the game to the file; why it could not be added, if so."""
    try:
        with _ONE_WRITER:
            book.parent.mkdir(parents=True, exist_ok=True)
            with book.open("a", encoding="utf-8") as file:
                file.write(f"{to_line(record)}\n")
    except OSError as error:
        return f"{book}: {error.strerror}; the game is not recorded"
    return None
