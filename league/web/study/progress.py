"""Who is where in a study, and what every table holds: a fold over the events of :mod:`.journal`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from dond_marl.game import Act, Action, Scenario, State, Triple, apply
from league.web.study.assignment import Assignment, assignment
from league.web.study.journal import Event
from league.web.study.settings import PERSON, StudyConfig

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
OVER: tuple[Phase, ...] = ("excluded", "done", "withdrawn")
Why = Literal["finished", "late", "left", "failed"]  # how a table ended; but for the first, its game does not count


class Said(NamedTuple):
    """One act at a table."""

    at: datetime
    action: Action
    cause: int  # a dond_marl.seats.Cause: why it was played; 0 for people
    since_shown: float | None  # seconds since the page first showed the turn, by the server's clock; None: a partner's
    by_browser: float | None  # the same by the browser's own clock, where it told


@dataclass
class Table:
    """One game. ``players`` and ``games``, each player's own from 0, are by seat, and ``None`` for an occupant."""

    number: int
    condition: str
    partner: str  # a spec, or person
    players: tuple[int | None, int | None]
    games: tuple[int | None, int | None]
    state: State
    began: datetime  # the turn
    said: list[Said] = field(default_factory=list)
    shown: datetime | None = None  # when the page first showed this turn to whoever is to move
    why: Why | None = None  # None while it goes on
    blame: int | None = None  # who was late or left

    def seat_of(self, participant: int) -> int:
        return self.players.index(participant)

    @property
    def to_move(self) -> int | None:
        """The participant whose turn it is; ``None`` for an occupant's turn and where it is over."""
        return None if self.why is not None else self.players[self.state.mover]


@dataclass
class Participant:
    """Somebody who came."""

    number: int
    key: str  # SHA-256 of what the browser keeps
    came: datetime
    phase: Phase = "consent"
    attempts: int = 0  # failed ones of the check
    place: int | None = None  # among those who passed it
    plan: Assignment | None = None
    game: int = 0  # games that are behind
    tables: list[int] = field(default_factory=list)
    since: datetime | None = None  # waits for another person
    mate: int | None = None  # the other person of its condition with people
    alone: bool = False  # nobody came, or the other has gone: the rest is with the stand-in, or not at all
    answers: Mapping[str, Any] = field(default_factory=dict)
    version: int = 0  # grows with whatever changes what it sees


