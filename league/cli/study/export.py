"""Write what may leave a study: CSV files, JSON lines and a codebook, without names, addresses, dates and free text.

Participants get new numbers, drawn by the seed; whoever stopped taking part is left out. A study may go on meanwhile.

examples:
  dond study export runs/study
  dond study export runs/study --to shared/study --seed 7
"""

from __future__ import annotations

from pathlib import Path

import click

from league.cli.shell import FILE, SEED, Command, say


@click.command(cls=Command, help=__doc__)
@click.argument("folder", type=FILE, metavar="DIR")
@click.option("--to", "target", type=FILE, metavar="FOLDER", help="where the files go (export in DIR)")
@click.option("--seed", type=SEED, default=0, metavar="N", help="of the participants' new numbers (0)")
def command(folder: Path, target: Path | None, seed: int) -> None:
    """Export."""
    from league.web.study.export import export
    from league.web.study.folder import open_study

    target = target or folder / "export"
    for name, rows in export(open_study(folder), target, seed).items():
        say(f"{target / name}: {rows} rows")
    say(f"{target / 'codebook.md'}: what the columns are")
