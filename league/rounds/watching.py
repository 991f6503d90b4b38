"""Who is shown a league, and what of it: how far it is, how fast, and what has just happened."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from dond_marl.scenarios.sources import ScenarioSource
from league.settings.read import Config
from league.standings.crossplay import Standing
from league.tasks.values import MatchResult, TrainResult


class Progress(NamedTuple):
    """How far a run is: rounds committed, matches of the round in flight, games and seconds of this process."""

    first_round: int  # where this process began
    rounds: int
    rounds_in_all: int
    matches: int
    matches_in_round: int
    games: int
    seconds: float
    stage: str = ""  # that the round in flight practices
    decisions: int = 0  # own, made by the learners of this process

    @property
    def games_per_second(self) -> float:
        """Games that this process has played per second, ledger and folds included."""
        return self.games / max(self.seconds, 1e-9)

    @property
    def decisions_per_second(self) -> float:
        """Own decisions of the learners per second, matches included."""
        return self.decisions / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float:
        """Time left at this process's pace so far; ``inf`` before its first match."""
        done = self.rounds + self.matches / self.matches_in_round
        played = done - self.first_round
        return self.seconds / played * (self.rounds_in_all - done) if played else math.inf


class Watcher(Protocol):
    """Who is shown the run."""

    def opened(self, config: Config, source: ScenarioSource, directory: Path, progress: Progress) -> None:
        """A run begins or goes on."""
        ...

    def warned(self, message: str) -> None:
        """Something that the user should know, and that stops nothing."""
        ...

    def told(self, message: str) -> None:
        """What is being done now that all rounds are over."""
        ...

    def tick(self) -> None:
        """Nothing has happened for a moment: here a stop that was asked for happens."""
        ...

    def played(self, _progress: Progress, result: MatchResult) -> None:
        """A match is played, not yet committed."""
        ...

    def trained(self, progress: Progress, result: TrainResult) -> None:
        """A learner has practiced, not yet committed."""
        ...

    def committed(self, progress: Progress, standings: list[Standing]) -> None:
        """A round is in the ledger."""
        ...


@dataclass
class Pace:
    """How fast this process is."""

    first: int  # round
    last: int
    started: float
    games: int = 0
    decisions: int = 0
    stage: str = ""

    def at(self, rounds: int, done: int = 0, tasks: int = 1) -> Progress:
        """The progress with ``rounds`` committed and ``done`` of the ``tasks`` of the next."""
        seconds = time.perf_counter() - self.started
        return Progress(self.first, rounds, self.last, done, tasks, self.games, seconds, self.stage, self.decisions)