@dataclass
class Progress:
    """The whole study so far."""

    config: StudyConfig
    participants: list[Participant] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    by_key: dict[str, int] = field(default_factory=dict)
    passed: int = 0
    codes: list[str] = field(default_factory=list)  # SHA-256 of the completion codes that were given

    def all(self, events: Iterable[Event]) -> Progress:
        for event in events:
            self.apply(event)
        return self

    def apply(self, event: Event) -> None:
        """Take in one event, which is one of the methods below by its kind."""
        getattr(self, f"_{event.kind}")(event, event.told)
        if event.who >= 0:
            self.participants[event.who].version += 1

    def condition_of(self, participant: Participant) -> str | None:
        """The condition of a participant's next game; ``None`` where there is none left."""
        assert participant.plan is not None
        conditions, games = participant.plan.conditions, self.config.study.games
        return conditions[participant.game // games] if participant.game < len(conditions) * games else None

    def table_of(self, participant: Participant) -> Table:
        """The one that a participant sits at, or has just left."""
        return self.tables[participant.tables[-1]]

    def _started(self, event: Event, _: Mapping[str, Any]) -> None:
        """The study was opened, or taken up again: the time in between is nobody's."""
        for participant in self.participants:
            participant.since = None if participant.since is None else event.at
        for table in self.tables:
            table.began, table.shown = event.at, None

    def _arrived(self, event: Event, told: Mapping[str, Any]) -> None:
        self.by_key[told["key"]] = event.who
        self.participants.append(Participant(event.who, told["key"], event.at))

    def _agreed(self, event: Event, _: Mapping[str, Any]) -> None:
        self.participants[event.who].phase = "instructions"

    def _read(self, event: Event, _: Mapping[str, Any]) -> None:
        self.participants[event.who].phase = "check"

    def _checked(self, event: Event, told: Mapping[str, Any]) -> None:
        participant = self.participants[event.who]
        if told["passed"]:
            participant.place, participant.plan = self.passed, assignment(self.config, self.passed)
            participant.phase = "ready"
            self.passed += 1
            return
        participant.attempts += 1
        if participant.attempts >= self.config.study.attempts:
            participant.phase = "excluded"

    def _waits(self, event: Event, _: Mapping[str, Any]) -> None:
        participant = self.participants[event.who]
        participant.phase, participant.since = "waiting", event.at

    def _opened(self, event: Event, told: Mapping[str, Any]) -> None:
        counts, utilities = told["scenario"]
        scenario = Scenario(_triple(counts), (_triple(utilities[0]), _triple(utilities[1])))
        state = State(scenario, self.config.env.rules())
        first, second = told["players"]
        games = tuple(None if who is None else self.participants[who].game for who in (first, second))
        number = len(self.tables)
        self.tables.append(
            Table(number, told["condition"], told["partner"], (first, second), (games[0], games[1]), state, event.at)
        )
        for who, other in ((first, second), (second, first)):
            if who is not None:
                participant = self.participants[who]
                participant.phase, participant.since, participant.mate = "table", None, other
                participant.tables.append(number)
                participant.version += 1

    def _shown(self, event: Event, told: Mapping[str, Any]) -> None:
        self.tables[told["table"]].shown = event.at
        self.participants[event.who].version -= 1  # nothing has changed

    def _acted(self, event: Event, told: Mapping[str, Any]) -> None:
        table = self.tables[told["table"]]
        action = Action(Act[told["act"]], _triple(told["oA"]))
        shown = None if table.shown is None or event.who < 0 else (event.at - table.shown).total_seconds()
        table.said.append(Said(event.at, action, told["cause"], shown, told["browser"]))
        table.state, table.began, table.shown = apply(table.state, action), event.at, None
        if table.state.over:
            self._close(table, "finished")
        self._tell(table)

    def _closed(self, event: Event, told: Mapping[str, Any]) -> None:
        table = self.tables[told["table"]]
        table.blame = event.who if event.who >= 0 else None
        self._close(table, told["why"])
        self._tell(table)
        if table.partner == PERSON:
            for who in table.players:
                assert who is not None
                self.participants[who].alone = True

    def _close(self, table: Table, why: Why) -> None:
        table.why = why
        for who in table.players:
            if who is not None:
                participant = self.participants[who]
                participant.game += 1
                if participant.phase == "table":
                    participant.phase = "result"

    def _tell(self, table: Table) -> None:
        for who in table.players:
            if who is not None:
                self.participants[who].version += 1

    def _nobody(self, event: Event, told: Mapping[str, Any]) -> None:
        """The rest of a condition with people is played otherwise, or left out."""
        participant = self.participants[event.who]
        participant.alone, participant.since = True, None
        self._leave_alone(participant)
        if not told["stand_in"]:
            games = self.config.study.games
            participant.game = (participant.game // games + 1) * games
        self._go_on(participant)

    def _saw(self, event: Event, _: Mapping[str, Any]) -> None:
        self._go_on(self.participants[event.who])

    def _go_on(self, participant: Participant) -> None:
        participant.phase = "ready" if self.condition_of(participant) is not None else "questions"

    def _answered(self, event: Event, told: Mapping[str, Any]) -> None:
        participant = self.participants[event.who]
        participant.answers, participant.phase = told["answers"], "done"
        self.codes.append(told["code"])

    def _withdrew(self, event: Event, _: Mapping[str, Any]) -> None:
        self.participants[event.who].phase = "withdrawn"
        self._leave_alone(self.participants[event.who])

    def _leave_alone(self, participant: Participant) -> None:
        """Whoever plays with a participant who has gone hears of it."""
        if participant.mate is not None:
            other = self.participants[participant.mate]
            other.alone, other.version = True, other.version + 1


def _triple(numbers: Sequence[int]) -> Triple:
    first, second, third = numbers
    return first, second, third
