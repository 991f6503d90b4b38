"""Write what a league's ledger holds as plain tables: games, acts, payoffs and ratings.

Every column is explained in docs/LEDGER.md. Acts are replayed from the ledger; those of language models and people
cannot be replayed, and the members left out are named.

examples:
  dond export runs/league/0001 --to parquet           # four files in runs/league/0001/export
  dond export runs/league --to csv --table games      # the newest run, one table
  dond export runs/league/0001 --to jsonl --out tables
"""

from __future__ import annotations

from pathlib import Path

import click

from league.cli.shell import FILE, Command, say
from league.ledger.run_directory import find_run
from league.tables.export import FORMATS, TABLES, export_tables


@click.command(cls=Command, help=__doc__, interrupted="what is not whole is not there")
@click.argument("run", type=FILE)
@click.option("--to", "kind", type=click.Choice([*FORMATS]), required=True, help="file format")
@click.option("--table", "names", type=click.Choice([*TABLES]), multiple=True, help="one table; may be repeated (all)")
@click.option("--out", type=FILE, metavar="FOLDER", help="where to write them (RUN/export)")
def command(run: Path, kind: str, names: tuple[str, ...], out: Path | None) -> None:
    """Write the tables of one run in one format."""
    folder = find_run(run.expanduser()).path
    left_out: list[str] = []
    paths = export_tables(folder, kind, out or folder / "export", names or TABLES, left_out.append)
    for path in paths:
        say(f"written: {path}")
    for sentence in left_out[:3]:
        say(f"left out of the acts: {sentence}", "yellow")
    if len(left_out) > 3:
        say(f"and {len(left_out) - 3:,} more, all of the acts", "yellow")
