"""The state of a running or finished league, read from its ledger while the league may write to it.

A :class:`Follower` reads each committed round once and accumulates the sums, so that a refresh costs only what is new.
The connection is read-only and every statement short; SQLite's write-ahead log lets the league write meanwhile.
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
from league.tables.summaries import evaluation_summary, league_summary, practice_warning
from league.tasks.seating import SEATING
from league.tasks.values import Decision, Entrant, LearnerState, Member, Place

NEWEST = 8  # decisions stored and shown
LARGEST_EVALUATION = 16 * 2**20  # bytes


class RunViewError(InputError):
    """The folder holds no readable league."""


class Stage(NamedTuple):
    """One stage of the curriculum."""

    text: str
    rounds: int  # played so far
    now: bool


class LeagueView(NamedTuple):
    """A league at one moment; figures of pairs without games are ``nan``."""

    folder: Path
    rounds: int  # committed
    rounds_in_all: int
    counted: int  # rounds without the closing measurement
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
    headline: tuple[str, ...]  # findings, in sentences

    @property
    def is_over(self) -> bool:
        return self.rounds >= self.rounds_in_all


DAMAGED = "The rows of this run do not match their seals: they were changed after they were written, or damaged."


class Follower:
    """Reads one run round by round. Safe to use from several threads."""

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
        """Read up to ``most`` new rounds; whether there were any. Raises :class:`RunViewError`."""
        with self._lock:
            try:
                return self._refresh(most)
            except LedgerError as error:
                raise RunViewError(str(error)) from None

    def view(self) -> LeagueView | None:
        """The league as of the latest refresh, ``None`` before it has begun. Raises :class:`RunViewError`."""
        with self._lock:
            if self._config is None or self._history is None:
                return None
            try:
                return self._view(self._config, self._history)
            except LedgerError as error:
                raise RunViewError(str(error)) from None

    def rules(self) -> Rules:
        """The rules of the league's matches. Raises :class:`RunViewError`."""
        return self._settings().env.rules()

    def game(self) -> EnvConfig:
        """The game settings of the league, before any curriculum stage. Raises :class:`RunViewError`."""
        return self._settings().env

    def descriptions(self) -> list[tuple[str, str]]:
        """The name and a description of each member. Raises :class:`RunViewError` or ``LedgerError``."""
        self._settings()
        states = self._ledger.states()
        return [(member.name, describe_member(member, states.get(member.name))) for member in self._ledger.members()]

    def partner(self, name: str) -> Partner:
        """A member with its current weights. Raises :class:`RunViewError`, ``LedgerError`` or ``BlobError``."""
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
        self._damaged = False

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
        evaluated, self._evaluated = self._evaluated, _time_of_write(self.folder / FINAL_FILE)
        news = self._config is not None and evaluated != self._evaluated  # written after the last round
        committed = ledger.next_round
        if self._history is not None and committed < self._history.round:  # rolled back: read it from the start
            self._forget()
        if self._config is None or self._history is None:
            self._config, news = self._settings(), True
            self._responses = stored_responses(self._config)
            self._history = History(ledger.members(), self._config.league.decay)
        members = ledger.members()
        learners = [member.name for member in members if member.live]
        for number in range(self._history.round, min(committed, self._history.round + most)):
            self._damaged = self._damaged or not ledger.is_sound(number)
            read_round(self._history, ledger, members, self._config)
            if learners:
                self._curves += round_curves(ledger, number, learners, self._config.league.confidence)
            latest = [(number, decision) for decision in ledger.decisions(number)]
            self._decisions = [*latest, *self._decisions][:NEWEST]
            news = True
        return news

    def _view(self, config: Config, history: History) -> LeagueView:
        confidence, cross = config.league.confidence, history.cross
        standings = ladder_of(cross, confidence, self._responses)
        place = {name: at for at, name in enumerate(cross.members)}
        means = _both_seats(cross.payoffs().mean)
        order = [place[row.member] for row in standings]
        members = self._ledger.members()
        over = history.round >= config.schedule.total
        mains = [member.name for member in members if member.role == "main"]
        return LeagueView(
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
                *([DAMAGED] if self._damaged else []),
                *filter(None, [practice_warning(self._ledger.rounds_without_practice())]),
                league_summary(cross, standings, confidence, mains),
                *(_evaluation(self.folder / FINAL_FILE) if over else ()),
            ),
        )


class Leagues:
    """The runs under a folder or its subfolders, and optionally one ``selected`` run, with a follower for each."""

    def __init__(self, folder: Path, selected: Path | None) -> None:
        self._folder, self._selected = folder, selected
        self._followers: dict[Path, Follower] = {}
        self._views: dict[Path, LeagueView | None] = {}
        self._locks: dict[Path, threading.Lock] = {}
        self._lock = threading.Lock()

    def runs(self) -> list[Path]:
        """All runs, the selected one first, then by the time of the latest write."""
        inside = sorted(path for path in self._folder.iterdir() if path.is_dir()) if self._folder.is_dir() else []
        places = [place for place in (self._folder, *inside) if not place.name.isdigit()]
        runs = [run for place in places for run in run_folders(place) if (run / LEDGER).is_file()]
        runs.sort(key=lambda run: -(run / LEDGER).stat().st_mtime)
        return runs if self._selected is None else [self._selected, *(run for run in runs if run != self._selected)]

    def view(self, run: Path) -> LeagueView | None:
        """The current state of a run, ``None`` before it has begun; the same object while nothing is new.

        Slow where many rounds are new. Raises :class:`RunViewError`.
        """
        with self._lock:
            lock = self._locks.setdefault(run, threading.Lock())
        with lock:  # of this run alone, so that a large one does not block the others
            follower = self._followers.get(run)
            if follower is None:
                follower = self._followers[run] = Follower(run)
            try:
                if follower.refresh() or run not in self._views:
                    self._views[run] = follower.view()
            except RunViewError:
                self._followers.pop(run).close()
                self._views.pop(run, None)
                raise
            return self._views[run]


def _time_of_write(file: Path) -> int:
    """Time of a file's last write, in nanoseconds; 0 if it does not exist."""
    return file.stat().st_mtime_ns if file.is_file() else 0


def _evaluation(file: Path) -> tuple[str, ...]:
    """Sentences of the closing evaluation on the first main; none if it is missing or unreadable."""
    if not file.is_file() or file.stat().st_size > LARGEST_EVALUATION:
        return ()
    try:
        return evaluation_summary(json.loads(file.read_bytes()))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return ()


_parsed = lru_cache(maxsize=64)(parse)


def describe_member(member: Member, state: LearnerState | None) -> str:
    """A member in words: a snapshot and its learner, a learner and its decisions so far, or the specification."""
    if member.parent is not None:
        return f"snapshot of {member.parent} before round {member.born + 1}"
    if state is not None:
        return f"learns ({member.role.replace('_', ' ')}): {state.decisions:,} own decisions so far"
    return member.spec or ""


def _both_seats(mean: Doubles) -> Doubles:
    """Mean of the cells ``[N, 2, N]`` over the seats with games, ``[N, N]``; ``nan`` without games."""
    played = ~np.isnan(mean)
    number = played.sum(axis=1)
    total = np.where(played, mean, 0.0).sum(axis=1)
    return np.where(number > 0, total / np.maximum(number, 1), math.nan)
