"""Train learners by self-play in games of two to four turns, and compute exactly how close they come to equilibria.

Results are kept in output_dir; the same command continues with the rest.

examples:
  dond experiment short-games                    # with short_games.yaml
  dond experiment short-games --workers 2 --results docs/results/short_games.jsonl
  dond experiment short-games --set comparison.turns=[2] --set comparison.seeds=1
"""

from __future__ import annotations

from pathlib import Path

import click
from rich.markdown import Markdown

from dond_marl.records.files import write_atomically
from league.bench.results import check_writable
from league.cli.shell import FILE, Command, config_option, integer, output_console, print_line, set_option
from league.settings.read import load_config

RESULTS, LEARNERS = "results.jsonl", "learners"
STOPPED = "learners that are done are kept, and the same command goes on with the rest"


@click.command(cls=Command, help=__doc__, interrupted=STOPPED)
@config_option("short_games.yaml", default="experiments/configs/short_games.yaml", help="YAML file (short_games.yaml)")
@set_option
@click.option(
    "--workers", type=integer(1, 64), default=1, metavar="N", help="learners trained in parallel, one thread each (1)"
)
@click.option("--results", type=FILE, metavar="FILE", help="the results file (results.jsonl in output_dir)")
def command(config_path: Path, overrides: tuple[str, ...], workers: int, results: Path | None) -> None:
    """Train, measure, print the tables, and keep the figures."""
    from experiments.short_games.experiment import lines, perform  # PyTorch is loaded from here on
    from experiments.short_games.findings import markdown
    from experiments.short_games.settings import ShortGamesConfig

    config = load_config(config_path, overrides, ShortGamesConfig)
    folder = Path(config.output_dir).expanduser()
    path = results or folder / RESULTS
    check_writable(path)
    experiment = perform(config, print_line, workers, folder / LEARNERS)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lines(experiment))
    output_console().print(Markdown(markdown(experiment)))
    print_line(f"written: {path}")
