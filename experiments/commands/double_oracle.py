"""Run the double oracle in short games: exact best responses are added until nobody gains, pool by pool.

The members of both seats form a matrix game. Its coarse correlated equilibrium is solved, and for each seat the policy
with perfect recall that gains most by committing to it beforehand is added. Gains are certified by seat.

examples:
  dond experiment double-oracle --turns 3
  dond experiment double-oracle --turns 4 --results docs/results/double_oracle.jsonl
  dond experiment double-oracle --turns 2 --solver max_welfare --start heuristic --start tough
"""

from __future__ import annotations

from pathlib import Path

import click

from league.bench.results import check_writable
from league.cli.shell import FILE, Command, integer, output_console, print_line

DEFAULT = Path("runs/double_oracle.jsonl")
ROSTER = "train"


@click.command(cls=Command, help=__doc__, interrupted="nothing is written")
@click.option("--turns", type=integer(2, 4), default=3, metavar="N", help="of a game, 2 to 4 (3)")
@click.option(
    "--solver",
    type=click.Choice(("strictest", "max_welfare", "nash_bargaining")),
    default="strictest",
    help="which equilibrium of the members (strictest)",
)
@click.option("--start", multiple=True, metavar="OCCUPANT", help=f"whom to begin with (the roster {ROSTER})")
@click.option("--most", type=integer(1, 10_000), default=400, metavar="N", help="iterations for a pool (400)")
@click.option("--results", type=FILE, default=DEFAULT, metavar="FILE", help=f"to keep it in ({DEFAULT})")
def command(turns: int, solver: str, start: tuple[str, ...], most: int, results: Path) -> None:
    """Solve, print every iteration, and keep the end."""
    from experiments.double_oracle.oracle import everybody
    from experiments.double_oracle.report import keep, members_of, performed, read, section
    from league.display.tables import print_section
    from partners.rosters import roster

    check_writable(results)
    read(results)
    row = performed(everybody(), members_of(start or roster(ROSTER)), turns, solver, most, print_line)
    keep(results, row)
    print_section(output_console(), section(row))
    print_line(f"written: {results}")
