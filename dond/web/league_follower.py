"""The state of a running or finished league, read from its ledger while the league may write to it.

A :class:`Follower` reads each committed round once and accumulates the sums, so that a refresh costs only what is new.
The connection is read-only and every statement short; SQLite's write-ahead log lets the league write meanwhile.
"""

from __future__ import annotations

import secrets
import shlex
import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dond.table.session import STRANGER
from dond.web.recorded import name_occupants
from dond_marl.errors import DondError, InputError
from dond_marl.occupants import NOTHING, Permission, Spec, check_needs, short_names
from dond_marl.records.record import GameRecord, records_of
from dond_marl.rollout import Noise
from dond_marl.seats import Partner
from league.figures.rows import Figures
from league.ledger.ledger import ReadLedger
from league.ledger.run_directory import BLOBS, LEDGER, in_use, run_folders
from league.play.match import SEATING, play_games
from league.play.values import Decision, Entrant, LearnerState, Member
from league.rounds.planner import describe
from league.settings.read import Config, parse
from league.standings.history import CurvePoint, History, read_round, round_curves
from league.standings.ladder import Responses, Standing, ladder_of
from league.standings.references import stored_responses
from league.tables.blocks import replace_names
from league.tables.figures import duration
from league.tables.final import FINAL_FILE, read_final
from league.tables.standings import answer_count, gains_in_words, practice_warning
from league.tables.verdict import verdict_of
from partners.scripted.generated import Generated, nickname

MOST_READ = 100  # new rounds at once
NEWEST = 8  # decisions stored and shown
LARGEST_EVALUATION = 16 * 2**20  # bytes
DAMAGED = "The rows of this run do not match their seals: they were changed after they were written, or damaged."


class RunViewError(InputError):
    """The folder holds no league that has begun, or the league has no such member."""


class Stage(NamedTuple):
    """One stage of the curriculum."""

    text: str
    rounds: int  # played so far
    is_current: bool


class LeagueView(NamedTuple):
    """A league at one moment; figures of pairs without games are ``nan``."""

    folder: Path
    config: Config
    rounds: int  # committed
    games: int
    seconds: float  # of all committed rounds
    standings: tuple[Standing, ...]  # the ladder
    cells: tuple[tuple[float, ...], ...]  # points of ten of the row against the column, in the ladder's order
    curves: tuple[CurvePoint, ...]
    members: tuple[Member, ...]
    states: dict[str, LearnerState]
    stages: tuple[Stage, ...]
    decisions: tuple[tuple[int, Decision], ...]  # by round, the newest first, at most NEWEST
    headline: tuple[str, ...]  # findings, in sentences
    evaluation: Figures | None  # the closing one
    is_running: bool

    @property
    def is_over(self) -> bool:
        return self.rounds >= self.config.total_rounds

    @property
    def resume_command(self) -> str:
        return f"dond league --resume {shlex.quote(str(self.folder))}"

    @property
    def time_left(self) -> str:
        """The estimate for the remaining rounds, at the mean pace of all rounds; empty without one."""
        remaining = self.config.total_rounds - self.rounds
        known = self.is_running and self.rounds and remaining > 0
        return f"about {duration(self.seconds / self.rounds * remaining)}" if known else ""

    @property
    def gains(self) -> list[str]:
        """Gains of best responses from the learners, in sentences."""
        return gains_in_words(self.curves)

    @property
    def answers(self) -> dict[str, str]:
        """Own decisions of all decisions, by member; without members that made every decision themselves."""
        costly = {member.name for member in self.members if member.maybe_costly(NOTHING)}
        counts = {row.member: answer_count(row, costly) for row in self.standings}
        return {name: text for name, text in counts.items() if text is not None}

    @property
    def labels(self) -> dict[str, str]:
        """The members' names on the page, by name: short for those with a path, a nickname for a generated program."""
        names = [member.name for member in self.members]
        called = {name: words for name in names if (words := nickname(name))}
        times = Counter(called.values())
        unique = {name: words for name, words in called.items() if times[words] == 1}
        return {**dict(zip(names, names, strict=True)), **short_names(names), **unique}

    def labelled(self, names: Sequence[str]) -> list[str]:
        """The labels of ``names``."""
        labels = self.labels
        return [labels[name] for name in names]

    def describe(self, member: Member) -> str:
        """A member in words."""
        return describe_member(member, self.states.get(member.name))


