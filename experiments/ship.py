"""Regenerate files that the package ships, in a checkout: expert, references, equilibria."""

from __future__ import annotations

import json
from pathlib import Path

import click

from dond.cli.shell import FILE, Command, Group, RosterName, integer, print_line
from dond_marl.errors import InputError
from dond_marl.game import SEATS
from dond_marl.records.files import write_atomically
from partners.network.checkpoint_files import CheckpointError

MOST = 100_000  # scenarios that a policy is scored on


@click.group(cls=Group, help=__doc__)
def command() -> None:
    """Group of the commands."""


@command.command(cls=Command, run_errors=(CheckpointError,))
@click.option(
    "--run", type=FILE, required=True, metavar="FOLDER", help="a league's folder, or the newest of those in it"
)
@click.option("--member", metavar="NAME", default="main", help="a learner or snapshot of it (main)")
@click.option("--out", type=FILE, metavar="FILE", help="where to write it (the package)")
@click.option(
    "--sample", type=integer(1, MOST), metavar="N", help="score it on N held-out scenarios, for a trial (all)"
)
def expert(run: Path, member: str, out: Path | None, sample: int | None) -> None:
    """Make a member of a league the shipped expert, and write its card.

    examples:
      dond ship expert --run runs/expert
    """
    from experiments.shipped_expert import ship_expert
    from partners.network.occupants import EXPERT

    card = ship_expert(run, member, out or EXPERT, sample)
    for name, score in card["scores"]["greedy"].items():
        interval = f"[{score['low']:.2f}, {score['high']:.2f}]"
        print_line(f"{name:24} {score['points']:5.2f} {interval}  {score['deals']:.1%} deals")
    print_line(f"written: {out or EXPERT}")


@command.command(cls=Command)
@click.argument("partners", nargs=-1, metavar="[PARTNER]...")
@click.option(
    "--roster",
    "rosters",
    multiple=True,
    metavar="ROSTER",
    type=RosterName(),
    help="its members; by default of train, dev and dev2, and every occupant without required parameters",
)
@click.option("--again", is_flag=True, help="recompute results that exist and whose partner has not changed")
@click.option("--out", type=FILE, metavar="FILE", help="the file to add to (the package's)")
def references(partners: tuple[str, ...], rosters: tuple[str, ...], again: bool, out: Path | None) -> None:
    """Compute the maximum score against partners: exact best responses, or certified upper bounds.

    Each result is stored at once, so the command can be stopped and continued. The slowest come last.

    examples:
      dond ship references
      dond ship references --roster dev2
      dond ship references "boulware(exponent=2)" --out mine.json
    """
    from experiments.reference_values import references_to_ship, ship_references
    from league.standings.references import STORED, Reference

    def print_reference(name: str, reference: Reference) -> None:
        for seat, side in zip(SEATS, reference.seats, strict=True):
            if side is None:
                print_line(f"{name:40} as {seat}: no bound")
                continue
            value = f"{side.high:6.3f}" if side.exact else f"at most {side.high:6.3f}, earned {side.low:6.3f}"
            print_line(f"{name:40} as {seat}: {value} ({side.how}, {side.seconds:.0f} s)")

    chosen = references_to_ship(partners, rosters)
    ship_references(chosen, out or STORED, again=again, report=print_reference)
    print_line(f"written: {out or STORED}")


@command.command(cls=Command)
@click.option("--turns", type=int, multiple=True, metavar="N", help="games of N turns (all)")
@click.option("--out", type=FILE, metavar="FOLDER", help="where to write them (the package)")
@click.option(
    "--pools", type=FILE, metavar="FILE", help="instead write NashConv of the shipped tables by pool, as JSONL"
)
def equilibria(turns: tuple[int, ...], out: Path | None, pools: Path | None) -> None:
    """Compute equilibria of the game, measure the gain of deviations from each, and write the tables.

    examples:
      dond ship equilibria
      dond ship equilibria --turns 4 --out mine
      dond ship equilibria --turns 10 --pools pools.jsonl
    """
    from dond_marl.solvers.equilibria import STORED, TEMPERATURES
    from experiments.equilibrium_solver.make_tables import make_tables, pool_gains

    if unknown := set(turns) - TEMPERATURES.keys():
        raise InputError(f"--turns takes 1 to {max(TEMPERATURES)}; got {min(unknown)}")
    if pools is not None:
        found = [row for number in turns or TEMPERATURES for row in pool_gains(number, min(TEMPERATURES[number]))]
        write_atomically(pools, "".join(json.dumps(row) + "\n" for row in found))
        print_line(f"written: {pools}")
        return
    for table in make_tables(out or STORED, turns or tuple(TEMPERATURES)):
        note = table.note
        first, second = note["values"]
        within = sum(note["gain_within_memory"])
        most = sum(high for _, high in note["gain_remembering"])
        print_line(
            f"{table.turns:2} turns at {table.temperature:5}: {first:.3f} and {second:.3f} points, "
            f"{note['deals']:.1%} deals; gains: {within:.4f} within memory, at most {most:.4f} with full memory"
        )
    print_line(f"written: {out or STORED}")
