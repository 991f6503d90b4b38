"""Live view of a training on a terminal: its status and a bar, redrawn in place."""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table as Grid
from rich.text import Text

from dond.terminal.tables import ConsoleOutput
from league.results.training import TrainWatcher, training_status
from league.training.training import Training, closing_hints

LEAST_BAR, LONGEST_BAR = 10, 40  # columns


class LiveTrainWatcher(TrainWatcher):
    """A status line with a bar, redrawn in place; milestones and warnings scroll by above. Use it as a context."""

    def __init__(self, console: Console) -> None:
        super().__init__(ConsoleOutput(console))
        self._console = console
        self._live = Live(console=console, transient=True)

    def __enter__(self) -> LiveTrainWatcher:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def on_update(self, training: Training) -> bool:
        share = training.learner.decisions / training.config.training.num_train_steps
        self._live.update(with_bar(" · ".join(training_status(training)), share, self._console.width))
        return True

    def on_closing(self, training: Training, play: str) -> None:
        self._live.update(f"final score, {play} play")
        if closing_hints(training) is None:
            self.closing = True
        else:
            super().on_closing(training, play)


def with_bar(text: str, share: float, width: int) -> RenderableType:
    """A line of at most ``width`` columns, and behind it, where there is room, a bar of which ``done`` (0..1) is full.

    Assumes characters of one column.
    """
    room = min(width - len(text) - 1, LONGEST_BAR)
    row = Grid.grid(padding=(0, 1, 0, 0))
    bar = [ProgressBar(total=1.0, completed=min(share, 1.0), width=room)] if room >= LEAST_BAR else []
    row.add_row(Text(text, no_wrap=True, overflow="ellipsis"), *bar)
    return row
