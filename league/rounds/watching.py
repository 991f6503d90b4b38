"""Progress of a running league, for the terminal and for trackers: rounds, speed, and events."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dond_marl.scenarios.sources import ScenarioSource
from league.ledger.trackers import Trackers
from league.settings.read import Config
from league.settings.sections import Schedule
from league.standings.ladder import Standing
from league.tasks.values import MatchResult, Round, TrainResult


@dataclass
class LeagueProgress:
    """Progress of a run: rounds committed, tasks of the current round, games and seconds of this process."""

    first_round: int  # of this process
    schedule: Schedule
    started: float  # of this process, on ``time.perf_counter``
    rounds: int = 0  # committed
    matches: int = 0
    matches_in_round: int = 1
    games: int = 0  # of matches and of practice
    seconds: float = 0.0
    stage: str = ""  # of the current round
    decisions: int = 0  # own decisions of the learners in this process
    practice_games: int = 0  # games of practice, which are not in the ledger
    oracles: Collection[str] = ()  # best responses, which are not called the first of the ladder

    def advance(self, rounds: int, done: int = 0, tasks: int = 1) -> LeagueProgress:
        """Itself, with ``rounds`` committed and ``done`` of the ``tasks`` of the next, at this moment."""
        self.rounds, self.matches, self.matches_in_round = rounds, done, tasks
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
        return (
            self.seconds / played * (self.schedule.total - rounds_done) if self.rounds > self.first_round else math.inf
        )


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


class LeagueLog:
    """Figures for a run's trackers, by round from 1: each learner's practice, its figures on the ladder, and the stage.

    Rounds played again after a resume replace lost ones.
    """

    def __init__(self, config: Config, folder: Path, first_round: int) -> None:
        settings = config.portable().model_dump(mode="json")
        self._trackers = Trackers(config.logging.all_trackers, folder, first_round + 1, settings)

    def write(self, played: Round, standings: Sequence[Standing]) -> None:
        figures: dict[str, float] = {"stage": played.stage}
        for practiced in played.trained:
            name = practiced.task.learner.name
            figures |= {
                f"{name}/practice_points": practiced.points,
                f"{name}/practice_deals": practiced.deals,
                f"{name}/decisions": practiced.state.decisions,
                f"{name}/life": practiced.state.life,
            }
        for row in standings:
            if row.member in played.states:
                figures |= {
                    f"{row.member}/points": row.points.mean,
                    f"{row.member}/of_response": row.of_response.mean,
                    f"{row.member}/of_nash": row.of_nash.mean,
                    f"{row.member}/deals": row.deals,
                    f"{row.member}/self_play": row.self_play.mean,
                }
        finite = {name: value for name, value in figures.items() if not math.isnan(value)}
        self._trackers.write(finite, played.number + 1)

    def close(self) -> None:
        self._trackers.close()
