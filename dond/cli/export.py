"""Write runs as tables, or a member as a checkpoint."""

from __future__ import annotations

from pathlib import Path

import click

from dond.cli.shell import FILE, Command, print_line, trust_option
from dond_marl.errors import InputError
from league.ledger.run_directory import find_run
from league.tables.export import FORMATS, TABLES, export_tables
from partners.network.checkpoint_files import CheckpointError

CHECKPOINT = "checkpoint"
SHOWN = 3  # sentences on what is left out


@click.command(cls=Command, interrupted="incomplete files are removed", run_errors=(CheckpointError,))
@click.argument("run", type=FILE)
@click.option("--to", "kind", type=click.Choice([*FORMATS, CHECKPOINT]), required=True, help="file format")
@click.option("--table", "names", type=click.Choice([*TABLES]), multiple=True, help="one table; may be repeated (all)")
@click.option("--member", metavar="NAME", help="with --to checkpoint: a learner, or a snapshot such as main@6")
@click.option("--out", type=FILE, metavar="PATH", help="folder of the tables (RUN/export), or file of the checkpoint")
@trust_option
def command(run: Path, kind: str, names: tuple[str, ...], member: str | None, out: Path | None, trust: bool) -> None:
    """Write a league's ledger as plain tables (games, acts, payoffs, ratings), or a member of it as a checkpoint.

    Every column is explained in docs/LEDGER.md. Acts are replayed from the ledger; those of language models and people
    cannot be replayed, and the members left out are named. A checkpoint records its opponents in training.

    examples:
      dond export runs/league/0001 --to parquet           # four files in runs/league/0001/export
      dond export runs/league --to csv --table games      # the newest run, one table
      dond export runs/league/0001 --to checkpoint --member main --out main.json
    """
    folder = find_run(run).path
    if kind == CHECKPOINT:
        if member is None or out is None or names:
            raise InputError("--to checkpoint needs --member NAME and --out FILE.json, and takes no --table")
        from league.ledger.export import export_checkpoint  # loads PyTorch

        note = export_checkpoint(folder, member, out)
        print_line(f"written: {out}, with {len(note['met'])} in its past; seat it as checkpoint(path='{out}')")
        return
    if member is not None:
        raise InputError("--member is for --to checkpoint")
    target, left_out = out or folder / "export", list[str]()
    for path in export_tables(folder, kind, target, names or TABLES, left_out.append, trust=trust):
        print_line(f"written: {path}")
    for sentence in left_out[:SHOWN]:
        print_line(f"left out of the acts: {sentence}", "yellow")
    if len(left_out) > SHOWN:
        print_line(f"and {len(left_out) - SHOWN:,} more", "yellow")
