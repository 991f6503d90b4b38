"""Progress of a running league, for the terminal and for trackers: rounds, speed, and events."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dond_marl.scenarios.sources import ScenarioSource
from league.play.values import MatchResult, TrainResult
from league.settings.read import Config
from league.standings.ladder import Standing


@dataclass
class LeagueProgress:
    """Progress of a run: rounds committed, tasks of the current round, games and seconds of this process."""

    first_round: int  # of this process
    practice: int  # rounds with practice
    total: int  # with the closing measurement
    started: float  # of this process, on ``time.perf_counter``
    rounds: int = 0  # committed
    matches: int = 0
    matches_in_round: int = 1
    games: int = 0  # of matches and of practice
    seconds: float = 0.0
    stage: str = ""  # of the current round
    decisions: int = 0  # own decisions of the learners in this process
    practice_games: int = 0  # games of practice, which are not in the ledger

    def advance(self, rounds: int, finished: int = 0, tasks: int = 1) -> LeagueProgress:
        """Itself, with ``rounds`` committed and ``finished`` of the ``tasks`` of the next, at this moment."""
        self.rounds, self.matches, self.matches_in_round = rounds, finished, tasks
        self.seconds = time.perf_counter() - self.started
        return self

    @property
    def games_per_second(self) -> float:
        """Games per second of this process, including ledger and statistics."""
        return self.games / max(self.seconds, 1e-9)

    @property
    def decisions_per_second(self) -> float:
        """Own decisions of the learners per second, matches included."""
        return self.decisions / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float:
        """Remaining time at this process's mean pace; ``inf`` before the end of its first round.

        A round begins with practice, which takes far longer than a match, so part of a round gives no estimate.
        """
        rounds_done = self.rounds + self.matches / self.matches_in_round
        played = rounds_done - self.first_round
        return self.seconds / played * (self.total - rounds_done) if self.rounds > self.first_round else math.inf


class Watcher(Protocol):
    """Receiver of a run's events, such as the terminal."""

    def on_open(self, config: Config, source: ScenarioSource, directory: Path, progress: LeagueProgress) -> None: ...

    # A warning for the user; the run continues.
    def warn(self, message: str) -> None: ...

    # All rounds are over; ``message`` names the current analysis.
    def on_analysis(self, message: str) -> None: ...

    # A step of that analysis.
    def on_step(self, message: str) -> None: ...

    # Called when idle: a requested stop takes effect here.
    def tick(self) -> None: ...

    # A match or a practice is finished, but not committed yet.
    def on_match(self, _progress: LeagueProgress, result: MatchResult) -> None: ...
    def on_practice(self, progress: LeagueProgress, result: TrainResult) -> None: ...

    # A round is committed to the ledger.
    def on_commit(self, progress: LeagueProgress, standings: list[Standing]) -> None: ...
