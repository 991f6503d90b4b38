"""What ``scripts/humanlike.py`` does with its arguments: the trainings, the table, a file, an exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dond_marl.records.files import write_whole
from league.cli.league import INTERRUPTED, RUN_ERROR, RUN_ERRORS, USAGE_ERROR, USER_ERRORS
from league.cli.train import TrainWatcher
from league.display.league import console_for_people, figure
from league.experiments.humanlike import HumanlikeError, Row, check, rows
from league.settings.read import load_config
from league.settings.training import TrainConfig
from league.training.clone import plain
from partners.learning.first_weights import FirstWeightsError
from partners.network.checkpoint import CheckpointError


class Request(NamedTuple):
    """What to train, and where the dialogues are."""

    config: Path
    overrides: Sequence[str]
    pulls: Sequence[float]  # empty: that of the settings
    data_dir: Path | None
    json: Path | None
    against: Sequence[str] = ()  # whom they play; empty: the zoo


def main(given: Request) -> int:
    """Train, measure and print; the exit code is 0, 1 (the runs), 2 (the settings) or 130 (interrupted)."""
    console = console_for_people()
    try:
        config = load_config(given.config, given.overrides, TrainConfig)
        check(config)
        pulls = list(given.pulls) or [config.training.kl]
        if any(not 0 < pull <= 1000 for pull in pulls):
            raise HumanlikeError(f"a pull is a number above 0, up to 1000: training.kl or --kl; got {pulls}")
        with TrainWatcher(console) as watcher:
            against = list(given.against) or None
            made = list(rows(config, pulls, given.data_dir, watcher, against, lambda line: _say(console, line)))
        print_table(console, made, config, ", ".join(given.against) or "the zoo")
        if given.json is not None:
            write_whole(given.json, json.dumps([plain(row) for row in made], indent=1) + "\n")
            _say(console, f"written: {given.json}")
    except (*USER_ERRORS, FirstWeightsError, HumanlikeError) as error:
        return _failed(str(error), USAGE_ERROR)
    except (*RUN_ERRORS, CheckpointError) as error:
        return _failed(str(error), RUN_ERROR)
    except KeyboardInterrupt:
        return _failed("interrupted: no table; the runs are saved as far as they went", INTERRUPTED)
    return 0


def print_table(console: Console, made: Sequence[Row], config: TrainConfig, against: str) -> None:
    """The table, and how to read it; ``against``: whom they played."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("policy")
    for name in ("greedy play", "sampled play", "deals", "KL from people", "nats of an act", "of a split", "same act"):
        table.add_column(name, justify="right")
    for row in made:
        like = row.likeness
        table.add_row(
            row.name,
            figure(row.greedy.points),
            figure(row.sampled.points),
            f"{row.sampled.deals:.1%}",
            figure(row.distance),
            figure(like.act_nats),
            figure(like.oA_nats),
            f"{like.accuracy.everywhere.mean:.1%}",
        )
    console.print(table)
    said = made[0].likeness.accuracy.everywhere.n
    _say(
        console,
        f"points of ten against {against} on the held-out scenarios, DISAGREE {config.env.disagree}; deals of sampled "
        f"play; likeness on {said:,} acts of people (test): exact KL of the policy from that of people, cross-entropy "
        "of what they said, and how often the likeliest act was said; 95 % intervals over scenarios",
    )


def _say(console: Console, line: str) -> None:
    console.print(Text(line), soft_wrap=True)


def _failed(message: str, code: int) -> int:
    print(message, file=sys.stderr)  # the command talks to a person
    return code
