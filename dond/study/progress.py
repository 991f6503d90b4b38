"""The state of a study (participants, their assignment, and tables), computed from the events of its journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dond.study.journal import JournalError, StudyEvent, read_journal
from dond.study.settings import PERSON, StudyConfig
from dond.table.session import TableGame
from dond_marl.errors import InputError
from dond_marl.game import Act, Action, Scenario, State, Triple
from dond_marl.randomness import generator
from league.ledger.run_directory import SETTINGS
from league.settings.read import parse_stored

Phase = Literal[
    "consent",
    "instructions",
    "check",
    "excluded",
    "ready",
    "waiting",
    "table",
    "result",
    "questions",
    "done",
    "withdrawn",
]
FINAL_PHASES: tuple[Phase, ...] = ("excluded", "done", "withdrawn")
NEXT_PHASES: dict[str, Phase] = {"agreed": "instructions", "read": "check"}  # after steps without data
TableEnd = Literal["finished", "late", "left", "failed"]  # a table that ended otherwise than finished does not count


# Assignment of participants to conditions by permuted blocks, as a function of the study's seed and order of arrival.
# A participant is assigned when the check is passed. After each block every condition has equally many participants; a
# condition with another person has two places in a block, so that pairs form soon. Between participants, each has one
# condition; within, each has all of them in the order of a row of a Williams square (Williams 1949), in which every
# condition follows every other equally often.


class Assignment(NamedTuple):
    """The plan of a participant: ``games`` in each of ``conditions``, in order."""

    conditions: tuple[str, ...]
    start: int  # index of the first table's scenario in the study's sequence
    first_seat: int  # its seat in its first game; it changes from game to game

    def seat(self, game: int) -> int:
        """The seat in game ``game``, from 0, at the participant's own table."""
        return (self.first_seat + game) % 2


def assignment(config: StudyConfig, number: int) -> Assignment:
    """The plan of participant ``number``, from 0, among those who passed the check."""
    cells = _cells(config)
    block, position = divmod(number, len(cells))
    order = _order(config.study.seed, block, len(cells))
    conditions = cells[order[position]]
    if config.study.design == "within":
        return Assignment(conditions, number * config.games_each, block % 2)
    # Count earlier participants of this condition: all of them get the same sequence of tables.
    earlier = block * Counter(cells)[conditions] + sum(cells[cell] == conditions for cell in order[:position])
    return Assignment(conditions, earlier * config.games_each, earlier % 2)


def _cells(config: StudyConfig) -> tuple[tuple[str, ...], ...]:
    """The places of a block, each with its conditions in order."""
    names = tuple(condition.name for condition in config.conditions)
    if config.study.design == "within":
        return tuple(tuple(names[i] for i in row) for row in williams(len(names)))
    return tuple((row.name,) for row in config.conditions for _ in range(1 + row.with_a_person))


