"""Write a report on a league's run: one self-contained file. Tables for spreadsheets and LaTeX: dond export.

examples:
  dond report --run runs/league                           # the newest run: report.html in its folder
  dond report --run runs/league/0001 --format json --out report.json
"""

from __future__ import annotations

from pathlib import Path

import click

from dond.cli.shell import FILE, Command, WritableFile, output_console, print_line, print_next, trust_option
from dond.report.collect import read_facts
from dond.report.render import report_html, report_json
from dond.report.sections import report_of
from dond.terminal.tables import print_in_short
from dond_marl.records.files import write_atomically
from league.ledger.run_directory import find_run
from league.tables.blocks import printable, report_with_short_names

FORMATS = {"html": report_html, "json": report_json}
OUT = WritableFile(allow_dash=True)


@click.command(cls=Command, help=__doc__, interrupted="nothing is written")
@click.option("--run", type=FILE, required=True, metavar="FOLDER", help="a run, or the newest of those in it")
@click.option("--format", "kind", type=click.Choice([*FORMATS]), default="html", help="of the file (html)")
@click.option("--out", type=OUT, metavar="FILE", help="- for the screen (report.FORMAT in the run's folder)")
@trust_option
def command(run: Path, kind: str, out: Path | None, trust: bool) -> None:
    """Write the report of one run in one format."""
    folder = find_run(run).path
    facts = read_facts(folder, trust=trust)
    report = printable(report_of(facts))
    for_people = report_with_short_names(report, [member.name for member in facts.members])
    text = FORMATS[kind](for_people if kind == "html" else report)
    if out == Path("-"):
        click.echo(text, nl=False)
        return
    path = out or folder / f"report.{kind}"
    write_atomically(path, text)
    print_in_short(output_console(), for_people.abstract)
    print_line(f"written: {path}")
    print_next("web", "--run", folder)
