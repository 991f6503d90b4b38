"""Let two leagues learn without people, a learner with itself and response oracles, and set them against the clone.

In OpenSpiel's bargaining, as Li et al. 2023 set theirs against people, and in this game. Needs OpenSpiel (pip install
-e '.[examples]') and the clone (dond train --algo bc). What is done is kept in output_dir; the same command continues.

examples:
  dond experiment self-taught
  dond experiment self-taught --set seeds=1 --set instances=10
  dond experiment self-taught --results docs/results/self_taught.jsonl
"""

from __future__ import annotations

from pathlib import Path

import click

from league.cli.field.outcome import keep, results_file
from league.cli.shell import FILE, Command, config_option, say, set_option
from league.settings.read import load_config

STOPPED = "leagues and meetings that are done are kept, and the same command goes on with the rest"


@click.command(cls=Command, help=__doc__, interrupted=STOPPED)
@config_option("self_taught.yaml", default="configs/self_taught.yaml", help="a YAML file (self_taught.yaml)")
@set_option
@click.option("--results", type=FILE, metavar="FILE", help="the results file (results.jsonl in output_dir)")
def command(config_path: Path, overrides: tuple[str, ...], results: Path | None) -> None:
    """Learn, play, print the table, and keep the figures."""
    from league.experiments.field.published.results import lines
    from league.experiments.field.published.self_taught import SelfTaughtConfig, perform
    from league.experiments.field.published.without_people import markdown

    config = load_config(config_path, overrides, SelfTaughtConfig)
    path = results_file(results, Path(config.output_dir).expanduser())
    found = perform(config, say)
    keep(path, lines(found), markdown(found))
