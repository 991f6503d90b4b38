"""A running study: the steps that participants can take, each checked, written to the journal and applied.

Nothing here knows HTTP or HTML: pages and tests call the same methods, from several threads.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from dond.study.journal import STUDY, Journal, StudyEvent
from dond.study.progress import FINAL_PHASES, Participant, Progress, StudyTable
from dond.study.settings import PERSON, QuestionConfig, StudyConfig
from dond_marl.errors import InputError
from dond_marl.game import Action, Scenario, rule_against
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import Noise, OccupantError
from dond_marl.seats import Partner

Clock = Callable[[], datetime]
MAX_TEXT = 2000  # characters of a free answer
MAX_PARTICIPANTS = 10_000
PRESENT = 45.0  # seconds since a browser's last request, up to which its participant can be paired


class OutOfPlace(InputError):
    """A step that does not fit the participant's phase, such as a button that was pressed twice."""


class NotAccepted(InputError):
    """A form that cannot be taken: a required answer is missing or none of the options, or an act is not legal."""


def utc() -> datetime:
    """The current time."""
    return datetime.now(UTC)


def digest(secret: str) -> str:
    """SHA-256 of a secret, which is stored in its place."""
    return hashlib.sha256(secret.encode()).hexdigest()


def completion_code(token: str) -> str:
    """The completion code of a participant, derived from the browser's token: ``XXXX-XXXX-XXXX`` in base 32."""
    mac = hmac.new(token.encode(), b"completion code", hashlib.sha256).digest()
    text = base64.b32encode(mac).decode()[:12]
    return "-".join(text[start : start + 4] for start in (0, 4, 8))


