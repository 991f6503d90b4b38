"""Run every example of scripts/examples, and say with which versions it works and what it came to.

Examples whose library pins other versions than this project get a virtual environment of their own in build/plug_in.

examples:
  python -m scripts.plug_in              # all; half an hour, most of it training
  python -m scripts.plug_in --only sb3_ppo --only rllib_ppo --steps 20000
  python -m scripts.plug_in --write      # and put the rows into docs/PLUG_IN.md
"""

from __future__ import annotations

import sys

import click

from league.cli import shell
from scripts.plug_in.matrix import run, table, write
from scripts.plug_in.places import EXAMPLES

STEPS = shell.Number(int, lambda steps: steps >= 1, "an integer of at least 1")


@click.command(cls=shell.Command, help=__doc__)
@click.option(
    "--only",
    type=click.Choice([example.name for example in EXAMPLES]),
    multiple=True,
    metavar="NAME",
    help=f"run only this; may be repeated: {', '.join(example.name for example in EXAMPLES)}",
)
@click.option("--steps", type=STEPS, metavar="N", help="decisions to learn from (each example's own default)")
@click.option("--write", "to_page", is_flag=True, help="put the rows into docs/PLUG_IN.md")
def command(only: tuple[str, ...], steps: int | None, to_page: bool) -> int:
    """Exit code 0 if every example works, 1 otherwise."""
    rows = []
    for example in EXAMPLES:
        if not only or example.name in only:
            click.echo(f"{example.name} ...", err=True)
            rows.append(run(example, steps))
    click.echo(table(rows))
    if to_page:
        write(rows)
    return int(not all(row.works for row in rows))


if __name__ == "__main__":
    sys.exit(shell.run(command))
