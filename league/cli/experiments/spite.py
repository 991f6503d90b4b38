"""Solve the game of spite by CFR+, and compute exactly how much could still be gained: perfect recall, 2 to 4 turns.

In the game of spite a seat's payoff is its own points minus its partner's: a zero-sum game.

examples:
  dond experiment spite --turns 3 --iterations 100
  dond experiment spite --turns 4 --iterations 40 --results docs/results/spite.jsonl
"""

from __future__ import annotations

from pathlib import Path

import click

from league.bench.results import check_writable
from league.cli.shell import FILE, Command, say, whole

DEFAULT = Path("runs/spite.jsonl")


@click.command(cls=Command, help=__doc__, interrupted="nothing is written")
@click.option("--turns", type=whole(2, 4), default=3, metavar="N", help="of a game, 2 to 4 (3)")
@click.option("--iterations", type=whole(1, 10_000), default=100, metavar="N", help="of CFR+ a pool (100)")
@click.option("--results", type=FILE, default=DEFAULT, metavar="FILE", help=f"to keep it in ({DEFAULT})")
def command(turns: int, iterations: int, results: Path) -> None:
    """Solve every pool, print a line each, and keep the figures."""
    from league.experiments.equilibria.spite import keep, over_all, read, solved

    check_writable(results)
    read(results)
    row = solved(turns, iterations, tell=say)
    keep(results, row)
    value, gain = over_all(row, "value"), over_all(row, "gain")
    say(f"all pools, {turns} turns: seat_0 gets {value:+.4f} more, best responses gain {gain:.4f} together")
    say(f"written: {results}")
