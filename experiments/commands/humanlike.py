"""Compare strength and likeness to people: training from scratch, from people's play, and with a KL penalty toward it.

It needs the supervised expert (dond train --algo bc) and the published dialogues.

examples:
  dond experiment humanlike --data-dir data
  dond experiment humanlike --data-dir data --kl 0.03 --kl 0.3 --seeds 3 --json humanlike.json
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from dond_marl.records.files import write_atomically
from experiments.humanlike import Base, HumanlikeError, Mean, base, check, means, rows
from league.cli.shell import FILE, Command, WritableFile, config_option, integer, output_console, print_line, set_option
from league.display.training import TrainWatcher
from league.settings.read import load_config
from league.settings.training import TrainConfig
from league.tables.figures import with_margin
from league.tasks.provenance import check_training_provenance, training_ancestry
from league.training.clone import report_json
from partners.network.checkpoint import CheckpointError
from partners.provenance import confirm_opponents_unseen
from partners.rosters import DEV, roster

HEADS = (
    "seeds",
    "same act, in replies",
    "everywhere",
    "greedy play",
    "sampled play",
    "KL from people",
    "nats of an act",
)
UNTIL_NOW = "no table; the runs are saved as far as they went"


@click.command(cls=Command, help=__doc__, interrupted=UNTIL_NOW, run_errors=(CheckpointError,))
@config_option(
    "humanlike.yaml", default="experiments/configs/humanlike.yaml", help="settings as of dond train (humanlike.yaml)"
)
@set_option
@click.option(
    "--kl",
    "pulls",
    type=float,
    multiple=True,
    metavar="X",
    help="weight of the KL penalty; may be repeated (training.kl)",
)
@click.option("--data-dir", type=FILE, metavar="FOLDER", help="folder of the published files (data)")
@click.option("--json", "json_path", type=WritableFile(), metavar="FILE", help="also write the figures to a file")
@click.option("--seeds", type=integer(1, 1000), default=1, metavar="N", help="of each training: 1 to N (1)")
@click.option("--against", multiple=True, metavar="OCCUPANT", help="opponents; may be repeated (the roster dev)")
def command(
    config_path: Path,
    overrides: tuple[str, ...],
    pulls: tuple[float, ...],
    data_dir: Path | None,
    seeds: int,
    json_path: Path | None,
    against: tuple[str, ...],
) -> None:
    """Train, measure and print."""
    console, config = output_console(), load_config(config_path, overrides, TrainConfig)
    check(config)
    check_training_provenance(config)
    pulls = pulls or (config.training.kl,)
    if any(not 0 < pull <= 1000 for pull in pulls):
        raise HumanlikeError(f"a pull is a number above 0, up to 1000: training.kl or --kl; got {[*pulls]}")
    confirm_opponents_unseen(against, training_ancestry(config), "the learner")
    measured_on, opponents, numbers = base(config, data_dir), against or roster(DEV), range(1, seeds + 1)
    with TrainWatcher(console) as watcher:
        policies = list(rows(config, pulls, numbers, data_dir, watcher, opponents, print_line))
    told = ", ".join(against) or "the roster dev"
    table = means(policies)
    _print(console, table, measured_on, told)
    if json_path is not None:
        document = {"against": told, "disagree": config.env.disagree, "measured_on": report_json(measured_on)}
        document |= {"partner": config.env.partner, "training": config.training.model_dump(mode="json")}
        document |= {"table": [report_json(row) for row in table], "policies": [report_json(row) for row in policies]}
        write_atomically(json_path, json.dumps(document, indent=1) + "\n")
        print_line(f"written: {json_path}")


def _print(console: Console, rows: Sequence[Mean], measured_on: Base, against: str) -> None:
    """The table, and how to read it; ``against``: whom they played."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("policy")
    for head in HEADS:
        table.add_column(head, justify="right")
    most = measured_on.majority
    baseline = f"always {measured_on.most_said}"
    table.add_row(baseline, "", with_margin(most.replies, "share"), with_margin(most.everywhere, "share"))
    for row in rows:
        table.add_row(
            row.name,
            str(row.seeds or ""),
            with_margin(row.replies, "share"),
            with_margin(row.everywhere, "share"),
            with_margin(row.greedy),
            with_margin(row.sampled),
            with_margin(row.distance),
            with_margin(row.act_nats),
        )
    console.print(table)
    print_line(
        f"likeness on {measured_on.positions:,} acts of people (test), {measured_on.replies:,} of them replies: how "
        "often the likeliest act was said, exact KL of the policy from that of people, cross-entropy of what they "
        f"said; points of ten against {against} on the held-out scenarios; 95% intervals over seeds, of a single "
        "policy over scenarios"
    )
    if measured_on.refusals:
        print_line(
            f"DISAGREE ends the game here, so {measured_on.refusals:,} positions are left out in which somebody "
            "refuses or was just refused: this is likeness to people who never refuse"
        )
