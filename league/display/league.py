"""What a person sees of a league: a live view on a terminal, plain lines elsewhere, and the tables at the end."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from dond_marl.scenarios.sources import ScenarioSource
from dond_marl.yardsticks.metrics import Estimate
from league.display.findings import print_findings
from league.rounds.runner import Outcome
from league.rounds.watching import Progress
from league.settings.read import Config
from league.standings.crossplay import CrossPlay, Standing
from league.standings.curves import YARDSTICK, CurvePoint
from league.tasks.values import MatchResult, TrainResult
from partners.learning.rewards import OWN

WIDE = 160  # columns; used where there is no terminal to ask
LONGEST_LABEL = 24  # characters of a member's name that a table shows
LINES_AROUND = 7  # of the live view, besides the ladder's rows


def console_for_people() -> Console:
    """Standard output, wide enough for the tables where it is no terminal."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=WIDE)


class PlainWatcher:
    """A line per round."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.stop_asked = False
        self.rounds_are_over = False  # nothing is in flight that a stop could not end at any moment

    def opened(self, config: Config, source: ScenarioSource, directory: Path, progress: Progress) -> None:
        """Say what begins or goes on."""
        self._say(opening(config, source, directory, progress))

    def warned(self, message: str) -> None:
        """Pass a warning on."""
        self._say(f"warning: {message}", "yellow")

    def told(self, message: str) -> None:
        """Say it."""
        self.rounds_are_over = True
        self.tick()
        self._say(f"  {message}")

    def tick(self) -> None:
        """A stop that was asked for happens."""
        if self.stop_asked:
            raise KeyboardInterrupt

    def played(self, _progress: Progress, result: MatchResult) -> None:
        """Say only what went wrong."""
        self.tick()
        if result.failed is not None:
            names = " and ".join(member.name for member in result.task.members)
            self._say(f"warning: the match of {names} failed by the fault of {result.failed}: {result.cause}", "yellow")

    def trained(self, _progress: Progress, result: TrainResult) -> None:
        """How a learner did, whoever it met."""
        name, state = result.task.learner.name, result.state
        if result.failed is not None:
            self._say(f"warning: the practice of {name} failed: {result.cause}", "yellow")
        else:
            self._say(f"  {name}: {state.decisions:,} decisions, {result.points:.2f} points of ten in practice")

    def committed(self, progress: Progress, standings: list[Standing]) -> None:
        """One line."""
        self._say(f"{status(progress)} · first: {standings[0].member} {figure(standings[0].points)}")

    def _say(self, line: str, style: str = "") -> None:
        self._console.print(Text(line, style=style), soft_wrap=True)


class LiveWatcher(PlainWatcher):
    """A bar and the ladder, redrawn in place; warnings scroll by above. Use it as a context."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._bars = Bars(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=console)
        self._rounds, self._matches = self._bars.add_task("rounds"), self._bars.add_task("matches")
        self._ladder, self._practiced = Table(), dict[str, list[float]]()
        self._live = Live(console=console, transient=True, refresh_per_second=8)

    def __enter__(self) -> LiveWatcher:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def played(self, _progress: Progress, result: MatchResult) -> None:
        """Move the bars."""
        super().played(_progress, result)
        self._draw(_progress)

    def trained(self, _progress: Progress, result: TrainResult) -> None:
        """Move the bars, and the learner's curve."""
        if result.failed is not None:
            super().trained(_progress, result)
        else:
            self._practiced.setdefault(result.task.learner.name, []).append(result.points)
        self._draw(_progress)

    def committed(self, progress: Progress, standings: list[Standing]) -> None:
        """Redraw the ladder."""
        rows = max(self._console.height - LINES_AROUND - len(self._practiced), 3)
        self._ladder = ladder_table(standings[:rows], self._console.width)
        self._draw(progress)

    def _draw(self, progress: Progress) -> None:
        self._bars.update(self._rounds, completed=progress.rounds, total=progress.rounds_in_all)
        self._bars.update(self._matches, completed=progress.matches, total=progress.matches_in_round)
        curves = [Text(f"{name}: {curve(points)} {points[-1]:.2f}") for name, points in self._practiced.items()]
        parts: list[RenderableType] = [self._bars, Text(status(progress)), *curves]
        self._live.update(Group(*parts, self._ladder) if self._ladder.columns else Group(*parts))


