"""Renew files that the package ships, from a checkout: the trained expert, the ladders' best responses."""

from __future__ import annotations

from pathlib import Path

import click

from league.cli.shell import FILE, Command, Group, Renamed, say
from league.standings.best_response_values import STORED, store
from partners.network.pair import CheckpointError
from partners.network.saved import EXPERT


@click.group(cls=Group, help=__doc__)
def command() -> None:
    """Has subcommands alone."""


@command.command(cls=Command, run_errors=(CheckpointError,))
@click.option(
    "--run", type=FILE, required=True, metavar="FOLDER", help="a training's folder, or the newest of those in it"
)
@click.option(
    "--out", "--target", cls=Renamed, type=FILE, default=EXPERT, metavar="FILE", help="where to write it (the package)"
)
def expert(run: Path, out: Path) -> None:
    """Make the newest checkpoint of a training run the shipped expert, and write its card.

    examples:
      dond ship expert --run runs/expert
    """
    from league.training.expert import ship  # loads PyTorch

    card = ship(run.expanduser(), out)
    for name, score in card["scores"]["greedy"].items():
        say(f"{name:24} {score['points']:5.2f} [{score['low']:.2f}, {score['high']:.2f}]  {score['deals']:.1%} deals")
    say(f"written: {out}")


@command.command(cls=Command)
@click.option(
    "--out",
    "--target",
    cls=Renamed,
    type=FILE,
    default=STORED,
    metavar="FILE",
    help="where to write them (the package)",
)
def responses(out: Path) -> None:
    """Compute what the exact best response to every occupant of the catalogue earns, and store it for the ladders.

    examples:
      dond ship responses
    """
    for name, (first, second) in store(out).items():
        say(f"{name:24} {first:6.3f} as seat_0, {second:6.3f} as seat_1")
    say(f"written: {out}")