@dataclass
class _RoundsRead:
    """The part of a ledger that a follower has read."""

    config: Config
    history: History
    responses: Responses
    curves: list[CurvePoint] = field(default_factory=list)
    decisions: list[tuple[int, Decision]] = field(default_factory=list)
    damaged: bool = False

    def read_next(self, ledger: ReadLedger, members: Sequence[Member]) -> None:
        """Read the next committed round."""
        number = self.history.round
        self.damaged = self.damaged or not ledger.is_sound(number)
        read_round(self.history, ledger, members, self.config)
        self.curves += round_curves(ledger, number, members, self.config.league.confidence)
        latest = [(number, decision) for decision in ledger.decisions(number)]
        self.decisions = [*latest, *self.decisions][:NEWEST]


class Follower:
    """Reads one run round by round. Safe to use from several threads.

    ``allow``: what its members may use when one is seated.
    Its methods raise :class:`RunViewError`, :class:`~league.ledger.ledger.LedgerError` and
    :class:`~league.settings.read.ConfigError`, all of them a :class:`~dond_marl.errors.DondError`.
    """

    def __init__(self, folder: Path, allow: Permission = NOTHING) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._ledger = ReadLedger(folder / LEDGER, allow)
        self._read: _RoundsRead | None = None
        self._evaluated = 0  # time of the last write of the closing evaluation, in nanoseconds; 0: there is none
        self._running = True
        self._latest: LeagueView | None = None

    def __enter__(self) -> Follower:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._ledger.close()

    def view(self) -> LeagueView | None:
        """The league now, ``None`` before it has begun; the same object while nothing is new.

        Slow where many rounds are new; of more than ``MOST_READ`` the rest is read by the next calls.
        """
        with self._lock:
            if self._read_new_rounds() or self._latest is None:
                self._latest = None if self._read is None else self._view(self._read)
            return self._latest

    def _read_new_rounds(self) -> bool:
        """Read up to ``MOST_READ`` new rounds; whether there is anything new."""
        ledger = self._ledger
        if not ledger.has_begun:
            return False
        final, committed = self.folder / FINAL_FILE, ledger.next_round
        evaluated = final.stat().st_mtime_ns if final.is_file() else 0
        running = in_use(self.folder)
        news = (evaluated, running) != (self._evaluated, self._running)
        self._evaluated, self._running = evaluated, running
        members = ledger.members()
        if self._read is None or committed < self._read.history.round:  # rolled back: read it from the start
            config = self.config()
            history, damaged = History(members, config.league.decay), not ledger.is_sound(-1)
            self._read, news = _RoundsRead(config, history, stored_responses(config), damaged=damaged), True
        for _ in range(self._read.history.round, min(committed, self._read.history.round + MOST_READ)):
            self._read.read_next(ledger, members)
            news = True
        return news

    def config(self) -> Config:
        """The settings of the league."""
        if not self._ledger.has_begun:
            raise RunViewError(f"{self.folder}: the league has not begun")
        config: Config = _parsed(self._ledger.settings(), f"settings in {self._ledger.path}", allow=NOTHING)
        return config

    def descriptions(self) -> list[tuple[str, str, Spec | None]]:
        """The name, a description and the spec of each member."""
        self.config()
        states = self._ledger.states()
        members = self._ledger.members()
        return [(member.name, describe_member(member, states.get(member.name)), member.spec) for member in members]

    def partner(self, name: str) -> Partner:
        """A member with its current weights. Raises ``BlobError`` and ``UntrustedError`` too."""
        self.config()
        member = next((member for member in self._ledger.members() if member.name == name), None)
        if member is None:
            raise RunViewError(f"{self.folder} has no member {name!r}")
        state = self._ledger.states().get(name)
        blob = member.blob if state is None else state.blob
        if member.spec is not None:
            check_needs([member.spec], self._ledger.allow, str(self.folder))
        return SEATING.partner(Entrant(member, blob), self.folder / BLOBS)

    def _view(self, read: _RoundsRead) -> LeagueView:
        config, history, ledger = read.config, read.history, self._ledger
        confidence, cross = config.league.confidence, history.cross
        standings = ladder_of(cross, confidence, read.responses)
        index_of = {name: i for i, name in enumerate(cross.members)}
        order = [index_of[row.member] for row in standings]
        means = np.ma.masked_invalid(cross.payoffs().mean).mean(axis=1).filled(np.nan)  # over the seats with games
        members = ledger.members()
        over = history.round >= config.total_rounds
        mains = [member.name for member in members if member.role == "main"]
        played = history.stages[: config.league.rounds]
        current = (history.stages or [0])[-1]
        stages = [
            Stage(describe(config, stage), played.count(i), not over and i == current)
            for i, stage in enumerate(config.curriculum)
        ]
        short, seconds = short_names(cross.members), ledger.clock()[0]
        evaluation, cost = _evaluation(self.folder / FINAL_FILE) if over else None, duration(seconds)
        verdict = verdict_of(read.curves, mains, cross, standings, evaluation, confidence, cost)
        return LeagueView(
            folder=self.folder,
            config=config,
            rounds=history.round,
            games=cross.total_games,
            seconds=seconds,
            standings=tuple(standings),
            cells=tuple(map(tuple, means[np.ix_(order, order)].tolist())),
            curves=tuple(read.curves),
            members=members,
            states=ledger.states(history.round - 1),
            stages=tuple(stages),
            decisions=tuple(read.decisions),
            headline=(
                *([DAMAGED] if read.damaged else []),
                *filter(None, [practice_warning(ledger.rounds_without_practice())]),
                replace_names(verdict.sentence, short),
            ),
            evaluation=evaluation,
            is_running=self._running,
        )


