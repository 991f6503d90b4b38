"""Make the players of Lewis et al. 2017 at the level of acts, and play them against the likelihood model, seed by seed.

The likelihood model is cloned from the published dialogues, which are not shipped: name their folder. Results are kept
in output_dir; the same command continues with the rest. What papers report stands beside them in
`dond experiment published-table`.

examples:
  dond experiment published --set data_dir=data
  dond experiment published --set data_dir=data --results docs/results/published.jsonl
  dond experiment published --set data_dir=data --set seeds=1 --set learning.games=1000
"""

from __future__ import annotations

from pathlib import Path

import click

from experiments.commands.outcome import keep, results_file
from league.cli.shell import FILE, Command, config_option, print_line, set_option
from league.settings.read import load_config

STOPPED = "players that are done are kept, and the same command goes on with the rest"


@click.command(cls=Command, help=__doc__, interrupted=STOPPED)
@config_option("published.yaml", default="experiments/configs/published.yaml", help="YAML file (published.yaml)")
@set_option
@click.option("--results", type=FILE, metavar="FILE", help="the results file (results.jsonl in output_dir)")
def command(config_path: Path, overrides: tuple[str, ...], results: Path | None) -> None:
    """Make, play, print the table, and keep the figures."""
    from experiments.field.published.experiment import perform  # PyTorch is loaded from here on
    from experiments.field.published.players import markdown
    from experiments.field.published.results import lines
    from experiments.field.published.settings import PublishedConfig

    config = load_config(config_path, overrides, PublishedConfig)
    path = results_file(results, Path(config.output_dir).expanduser())
    found = perform(config, print_line)
    keep(path, lines(found), markdown(found))
