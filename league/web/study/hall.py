"""What participants can do, one method an act: each checks where they are, writes an event, and goes on from it.

Nothing here knows a browser: the pages, a rehearsal and the tests come in by the same methods. They may be called from
several threads.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from dond_marl.envs.turn import only_action, turn_for
from dond_marl.errors import InputError, error_line
from dond_marl.game import Action, Scenario, rule_against
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import Noise
from dond_marl.seats import Partner
from league.web.study.journal import NOBODY, Event, Journal
from league.web.study.progress import OVER, Participant, Progress, Table
from league.web.study.settings import PERSON, StudyConfig

Clock = Callable[[], datetime]
LONGEST_TEXT = 2000  # characters of a free answer
MOST_PARTICIPANTS = 10_000
PRESENT = 45.0  # seconds since a browser was heard of, up to which somebody is there to play with


class OutOfPlace(InputError):
    """What was asked for does not fit where the participant is, such as a button that was pressed twice."""


class Unanswered(InputError):
    """Questions that need an answer have none, or one that there is not."""


def utc() -> datetime:
    """Now."""
    return datetime.now(UTC)


def digest(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def completion_code(token: str) -> str:
    """The code of a participant: a function of what its browser alone keeps, so that it is nowhere else in clear."""
    made = hmac.new(token.encode(), b"completion code", hashlib.sha256).digest()
    text = base64.b32encode(made).decode()[:12]
    return "-".join(text[start : start + 4] for start in (0, 4, 8))


class Hall:
    """A study that goes on; ``journal`` may hold what happened before."""

    def __init__(
        self, config: StudyConfig, journal: Journal, clock: Clock = utc, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        self.config, self._journal, self._clock, self.tell = config, journal, clock, tell
        self.progress = Progress(config).all(journal.read())
        self._lock = threading.RLock()
        self._heard: dict[int, datetime] = {}  # of whom, and when last; it is no event
        self._source = config.env.open_source()
        self._rules = config.env.rules()
        self._partners: dict[str, tuple[Partner, threading.Lock]] = {}
        specs = {condition.whom for condition in config.conditions} | {config.study.stand_in}
        for spec in specs - {PERSON, None}:
            self._partners[str(spec)] = seat_occupant(str(spec), one_game=True), threading.Lock()

    def start(self) -> None:
        """Note that the study is open. The time that it was not does not count as anybody's."""
        with self._lock:
            self._write(NOBODY, "started", {})

    def find(self, token: str) -> Participant | None:
        """The participant whose browser keeps ``token``, and is there now."""
        with self._lock:
            number = self.progress.by_key.get(digest(token))
            if number is None:
                return None
            self._heard[number] = self._clock()
            return self.progress.participants[number]

    def arrive(self, token: str) -> Participant:
        with self._lock:
            number = len(self.progress.participants)
            if number >= MOST_PARTICIPANTS:
                raise OutOfPlace(f"this study takes at most {MOST_PARTICIPANTS:,} visitors")
            self._write(number, "arrived", {"key": digest(token)})
            return self.progress.participants[number]

    def agree(self, who: Participant) -> None:
        self._step(who, "consent", "agreed")

    def read(self, who: Participant) -> None:
        """The instructions were read; without questions, the check is passed."""
        with self._lock:
            self._step(who, "instructions", "read")
            if not self.config.check:
                self.check(who, ())

    def check(self, who: Participant, answers: Sequence[int]) -> bool:
        """Whether the answers, numbers of options from 1, are all right. Raises :class:`Unanswered`."""
        with self._lock:
            self._expect(who, "check")
            asked = self.config.check
            if len(answers) != len(asked) or any(
                not 1 <= answer <= len(each.options) for answer, each in zip(answers, asked, strict=False)
            ):
                raise Unanswered("please answer every question")
            passed = all(answer == each.answer for answer, each in zip(answers, asked, strict=True))
            self._write(who.number, "checked", {"answers": list(answers), "passed": passed})
            return passed

    def go_on(self, who: Participant) -> None:
        """To the next game, from the result of the last one or from the beginning."""
        with self._lock:
            if who.phase == "result":
                self._write(who.number, "saw", {})
            elif who.phase != "ready":
                raise OutOfPlace("nothing to go on from")
            if who.phase == "ready":
                self._seat(who)

    def look(self, who: Participant) -> Table | None:
        """The table that a participant sits at or has just left, noting when its turn was first shown."""
        with self._lock:
            if who.phase not in ("table", "result"):
                return None
            table = self.progress.table_of(who)
            if table.to_move == who.number and table.shown is None:
                self._write(who.number, "shown", {"table": table.number})
            return table

    def act(self, who: Participant, table: int, turn: int, action: Action, browser: float | None = None) -> None:
        """Say ``action`` at turn ``turn`` of a table, each from 0; ``browser``: seconds that the browser counted.

        Raises :class:`OutOfPlace`, also where the rules forbid it.
        """
        with self._lock:
            self._expect(who, "table")
            here = self.progress.table_of(who)
            if (here.number, len(here.said), here.to_move) != (table, turn, who.number):
                raise OutOfPlace("it is not your turn")
            rule = rule_against(here.state, action)
            if rule is not None:
                raise OutOfPlace(f"not legal: {rule}")
            self._act(here, who.number, action, 0, browser)

    def answer_for_partner(self, table: Table) -> None:
        """Have the occupant at a table say what it says, where it is its turn."""
        spec, state, turn = table.partner, table.state, len(table.said)
        if table.why is not None or table.players[state.mover] is not None:
            return
        partner, alone = self._partners[spec]
        anchor = self.progress.participants[next(who for who in table.players if who is not None)]
        game = next(game for game in table.games if game is not None)
        assert anchor.place is not None
        noise = Noise(self.config.study.seed, (anchor.place, game), 1)
        with alone:  # a second window of the same participant waits here, and then finds the turn taken
            if len(table.said) != turn:
                return
            try:
                decisions = partner.act(turn_for(partner, state, noise, prior=self._source.prior))
                action = only_action(decisions)
                rule = rule_against(state, action)
                failure = None if rule is None else f"an illegal act: {rule}"
            except Exception as error:  # noqa: BLE001  # whatever an occupant may raise
                failure = error_line(error)
            with self._lock:
                if len(table.said) != turn or table.why is not None:
                    return
                if failure is not None:
                    self.tell(f"{spec} failed in table {table.number}, which does not count: {failure}")
                    self._write(NOBODY, "closed", {"table": table.number, "why": "failed"})
                else:
                    self._act(table, NOBODY, action, int(decisions.cause[0]), None)

    def answer(self, who: Participant, answers: Mapping[str, Any], token: str) -> None:
        """Hand in the questionnaire. Raises :class:`Unanswered`."""
        with self._lock:
            self._expect(who, "questions")
            taken = {each.name: _answer(each, answers.get(each.name)) for each in self.config.questionnaire}
            self._write(who.number, "answered", {"answers": taken, "code": digest(completion_code(token))})

    def withdraw(self, who: Participant) -> None:
        """Stop taking part; a table with another person ends."""
        with self._lock:
            if who.phase in OVER:
                raise OutOfPlace("it is over already")
            if who.phase == "table":
                table = self.progress.table_of(who)
                self._write(who.number, "closed", {"table": table.number, "why": "left"})
            self._write(who.number, "withdrew", {})

    def tick(self) -> None:
        """End what has waited too long. Called again and again."""
        with self._lock:
            now, study = self._clock(), self.config.study
            for who in self.progress.participants:
                if who.phase == "waiting" and not who.alone and (other := self._there(who)) is not None:
                    self._meet(who, other)
                waited = 0.0 if who.since is None else (now - who.since).total_seconds()
                if who.phase == "waiting" and (who.alone or waited > study.waiting):
                    self._alone(who)
            for table in self.progress.tables:
                late = table.to_move if table.partner == PERSON else None
                if late is not None and (now - table.began).total_seconds() > study.turn:
                    self._write(late, "closed", {"table": table.number, "why": "late"})

    def _seat(self, who: Participant) -> None:
        condition = self.progress.condition_of(who)
        assert condition is not None
        partner = self.config.condition(condition).whom
        if partner != PERSON:
            self._open(condition, partner, who, None)
        elif who.alone and self.config.study.stand_in is not None:
            self._open(condition, self.config.study.stand_in, who, None)
        elif who.alone:
            self._alone(who)
        elif (other := self._there(who)) is not None:
            self._meet(who, other)
        else:
            self._write(who.number, "waits", {})

    def _there(self, who: Participant) -> Participant | None:
        """Who waits for this person, or for anybody, with the page open."""
        now = self._clock()
        for other in self.progress.participants:
            fits = other.number == who.mate if who.mate is not None else other.mate is None
            if other.phase == "waiting" and fits and other.number != who.number and not other.alone:
                heard = self._heard.get(other.number)
                if heard is not None and (now - heard).total_seconds() <= PRESENT:
                    return other
        return None

    def _meet(self, who: Participant, other: Participant) -> None:
        first, second = sorted((who, other), key=lambda each: each.number)
        condition = self.progress.condition_of(first)
        assert condition is not None
        self._open(condition, PERSON, first, second)

    def _alone(self, who: Participant) -> None:
        stand_in = self.config.study.stand_in
        self._write(who.number, "nobody", {"stand_in": stand_in})
        if stand_in is not None:
            self._seat(who)

    def _open(self, condition: str, partner: str, first: Participant, second: Participant | None) -> None:
        """A table; its scenario and seats are those of ``first``'s plan."""
        plan = first.plan
        assert plan is not None
        scenario: Scenario = self._source.block(self.config.study.seed, plan.start + first.game, 1).scenario(0)
        other = None if second is None else second.number
        players = [first.number, other] if plan.seat(first.game) == 0 else [other, first.number]
        told = {
            "condition": condition,
            "partner": partner,
            "players": players,
            "scenario": [scenario.counts, scenario.utilities],
        }
        self._write(NOBODY, "opened", told)

    def _act(self, table: Table, who: int, action: Action, cause: int, browser: float | None) -> None:
        told = {"table": table.number, "act": action.act_type.name, "oA": list(action.oA)}
        self._write(who, "acted", {**told, "cause": cause, "browser": browser})

    def _step(self, who: Participant, phase: str, kind: str) -> None:
        with self._lock:
            self._expect(who, phase)
            self._write(who.number, kind, {})

    def _expect(self, who: Participant, phase: str) -> None:
        if who.phase != phase:
            raise OutOfPlace(f"this was about {phase}, and you are at {who.phase}")

    def _write(self, who: int, kind: str, told: Mapping[str, Any]) -> None:
        event = Event(self._clock(), who, kind, told)
        self._journal.write(event)
        self.progress.apply(event)


def _answer(asked: Any, given: object) -> str | int:
    """The answer to a question of the questionnaire. Raises :class:`Unanswered`."""
    text = str(given or "").strip()
    if asked.kind == "text":
        return text[:LONGEST_TEXT]
    most = asked.points if asked.kind == "scale" else len(asked.options)
    if not (text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= most):
        raise Unanswered("please answer every question")
    return int(text)
