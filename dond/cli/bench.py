r"""Measure any policy against a roster of partners under one protocol, and keep the results as a leaderboard.

OCCUPANT is a name of the catalogue (yours too, once it is installed), a run such as ppo_fast/0001, the .json of a
checkpoint, or with --run a member of a league. All 5,295 scenarios are played in both seats; networks play their
likeliest act. One line is added to the results file.

examples:
  dond bench expert --against dev
  dond bench ppo/0001 --against dev2 --name ppo --seed 1
  dond bench --run runs/league --member main --against dev
  dond bench expert --against test2 --reason "figures of the paper"   # held out: logged in docs/results/test2_log.jsonl
  dond bench heuristic --against boulware --against "linear(floor=0.6)"
  dond bench expert --against agents:challenge_haggling/submissions --sample 200   # programs of a public contest
  dond bench expert --against dev --beyond          # pools that no roster and no training uses
  dond bench random --against dev2 --adversary      # also what a trained exploiter gains
  dond bench table                                  # the leaderboard
  dond bench table --results docs/results/bench.jsonl --format markdown
  dond bench submit mine --by "Jane Doe <jane@example.org>" --command "dond bench mine.py:Mine --against dev2"
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dond.cli.shell import (
    FILE,
    SEED,
    Command,
    Group,
    WritableFile,
    integer,
    output_console,
    print_line,
    print_next,
    trust_option,
)
from dond.report.render import report_html
from dond.terminal.tables import print_in_short, print_section
from dond_marl.errors import InputError
from dond_marl.files import read_text
from dond_marl.records.files import write_atomically
from league.api import benchmark
from league.bench.protocol import REPLICATES
from league.bench.results import DEFAULT, read
from league.bench.results import submit as sign_off
from league.bench.table import leaderboard, result_section, summary_sentences
from league.tables.blocks import Report
from league.tables.markdown import report_markdown, section_markdown

RUN = "run"  # the subcommand of a call without one
MOST = 100_000
LEADERBOARD = Path("leaderboard")
FORMATS = ("text", "markdown", "html")
BEGIN, END = "<!-- made by dond bench table: begin -->", "<!-- made by dond bench table: end -->"


class Bench(Group):
    """``dond bench OCCUPANT`` is ``dond bench run OCCUPANT``: a word that is no subcommand is a policy to measure."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) or self.commands[RUN]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = [RUN, *args]
        return super().parse_args(ctx, args)


@click.group(cls=Bench, help=__doc__)
def command() -> None:
    """Group of the benchmark's commands."""


@command.command(RUN, cls=Command, interrupted="nothing is added to the results file")
@click.argument("policy", metavar="[OCCUPANT]", required=False)
@click.option(
    "--against",
    multiple=True,
    metavar="OCCUPANT",
    help="its partners: an occupant, a folder of programs (agents:FOLDER), or a roster (`dond rosters`); may be "
    "repeated",
)
@click.option("--run", "folder", type=FILE, metavar="FOLDER", help="instead of OCCUPANT: a league's folder")
@click.option("--member", metavar="NAME", help="with --run: a member or snapshot of it (its main member)")
@click.option("--name", "--arm", metavar="TEXT", help="its name in the leaderboard (OCCUPANT)")
@click.option(
    "--seed", type=SEED, metavar="N", help="the seed it was trained with; rows of one name are seeds of one arm"
)
@click.option(
    "--declare", metavar="TEXT", help="its opponents in training, if they are not recorded; shown with the result"
)
@click.option("--beyond", is_flag=True, help="on pools that no roster and no training uses")
@click.option(
    "--sample", type=integer(2, MOST), metavar="N", help="N scenarios only, for occupants that are expensive to query"
)
@click.option(
    "--replicates",
    type=integer(2, 1000),
    default=REPLICATES,
    metavar="N",
    help=f"games per scenario, seat and partner where one of them acts at random ({REPLICATES})",
)
@click.option("--labels", is_flag=True, help="also with every offer a PROPOSE and with every offer an INSIST")
@click.option(
    "--adversary",
    is_flag=True,
    help="also what trained exploiters gain, where no best response is exact: a minute or two for each of three seeds",
)
@click.option("--workers", type=integer(1, 64), default=1, metavar="N", help="processes (1)")
@click.option(
    "--results", type=FILE, default=DEFAULT, metavar="FILE", help=f"the file that the line is added to ({DEFAULT})"
)
@click.option("--reason", metavar="TEXT", help="with --against test2 or test3: why, for the log of its evaluations")
@click.option(
    "--log", type=FILE, metavar="FILE", help="with test2 or test3: the log (that of the checkout, or by the results)"
)
@click.option("--allow-uncommitted", is_flag=True, help="though the sources differ from the commit; the line says so")
@trust_option
def run(
    policy: str | None,
    against: tuple[str, ...],
    folder: Path | None,
    member: str | None,
    results: Path,
    **terms: Any,
) -> None:
    """Measure an occupant and add a line to the results file.

    examples:
      dond bench expert --against dev
    """
    if (policy is None) == (folder is None):
        raise InputError("name an OCCUPANT (or a checkpoint's .json), or --run FOLDER --member NAME")
    if folder is None and member is not None:
        raise InputError("--member is for --run, which names a league's folder")
    console = output_console()
    with console.status("") as status:  # shown on a terminal only
        row = benchmark(
            policy if folder is None else member, against, run=folder, results=results, report=status.update, **terms
        ).row
    print_in_short(console, summary_sentences(row))
    print_section(console, result_section(row))
    print_line(f"added to: {results}")
    print_next("bench", "table", *(("--results", results) if results != DEFAULT else ()))