def opening(config: Config, source: ScenarioSource, directory: Path, progress: Progress) -> str:
    """What is about to be played, in one line."""
    verb = f"going on after round {progress.rounds}" if progress.rounds else "starting"
    held = "drawn without end" if source.table is None else f"{source.table.size:,} scenarios"
    return (
        f"{verb}: {len(config.members)} members, {config.league.rounds} rounds of {config.league.block_size:,} "
        f"scenarios from {source.label} ({held}), seed {config.league.seed}; run folder {directory}"
    )


def status(progress: Progress) -> str:
    """Round, stage, how fast, and time left, in one line."""
    stage = f" ({progress.stage})" if progress.stage else ""
    learning = f" · {progress.decisions_per_second:,.0f} decisions/s" if progress.decisions else ""
    return (
        f"round {progress.rounds}/{progress.rounds_in_all}{stage} · {progress.games:,} games · "
        f"{progress.games_per_second:,.0f} games/s{learning} · {duration(progress.seconds_left)} left"
    )


def curve(values: Sequence[float], width: int = 40) -> str:
    """The latest values as a line of blocks, from 0 to 10 points of ten."""
    blocks = "▁▂▃▄▅▆▇█"
    return "".join(blocks[min(int(max(value, 0.0) / 10 * len(blocks)), 7)] for value in values[-width:])


def duration(seconds: float) -> str:
    """Seconds or minutes, ``?`` where nobody knows yet."""
    return "?" if math.isinf(seconds) else f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def figure(estimate: Estimate) -> str:
    """A mean with half its interval."""
    if math.isnan(estimate.mean):
        return "-"
    return f"{estimate.mean:.2f}" if math.isnan(estimate.margin) else f"{estimate.mean:.2f} ±{estimate.margin:.2f}"


def ladder_table(standings: list[Standing], width: int) -> Table:
    """The ladder, best own points first; a narrow screen is spared whole columns, the least important first."""
    figures = {heading: [tell(row) for row in standings] for heading, tell in FIGURES.items()}
    if not any(row.fallbacks or row.failed for row in standings):
        del figures["fallbacks"], figures["failed"]
    label = _label_width(row.member for row in standings)
    room = width - len(str(len(standings))) - label - 2
    for headings in SPARED:
        needed = sum(max(map(len, (name, *cells))) + 2 for name, cells in figures.items())
        if needed > room:
            figures = {heading: cells for heading, cells in figures.items() if heading not in headings}
    table = Table(box=None, pad_edge=False)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("member", overflow="ellipsis", no_wrap=True, min_width=label)
    for heading in figures:
        table.add_column(heading, justify="right", no_wrap=True)
    for rank, row in enumerate(standings, start=1):
        table.add_row(str(rank), Text(row.member), *(cells[rank - 1] for cells in figures.values()))
    return table


