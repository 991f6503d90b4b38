"""Run an experiment behind the results page, check the rosters, or make the shipped expert again.

The experiments are part of a checkout of the project, not of the installed package.

examples:
  python -m experiments baselines --config experiments/configs/ablation.yaml --dry-run
  python -m experiments hints --help
  python -m experiments rosters check
  python -m experiments expert --run runs/expert
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from dond.cli.shell import Group, run

COMMANDS = {  # name: module of the command
    "baselines": "experiments.baselines",
    "hints": "experiments.hints",
    "rosters": "experiments.rosters",
    "expert": "experiments.shipped_expert",
}


@click.group(cls=Group, help=__doc__, files=COMMANDS)
def command() -> None:
    """Group of the commands."""


def main(words: Sequence[str] | None = None) -> int:
    """Run a command with these words, or the shell's; returns the exit code (:mod:`dond.cli.shell`)."""
    return run(command, words, "python -m experiments")


if __name__ == "__main__":
    sys.exit(main())
