"""A person's game in a background thread: one rollout that blocks while the person thinks.

The thread reports through events: :class:`PartnerWorking` while a partner gets ready, :class:`PersonsTurn`, and at the
end :class:`GameEnded` or :class:`GameBroken`. The page answers with :meth:`LiveGame.play`. Nothing here knows HTML.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from dond.table.game import LeftTheTable
from dond.table.session import Sitting, best_response_game, play_game, write_down
from dond_marl.errors import error_line
from dond_marl.game import Act, Action, Triple
from dond_marl.records.record import GameRecord, add_typed_words
from dond_marl.rollout import OccupantError
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Decisions, Floats, Traits, Turns
from partners.human import Human, View


class Hint(NamedTuple):
    """A hint before an act."""

    action: Action
    confidence: float  # 0..1

    @property
    def sureness(self) -> str:
        """The confidence, to follow the action: ``, 80% sure``; empty for none."""
        return f", {self.confidence:.0%} sure" if self.confidence else ""


class PersonsTurn(NamedTuple):
    """The person is to move; ``hint`` is ``None`` without an adviser, or if it gives none."""

    view: View
    hint: Hint | None


class PartnerWorking(NamedTuple):
    """The partner prepares something before it can answer, such as a language model; ``task`` names it in a line."""

    task: str


class GameEnded(NamedTuple):
    """The game is over. ``write_error``: why its record could not be written, if so."""

    record: GameRecord
    write_error: str | None
    number: int = 0  # of the record in its file, from 1; 0 if it was not written


class GameBroken(NamedTuple):
    """The game cannot continue; ``reason`` in one line."""

    reason: str


Event = PersonsTurn | PartnerWorking | GameEnded | GameBroken
_PARTNER_LOG = logging.getLogger("dond_marl")  # partners log long preparations here


class LiveGame:
    """Game ``number`` of a sitting with the person in ``seat``; ``on_event`` is called from the game's thread.

    It is also the policy of the person's seat: its actions come from the page.
    ``scenarios``, of one scenario, replaces the one that the source deals.
    """

    traits = Traits(human=True)

    def __init__(
        self,
        sitting: Sitting,
        number: int,
        seat: int,
        on_event: Callable[[Event], None],
        scenarios: Scenarios | None = None,
    ) -> None:
        self.sitting, self.number, self.seat = sitting.of_game(number, seat), number, seat
        self.scenarios = sitting.source.block(sitting.seed, number, 1) if scenarios is None else scenarios
        self._on_event = on_event
        self._actions: queue.SimpleQueue[Action | None] = queue.SimpleQueue()
        self._hint: Hint | None = None  # before the current turn
        self._message = ""  # sent with the latest action
        self._words: list[str | None] = []  # typed sentences of the person's acts
        self._thread = threading.Thread(target=self._run, name=f"game {number}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def play(self, action: Action, words: str | None = None, message: str = "") -> None:
        """Answer a :class:`PersonsTurn` with a legal action.

        ``words``: the sentence that the person typed for it. ``message``: the text sent with it, unchecked; the rules
        cut it to what they allow.
        """
        self._words.append(words)
        self._message = message
        self._actions.put(action)

    def leave(self) -> None:
        """End the game without a record."""
        self._actions.put(None)

    def act(self, turns: Turns) -> Decisions:
        """The person's act, from the page."""
        self._hint = decode_hint(turns.hint_features[0], turns.counts[0].tolist())
        return Human(self).act(turns)

    def ask(self, view: View) -> Action:
        """Report the person's turn and wait for the action. Raises :class:`LeftTheTable`."""
        self._on_event(PersonsTurn(view, self._hint))
        action = self._actions.get()
        if action is None:
            raise LeftTheTable
        return action

    def message(self, _: View) -> str:
        """The text sent with the latest action."""
        return self._message

    def _run(self) -> None:
        try:
            with forward_log(lambda line: self._on_event(PartnerWorking(line))):
                record = play_game(self.sitting, self, self.seat, self.number, self.scenarios)
            self._on_event(self._write_down(add_typed_words(record, self.seat, self._words)))
        except LeftTheTable:
            return
        except OccupantError as error:
            self._on_event(GameBroken(str(error)))
        except Exception as error:  # noqa: BLE001  # any error must reach the waiting page
            self._on_event(GameBroken(error_line(error)))

    def _write_down(self, record: GameRecord) -> GameEnded:
        try:
            return GameEnded(record, None, write_down(record, self.sitting.book))
        except OSError as error:
            return GameEnded(record, f"{self.sitting.book}: {error.strerror}; the game is not recorded")


@contextmanager
def forward_log(receive: Callable[[str], None]) -> Iterator[None]:
    """Call ``receive`` with each line that partners log in this thread, up to its first semicolon (paths follow it)."""
    thread = threading.get_ident()

    class ThreadHandler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.thread == thread:
                receive(record.getMessage().split(";", 1)[0])

    handler = ThreadHandler()
    _PARTNER_LOG.addHandler(handler)
    try:
        yield
    finally:
        _PARTNER_LOG.removeHandler(handler)


def best_response_score(game: LiveGame) -> int | None:
    """Points of the exact best response to the partner in the person's seat; ``None`` if it is not known exactly."""
    try:
        record = best_response_game(game.sitting, game.seat, game.number, game.scenarios)
    except OccupantError:
        return None
    return None if record is None else record.outcome.scores[game.seat]


def decode_hint(features: Floats, counts: Triple) -> Hint | None:
    """The hint in the ten features of :func:`hints.schedule.hint_features`; ``None`` if they hold none."""
    if not features[9]:
        return None
    act = Act(int(np.argmax(features[:5])))
    a, b, c = (round(float(share) * count) for share, count in zip(features[5:8], counts, strict=True))
    return Hint(Action(act, (a, b, c)) if act.is_offer else Action(act), float(features[8]))