def williams(size: int) -> tuple[tuple[int, ...], ...]:
    """Orders of ``size`` conditions, balanced in place and predecessor: ``size`` rows, twice as many if odd."""
    zigzag = [i // 2 if i % 2 == 0 else size - 1 - i // 2 for i in range(size)]
    rows = tuple(tuple((i + shift) % size for i in zigzag) for shift in range(size))
    return rows if size % 2 == 0 or size == 1 else (*rows, *(row[::-1] for row in rows))


@lru_cache(maxsize=256)
def _order(seed: int, block: int, size: int) -> tuple[int, ...]:
    return tuple(generator(seed, "study assignment", block).permutation(size).tolist())


class ActTimes(NamedTuple):
    """The times of one act at a table."""

    at: datetime
    since_shown: float | None  # seconds since the page first showed the turn, server clock; None for occupants
    by_browser: float | None  # seconds since the page was loaded, browser clock; None if it sent none


@dataclass
class StudyTable:
    """One game. ``players`` and ``games`` (each player's own, from 0) are by seat; ``None`` for an occupant."""

    number: int
    condition: str
    partner: str  # an occupant's specification, or PERSON
    players: tuple[int | None, int | None]
    games: tuple[int | None, int | None]
    game: TableGame
    began: datetime  # of the current turn
    acts: list[ActTimes] = field(default_factory=list)
    shown: datetime | None = None  # time at which the page first showed this turn to the participant to move
    end: TableEnd | None = None  # None while it is played
    blame: int | None = None  # participant who was late or left

    @property
    def state(self) -> State:
        return self.game.state

    def seat_of(self, participant: int) -> int:
        return self.players.index(participant)

    @property
    def people(self) -> list[int]:
        """The participants of the table, by seat."""
        return [number for number in self.players if number is not None]

    @property
    def to_move(self) -> int | None:
        """The participant to move; ``None`` on an occupant's turn and after the end."""
        return None if self.end is not None else self.players[self.state.mover]


@dataclass
class Participant:
    """One participant."""

    number: int
    key: str  # SHA-256 of the browser's token
    arrived: datetime
    phase: Phase = "consent"
    attempts: int = 0  # failed attempts at the check
    place: int | None = None  # among those who passed the check
    plan: Assignment | None = None
    game: int = 0  # games completed
    tables: list[int] = field(default_factory=list)
    since: datetime | None = None  # start of the wait for another participant
    mate: int | None = None  # the other participant of a condition with people
    alone: bool = False  # no other participant came, or the other left: the rest is with the stand-in, or skipped
    answers: Mapping[str, Any] = field(default_factory=dict)
    version: int = 0  # grows with each change of the participant's page


@dataclass
class Progress:
    """The whole study so far."""

    config: StudyConfig
    participants: list[Participant] = field(default_factory=list)
    tables: list[StudyTable] = field(default_factory=list)
    by_key: dict[str, int] = field(default_factory=dict)
    passed: int = 0  # participants who passed the check
    codes: list[str] = field(default_factory=list)  # SHA-256 of the completion codes

    def apply_all(self, events: Iterable[StudyEvent]) -> Progress:
        """Apply events in order; returns this object."""
        for event in events:
            self.apply(event)
        return self

    def apply(self, event: StudyEvent) -> None:
        """Update the state by one event. Raises :class:`~.journal.JournalError` for an unknown kind."""
        match event.kind:
            case "started":  # the time before it counts for no waiting participant and no turn
                for participant in self.participants:
                    participant.since = None if participant.since is None else event.at
                for table in self.tables:
                    table.began, table.shown = event.at, None
            case "arrived":  # key
                self.by_key[event.data["key"]] = event.participant
                self.participants.append(Participant(event.participant, event.data["key"], event.at))
            case "opened":
                self._open(event)
            case "shown" | "acted" | "closed":
                self._apply_to_table(self.tables[event.data["table"]], event)
            case _:
                self._apply_to_participant(self.participants[event.participant], event)
        if event.participant >= 0 and event.kind != "shown":  # a shown turn changes no page
            self.participants[event.participant].version += 1

    def _open(self, event: StudyEvent) -> None:  # condition, partner, players, scenario
        counts, (low, high) = event.data["scenario"]
        state = State(Scenario(_triple(counts), (_triple(low), _triple(high))), self.config.env.rules())
        first, second = event.data["players"]
        games = [None if number is None else self.participants[number].game for number in (first, second)]
        table = StudyTable(
            len(self.tables),
            event.data["condition"],
            event.data["partner"],
            (first, second),
            (games[0], games[1]),
            TableGame(state),
            event.at,
        )
        self.tables.append(table)
        for number, other in ((first, second), (second, first)):
            if number is not None:
                participant = self.participants[number]
                participant.phase, participant.since, participant.mate = "table", None, other
                participant.tables.append(table.number)
        self._change_pages_of(table)

    def _apply_to_table(self, table: StudyTable, event: StudyEvent) -> None:
        data = event.data
        match event.kind:
            case "shown":
                table.shown = event.at
            case "acted":  # act, oA, cause, browser
                action = Action(Act[data["act"]], _triple(data["oA"]))
                shown = table.shown if event.participant >= 0 else None
                seconds = None if shown is None else (event.at - shown).total_seconds()
                table.acts.append(ActTimes(event.at, seconds, data["browser"]))
                table.game, table.began, table.shown = table.game.play(action, cause=data["cause"]), event.at, None
                if table.state.is_over:
                    self._close(table, "finished")
                self._change_pages_of(table)
            case "closed":  # why
                table.blame = event.participant if event.participant >= 0 else None
                self._close(table, data["why"])
                self._change_pages_of(table)
                if table.partner == PERSON:
                    for number in table.people:
                        self.participants[number].alone = True

    def _apply_to_participant(self, participant: Participant, event: StudyEvent) -> None:
        data = event.data
        match event.kind:
            case "agreed" | "read":
                participant.phase = NEXT_PHASES[event.kind]
            case "checked" if data["passed"]:  # answers, passed
                participant.place, participant.plan = self.passed, assignment(self.config, self.passed)
                participant.phase = "ready"
                self.passed += 1
            case "checked":
                participant.attempts += 1
                if participant.attempts >= self.config.study.attempts:
                    participant.phase = "excluded"
            case "waits":
                participant.phase, participant.since = "waiting", event.at
            case "no_partner":  # stand_in: the rest with people is played with it, or skipped without one
                participant.alone, participant.since = True, None
                self._leave_mate_alone(participant)
                if not data["stand_in"]:
                    games = self.config.study.games
                    participant.game = (participant.game // games + 1) * games
                self._go_on(participant)
            case "continued":
                self._go_on(participant)
            case "answered":  # answers, code
                participant.answers, participant.phase = data["answers"], "done"
                self.codes.append(data["code"])
            case "withdrew":
                participant.phase = "withdrawn"
                self._leave_mate_alone(participant)
            case _:
                raise JournalError(f"the journal holds an event of the unknown kind {event.kind!r}")

    def condition_of(self, participant: Participant) -> str | None:
        """The condition of a participant's next game; ``None`` after the last."""
        assert participant.plan is not None
        conditions, games = participant.plan.conditions, self.config.study.games
        return conditions[participant.game // games] if participant.game < len(conditions) * games else None

    def table_of(self, participant: Participant) -> StudyTable:
        """The latest table of a participant."""
        return self.tables[participant.tables[-1]]

    def _close(self, table: StudyTable, end: TableEnd) -> None:
        """End a table: its participants have completed a game."""
        table.end = end
        for number in table.people:
            participant = self.participants[number]
            participant.game += 1
            if participant.phase == "table":
                participant.phase = "result"

    def _change_pages_of(self, table: StudyTable) -> None:
        for number in table.people:
            self.participants[number].version += 1

    def _leave_mate_alone(self, participant: Participant) -> None:
        """Mark the other participant of a pair as alone."""
        if participant.mate is not None:
            other = self.participants[participant.mate]
            other.alone, other.version = True, other.version + 1

    def _go_on(self, participant: Participant) -> None:
        """To the next game, or to the questions after the last."""
        participant.phase = "ready" if self.condition_of(participant) is not None else "questions"


def open_study(folder: Path) -> Progress:
    """The state of the study in ``folder``. Raises :class:`InputError`, and ``JournalError`` if it is damaged."""
    events = read_journal(folder)
    path = folder / SETTINGS
    if not path.is_file():
        raise InputError(f"{folder} holds a study's journal without its {SETTINGS}: restore it from a copy")
    return Progress(parse_stored(path, StudyConfig)).apply_all(events)


def _triple(numbers: Sequence[int]) -> Triple:
    first, second, third = numbers
    return first, second, third
