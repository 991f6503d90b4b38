"""What ``scripts/hint_experiment.py`` does with its arguments: the experiment, its table, files, an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dond_marl.records.files import write_whole
from dond_marl.rollout import OccupantError
from hints import HinterError
from league.cli.league import INTERRUPTED, RUN_ERROR, RUN_ERRORS, USAGE_ERROR, USER_ERRORS
from league.display.league import console_for_people
from league.display.plane import PlotError, check_drawable
from league.experiments.hints.experiment import run
from league.experiments.hints.figure import draw
from league.experiments.hints.findings import markdown, write_marks
from league.experiments.hints.settings import ExperimentConfig
from league.ledger.run_directory import SETTINGS, new_run
from league.settings.read import dump, load_config

FIGURE, TABLE, MARKS = "learning_curves.png", "table.md", "marks.csv"


def main(config_path: Path, overrides: Sequence[str], plot: Path | None) -> int:
    """Run the experiment; the exit code is 0, 1 (the run), 2 (the settings) or 130 (interrupted).

    The folder of the run holds the measurements, the table and the figure, which ``plot`` names a second place for.
    """
    console = console_for_people()
    try:
        config = load_config(config_path, overrides, ExperimentConfig)
        for path in (Path(FIGURE), *([plot] if plot is not None else [])):
            check_drawable(path)
        _run(console, config, plot)
    except (*USER_ERRORS, PlotError) as error:
        return _failed(error, USAGE_ERROR)
    except (*RUN_ERRORS, HinterError) as error:
        return _failed(error, RUN_ERROR)
    except OccupantError as error:
        if not isinstance(error.__cause__, HinterError):
            raise
        return _failed(error.__cause__, RUN_ERROR)
    except KeyboardInterrupt:
        print("\ninterrupted: nothing is written", file=sys.stderr)  # the command talks to a person
        return INTERRUPTED
    return 0


def _run(console: Console, config: ExperimentConfig, plot: Path | None) -> None:
    found = run(config, lambda line: console.print(Text(line), soft_wrap=True))
    directory = new_run(Path(config.output_dir).expanduser())
    with directory:
        write_whole(directory.path / SETTINGS, dump(config))
        write_marks(directory.path / MARKS, found)
        text = markdown(found, config.experiment.shares)
        write_whole(directory.path / TABLE, text)
        for path in (directory.path / FIGURE, *([plot] if plot is not None else [])):
            path.parent.mkdir(parents=True, exist_ok=True)
            draw(path, found)
    _print(console, text)
    seeds, note = config.experiment.seeds, config.hints.privileged_note
    console.print(
        Text(
            f"shares of what the exact best response to {config.env.partner} earns ({found.best:.2f} points of ten) on "
            f"{found.label}, greedy play, mean and 95% interval over {seeds} seeds{note}\nrun folder {directory.path}: "
            f"{FIGURE}, {TABLE}, {MARKS}, {SETTINGS}"
        ),
        soft_wrap=True,
    )


def _print(console: Console, text: str) -> None:
    heads, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines())
    table = Table(box=None, pad_edge=False)
    for place, head in enumerate(heads):
        table.add_column(head, justify="right" if place else "left")
    for line in lines:
        table.add_row(*line)
    console.print(table)


def _failed(error: BaseException, code: int) -> int:
    print(error, file=sys.stderr)  # the command talks to a person
    return code
