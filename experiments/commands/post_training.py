"""Train a language model on the game: on the acts of games that paid well, then on the exact worth of its lines.

What comes out is an adapter, to be seated beside its model. Everything is kept in output_dir; the same command goes on
with the rest. There each arm has its examples as JSON lines for other trainers, such as TRL's.

examples:
  dond experiment post-training                        # with post_training.yaml
  dond experiment post-training --set "model='FOLDER'" --set device=cuda
  dond experiment post-training --examples-only        # play the games, write the examples, stop
"""

from __future__ import annotations

from pathlib import Path

import click
from rich.markdown import Markdown

from league.bench.results import check_writable
from league.cli.shell import FILE, Command, config_option, output_console, print_line, set_option
from league.settings.read import load_config

RESULTS = "results.jsonl"
STOPPED = "what is done is kept, and the same command goes on with the rest"


@click.command(cls=Command, help=__doc__, interrupted=STOPPED)
@config_option(
    "post_training.yaml", default="experiments/configs/post_training.yaml", help="YAML file (post_training.yaml)"
)
@set_option
@click.option("--examples-only", is_flag=True, help="write the examples of each arm, and stop")
@click.option("--results", type=FILE, metavar="FILE", help="the results file (results.jsonl in output_dir)")
def command(config_path: Path, overrides: tuple[str, ...], examples_only: bool, results: Path | None) -> None:
    """Train, measure, print the table, and keep the figures."""
    from experiments.language_models.post_training.settings import PostTrainingConfig

    config = load_config(config_path, overrides, PostTrainingConfig)
    folder = Path(config.output_dir).expanduser()
    if examples_only:
        from experiments.language_models.post_training.experiment import EXAMPLES, claim, examples_of

        claim(config, folder)
        for arm in config.arms:
            examples_of(config, arm, folder / arm.name, print_line)
            print_line(f"written: {folder / arm.name / EXAMPLES}")
        return
    from experiments.language_models.post_training.experiment import keep_rows, perform  # loads PyTorch
    from experiments.language_models.post_training.findings import markdown

    path = results or folder / RESULTS
    check_writable(path)
    rows = perform(config, print_line)
    keep_rows(path, config, rows)
    output_console().print(Markdown(markdown(config, rows)))
    print_line(f"written: {path}")
