"""Say what the shipped equilibria are worth: points by seat in games of every length, beside people and players.

Computed exactly from the tables; people's figures are those that the package holds.

examples:
  dond experiment equilibria
  dond experiment equilibria --results docs/results/equilibria.jsonl --plot docs/equilibria.png
"""

from __future__ import annotations

from pathlib import Path

import click

from league.bench.results import check_writable
from league.cli.shell import FILE, Command, WritableFile, say
from league.display.plane import check_drawable

DEFAULT = Path("runs/equilibria.jsonl")


@click.command(cls=Command, help=__doc__, interrupted="nothing is written")
@click.option("--results", type=FILE, default=DEFAULT, metavar="FILE", help=f"to write ({DEFAULT})")
@click.option("--plot", type=WritableFile(), metavar="FILE", help="the figure, as .png, .svg or .pdf")
def command(results: Path, plot: Path | None) -> None:
    """Measure, print a line each, and write the lines and the figure."""
    from league.experiments.equilibria.figure import draw
    from league.experiments.equilibria.worth import lines, measured

    check_writable(results)
    if plot is not None:
        check_drawable(plot)
    found = []
    for worth in measured():
        found.append(worth)
        first, second = worth.points
        game = "" if worth.turns is None else f", {worth.turns} turns"
        game += "" if worth.temperature is None else f" at {worth.temperature}"
        say(f"{worth.who}{game}: {first:.2f} and {second:.2f} points, {worth.deals:.1%} deals")
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(lines(found), encoding="utf-8")
    say(f"written: {results}")
    if plot is not None:
        draw(plot, found)
        say(f"written: {plot}")
