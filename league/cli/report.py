"""Write a report on a league's run: one file that needs no other, to read, keep or send.

examples:
  dond report --run runs/league                           # the newest run: report.html in its folder
  dond report --run runs/league/0001 --format md --out -  # to be read here
  dond report --run runs/league/0001 --format csv         # one long table: a row per figure
  dond report --run runs/league/0001 --format json --out report.json
"""

from __future__ import annotations

from pathlib import Path

import click

from dond_marl.records.files import write_whole
from league.cli.shell import FILE, Command, WritableFile, say
from league.ledger.run_directory import named_run
from league.report.as_data import as_csv, as_json
from league.report.as_html import page
from league.report.as_markdown import markdown
from league.report.collect import collect
from league.tables.blocks import inert

FORMATS = {"html": page, "md": markdown, "csv": as_csv, "json": as_json}
OUT = WritableFile(allow_dash=True)


@click.command(cls=Command, help=__doc__, interrupted="nothing is written")
@click.option("--run", type=FILE, required=True, metavar="DIR", help="a run, or the newest of those in it")
@click.option("--format", "kind", type=click.Choice([*FORMATS]), default="html", help="of the file (html)")
@click.option("--out", type=OUT, metavar="FILE", help="- for the screen (report.FORMAT in the run's folder)")
def command(run: Path, kind: str, out: Path | None) -> None:
    """Write the report of one run in one format."""
    folder = named_run(run.expanduser()).path
    text = FORMATS[kind](inert(collect(folder)))
    if out == Path("-"):
        click.echo(text, nl=False)
        return
    path = out or folder / f"report.{kind}"
    write_whole(path, text)
    say(f"written: {path}")
