"""Progress of a league as plain lines; :mod:`dond.terminal` has the live views of a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from dond_marl.errors import printable_text
from dond_marl.scenarios.sources import ScenarioSource
from league.play.values import MatchResult, TrainResult
from league.rounds.watching import LeagueProgress
from league.settings.read import Config
from league.standings.ladder import Standing
from league.tables.figures import count_noun, duration, with_margin
from league.tables.plain import PROSE, fill, join_parts


class Output(Protocol):
    """Receiver of progress lines."""

    @property
    def width(self) -> int:
        """Columns of a line of text."""
        ...

    def line(self, text: str, style: str = "") -> None:
        """Print one or more lines, in a style where there are styles."""
        ...


class ErrorOutput:
    """Lines on standard error: nothing is redrawn, which a notebook would show as it is."""

    width = PROSE

    def line(self, text: str, _style: str = "") -> None:
        """Print one or more lines."""
        sys.stderr.write(f"{printable_text(text)}\n")


class PlainWatcher:
    """A line per round of a league."""

    _warnings_only = False  # of practice

    def __init__(self, output: Output) -> None:
        self._output = output
        self.stop_requested: Callable[[], bool] = lambda: False

    def on_open(self, config: Config, source: ScenarioSource, directory: Path, progress: LeagueProgress) -> None:
        self._output.line(fill(opening(config, source, progress), self._output.width))
        self._output.line(f"run folder {directory}")

    def warn(self, message: str) -> None:
        self._output.line(f"warning: {message}", "yellow")

    def on_analysis(self, message: str) -> None:
        self.tick()
        self._output.line(f"  {message}")

    def on_step(self, _message: str) -> None:
        self.tick()

    def tick(self) -> None:
        if self.stop_requested():
            raise KeyboardInterrupt

    def on_match(self, _progress: LeagueProgress, result: MatchResult) -> None:
        self.tick()
        if result.failed is not None:
            names = " and ".join(member.name for member in result.task.members)
            self.warn(f"the match of {names} failed by the fault of {result.failed}: {result.cause}")

    def on_practice(self, _progress: LeagueProgress, result: TrainResult) -> None:
        name, state = result.task.learner.name, result.state
        if result.content is None:
            self.warn(f"the practice of {name} failed: {result.cause}")
            return
        if result.failed is not None:
            self.warn(f"the practice of {name} continues without {result.cause}")
        if not self._warnings_only:
            self._output.line(f"  {name}: {state.decisions:,} decisions, {result.points:.2f} points of ten in practice")

    def on_commit(self, progress: LeagueProgress, standings: list[Standing]) -> None:
        first = f"first: {standings[0].member} {with_margin(standings[0].points)}"
        self._output.line(join_parts([*status_parts(progress), first], self._output.width))


class QuietWatcher(PlainWatcher):
    """Prints warnings of a league only."""

    _warnings_only = True

    def on_open(self, *_: object) -> None: ...

    def on_analysis(self, *_: object) -> None:
        self.tick()

    def on_commit(self, *_: object) -> None: ...


def opening(config: Config, source: ScenarioSource, progress: LeagueProgress) -> str:
    """The league about to be played, in one line."""
    after = config.league.round_name(progress.rounds - 1)
    verb = f"going on after {after}" if progress.rounds else "starting"
    held = "drawn without end" if source.table is None else f"{source.table.size:,} scenarios"
    return (
        f"{verb}: {count_noun(len(config.members), 'member')} and {count_noun(len(config.learners), 'learner')}, "
        f"{config.length}; {config.league.block_size:,} scenarios a round from "
        f"{source.label} ({held}), seed {config.league.seed}"
    )


def status_parts(progress: LeagueProgress) -> list[str]:
    """Round, time left, speed and games of a league, what matters most first."""
    number = progress.rounds + (progress.matches > 0)  # the round in flight, or the last finished one
    position = f"round {number}/{progress.practice}" if number <= progress.practice else "closing measurement"
    stage = f" ({progress.stage})" if progress.stage else ""
    over = progress.rounds == progress.total
    remaining = "evaluation" if over else f"{duration(progress.seconds_left)} left"
    learning = [f"{progress.decisions_per_second:,.0f} decisions/s"] if progress.decisions else []
    practice = f" and {progress.practice_games:,} of practice" if progress.practice_games else ""
    games = f"{progress.games - progress.practice_games:,} games of matches{practice}"
    return [f"{position}{stage}", remaining, f"{progress.games_per_second:,.0f} games/s", *learning, games]