class Leagues:
    """The runs under a folder or its subfolders, and optionally one ``selected`` run, with a follower for each."""

    def __init__(self, folder: Path, selected: Path | None) -> None:
        self._folder, self._selected = folder, selected
        self._followers: dict[Path, Follower] = {}
        self._locks: defaultdict[Path, threading.Lock] = defaultdict(threading.Lock)

    def runs(self) -> list[Path]:
        """All runs, the selected one first, then by the time of the latest write."""
        inside = sorted(path for path in self._folder.iterdir() if path.is_dir()) if self._folder.is_dir() else []
        places = [folder for folder in (self._folder, *inside) if not folder.name.isdigit()]
        runs = [run for folder in places for run in run_folders(folder) if (run / LEDGER).is_file()]
        runs.sort(key=lambda run: -(run / LEDGER).stat().st_mtime)
        return runs if self._selected is None else [self._selected, *(run for run in runs if run != self._selected)]

    def view(self, run: Path) -> LeagueView | None:
        """The current state of a run, ``None`` before it has begun; the same object while nothing is new.

        Slow where many rounds are new. Raises as a :class:`Follower` does.
        """
        with self._locks[run]:  # of this run alone, so that a large one does not block the others
            if run not in self._followers:
                self._followers[run] = Follower(run)
            try:
                return self._followers[run].view()
            except DondError:
                self._followers.pop(run).close()
                raise


def _evaluation(file: Path) -> Figures | None:
    """The closing evaluation; ``None`` if it is missing or unreadable."""
    if not file.is_file() or file.stat().st_size > LARGEST_EVALUATION:
        return None
    try:
        return read_final(file.read_text(encoding="utf-8"))
    except ValueError:
        return None


_parsed = lru_cache(maxsize=64)(parse)


def describe_member(member: Member, state: LearnerState | None) -> str:
    """A member in words: its description, a learner and its decisions, or the spec."""
    if state is not None and member.live:
        return f"learns ({member.role.replace('_', ' ')}): {state.decisions:,} decisions so far"
    return member.description or member.spec or ""


def play_members(run: Path, names: tuple[str, str], seed: int | None = None, allow: Permission = NOTHING) -> GameRecord:
    """One game of two members with their current weights, the first opening, on the league's rules and scenarios.

    ``allow``: what they may use.
    Either may be :data:`~dond.table.session.STRANGER`, a generated program; the record names it.
    Raises one of :data:`dond.web.occupants.CHOICE_ERRORS`.
    """
    seed = secrets.randbits(31) if seed is None else seed
    with Follower(run, allow) as follower:
        game = follower.config().env
        first, second = (Generated() if name == STRANGER else follower.partner(name) for name in names)
    source = game.open_source()
    games = play_games((first, second), source.block(seed, 0, 1), game, seed, (0,))
    first_name, second_name = (Generated().name if name == STRANGER else name for name in names)
    records = records_of(games, (first_name, second_name), source=source.label, seed=seed)
    return name_occupants(records, Noise(seed, (0,), 1))[0]
