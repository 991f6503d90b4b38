"""What is shown of a league while it runs: how far it is, how fast, and what has just happened; to trackers too."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from dond_marl.scenarios.sources import ScenarioSource
from league.ledger.trackers import Trackers
from league.settings.read import Config
from league.standings.ladder import Standing
from league.tasks.values import MatchResult, Round, TrainResult


class Progress(NamedTuple):
    """How far a run is: rounds committed, matches of the round in flight, games and seconds of this process."""

    first_round: int  # where this process began
    rounds: int
    rounds_in_all: int
    matches: int
    matches_in_round: int
    games: int  # of matches and of practice
    seconds: float
    stage: str = ""  # that the round in flight practices
    decisions: int = 0  # own, made by the learners of this process
    practice_games: int = 0  # of the games, those that learners practiced in; the ledger holds the others alone
    closing: bool = False  # the last of all rounds only measures

    @property
    def counted(self) -> int:
        """The rounds that people count: without the one that only measures."""
        return self.rounds_in_all - self.closing

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
        """Time left at this process's pace so far; ``inf`` before its first round is over.

        A round begins with practice, which takes far longer than a match: part of a first round says nothing.
        """
        done = self.rounds + self.matches / self.matches_in_round
        played = done - self.first_round
        return self.seconds / played * (self.rounds_in_all - done) if self.rounds > self.first_round else math.inf


class Watcher(Protocol):
    """Who is shown the run."""

    def opened(self, config: Config, source: ScenarioSource, directory: Path, progress: Progress) -> None: ...

    # Something that the user should know, and that stops nothing.
    def warned(self, message: str) -> None: ...

    # All rounds are over, and this is being done now.
    def finishing(self, message: str) -> None: ...

    # Nothing has happened for a moment: here a stop that was asked for happens.
    def tick(self) -> None: ...

    # A match is played or a learner has practiced; neither is committed.
    def played(self, _progress: Progress, result: MatchResult) -> None: ...
    def trained(self, progress: Progress, result: TrainResult) -> None: ...

    # A round is in the ledger.
    def committed(self, progress: Progress, standings: list[Standing]) -> None: ...


@dataclass
class Pace:
    """How fast this process is."""

    first: int  # round
    last: int
    started: float
    games: int = 0
    decisions: int = 0
    stage: str = ""
    practice_games: int = 0
    closing: bool = False  # the last round only measures

    def at(self, rounds: int, done: int = 0, tasks: int = 1) -> Progress:
        """The progress with ``rounds`` committed and ``done`` of the ``tasks`` of the next."""
        seconds = time.perf_counter() - self.started
        return Progress(
            first_round=self.first,
            rounds=rounds,
            rounds_in_all=self.last,
            matches=done,
            matches_in_round=tasks,
            games=self.games,
            seconds=seconds,
            stage=self.stage,
            decisions=self.decisions,
            practice_games=self.practice_games,
            closing=self.closing,
        )


class LeagueLog:
    """What a run's trackers hear: each learner's practice, its place on the ladder, and the stage, by round from 1.

    Rounds that are played again after a resume replace those that were lost.
    """

    def __init__(self, trackers: Sequence[str], folder: Path, first_round: int) -> None:
        self._trackers = Trackers(trackers, folder, first_round + 1)

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
                    f"{row.member}/self_play": row.self_play,
                }
        known = {name: value for name, value in figures.items() if not math.isnan(value)}
        self._trackers.write(known, played.number + 1)

    def close(self) -> None:
        self._trackers.close()
