r"""Measure what hints are worth: the same learner without hints, with random ones, and with weaker and better advisers.

The main measure is how a learner plays without hints afterwards. With llm in
experiment.hinters a language model gives hints too: the one that hints.provider and hints.models name, else SmolLM2,
after dond get-model smollm2. student is the small model that was taught by the expert.

examples:
  dond experiment hints                  # with hint_experiment.yaml
  dond experiment hints --set experiment.seeds=3 --workers 2 --plot hints.png
  dond experiment hints --set experiment.hinters=[none,llm,student] --set experiment.seeds=3 \
      --set hints.options='{cache: runs/hints.sqlite, cache_mode: record}'
"""

from __future__ import annotations

from pathlib import Path

import click
from rich.markdown import Markdown

from dond_marl.records.files import write_atomically
from dond_marl.rollout import OccupantError
from hints import HinterError
from league.cli.shell import FILE, Command, config_option, integer, output_console, print_line, set_option
from league.display.plane import check_drawable
from league.ledger.run_directory import SETTINGS, new_run
from league.settings.read import dump, load_config

FIGURE, TABLE, MARKS, RESULTS = "learning_curves.png", "table.md", "marks.csv", "results.jsonl"
LEARNERS = "learners"  # those that are done, in output_dir
STOPPED = "learners that are done are kept, and the same command goes on with the rest"


@click.command(cls=Command, help=__doc__, interrupted=STOPPED)
@config_option(
    "hint_experiment.yaml", default="experiments/configs/hint_experiment.yaml", help="YAML file (hint_experiment.yaml)"
)
@set_option
@click.option(
    "--workers", type=integer(1, 64), default=1, metavar="N", help="learners trained in parallel, one thread each (1)"
)
@click.option("--plot", type=FILE, metavar="FILE", help="write the figure here too (.png, .svg, .pdf)")
def command(config_path: Path, overrides: tuple[str, ...], workers: int, plot: Path | None) -> None:
    """Run the experiment; the folder of the run holds the measurements, the table and the figure."""
    from experiments.hints.experiment import run  # PyTorch is loaded from here on
    from experiments.hints.figure import draw
    from experiments.hints.findings import markdown, results, write_marks
    from experiments.hints.settings import ExperimentConfig

    config = load_config(config_path, overrides, ExperimentConfig)
    for path in (Path(FIGURE), *([plot] if plot is not None else [])):
        check_drawable(path)
    try:
        experiment = run(config, print_line, workers, Path(config.output_dir).expanduser() / LEARNERS)
    except OccupantError as error:
        raise error.__cause__ if isinstance(error.__cause__, HinterError) else error from None
    with new_run(Path(config.output_dir).expanduser()) as directory:
        write_atomically(directory.path / SETTINGS, dump(config))
        write_marks(directory.path / MARKS, experiment)
        write_atomically(directory.path / RESULTS, results(experiment))
        text = markdown(experiment, config.experiment.shares)
        write_atomically(directory.path / TABLE, text)
        for path in (directory.path / FIGURE, *([plot] if plot is not None else [])):
            path.parent.mkdir(parents=True, exist_ok=True)
            draw(path, experiment)
    output_console().print(Markdown(text))
    print_line(
        f"shares of what the exact best response to {config.env.partner} earns ({experiment.best:.2f} points of ten) "
        f"on {experiment.label}, greedy play without hints, mean and 95% interval over {config.experiment.seeds} seeds"
        f"{config.hints.privileged_note}\nrun folder {directory.path}: "
        f"{', '.join((FIGURE, TABLE, MARKS, RESULTS, SETTINGS))}"
    )
