"""A person's game in the background: the one play loop in a thread, which waits while the person thinks.

The page hears of the game through events, :class:`Working` while a partner gets ready, :class:`Asked`, then
:class:`Ended` or :class:`Broken`, and answers with :meth:`LiveGame.say`. Nothing here knows what a page looks like: a
test, or another window, can sit down the same way.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from dond_marl.errors import error_line
from dond_marl.game import Act, Action, Triple
from dond_marl.records.record import GameRecord, add_typed_words
from dond_marl.rollout import OccupantError
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Decisions, Floats, Traits, Turns
from league.display.game import LeftTheTable
from league.display.session import Sitting, best_response_game, play_game, write_down
from partners.human import Human, View


class Hint(NamedTuple):
    """An adviser's whisper before an act."""

    action: Action
    confidence: float  # 0..1


class Asked(NamedTuple):
    """It is the person's turn; ``hint`` is ``None`` without an adviser, or where it has nothing to say."""

    view: View
    hint: Hint | None


class Working(NamedTuple):
    """What keeps the partner busy before it can answer, in a line, such as making a language model."""

    what: str


class Ended(NamedTuple):
    """The game is over; ``unwritten`` says why it could not be written down, if so."""

    record: GameRecord
    unwritten: str | None
    number: int = 0  # of the game in the book, from 1, where it was written down


class Broken(NamedTuple):
    """The game cannot go on, in one line."""

    why: str


Event = Asked | Working | Ended | Broken
_PARTNERS_LOG = logging.getLogger("dond_marl")  # where partners tell of what takes long


class LiveGame:
    """Game ``number`` of a sitting with the person in ``seat``; ``hear`` is called from the game's own thread.

    ``scenarios``, of one scenario, replaces what the source deals.
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
        self._actions: queue.SimpleQueue[Action | None] = queue.SimpleQueue()
        self._message = ""  # beside the act that was handed in last
        self._words: list[str | None] = []  # of the person's acts, where they were typed
        self._thread = threading.Thread(target=self._run, name=f"game {number}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def say(self, action: Action, words: str | None = None, message: str = "") -> None:
        """Hand in the person's act, a legal one, after :class:`Asked`; ``words``: what they typed for it.

        ``message``: what is said beside it, of any text; what may not pass of it does not.
        """
        self._words.append(words)
        self._message = message
        self._actions.put(action)

    def leave(self) -> None:
        self._actions.put(None)

    def ask(self, view: View, hint: Hint | None) -> Action:
        """Wait for the person's act. Raises :class:`LeftTheTable`."""
        self._hear(Asked(view, hint))
        action = self._actions.get()
        if action is None:
            raise LeftTheTable
        return action

    def message(self) -> str:
        """What the person says beside the act that :meth:`ask` gave."""
        return self._message

    def _run(self) -> None:
        try:
            self._play()
        except LeftTheTable:
            return
        except OccupantError as error:
            self._hear(Broken(str(error)))
        except Exception as error:  # noqa: BLE001  # whatever it is, the person waits to hear of it
            self._hear(Broken(error_line(error)))

    def _play(self) -> None:
        with told_by_this_thread(lambda line: self._hear(Working(line))):
            record = play_game(self.sitting, Person(self), self.seat, self.number, self.scenarios)
        record = add_typed_words(record, self.seat, self._words)
        unwritten, number = None, 0
        try:
            number = write_down(record, self.sitting.book)
        except OSError as error:
            unwritten = f"{self.sitting.book}: {error.strerror}; the game is not recorded"
        self._hear(Ended(record, unwritten, number))


@contextmanager
def told_by_this_thread(tell: Callable[[str], None]) -> Iterator[None]:
    """Call ``tell`` with what partners log in this thread meanwhile, up to its first semicolon: after it come paths."""
    own = threading.get_ident()

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.thread == own:
                tell(record.getMessage().split(";", 1)[0])

    listener = Listener()
    _PARTNERS_LOG.addHandler(listener)
    try:
        yield
    finally:
        _PARTNERS_LOG.removeHandler(listener)


def best_response_score(game: LiveGame) -> int | None:
    """Points of the best response to the partner in the person's place; ``None`` where it is not known exactly."""
    try:
        record = best_response_game(game.sitting, game.seat, game.number, game.scenarios)
    except OccupantError:
        return None
    return None if record is None else record.outcome.scores[game.seat]


class Person:
    """The person as an occupant of a seat: shown the adviser's whisper, then asked for an act."""

    traits = Traits(human=True)

    def __init__(self, game: LiveGame) -> None:
        self._game = game
        self._hint: Hint | None = None

    def act(self, turns: Turns) -> Decisions:
        self._hint = whispered(turns.hint_features[0], turns.counts[0].tolist())
        return Human(self).act(turns)

    def ask(self, view: View) -> Action:
        return self._game.ask(view, self._hint)

    def message(self, _: View) -> str:
        return self._game.message()


def whispered(features: Floats, counts: Triple) -> Hint | None:
    """The hint in ten features of :func:`hints.schedule.hint_features`; ``None`` where they say nothing."""
    if not features[9]:
        return None
    act = Act(int(np.argmax(features[:5])))
    a, b, c = (round(float(share) * count) for share, count in zip(features[5:8], counts, strict=True))
    return Hint(Action(act, (a, b, c)) if act.is_offer else Action(act), float(features[8]))