def crossplay_tables(cross: CrossPlay, standings: list[Standing], confidence: float, width: int) -> Iterator[Table]:
    """What each row's member scores against each column's, columns numbered by rank; several tables if one is wide."""
    names = [row.member for row in standings]
    label = _label_width(names)
    digits = 2 if width >= label + 5 + 6 * len(names) else 1
    per_table = max((width - label - 5) // (digits + 4), 1)
    for first in range(0, len(names), per_table):
        columns = names[first : first + per_table]
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
        table.add_column("#", justify="right", no_wrap=True)
        table.add_column("member", overflow="ellipsis", no_wrap=True, width=label)
        for rank in range(first + 1, first + 1 + len(columns)):
            table.add_column(str(rank), justify="right", no_wrap=True)
        for rank, name in enumerate(names, start=1):
            means = [cross.cell(name, column, confidence).mean for column in columns]
            cells = ["-" if math.isnan(mean) else f"{mean:.{digits}f}" for mean in means]
            table.add_row(str(rank), Text(name), *cells)
        yield table


def _label_width(names: Iterable[str]) -> int:
    return min(max(len("member"), *map(len, names)), LONGEST_LABEL)


def curve_lines(curves: Sequence[CurvePoint]) -> Iterator[str]:
    """Each learner's score against the yardstick, at most a dozen rounds of it, evenly spread."""
    for name in dict.fromkeys(point.member for point in curves):
        own = [point for point in curves if point.member == name]
        spread = sorted({round(k * (len(own) - 1) / 11) for k in range(12)})
        yield f"{name}: " + " · ".join(f"{own[k].decisions:,} {figure(own[k].points)}" for k in spread)


def print_results(console: Console, outcome: Outcome, directory: Path) -> None:
    """The tables, what their figures mean, and where they lie."""
    confidence, cross = outcome.config.league.confidence, outcome.cross
    standings = cross.ladder(confidence, outcome.responses)
    console.print("\nladder")
    console.print(ladder_table(standings, console.width))
    for learner in outcome.config.learners:
        if learner.reward != OWN:
            console.print(Text(f"{learner.name} was paid {learner.reward}, its snapshots too; points are own points"))
    console.print("\ncross-play: points of ten of the row against the column", soft_wrap=True)
    for table in crossplay_tables(cross, standings, confidence, console.width):
        console.print(table)
    if outcome.curves:
        console.print(f"\nlearning: points of ten against {YARDSTICK}, after so many own decisions", soft_wrap=True)
        for line in curve_lines(outcome.curves):
            console.print(Text(line), soft_wrap=True)
    if outcome.findings is not None:
        print_findings(console, outcome.findings)
    if outcome.final is not None:
        from league.display.final import print_final

        print_final(console, outcome.final)
    for row in standings:
        if row.impossible:
            console.print(Text(f"{row.member}: joint scores above what there is to share: a bug, please report it"))
    widest = max((row.points.n for row in standings), default=0)
    tables = ["ladder.csv", "crossplay.csv", *(["learning.csv"] if outcome.curves else [])]
    others = "all other members" if len(standings) > 1 else "itself, its only opponent,"
    console.print(
        Text(
            f"\npoints of ten: own score as tenths of what the whole pool is worth to the seat; no deal is 0. Mean "
            f"over {others} in both seats, n = {widest:,} games a member; ± is the {confidence:.0%} interval over "
            f"scenarios. of response: own points as a share of the exact best response's, against the members to whom "
            f"it is known ({len(outcome.responses)} of {len(cross.members)}). of Nash: as a share of the points at the "
            f"Nash points of the same scenarios. left: what its partners got. agreed: own points where a deal closed.\n"
            f"{cross.total_games:,} games in {directory}: {', '.join(tables)}, ledger.sqlite"
        )
    )


FIGURES: dict[str, Callable[[Standing], str]] = {
    "points of ten": lambda row: figure(row.points),
    "of response": lambda row: "-" if math.isnan(row.of_response.mean) else f"{row.of_response.mean:.0%}",
    "of Nash": lambda row: f"{row.of_nash.mean:.0%}",
    "as seat_0": lambda row: f"{row.as_seat[0].mean:.2f}",
    "as seat_1": lambda row: f"{row.as_seat[1].mean:.2f}",
    "agreed": lambda row: f"{row.agreed:.2f}",
    "left": lambda row: f"{row.left:.2f}",
    "deals": lambda row: f"{row.deals:.1%}",
    "turns": lambda row: f"{row.turns:.1f}",
    "self-play": lambda row: f"{row.self_play:.2f}",
    "fallbacks": lambda row: str(row.fallbacks),
    "failed": lambda row: str(row.failed),
}
SPARED = (
    ("turns",),
    ("self-play",),
    ("as seat_0", "as seat_1"),
    ("of Nash",),
    ("left",),
    ("agreed",),
    ("deals",),
    ("of response",),
    ("fallbacks", "failed"),
)
