"""Regenerate files that the package ships, from a checkout: the expert, the references of partners, the equilibria."""

from __future__ import annotations

from pathlib import Path

import click

from dond_marl.game import SEATS
from dond_marl.yardsticks.adaptive import EFFORT
from dond_marl.yardsticks.equilibria.make_tables import STORED as EQUILIBRIA
from dond_marl.yardsticks.equilibria.make_tables import make_tables
from dond_marl.yardsticks.equilibria.table import TEMPERATURES
from league.cli.shell import FILE, Command, Group, Renamed, say, whole
from league.standings.references import STORED as REFERENCES
from league.standings.references import Reference
from partners.network.checkpoint_files import CheckpointError
from partners.network.occupants import EXPERT
from partners.rosters import ROSTERS

MOST = 100_000  # scenarios that an expert is scored on


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
@click.option(
    "--sample",
    type=whole(1, MOST),
    metavar="N",
    help="score it on N of the held-out scenarios, for a card to try (all)",
)
def expert(run: Path, out: Path, sample: int | None) -> None:
    """Make the newest checkpoint of a training run the shipped expert, and write its card.

    examples:
      dond ship expert --run runs/expert
    """
    from league.training.expert import ship  # loads PyTorch

    card = ship(run.expanduser(), out, sample)
    for name, score in card["scores"]["greedy"].items():
        say(f"{name:24} {score['points']:5.2f} [{score['low']:.2f}, {score['high']:.2f}]  {score['deals']:.1%} deals")
    say(f"written: {out}")


@command.command(cls=Command)
@click.argument("partners", nargs=-1, metavar="[PARTNER]...")
@click.option(
    "--roster",
    "rosters",
    type=click.Choice(ROSTERS),
    multiple=True,
    help="whose members to take; by default all three, and every occupant that needs no parameters",
)
@click.option("--again", is_flag=True, help="recompute results that exist and whose partner has not changed")
@click.option(
    "--effort",
    type=click.IntRange(min=1),
    default=EFFORT,
    metavar="N",
    help=f"beliefs that are looked at for one turn and pool; beyond that an upper bound is stored ({EFFORT:,})",
)
@click.option("--out", type=FILE, default=REFERENCES, metavar="FILE", help="the file to add to (the package's)")
def references(partners: tuple[str, ...], rosters: tuple[str, ...], again: bool, effort: int, out: Path) -> None:
    """Compute the most that can be earned against partners: exact best responses, or certified upper bounds.

    Each result is stored as soon as it is known, so the command can be stopped and continued. The slowest come last.

    examples:
      dond ship references
      dond ship references --roster test
      dond ship references "boulware(exponent=2)" --out mine.json
    """
    from league.evaluation.reference_values import ship_references, shipped_for

    ship_references(shipped_for(partners, rosters), out, again=again, effort=effort, tell=_tell)
    say(f"written: {out}")


@command.command(cls=Command)
@click.option(
    "--turns",
    type=click.IntRange(1, max(TEMPERATURES)),
    multiple=True,
    metavar="N",
    help=f"games of how many turns; by default all, 1 to {max(TEMPERATURES)}",
)
@click.option("--out", type=FILE, default=EQUILIBRIA, metavar="FOLDER", help="where to write them (the package)")
def equilibria(turns: tuple[int, ...], out: Path) -> None:
    """Compute equilibria of the game, measure how much could be gained against each, and write the tables.

    examples:
      dond ship equilibria
      dond ship equilibria --turns 4 --out mine
    """
    for made in make_tables(out, turns or tuple(TEMPERATURES)):
        note = made.note
        first, second = note["values"]
        within = sum(note["gain_within_memory"])
        most = sum(high for _, high in note["gain_remembering"])
        say(
            f"{made.turns:2} turns at {made.temperature:5}: {first:.3f} and {second:.3f} points, "
            f"{note['deals']:.1%} deals; gains: {within:.4f} within memory, at most {most:.4f} remembering all"
        )
    say(f"written: {out}")


def _tell(name: str, reference: Reference) -> None:
    for seat, side in zip(SEATS, reference.seats, strict=True):
        if side is None:
            say(f"{name:40} as {seat}: nothing is certain")
            continue
        value = f"{side.high:6.3f}" if side.exact else f"at most {side.high:6.3f}, earned {side.low:6.3f}"
        say(f"{name:40} as {seat}: {value} ({side.how}, {side.seconds:.0f} s)")
