"""Score public games of large models again, and put occupants of ours on the same tables under the same protocol.

The protocol is talk, then secret proposals, as in clembench's dond. Its instances and games have no licence and are
not shipped: name the folder with instances_<experiment>.json, and one with <model>/dond/<experiment>/... below it.
Ours speak in acts; what they propose is the last offer that they accepted, else the last claim that they made.

examples:
  dond experiment frontier --instances negotiation-games/dond/in --transcripts negotiation-games/results_en
  dond experiment frontier --instances in --transcripts results_en --seat heuristic --reply heuristic --plot games.svg
"""

from __future__ import annotations

from pathlib import Path

import click

from dond_marl.occupants import check_spec
from dond_marl.records.files import write_atomically
from experiments.commands.outcome import keep
from league.bench.results import check_writable
from league.cli.shell import FILE, SEED, Command, WritableFile, print_line

SEATS = ("heuristic", "expert(greedy=True)", "equilibrium")
REPLIES = ("heuristic", "expert(greedy=True)")
MAIN = "main"


@click.command(cls=Command, help=__doc__)
@click.option("--instances", type=FILE, required=True, metavar="FOLDER", help="with instances_<experiment>.json")
@click.option("--transcripts", type=FILE, required=True, metavar="FOLDER", help="with the models' games below it")
@click.option("--experiment", default="semi_en", metavar="NAME", help="which of their experiments (semi_en)")
@click.option("--seat", "seats", multiple=True, metavar="OCCUPANT", help="plays with itself; may be repeated")
@click.option(
    "--reply", "replies", multiple=True, metavar="OCCUPANT", help="gets the exact best reply; may be repeated"
)
@click.option(
    "--main", type=FILE, metavar="FILE", help="the .json of a checkpoint, as of dond export --to checkpoint, seated too"
)
@click.option("--seed", type=SEED, default=0, metavar="N", help="of the noise of ours (0)")
@click.option("--results", type=FILE, default=Path("runs/frontier.jsonl"), metavar="FILE", help="(runs/frontier.jsonl)")
@click.option("--plot", type=WritableFile(), metavar="FILE", help="also draw it, as SVG")
def command(
    instances: Path,
    transcripts: Path,
    experiment: str,
    seats: tuple[str, ...],
    replies: tuple[str, ...],
    main: Path | None,
    seed: int,
    results: Path,
    plot: Path | None,
) -> None:
    """Score, play, print and keep."""
    from experiments.field.frontier.experiment import lines, perform  # some occupants load PyTorch
    from experiments.field.frontier.shown import drawing, how, markdown

    check_writable(results)
    named = [(spec, spec) for spec in seats or SEATS]
    answered = [(spec, spec) for spec in replies or REPLIES]
    for _, spec in (*named, *answered):
        check_spec(spec)
    if main is not None:
        spec = f"checkpoint(greedy=True, path={str(main)!r})"
        check_spec(spec)
        named, answered = [*named, (MAIN, spec)], [*answered, (MAIN, spec)]
    rows = list(perform(instances, transcripts, experiment, named, answered, seed=seed))
    keep(results, lines(rows, experiment, [*named, *answered], seed, print_line), markdown(rows), how(rows))
    if plot is not None:
        write_atomically(plot, drawing(rows))
        print_line(f"written: {plot}")
