"""Train the same learner with no hints, random, expert and language-model hints; say what they are worth.

examples:
  dond experiment hints --config configs/hint_experiment.yaml
  dond experiment hints --config configs/hint_experiment.yaml --set experiment.seeds=10 --plot hints.png
"""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from dond_marl.records.files import write_whole
from dond_marl.rollout import OccupantError
from hints import HinterError
from league.cli.shell import FILE, Command, config_option, console_for_people, say, set_option
from league.display.plane import check_drawable
from league.experiments.hints.experiment import run
from league.experiments.hints.figure import draw
from league.experiments.hints.findings import markdown, write_marks
from league.experiments.hints.settings import ExperimentConfig
from league.ledger.run_directory import SETTINGS, new_run
from league.settings.read import dump, load_config

FIGURE, TABLE, MARKS = "learning_curves.png", "table.md", "marks.csv"


@click.command(cls=Command, help=__doc__, interrupted="nothing is written")
@config_option("hint_experiment.yaml", required=True)
@set_option
@click.option("--plot", type=FILE, metavar="FILE", help="write the figure here too (.png, .svg, .pdf)")
def command(config_path: Path, overrides: tuple[str, ...], plot: Path | None) -> None:
    """Run the experiment; the folder of the run holds the measurements, the table and the figure."""
    config = load_config(config_path, overrides, ExperimentConfig)
    for path in (Path(FIGURE), *([plot] if plot is not None else [])):
        check_drawable(path)
    try:
        experiment = run(config, say)
    except OccupantError as error:
        raise error.__cause__ if isinstance(error.__cause__, HinterError) else error from None
    with new_run(Path(config.output_dir).expanduser()) as directory:
        write_whole(directory.path / SETTINGS, dump(config))
        write_marks(directory.path / MARKS, experiment)
        text = markdown(experiment, config.experiment.shares)
        write_whole(directory.path / TABLE, text)
        for path in (directory.path / FIGURE, *([plot] if plot is not None else [])):
            path.parent.mkdir(parents=True, exist_ok=True)
            draw(path, experiment)
    _print(console_for_people(), text)
    say(
        f"shares of what the exact best response to {config.env.partner} earns ({experiment.best:.2f} points of ten) "
        f"on {experiment.label}, greedy play, mean and 95% interval over {config.experiment.seeds} seeds"
        f"{config.hints.privileged_note}\nrun folder {directory.path}: {FIGURE}, {TABLE}, {MARKS}, {SETTINGS}"
    )


def _print(console: Console, text: str) -> None:
    """A table of Markdown, on a terminal."""
    heads, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines())
    table = Table(box=None, pad_edge=False)
    for place, head in enumerate(heads):
        table.add_column(head, justify="right" if place else "left")
    for line in lines:
        table.add_row(*line)
    console.print(table)
