"""A league as it stands, read from its ledger without disturbing who writes it: the pages' one way into a run.

A :class:`Follower` reads each committed round once and keeps the sums, so that looking again costs what is new. The
connection is read-only and every statement short; SQLite's write-ahead log lets the league write meanwhile.
"""

from __future__ import annotations

import json
import math
import threading
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dond_marl.errors import InputError
from dond_marl.game import Rules
from dond_marl.seats import Doubles, Partner
from league.evaluation.as_json import FINAL_FILE
from league.ledger.ledger import LedgerError, ReadLedger
from league.ledger.run_directory import BLOBS, LEDGER, run_folders
from league.rounds.curriculum import describe
from league.settings.read import Config, ConfigError, parse
from league.settings.sections import EnvConfig
from league.standings.history import YARDSTICK, CurvePoint, History, read_round, round_curves
from league.standings.ladder import Responses, Standing, ladder_of
from league.standings.references import stored_responses
from league.tables.summaries import evaluation_summary, league_summary
from league.tasks.seating import SEATING
from league.tasks.values import Decision, Entrant, LearnerState, Member, Place

NEWEST = 8  # decisions kept and shown
LARGEST_EVALUATION = 16 * 2**20  # bytes


class RunViewError(InputError):
    """A run that cannot be shown."""


class Stage(NamedTuple):
    """One stage of the curriculum."""

    text: str
    rounds: int  # played so far
    now: bool


class Picture(NamedTuple):
    """A league at one moment; figures of members that have not met are ``nan``."""

    folder: Path
    rounds: int  # committed
    rounds_in_all: int
    counted: int  # of all rounds, those that people count: without the closing measurement
    games: int
    seconds: float  # of all committed rounds
    confidence: float
    standings: tuple[Standing, ...]  # the ladder
    cells: tuple[tuple[float, ...], ...]  # points of ten of the row against the column, in the ladder's order
    curves: tuple[CurvePoint, ...]
    yardstick: str
    members: tuple[Member, ...]
    states: dict[str, LearnerState]
    stages: tuple[Stage, ...]
    decisions: tuple[tuple[int, Decision], ...]  # by round, the newest first, at most NEWEST
    headline: tuple[str, ...]  # what the league found, in sentences

    @property
    def over(self) -> bool:
        return self.rounds >= self.rounds_in_all


class Follower:
    """Follows one run. It may be used from several threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        try:
            self._ledger = ReadLedger(folder / LEDGER)
        except LedgerError as error:
            raise RunViewError(str(error)) from None
        self._forget()

    def __enter__(self) -> Follower:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._ledger.close()

    def refresh(self, most: int = 100) -> bool:
        """Read up to ``most`` new rounds; whether anything is new. Raises :class:`RunViewError`."""
        with self._lock:
            try:
                return self._refresh(most)
            except LedgerError as error:
                raise RunViewError(str(error)) from None

    def picture(self) -> Picture | None:
        """The league as it was read last, ``None`` before it has begun. Raises :class:`RunViewError`."""
        with self._lock:
            if self._config is None or self._history is None:
                return None
            try:
                return self._picture(self._config, self._history)
            except LedgerError as error:
                raise RunViewError(str(error)) from None

    def rules(self) -> Rules:
        """What the league's matches are played by. Raises :class:`RunViewError`."""
        return self._settings().env.rules()

    def game(self) -> EnvConfig:
        """The game that the league plays, before any stage. Raises :class:`RunViewError`."""
        return self._settings().env

    def described(self) -> list[tuple[str, str]]:
        """Everybody who takes part, with a sentence. Raises :class:`RunViewError` or ``LedgerError``."""
        self._settings()
        states = self._ledger.states()
        return [(member.name, sentence(member, states.get(member.name))) for member in self._ledger.members()]

    def seat(self, name: str) -> Partner:
        """A member with the weights that it has now.

        Raises :class:`RunViewError`, ``LedgerError`` or what making it raises, such as ``BlobError``.
        """
        self._settings()
        member = next((member for member in self._ledger.members() if member.name == name), None)
        if member is None:
            raise RunViewError(f"{self.folder} has no member {name!r}")
        state = self._ledger.states().get(name)
        blob = member.blob if state is None else state.blob
        return SEATING.partner(Entrant(member, blob), Place(self.folder / BLOBS))

    def _forget(self) -> None:
        self._config: Config | None = None
        self._history: History | None = None
        self._responses: Responses = {}
        self._curves: list[CurvePoint] = []
        self._decisions: list[tuple[int, Decision]] = []
        self._evaluated = 0

    def _settings(self) -> Config:
        try:
            if not self._ledger.has_begun:
                raise RunViewError(f"{self.folder}: the league has not begun")
            text = self._ledger.settings()
            if not text:
                raise RunViewError(f"{self.folder}: the ledger holds no settings")
            config: Config = _parsed(text, f"settings in {self.folder / LEDGER}")
            return config
        except (LedgerError, ConfigError) as error:
            raise RunViewError(str(error)) from None

    def _refresh(self, most: int) -> bool:
        ledger, news = self._ledger, False
        if not ledger.has_begun:
            return False
        evaluated, self._evaluated = self._evaluated, _written(self.folder / FINAL_FILE)
        news = self._config is not None and evaluated != self._evaluated  # it comes after the last round
        committed = ledger.next_round
        if self._history is not None and committed < self._history.round:  # rolled back: it is another story now
            self._forget()
        if self._config is None or self._history is None:
            self._config, news = self._settings(), True
            self._responses = stored_responses(self._config)
            self._history = History(ledger.members(), self._config.league.decay)
        members = ledger.members()
        learners = [member.name for member in members if member.live]
        for number in range(self._history.round, min(committed, self._history.round + most)):
            read_round(self._history, ledger, members, self._config)
            if learners:
                self._curves += round_curves(ledger, number, learners, self._config.league.confidence)
            latest = [(number, decision) for decision in ledger.decisions(number)]
            self._decisions = [*latest, *self._decisions][:NEWEST]
            news = True
        return news

    def _picture(self, config: Config, history: History) -> Picture:
        confidence, cross = config.league.confidence, history.cross
        standings = ladder_of(cross, confidence, self._responses)
        place = {name: at for at, name in enumerate(cross.members)}
        means = _both_seats(cross.payoffs().mean)
        order = [place[row.member] for row in standings]
        members = self._ledger.members()
        over = history.round >= config.schedule.total
        mains = [member.name for member in members if member.role == "main"]
        return Picture(
            self.folder,
            history.round,
            config.schedule.total,
            config.league.rounds,
            cross.total_games,
            self._ledger.clock()[0],
            confidence,
            tuple(standings),
            tuple(tuple(means[i, j] for j in order) for i in order),
            tuple(self._curves),
            YARDSTICK,
            members,
            self._ledger.states(history.round - 1),
            tuple(
                Stage(
                    describe(config, stage),
                    history.stages[: config.league.rounds].count(at),
                    not over and at == (history.stages or [0])[-1],
                )
                for at, stage in enumerate(config.curriculum)
            ),
            tuple(self._decisions),
            (
                league_summary(cross, standings, confidence, mains),
                *(_evaluation(self.folder / FINAL_FILE) if over else ()),
            ),
        )


