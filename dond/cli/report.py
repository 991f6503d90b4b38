"""Write a report on a league's run, or a comparison of 2 to 8: one self-contained file.

Runs that differ in the seed alone are seeds of one arm. Tables for spreadsheets and LaTeX: dond export.

examples:
  dond report --run runs/league                           # the newest run: report.html in its folder
  dond report --run runs/league/0001 --format json --out report.json
  dond report --run runs/league/0001 --run runs/league/0002    # comparison.html in the first folder
"""

from __future__ import annotations

from pathlib import Path

import click

from dond.cli.shell import FILE, Command, WritableFile, output_console, print_line, print_next, trust_option
from dond.report.collect import read_facts
from dond.report.compare import MOST_RUNS, comparison_of, read_compared
from dond.report.render import report_html, report_json
from dond.report.sections import report_of
from dond.terminal.tables import print_in_short
from dond_marl.errors import InputError
from dond_marl.records.files import write_atomically
from league.ledger.run_directory import find_run
from league.tables.blocks import printable, report_with_short_names

FORMATS = {"html": report_html, "json": report_json}
OUT = WritableFile(allow_dash=True)


@click.command(cls=Command, help=__doc__, interrupted="nothing is written")
@click.option(
    "--run",
    "runs",
    type=FILE,
    required=True,
    multiple=True,
    metavar="FOLDER",
    help="a run, or the newest of those in it",
)
@click.option("--format", "kind", type=click.Choice([*FORMATS]), default="html", help="of the file (html)")
@click.option(
    "--out",
    type=OUT,
    metavar="FILE",
    help="- for the screen (report.FORMAT, or comparison.FORMAT, in the first run's folder)",
)
@trust_option
def command(runs: tuple[Path, ...], kind: str, out: Path | None, trust: bool) -> None:
    """Write the report of one run, or the comparison of several, in one format."""
    if len(runs) > MOST_RUNS:
        raise InputError(f"--run is given at most {MOST_RUNS} times; got {len(runs)} runs")
    folder, names = find_run(runs[0]).path, list[str]()
    if len(runs) == 1:
        facts = read_facts(folder, trust=trust)
        report, names = printable(report_of(facts)), [member.name for member in facts.members]
    else:
        report = printable(comparison_of([read_compared(run, trust=trust) for run in runs]))
    for_people = report_with_short_names(report, names)
    text = FORMATS[kind](for_people if kind == "html" else report)
    if out == Path("-"):
        click.echo(text, nl=False)
        return
    path = out or folder / f"{'report' if len(runs) == 1 else 'comparison'}.{kind}"
    write_atomically(path, text)
    print_in_short(output_console(), (f"{label}: {text}." for label, text in for_people.abstract))
    print_line(f"written: {path}")
    print_next("web", "--run", folder)
