"""Set OpenSpiel's tree search and our occupants at one table: in its bargaining, and in this game as one of its games.

Needs OpenSpiel (pip install -e '.[examples]'). Pairs that are done are kept in output-dir; the same command continues.

examples:
  dond experiment bargaining --player nash_seeker --player expert
  dond experiment bargaining --player "expert(kind=supervised,greedy=False)" --simulations 100 --instances 10
  dond experiment bargaining --psro 120000         # and OpenSpiel's response oracles, and ours
"""

from __future__ import annotations

from pathlib import Path

import click

from dond_marl.occupants import check_spec
from league.cli.field.outcome import keep, results_file
from league.cli.shell import FILE, Command, say, whole

PLAYERS = ("nash_seeker", "expert(greedy=False)")


@click.command(cls=Command, help=__doc__, interrupted="pairs that are done are kept, and the same command goes on")
@click.option("--player", "players", multiple=True, metavar="OCCUPANT", help=f"may be repeated ({', '.join(PLAYERS)})")
@click.option("--simulations", type=whole(2, 100_000), default=1000, metavar="N", help="of its tree search (1000)")
@click.option("--instances", type=whole(2, 392), default=50, metavar="N", help="of each game, the first ones (50)")
@click.option(
    "--psro",
    type=whole(10, 10**9),
    metavar="N",
    help="also response oracles, OpenSpiel's and ours, after N own decisions",
)
@click.option("--output-dir", type=FILE, default=Path("runs/bargaining"), metavar="FOLDER", help="(runs/bargaining)")
@click.option("--results", type=FILE, metavar="FILE", help="the results file (results.jsonl in output-dir)")
def command(
    players: tuple[str, ...],
    simulations: int,
    instances: int,
    psro: int | None,
    output_dir: Path,
    results: Path | None,
) -> None:
    """Play, print and keep."""
    from league.experiments.field.bargaining import lines, markdown, perform

    path = results_file(results, output_dir)
    specs = players or PLAYERS
    for spec in specs:
        check_spec(spec)
    guests = None
    if psro is not None:
        from league.experiments.field.psro import Oracles  # loads PyTorch

        guests = Oracles(psro, 0, output_dir / "psro", say)
    rows = perform(specs, simulations, instances, output_dir / "pairs", say, guests)
    text = lines(rows, simulations, guests.learned() if guests is not None else ())
    keep(path, text, markdown(text))
