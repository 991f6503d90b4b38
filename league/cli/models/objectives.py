"""Compare objectives: own points, more than the other, both together; told to language models, and paid to learners.

Each model meets itself under each goal on the same held-out scenarios, with a second copy of one prompt as the noise
that any difference must be larger than; each learner meets itself too. Everything is kept in output_dir; the same
command goes on with the rest.

examples:
  dond experiment objectives                     # with configs/objectives.yaml
  dond experiment objectives --plot docs/objectives.png --results docs/results/objectives.jsonl
  dond experiment objectives --set models.occupants=[]     # learners alone
"""

from __future__ import annotations

from pathlib import Path

import click
from rich.markdown import Markdown

from league.bench.results import check_writable
from league.cli.shell import FILE, Command, WritableFile, config_option, console_for_people, say, set_option
from league.display.plane import check_drawable
from league.settings.read import load_config

RESULTS = "results.jsonl"
STOPPED = "what is done is kept, and the same command goes on with the rest"


@click.command(cls=Command, help=__doc__, interrupted=STOPPED)
@config_option("objectives.yaml", default="configs/objectives.yaml", help="a YAML file (objectives.yaml)")
@set_option
@click.option("--plot", type=WritableFile(), metavar="FILE", help="a figure, as .png, .svg or .pdf")
@click.option("--results", type=FILE, metavar="FILE", help="the results file (results.jsonl in output_dir)")
def command(config_path: Path, overrides: tuple[str, ...], plot: Path | None, results: Path | None) -> None:
    """Play, train, print the tables, and keep the figures."""
    from league.experiments.language_models.objectives.experiment import keep_rows, perform
    from league.experiments.language_models.objectives.figure import draw
    from league.experiments.language_models.objectives.findings import learner_bars, markdown, model_bars
    from league.experiments.language_models.objectives.settings import ObjectivesConfig

    config = load_config(config_path, overrides, ObjectivesConfig)
    path = results or Path(config.output_dir).expanduser() / RESULTS
    check_writable(path)
    if plot is not None:
        check_drawable(plot)
    rows = perform(config, say)
    keep_rows(path, config, rows)
    console_for_people().print(Markdown(markdown(config, rows)))
    if plot is not None:
        draw(plot, learner_bars(config, rows), model_bars(config, rows))
        say(f"written: {plot}")
    say(f"written: {path}")