@command.command(cls=Command)
@click.option("--results", type=FILE, multiple=True, metavar="FILE", help=f"may be repeated ({DEFAULT})")
@click.option("--format", "form", type=click.Choice(FORMATS), default=FORMATS[0], help="text, markdown or html (text)")
@click.option("--over", metavar="ARM", help="compare all others with it: differences with verdicts, Holm's p")
@click.option("--out", type=WritableFile(), metavar="FILE", help="write it there instead of printing it")
@click.option("--page", type=WritableFile(exists=True), metavar="FILE", help="renew the table in a page of Markdown")
def table(results: tuple[Path, ...], form: str, over: str | None, out: Path | None, page: Path | None) -> None:
    """Show the leaderboard of results files: best first, seeds of one name together.

    examples:
      dond bench table
      dond bench table --results docs/results/bench.jsonl --format html --out leaderboard.html
    """
    report = leaderboard(read(results or (DEFAULT,)), over)
    if page is not None:
        write_atomically(page, renew_table(read_text(page), report, str(page)))
        print_line(f"written: {page}")
        return
    if form == "text":
        if out is not None:
            raise InputError("--out is for --format markdown or html; redirect the text instead")
        console = output_console()
        print_line(report.summary)
        for section in report.sections:
            print_section(console, section)
        return
    text = report_html(report) if form == "html" else report_markdown(report)
    if out is None:
        click.echo(text, nl=False)
        return
    write_atomically(out, text)
    print_line(f"written: {out}")


@command.command(cls=Command)
@click.argument("name", metavar="ARM")
@click.option("--by", required=True, metavar="TEXT", help="who signs it off: name and address")
@click.option("--command", "how", required=True, metavar="TEXT", help="how others get the same rows")
@click.option("--results", type=FILE, multiple=True, metavar="FILE", help=f"may be repeated ({DEFAULT})")
@click.option("--out", type=FILE, default=LEADERBOARD, metavar="FOLDER", help=f"({LEADERBOARD})")
def submit(name: str, by: str, how: str, results: tuple[Path, ...], out: Path) -> None:
    """Sign off the rows of an arm for the leaderboard: one file to send as a pull request.

    examples:
      dond bench submit mine --by "Jane Doe <jane@example.org>" --command "dond bench mine.py:Mine --against dev2"
    """
    if not out.is_dir():
        raise InputError(f"--out {out}: no such folder; run it in a checkout, or name a folder")
    print_line(f"written: {sign_off(read(results or (DEFAULT,)), name, by, how, out)}")


def renew_table(text: str, report: Report, where: str) -> str:
    """A page of Markdown with the leaderboard between its two marks. Raises :class:`InputError` without them."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(END) < text.index(BEGIN):
        raise InputError(f"{where}: holds no line {BEGIN} with a line {END} after it")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    sections = "\n\n".join(map(section_markdown, report.sections)) or "No results yet."
    return f"{before}{BEGIN}\n\n{sections}\n\n{END}{after}"
