"""Show what the shipped equilibria are worth: points by seat for every game length, beside people and policies.

Figures are computed exactly from the tables; people's figures come with the package. Members of leagues already in the
results file are kept; with --run a member is measured, or measured again.

examples:
  dond experiment equilibria
  dond experiment equilibria --results docs/results/equilibria.jsonl --plot docs/equilibria.png
  dond experiment equilibria --run runs/league --member main --name "default league"
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import click

from dond_marl.errors import InputError
from league.bench.results import check_writable
from league.bench.submission import submission_of_run
from league.cli.shell import FILE, Command, WritableFile, print_line
from league.display.plane import check_drawable

DEFAULT = Path("runs/equilibria.jsonl")


@click.command(cls=Command, help=__doc__, interrupted="nothing is written")
@click.option("--results", type=FILE, default=DEFAULT, metavar="FILE", help=f"to write ({DEFAULT})")
@click.option("--plot", type=WritableFile(), metavar="FILE", help="the figure, as .png, .svg or .pdf")
@click.option("--run", "folder", type=FILE, metavar="FOLDER", help="a league's folder, to measure a member of it too")
@click.option(
    "--member", multiple=True, metavar="NAME", help="with --run: a member of it (its main member); may be repeated"
)
@click.option("--name", default="league", metavar="TEXT", help="with --run: its name in the results (league)")
def command(results: Path, plot: Path | None, folder: Path | None, member: tuple[str, ...], name: str) -> None:
    """Measure, print a line each, and write the lines and the figure."""
    from experiments.equilibria.figure import draw
    from experiments.equilibria.worth import lines, measured, of_member, parsed

    if folder is None and member:
        raise InputError("--member is for --run, which names a league's folder")
    check_writable(results)
    before = parsed(results.read_text(encoding="utf-8").splitlines()) if results.exists() else []
    members = [worth for worth in before if worth.identity]
    if folder is not None:
        new = [of_member(submission_of_run(folder.expanduser(), each), name) for each in member or (None,)]
        named = {worth.who for worth in new}
        members = [*(worth for worth in members if worth.who not in named), *new]
    if plot is not None:
        check_drawable(plot)
    found = []
    for worth in chain(measured(), members):
        found.append(worth)
        first, second = worth.points
        game = "" if worth.turns is None else f", {worth.turns} turns"
        game += "" if worth.temperature is None else f" at {worth.temperature}"
        game += ", DISAGREE refuses" if worth.disagree == "rejects" else ""
        print_line(f"{worth.who}{game}: {first:.2f} and {second:.2f} points, {worth.deals:.1%} deals")
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(lines(found), encoding="utf-8")
    print_line(f"written: {results}")
    if plot is not None:
        draw(plot, found)
        print_line(f"written: {plot}")
