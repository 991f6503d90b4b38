"""Terminal output of a league: a live view or plain lines, the tables at the end, and the reasons of a round."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bars
from rich.table import Table as Grid
from rich.text import Text

from dond.terminal.tables import line, on_screen, parts, print_in_short, print_section, prose
from dond_marl.occupants import short_names
from dond_marl.scenarios.sources import ScenarioSource
from league.ledger.ledger import Ledger, ReadLedger
from league.ledger.run_directory import LEDGER, RunNotFound, find_run
from league.rounds.curriculum import describe
from league.rounds.planner import members_of
from league.rounds.runner import LeagueOutcome
from league.rounds.watching import LeagueProgress
from league.settings.read import Config
from league.standings.ladder import Standing, ladder_of
from league.tables.blocks import Section, Table, TableRow, count_cell, number_cell, replace_names, with_short_names
from league.tables.figures import count_noun, with_margin
from league.tables.standings import (
    crossplay,
    ladder,
    ladder_table,
    learning,
    members_in_words,
    meta_game_of_findings,
)
from league.tables.summaries import league_summary, practice_warning
from league.tasks.values import MatchResult, TrainResult
from partners.learning.rewards import OWN

LINES_AROUND = 7  # of the live view, besides the ladder's rows


class PlainWatcher:
    """A line per round."""

    _warnings_only = False  # of practice

    def __init__(self, console: Console) -> None:
        self._console = console
        self.stop_requested: Callable[[], bool] = lambda: False

    def on_open(self, config: Config, source: ScenarioSource, directory: Path, progress: LeagueProgress) -> None:
        prose(self._console, opening(config, source, progress))
        self._print(f"run folder {directory}")

    def warn(self, message: str) -> None:
        self._print(f"warning: {message}", "yellow")

    def on_analysis(self, message: str) -> None:
        self.tick()
        self._print(f"  {message}")

    def on_step(self, _message: str) -> None:
        self.tick()

    def tick(self) -> None:
        if self.stop_requested():
            raise KeyboardInterrupt

    def on_match(self, _progress: LeagueProgress, result: MatchResult) -> None:
        self.tick()
        if result.failed is not None:
            names = " and ".join(member.name for member in result.task.members)
            self._print(
                f"warning: the match of {names} failed by the fault of {result.failed}: {result.cause}", "yellow"
            )

    def on_practice(self, _progress: LeagueProgress, result: TrainResult) -> None:
        name, state = result.task.learner.name, result.state
        if result.content is None:
            self._print(f"warning: the practice of {name} failed: {result.cause}", "yellow")
            return
        if result.failed is not None:
            self._print(f"warning: the practice of {name} continues without {result.cause}", "yellow")
        if not self._warnings_only:
            self._print(f"  {name}: {state.decisions:,} decisions, {result.points:.2f} points of ten in practice")

    def on_commit(self, progress: LeagueProgress, standings: list[Standing]) -> None:
        best = next((row for row in standings if row.member not in progress.oracles), standings[0])
        first = f"first: {best.member} {with_margin(best.points)}"
        parts(self._console, *status_parts(progress), first)

    def _print(self, text: str, style: str = "") -> None:
        line(self._console, text, style)


class QuietWatcher(PlainWatcher):
    """Prints warnings only."""

    _warnings_only = True

    def on_open(self, *_: object) -> None: ...

    def on_analysis(self, *_: object) -> None:
        self.tick()

    def on_commit(self, *_: object) -> None: ...


class LiveWatcher(PlainWatcher):
    """A bar and the ladder, redrawn in place; warnings scroll by above. Use it as a context."""

    _warnings_only = True

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._bars = Bars(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=console)
        self._rounds, self._matches = self._bars.add_task("rounds"), self._bars.add_task("matches")
        self._ladder, self._practiced = Grid(), dict[str, list[float]]()
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
        self._ladder = next(on_screen(ladder_table(standings[:rows]), self._console.width))
        self._draw(progress)

    def _draw(self, progress: LeagueProgress) -> None:
        done = min(progress.rounds, progress.schedule.rounds)
        self._bars.update(self._rounds, completed=done, total=progress.schedule.rounds)
        self._bars.update(self._matches, completed=progress.matches, total=progress.matches_in_round)
        self._status = status(progress)
        self._show()

    def _show(self) -> None:
        curves = [Text(f"{name}: {curve(points)} {points[-1]:.2f}") for name, points in self._practiced.items()]
        shown: list[RenderableType] = [self._bars, Text(self._status, no_wrap=True, overflow="ellipsis"), *curves]
        self._live.update(Group(*shown, self._ladder) if self._ladder.columns else Group(*shown))


def opening(config: Config, source: ScenarioSource, progress: LeagueProgress) -> str:
    """The league about to be played, in one line."""
    after = config.schedule.round_name(progress.rounds - 1)
    verb = f"going on after {after}" if progress.rounds else "starting"
    held = "drawn without end" if source.table is None else f"{source.table.size:,} scenarios"
    return (
        f"{verb}: {count_noun(len(config.members), 'member')} and {count_noun(len(config.learners), 'learner')}, "
        f"{config.schedule}; {config.league.block_size:,} scenarios a round from "
        f"{source.label} ({held}), seed {config.league.seed}"
    )


def status(progress: LeagueProgress) -> str:
    """Round, time left, speed and games in one line, what matters most first."""
    return " · ".join(status_parts(progress))


def status_parts(progress: LeagueProgress) -> list[str]:
    """The parts of :func:`status`."""
    number = progress.rounds + (progress.matches > 0)  # the round in flight, or the last finished one
    where = (
        f"round {number}/{progress.schedule.rounds}" if number <= progress.schedule.rounds else "closing measurement"
    )
    stage = f" ({progress.stage})" if progress.stage else ""
    over = progress.rounds == progress.schedule.total
    left = "evaluation" if over else f"{duration(progress.seconds_left)} left"
    learning = [f"{progress.decisions_per_second:,.0f} decisions/s"] if progress.decisions else []
    practice = f" and {progress.practice_games:,} of practice" if progress.practice_games else ""
    games = f"{progress.games - progress.practice_games:,} games of matches{practice}"
    return [f"{where}{stage}", left, f"{progress.games_per_second:,.0f} games/s", *learning, games]


def curve(values: Sequence[float], width: int = 40) -> str:
    """The latest values, 0..10 points of ten, as a line of block characters."""
    blocks = "▁▂▃▄▅▆▇█"
    return "".join(blocks[min(int(max(value, 0.0) / 10 * len(blocks)), 7)] for value in values[-width:])


def duration(seconds: float) -> str:
    """Seconds or minutes, ``?`` if unknown."""
    return "?" if math.isinf(seconds) else f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def print_results(console: Console, outcome: LeagueOutcome, directory: Path, *, details: bool = False) -> None:
    """Print the outcome of a league: the first of the ladder, the ladder, and the held-out result.

    ``details``: every column and table as well, as in the report.
    """
    config, cross, confidence = outcome.config, outcome.cross, outcome.config.league.confidence
    standings = ladder_of(cross, confidence, outcome.responses)
    models = {member.name for member in members_of(config) if member.costly}
    mains = [learner.name for learner in config.learners if learner.role == "main"]
    short = short_names(cross.members)

    def show(section: Section) -> None:
        print_section(console, with_short_names(section, short))

    sentences = (
        practice_warning(outcome.without_practice),
        league_summary(cross, standings, confidence, mains, outcome.members),
    )
    print_in_short(console, (replace_names(sentence, short) for sentence in sentences if sentence is not None))
    learns, responses = bool(config.learners), len(outcome.responses)
    show(ladder(cross, standings, outcome.members, confidence, responses, models, learns=learns, details=details))
    for learner in config.learners:
        if learner.reward != OWN:
            prose(
                console, f"{learner.name} has the reward {learner.reward}, as have its snapshots; points are own points"
            )
    if details:
        show(crossplay(cross, standings, confidence))
        if outcome.curves:
            show(learning(outcome.curves, [learner.name for learner in config.learners], confidence))
        if outcome.findings is not None:
            show(meta_game_of_findings(outcome.findings, cross))
    if outcome.final is not None:
        from dond.terminal.evaluation import print_final  # evaluations load PyTorch

        print_final(console, outcome.final, details=details)
    line(console, f"\n{cross.total_games:,} games of matches, all tables and weights: {directory}")


MOST_NAMED = 6  # pairs of members that are named for one reason
READABLE = {  # reasons as stored in the ledger: as displayed
    r"scores unknown of unknown": "they have not met, so everything is left to gain",
    r"scores unknown of ([\d.]+)": r"they have not met; others score \1",
    r"scores ([\d.]+) of unknown": r"scores \1; what others score is not known",
    r"scores ([\d.]+) of ([\d.]+)": r"scores \1 where \2 can be had",
    r"moved by unknown": "they have not met",
    r"points vary by unknown": "they have not met",
    r"\b1 rounds are\b": "1 round is",
    r"\b1 rounds\b": "1 round",
}


def explain_round(console: Console, folder: Path, number: int) -> None:
    """Print round ``number``, the first being 1, of a league; the closing measurement follows the last.

    ``folder``: its folder, or that of leagues for the newest.

    Raises :class:`~league.ledger.run_directory.RunNotFound` or :class:`~league.ledger.ledger.LedgerError`.
    """
    folder = find_run(folder).path
    with ReadLedger(folder / LEDGER) as ledger:
        if not 1 <= number <= ledger.next_round:
            raise RunNotFound(f"{folder}: its ledger holds no round {number}; it holds {_rounds_held(ledger)}")
        print_section(console, _round(ledger, number - 1))


def _rounds_held(ledger: Ledger) -> str:
    if not ledger.next_round:
        return "none yet"
    rounds = ledger.config().league.rounds
    closing = f", and the closing measurement as {rounds + 1}" if ledger.next_round > rounds else ""
    return f"1 to {min(ledger.next_round, rounds)}{closing}"


def in_words(reason: str) -> str:
    """A stored reason as displayed."""
    for pattern, words in READABLE.items():
        reason = re.sub(pattern, words, reason)
    return reason


def _round(ledger: Ledger, number: int) -> Section:
    """Round ``number``, the first being 0."""
    config, meetings, decisions = ledger.config(), list(ledger.meetings(number)), ledger.decisions(number)
    practices = (row[2:] for row in meetings if row[1] == "train")
    tables = [
        Table(
            f"{learner} practiced against",
            ("share", "why"),
            tuple(
                TableRow(opponent, (number_cell(chance, "share"), in_words(why))) for _, opponent, chance, why in rows
            ),
            label="",
        )
        for learner, rows in groupby(practices, key=lambda row: row[0])
    ]
    pairs: dict[str, list[str]] = {}
    for _, kind, first, second, _, why in meetings:
        if kind == "match":
            pairs.setdefault(in_words(why), []).append(f"{first} and {second}")
    count = sum(map(len, pairs.values()))
    rows = tuple(TableRow(why, (count_cell(len(names)), _list_pairs(names))) for why, names in pairs.items())
    caption = f"{count} matches, both seat orders, on {config.league.block_size} scenarios"
    tables.append(Table(caption, ("matches", "who"), rows, label="why"))
    rows = tuple(
        TableRow(f"{d.kind} of {d.subject}", ("yes" if d.taken else "no", in_words(d.reason))) for d in decisions
    )
    tables.append(Table("decided when it was over", ("taken", "why"), rows, label=""))
    present = {name for row in meetings for name in row[2:4]}
    tables += members_in_words(member for member in ledger.members() if member.name in present)
    stage = describe(config, config.curriculum[ledger.stage(number)])
    of = "" if config.schedule.phase(number) == "measures" else f" of {config.league.rounds}"
    return Section("round", f"{config.schedule.round_name(number)}{of} · stage {stage}", (), tuple(tables))


def _list_pairs(pairs: list[str]) -> str:
    more = len(pairs) - MOST_NAMED
    return ", ".join(pairs[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