class Leagues:
    """The runs under a folder, or under folders in it, and one named run, with a follower for each."""

    def __init__(self, folder: Path, named: Path | None) -> None:
        self._folder, self._named = folder, named
        self._followers: dict[Path, Follower] = {}
        self._pictures: dict[Path, Picture | None] = {}
        self._locks: dict[Path, threading.Lock] = {}
        self._lock = threading.Lock()

    def known(self) -> list[Path]:
        """Every run that can be shown, the named one first, then those that were written last."""
        inside = sorted(path for path in self._folder.iterdir() if path.is_dir()) if self._folder.is_dir() else []
        places = [place for place in (self._folder, *inside) if not place.name.isdigit()]
        runs = [run for place in places for run in run_folders(place) if (run / LEDGER).is_file()]
        runs.sort(key=lambda run: -(run / LEDGER).stat().st_mtime)
        return runs if self._named is None else [self._named, *(run for run in runs if run != self._named)]

    def look(self, run: Path) -> Picture | None:
        """The run as it stands now, ``None`` before it has begun. Slow where much is new; raises RunViewError.

        The same object comes back while nothing is new.
        """
        with self._lock:
            lock = self._locks.setdefault(run, threading.Lock())
        with lock:  # of this run alone: a large one keeps nobody from looking at another
            follower = self._followers.get(run)
            if follower is None:
                follower = self._followers[run] = Follower(run)
            try:
                if follower.refresh() or run not in self._pictures:
                    self._pictures[run] = follower.picture()
            except RunViewError:
                self._followers.pop(run).close()
                self._pictures.pop(run, None)
                raise
            return self._pictures[run]


def _written(file: Path) -> int:
    """When a file was written, in nanoseconds; 0 where there is none."""
    return file.stat().st_mtime_ns if file.is_file() else 0


def _evaluation(file: Path) -> tuple[str, ...]:
    """What the closing evaluation says of the first main, nothing where it was not made or cannot be read."""
    if not file.is_file() or file.stat().st_size > LARGEST_EVALUATION:
        return ()
    try:
        return evaluation_summary(json.loads(file.read_bytes()))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return ()


_parsed = lru_cache(maxsize=64)(parse)


def sentence(member: Member, state: LearnerState | None) -> str:
    """Who a member is, in words."""
    if member.parent is not None:
        return f"what {member.parent} was before round {member.born + 1}"
    if state is not None:
        return f"learns ({member.role.replace('_', ' ')}): {state.decisions:,} own decisions so far"
    return member.spec or ""


def _both_seats(mean: Doubles) -> Doubles:
    """Cell means ``[N, 2, N]`` over the seats that were played, ``[N, N]``."""
    played = ~np.isnan(mean)
    number = played.sum(axis=1)
    total = np.where(played, mean, 0.0).sum(axis=1)
    return np.where(number > 0, total / np.maximum(number, 1), math.nan)
