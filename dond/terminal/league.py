"""Live view of a league on a terminal: a bar and the ladder, redrawn in place."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bars
from rich.text import Text

from dond.terminal.tables import ConsoleOutput
from league.play.values import MatchResult, TrainResult
from league.results.progress import PlainWatcher, status_parts
from league.rounds.watching import LeagueProgress
from league.standings.ladder import Standing
from league.tables.plain import table_lines
from league.tables.standings import ladder_table, short_ladder

LINES_AROUND = 8  # of the live view, besides the ladder's rows


class LiveWatcher(PlainWatcher):
    """A bar and the ladder, redrawn in place; warnings scroll by above. Use it as a context."""

    _warnings_only = True

    def __init__(self, console: Console) -> None:
        super().__init__(ConsoleOutput(console))
        self._console = console
        self._bars = Bars(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=console)
        self._rounds, self._matches = self._bars.add_task("rounds"), self._bars.add_task("matches")
        self._ladder, self._practiced = "", dict[str, list[float]]()
        self._analysis, self._status = "", ""
        self._live = Live(console=console, transient=True, refresh_per_second=8)

    def __enter__(self) -> LiveWatcher:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def on_analysis(self, message: str) -> None:
        self._analysis = message
        self.on_step("")

    def on_step(self, message: str) -> None:
        self.tick()
        self._status = " · ".join(filter(None, ("closing", self._analysis, message)))
        self._show()

    def on_match(self, _progress: LeagueProgress, result: MatchResult) -> None:
        super().on_match(_progress, result)
        self._draw(_progress)

    def on_practice(self, _progress: LeagueProgress, result: TrainResult) -> None:
        super().on_practice(_progress, result)
        if result.content is not None:
            self._practiced.setdefault(result.task.learner.name, []).append(result.points)
        self._draw(_progress)

    def on_commit(self, progress: LeagueProgress, standings: list[Standing]) -> None:
        rows = max(self._console.height - LINES_AROUND - len(self._practiced), 3)
        lines = table_lines(short_ladder(ladder_table(standings[:rows]), rows), self._console.width)
        self._ladder = "\n".join(line.text for line in lines)
        self._draw(progress)

    def _draw(self, progress: LeagueProgress) -> None:
        completed = min(progress.rounds, progress.practice)
        self._bars.update(self._rounds, completed=completed, total=progress.practice)
        self._bars.update(self._matches, completed=progress.matches, total=progress.matches_in_round)
        self._status = " · ".join(status_parts(progress))
        self._show()

    def _show(self) -> None:
        curves = [
            Text(f"{name}, points of ten in practice, newest rounds: {curve(points)} {points[-1]:.2f}")
            for name, points in self._practiced.items()
        ]
        shown: list[RenderableType] = [self._bars, Text(self._status), *curves]
        self._live.update(Group(*shown, Text(self._ladder)) if self._ladder else Group(*shown))


def curve(values: Sequence[float], width: int = 20) -> str:
    """The latest values, 0..10 points of ten, as a line of block characters."""
    blocks = "▁▂▃▄▅▆▇█"
    return "".join(blocks[min(int(max(value, 0.0) / 10 * len(blocks)), 7)] for value in values[-width:])
