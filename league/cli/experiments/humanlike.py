"""Compare strength and likeness to people: training from scratch, from people's play, and pulled toward it.

It needs the supervised expert (dond train --algo bc) and the published dialogues.

examples:
  dond experiment humanlike --data-dir data
  dond experiment humanlike --data-dir data --kl 0.03 --kl 0.3 --json humanlike.json
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from dond_marl.records.files import write_whole
from league.cli.shell import FILE, Command, config_option, console_for_people, say, set_option
from league.display.figures import with_half
from league.display.training import TrainWatcher
from league.experiments.humanlike import HumanlikeError, Row, check, rows
from league.settings.read import load_config
from league.settings.training import TrainConfig
from league.tasks.pasts import refuse_training
from league.training.clone import plain
from partners.network.checkpoint import CheckpointError
from partners.rosters import DEV, roster

HEADS = ("greedy play", "sampled play", "deals", "KL from people", "nats of an act", "of a split", "same act")
UNTIL_NOW = "no table; the runs are saved as far as they went"


@click.command(cls=Command, help=__doc__, interrupted=UNTIL_NOW, run_errors=(CheckpointError,))
@config_option("humanlike.yaml", default="configs/humanlike.yaml", help="settings as of dond train (humanlike.yaml)")
@set_option
@click.option(
    "--kl", "pulls", type=float, multiple=True, metavar="X", help="strength of the pull; may be repeated (training.kl)"
)
@click.option("--data-dir", type=FILE, metavar="FOLDER", help="of the published files (data)")
@click.option("--json", "json_path", type=FILE, metavar="FILE", help="also write the figures to a file")
@click.option("--against", multiple=True, metavar="OCCUPANT", help="whom they play; may be repeated (the roster dev)")
def command(
    config_path: Path,
    overrides: tuple[str, ...],
    pulls: tuple[float, ...],
    data_dir: Path | None,
    json_path: Path | None,
    against: tuple[str, ...],
) -> None:
    """Train, measure and print."""
    console, config = console_for_people(), load_config(config_path, overrides, TrainConfig)
    check(config)
    refuse_training(config)
    pulls = pulls or (config.training.kl,)
    if any(not 0 < pull <= 1000 for pull in pulls):
        raise HumanlikeError(f"a pull is a number above 0, up to 1000: training.kl or --kl; got {[*pulls]}")
    with TrainWatcher(console) as watcher:
        policies = list(rows(config, pulls, data_dir, watcher, against or roster(DEV), say))
    _print(console, policies, config, ", ".join(against) or "the roster dev")
    if json_path is not None:
        write_whole(json_path, json.dumps([plain(row) for row in policies], indent=1) + "\n")
        say(f"written: {json_path}")


def _print(console: Console, policies: Sequence[Row], config: TrainConfig, against: str) -> None:
    """The table, and how to read it; ``against``: whom they played."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("policy")
    for head in HEADS:
        table.add_column(head, justify="right")
    for row in policies:
        table.add_row(
            row.name,
            with_half(row.greedy.points),
            with_half(row.sampled.points),
            f"{row.sampled.deals:.1%}",
            with_half(row.distance),
            with_half(row.likeness.act_nats),
            with_half(row.likeness.oA_nats),
            f"{row.likeness.accuracy.everywhere.mean:.1%}",
        )
    console.print(table)
    acts = policies[0].likeness.accuracy.everywhere.n
    say(
        f"points of ten against {against} on the held-out scenarios, DISAGREE {config.env.disagree}; deals of sampled "
        f"play; likeness on {acts:,} acts of people (test): exact KL of the policy from that of people, cross-entropy "
        "of what they said, and how often the likeliest act was said; 95 % intervals over scenarios"
    )
