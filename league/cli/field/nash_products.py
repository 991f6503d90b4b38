"""Measure what OpenSpiel's nego_nbs_example.py prints: Nash products of random play, tree search and full information.

On the scenarios of the published dialogues, which are not shipped: name their folder. Needs OpenSpiel (pip install -e
'.[examples]'). What is done is kept in output-dir; the same command continues. People's: dond data humans.

examples:
  dond experiment nash-products --data-dir data
  dond experiment nash-products --data-dir data --games 20 --simulations 20
"""

from __future__ import annotations

from pathlib import Path

import click

from league.cli.field.outcome import keep, results_file
from league.cli.shell import FILE, Command, say, whole

BATCHES = 10


@click.command(cls=Command, help=__doc__, interrupted="batches that are done are kept, and the same command goes on")
@click.option("--data-dir", type=FILE, metavar="FOLDER", help="of the published files (data)")
@click.option("--games", type=whole(BATCHES, 5_000), default=1000, metavar="N", help="of each, in tens (1000)")
@click.option("--simulations", type=whole(2, 100_000), default=1000, metavar="N", help="of its tree search (1000)")
@click.option(
    "--output-dir", type=FILE, default=Path("runs/nash_products"), metavar="FOLDER", help="(runs/nash_products)"
)
@click.option("--results", type=FILE, metavar="FILE", help="the results file (results.jsonl in output-dir)")
def command(data_dir: Path | None, games: int, simulations: int, output_dir: Path, results: Path | None) -> None:
    """Play, print and keep."""
    from league.experiments.field.published.nash_products import instances, markdown, perform
    from league.experiments.field.published.results import lines

    path = results_file(results, output_dir)
    found = perform(instances(data_dir), games // BATCHES, simulations, output_dir / "batches", say)
    keep(path, lines(found), markdown(found))
