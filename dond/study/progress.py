"""The state of a study (participants, their assignment, and tables), computed from the events of its journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dond.study.journal import JournalError, StudyEvent, damage_reported, read_journal
from dond.study.settings import PERSON, StudyConfig
from dond_marl.errors import InputError
from dond_marl.game import Act, Action, Scenario, State, Triple, apply
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
    block, place = divmod(number, len(cells))
    order = _order(config.study.seed, block, len(cells))
    mine = cells[order[place]]
    if config.study.design == "within":
        return Assignment(mine, number * config.games_each, block % 2)
    # Count earlier participants of this condition: all of them get the same sequence of tables.
    same = Counter(cells)[mine]
    before = block * same + sum(cells[cell] == mine for cell in order[:place])
    return Assignment(mine, before * config.games_each, before % 2)


def _cells(config: StudyConfig) -> tuple[tuple[str, ...], ...]:
    """The places of a block, each with its conditions in order."""
    names = tuple(condition.name for condition in config.conditions)
    if config.study.design == "within":
        return tuple(tuple(names[place] for place in row) for row in williams(len(names)))
    return tuple((each.name,) for each in config.conditions for _ in range(1 + each.with_a_person))


def williams(size: int) -> tuple[tuple[int, ...], ...]:
    """Orders of ``size`` conditions, balanced in place and predecessor: ``size`` rows, twice as many if odd."""
    zigzag = [place // 2 if place % 2 == 0 else size - 1 - place // 2 for place in range(size)]
    rows = [tuple((each + shift) % size for each in zigzag) for shift in range(size)]
    if size % 2 == 0 or size == 1:
        return tuple(rows)
    return (*rows, *(tuple(reversed(row)) for row in rows))


@lru_cache(maxsize=256)
def _order(seed: int, block: int, size: int) -> tuple[int, ...]:
    return tuple(generator(seed, "study assignment", block).permutation(size).tolist())


class StudyAct(NamedTuple):
    """One act at a table."""

    at: datetime
    action: Action
    cause: int  # a dond_marl.seats.Cause; 0 for people
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
    state: State
    began: datetime  # of the current turn
    acts: list[StudyAct] = field(default_factory=list)
    shown: datetime | None = None  # time at which the page first showed this turn to the participant to move
    end: TableEnd | None = None  # None while it is played
    blame: int | None = None  # participant who was late or left

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

    @damage_reported()
    def apply_all(self, events: Iterable[StudyEvent]) -> Progress:
        """Apply events in order; returns this object."""
        for event in events:
            self.apply(event)
        return self

    def apply(self, event: StudyEvent) -> None:
        """Update the state by one event. Raises :class:`~.journal.JournalError` for an unknown kind."""
        if event.kind not in HANDLERS:
            raise JournalError(f"the journal holds an event of the unknown kind {event.kind!r}")
        HANDLERS[event.kind](self, event)
        if event.participant >= 0 and event.kind != "shown":  # a shown turn changes no page
            self.participants[event.participant].version += 1

    def condition_of(self, participant: Participant) -> str | None:
        """The condition of a participant's next game; ``None`` after the last."""
        assert participant.plan is not None
        conditions, games = participant.plan.conditions, self.config.study.games
        return conditions[participant.game // games] if participant.game < len(conditions) * games else None

    def table_of(self, participant: Participant) -> StudyTable:
        """The latest table of a participant."""
        return self.tables[participant.tables[-1]]

    def close(self, table: StudyTable, end: TableEnd) -> None:
        """End a table: its participants have completed a game."""
        table.end = end
        for number in table.people:
            participant = self.participants[number]
            participant.game += 1
            if participant.phase == "table":
                participant.phase = "result"

    def change_pages_of(self, table: StudyTable) -> None:
        for number in table.people:
            self.participants[number].version += 1

    def leave_mate_alone(self, participant: Participant) -> None:
        """Mark the other participant of a pair as alone."""
        if participant.mate is not None:
            other = self.participants[participant.mate]
            other.alone, other.version = True, other.version + 1

    def go_on(self, participant: Participant) -> None:
        """To the next game, or to the questions after the last."""
        participant.phase = "ready" if self.condition_of(participant) is not None else "questions"


def open_study(folder: Path) -> Progress:
    """The state of the study in ``folder``. Raises :class:`InputError`, and ``JournalError`` if it is damaged."""
    events = read_journal(folder)
    path = folder / SETTINGS
    if not path.is_file():
        raise InputError(f"{folder} holds a study's journal without its {SETTINGS}: restore it from a copy")
    return Progress(parse_stored(path, StudyConfig)).apply_all(events)


# Handlers of the kinds of events. Each updates the state; the comment names the data of the event.


def _on_started(study: Progress, event: StudyEvent) -> None:
    """The server started: the time before counts for no waiting participant and no turn."""
    for participant in study.participants:
        participant.since = None if participant.since is None else event.at
    for table in study.tables:
        table.began, table.shown = event.at, None


def _on_arrived(study: Progress, event: StudyEvent) -> None:  # key
    study.by_key[event.data["key"]] = event.participant
    study.participants.append(Participant(event.participant, event.data["key"], event.at))


def _on_agreed(study: Progress, event: StudyEvent) -> None:
    study.participants[event.participant].phase = "instructions"


def _on_read(study: Progress, event: StudyEvent) -> None:
    study.participants[event.participant].phase = "check"


def _on_checked(study: Progress, event: StudyEvent) -> None:  # answers, passed
    participant = study.participants[event.participant]
    if event.data["passed"]:
        participant.place, participant.plan = study.passed, assignment(study.config, study.passed)
        participant.phase = "ready"
        study.passed += 1
        return
    participant.attempts += 1
    if participant.attempts >= study.config.study.attempts:
        participant.phase = "excluded"


def _on_waits(study: Progress, event: StudyEvent) -> None:
    participant = study.participants[event.participant]
    participant.phase, participant.since = "waiting", event.at


def _on_opened(study: Progress, event: StudyEvent) -> None:  # condition, partner, players, scenario
    counts, utilities = event.data["scenario"]
    scenario = Scenario(_triple(counts), (_triple(utilities[0]), _triple(utilities[1])))
    first, second = event.data["players"]
    games = [None if number is None else study.participants[number].game for number in (first, second)]
    table = StudyTable(
        len(study.tables),
        event.data["condition"],
        event.data["partner"],
        (first, second),
        (games[0], games[1]),
        State(scenario, study.config.env.rules()),
        event.at,
    )
    study.tables.append(table)
    for number, other in ((first, second), (second, first)):
        if number is not None:
            participant = study.participants[number]
            participant.phase, participant.since, participant.mate = "table", None, other
            participant.tables.append(table.number)
    study.change_pages_of(table)


def _on_shown(study: Progress, event: StudyEvent) -> None:  # table
    study.tables[event.data["table"]].shown = event.at


def _on_acted(study: Progress, event: StudyEvent) -> None:  # table, act, oA, cause, browser
    table = study.tables[event.data["table"]]
    action = Action(Act[event.data["act"]], _triple(event.data["oA"]))
    shown = None if table.shown is None or event.participant < 0 else (event.at - table.shown).total_seconds()
    table.acts.append(StudyAct(event.at, action, event.data["cause"], shown, event.data["browser"]))
    table.state, table.began, table.shown = apply(table.state, action), event.at, None
    if table.state.is_over:
        study.close(table, "finished")
    study.change_pages_of(table)


def _on_closed(study: Progress, event: StudyEvent) -> None:  # table, why
    table = study.tables[event.data["table"]]
    table.blame = event.participant if event.participant >= 0 else None
    study.close(table, event.data["why"])
    study.change_pages_of(table)
    if table.partner == PERSON:
        for number in table.people:
            study.participants[number].alone = True


def _on_no_partner(study: Progress, event: StudyEvent) -> None:  # stand_in
    """The rest of a condition with people is played with the stand-in, or skipped."""
    participant = study.participants[event.participant]
    participant.alone, participant.since = True, None
    study.leave_mate_alone(participant)
    if not event.data["stand_in"]:
        games = study.config.study.games
        participant.game = (participant.game // games + 1) * games
    study.go_on(participant)


def _on_continued(study: Progress, event: StudyEvent) -> None:
    study.go_on(study.participants[event.participant])


def _on_answered(study: Progress, event: StudyEvent) -> None:  # answers, code
    participant = study.participants[event.participant]
    participant.answers, participant.phase = event.data["answers"], "done"
    study.codes.append(event.data["code"])


def _on_withdrew(study: Progress, event: StudyEvent) -> None:
    participant = study.participants[event.participant]
    participant.phase = "withdrawn"
    study.leave_mate_alone(participant)


HANDLERS: dict[str, Callable[[Progress, StudyEvent], None]] = {
    handler.__name__.removeprefix("_on_"): handler
    for handler in (
        *(_on_started, _on_arrived, _on_agreed, _on_read, _on_checked, _on_waits, _on_opened, _on_shown, _on_acted),
        *(_on_closed, _on_no_partner, _on_continued, _on_answered, _on_withdrew),
    )
}


def _triple(numbers: Sequence[int]) -> Triple:
    first, second, third = numbers
    return first, second, third