class RunningStudy:
    """A study over a journal, which may hold events of earlier runs. ``report`` receives messages for the terminal."""

    def __init__(
        self, config: StudyConfig, journal: Journal, clock: Clock = utc, report: Callable[[str], None] = lambda _: None
    ) -> None:
        self.config, self._journal, self._clock, self.report = config, journal, clock, report
        self.progress = Progress(config).apply_all(journal.read())
        self._lock = threading.RLock()
        self._last_request: dict[int, datetime] = {}  # by participant; not an event
        self._source = config.env.open_source()
        self._rules = config.env.rules()
        self._partners: dict[str, tuple[Partner, threading.Lock]] = {}
        for spec in {condition.partner for condition in config.conditions} | {config.study.stand_in}:
            if spec is not None:
                self._partners[spec] = seat_occupant(spec, one_game=True), threading.Lock()

    def start(self) -> None:
        """Record that the study is open; time before it counts for no turn and no wait."""
        with self._lock:
            self._write(STUDY, "started", {})

    def find(self, token: str) -> Participant | None:
        """The participant of a browser's token; records in memory that the browser is present."""
        with self._lock:
            number = self.progress.by_key.get(digest(token))
            if number is None:
                return None
            self._last_request[number] = self._clock()
            return self.progress.participants[number]

    def arrive(self, token: str) -> Participant:
        """A new participant. Raises :class:`OutOfPlace` after ``MAX_PARTICIPANTS``."""
        with self._lock:
            number = len(self.progress.participants)
            if number >= MAX_PARTICIPANTS:
                raise OutOfPlace(f"this study takes at most {MAX_PARTICIPANTS:,} visitors")
            self._write(number, "arrived", {"key": digest(token)})
            return self.progress.participants[number]

    def agree(self, participant: Participant) -> None:
        """Give consent."""
        self._step(participant, "consent", "agreed")

    def finish_instructions(self, participant: Participant) -> None:
        """Go on to the check; without questions it is passed at once."""
        with self._lock:
            self._step(participant, "instructions", "read")
            if not self.config.check:
                self.check(participant, ())

    def check(self, participant: Participant, answers: Sequence[int]) -> bool:
        """Whether all answers, option numbers from 1, are right. Raises :class:`NotAccepted`."""
        with self._lock:
            self._expect(participant, "check")
            questions = self.config.check
            if len(answers) != len(questions) or not all(
                1 <= answer <= len(question.options) for answer, question in zip(answers, questions, strict=True)
            ):
                raise NotAccepted("please answer every question")
            passed = list(answers) == [question.answer for question in questions]
            self._write(participant.number, "checked", {"answers": list(answers), "passed": passed})
            return passed

    def go_on(self, participant: Participant) -> None:
        """Leave the result of the last game, if any, and take a seat at the next table."""
        with self._lock:
            if participant.phase == "result":
                self._write(participant.number, "continued", {})
            elif participant.phase != "ready":
                raise OutOfPlace("nothing to go on from")
            if participant.phase == "ready":
                self._seat(participant)

    def look(self, participant: Participant) -> StudyTable | None:
        """The participant's current or last table; records when its turn was first shown."""
        with self._lock:
            if participant.phase not in ("table", "result"):
                return None
            table = self.progress.table_of(participant)
            if table.to_move == participant.number and table.shown is None:
                self._write(participant.number, "shown", {"table": table.number})
            return table

    def act(
        self, participant: Participant, table: int, turn: int, action: Action, browser: float | None = None
    ) -> None:
        """Play ``action`` at turn ``turn`` of a table, both from 0; ``browser``: seconds by the browser's clock.

        Raises :class:`OutOfPlace`, and :class:`NotAccepted` for an illegal action.
        """
        with self._lock:
            self._expect(participant, "table")
            current = self.progress.table_of(participant)
            if (current.number, len(current.acts), current.to_move) != (table, turn, participant.number):
                raise OutOfPlace("it is not your turn")
            rule = rule_against(current.state, action)
            if rule is not None:
                raise NotAccepted(f"not legal: {rule}")
            self._act(current, participant.number, action, 0, browser)

    def answer_for_partner(self, table: StudyTable) -> None:
        """Play the act of the table's occupant, if it is to move. A failing occupant closes the table."""
        game = table.game
        if table.end is not None or table.players[game.state.mover] is not None:
            return
        partner, one_at_a_time = self._partners[table.partner]
        first = self.progress.participants[table.people[0]]
        number = next(number for number in table.games if number is not None)
        assert first.place is not None
        noise = Noise(self.config.study.seed, (first.place, number), 1)
        with one_at_a_time:  # a second window of the participant waits here and then finds the turn played
            if table.game is not game:
                return
            played, failure = None, ""
            try:
                played = game.answer(partner, noise, self._source.prior)
            except OccupantError as error:
                failure = str(error)
            with self._lock:
                if table.game is not game or table.end is not None:
                    return
                if played is not None:
                    self._act(table, STUDY, played.state.history[-1], played.causes[-1], None)
                else:
                    self.report(f"{table.partner}: table {table.number} does not count: {failure}")
                    self._write(STUDY, "closed", {"table": table.number, "why": "failed"})

    def answer(self, participant: Participant, answers: Mapping[str, Any], token: str) -> None:
        """Hand in the questionnaire. Raises :class:`NotAccepted`."""
        with self._lock:
            self._expect(participant, "questions")
            rows = self.config.questionnaire
            accepted = {question.name: _parse_answer(question, answers.get(question.name)) for question in rows}
            self._write(participant.number, "answered", {"answers": accepted, "code": digest(completion_code(token))})

    def withdraw(self, participant: Participant) -> None:
        """Stop taking part; the current table ends."""
        with self._lock:
            if participant.phase in FINAL_PHASES:
                raise OutOfPlace("it is over already")
            if participant.phase == "table":
                table = self.progress.table_of(participant)
                self._write(participant.number, "closed", {"table": table.number, "why": "left"})
            self._write(participant.number, "withdrew", {})

    def tick(self) -> None:
        """Pair waiting participants and end waits and turns that took too long. To be called every second."""
        with self._lock:
            moment, study = self._clock(), self.config.study
            for participant in self.progress.participants:
                if participant.phase != "waiting":
                    continue
                assert participant.since is not None
                if not participant.alone and (other := self._mate_for(participant)) is not None:
                    self._pair(participant, other)
                elif participant.alone or (moment - participant.since).total_seconds() > study.waiting:
                    self._give_up_waiting(participant)
            for table in self.progress.tables:
                mover = table.to_move if table.partner == PERSON else None
                if mover is not None and (moment - table.began).total_seconds() > study.turn:
                    self._write(mover, "closed", {"table": table.number, "why": "late"})

    def _seat(self, participant: Participant) -> None:
        condition = self.progress.condition_of(participant)
        assert condition is not None
        opponent, stand_in = self.config.condition(condition).opponent, self.config.study.stand_in
        if opponent != PERSON:
            self._open(condition, opponent, participant, None)
        elif participant.alone and stand_in is not None:
            self._open(condition, stand_in, participant, None)
        elif participant.alone:
            self._give_up_waiting(participant)
        elif (other := self._mate_for(participant)) is not None:
            self._pair(participant, other)
        else:
            self._write(participant.number, "waits", {})

    def _mate_for(self, participant: Participant) -> Participant | None:
        """A waiting participant who can be paired with this one and whose browser is present."""
        moment = self._clock()
        for other in self.progress.participants:
            fits = other.number == participant.mate if participant.mate is not None else other.mate is None
            if other.phase == "waiting" and fits and other.number != participant.number and not other.alone:
                last = self._last_request.get(other.number)
                if last is not None and (moment - last).total_seconds() <= PRESENT:
                    return other
        return None

    def _pair(self, participant: Participant, other: Participant) -> None:
        first, second = sorted((participant, other), key=lambda person: person.number)
        condition = self.progress.condition_of(first)
        assert condition is not None
        self._open(condition, PERSON, first, second)

    def _give_up_waiting(self, participant: Participant) -> None:
        stand_in = self.config.study.stand_in
        self._write(participant.number, "no_partner", {"stand_in": stand_in})
        if stand_in is not None:
            self._seat(participant)

    def _open(self, condition: str, partner: str, first: Participant, second: Participant | None) -> None:
        """Open a table with the scenario and the seats of ``first``'s plan."""
        plan = first.plan
        assert plan is not None
        scenario: Scenario = self._source.block(self.config.study.seed, plan.start + first.game, 1).scenario(0)
        other = None if second is None else second.number
        players = [first.number, other] if plan.seat(first.game) == 0 else [other, first.number]
        data = {
            "condition": condition,
            "partner": partner,
            "players": players,
            "scenario": [scenario.counts, scenario.utilities],
        }
        self._write(STUDY, "opened", data)

    def _act(self, table: StudyTable, participant: int, action: Action, cause: int, browser: float | None) -> None:
        act = {"table": table.number, "act": action.act_type.name, "oA": list(action.oA)}
        self._write(participant, "acted", {**act, "cause": cause, "browser": browser})

    def _step(self, participant: Participant, phase: str, kind: str) -> None:
        with self._lock:
            self._expect(participant, phase)
            self._write(participant.number, kind, {})

    def _expect(self, participant: Participant, phase: str) -> None:
        if participant.phase != phase:
            raise OutOfPlace(f"this was about {phase}, and you are at {participant.phase}")

    def _write(self, participant: int, kind: str, data: Mapping[str, Any]) -> None:
        """Write an event to disk, then apply it: nothing unwritten is ever shown."""
        event = StudyEvent(self._clock(), participant, kind, data)
        self._journal.write(event)
        self.progress.apply(event)


def _parse_answer(question: QuestionConfig, typed: object) -> str | int:
    """The answer to a question: a text, or the number of a level or option. Raises :class:`NotAccepted`."""
    text = str(typed or "").strip()
    if question.kind == "text":
        return text[:MAX_TEXT]
    most = question.points if question.kind == "scale" else len(question.options)
    if not (text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= most):
        raise NotAccepted("please answer every question")
    return int(text)
