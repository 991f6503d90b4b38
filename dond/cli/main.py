"""Negotiate Deal or No Deal with dialogue acts: play, train agents, and run leagues of them.

Every command has --help with examples. A config such as league.yaml is one of yours, or else the shipped one.

examples:
  dond play --partner expert
  dond league --config configs/league.yaml
  dond train --algo ppo --hint none --config configs/ppo_config.yaml
  dond evaluate --member expert --against heuristic
  dond bench expert --against dev
  eval "$(_DOND_COMPLETE=bash_source dond)"   # complete with Tab; or zsh_source
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from dond.cli.shell import Group, run
from dond_marl import __version__

# Every command with the module that holds it as `command` (or under the name after the colon), in the order of --help.
COMMANDS = {
    "play": "dond.cli.play",
    "web": "dond.cli.web",
    "league": "dond.cli.league",
    "train": "dond.cli.train",
    "evaluate": "dond.cli.evaluate",
    "bench": "dond.cli.bench",
    "report": "dond.cli.report",
    "catalogue": "dond.cli.catalogue",
    "rosters": "dond.cli.catalogue:rosters",
    "data": "dond.cli.data",
    "export": "dond.cli.export",
    "study": "dond.cli.study",
    "llm-check": "dond.cli.llm_check",
    "serve": "dond.cli.serve",
}


@click.group(cls=Group, help=__doc__, files=COMMANDS, invoke_without_command=True)
@click.version_option(__version__, message="%(version)s")
@click.pass_context
def command(context: click.Context) -> None:
    """Print the help if no command is named."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(words: Sequence[str] | None = None) -> int:
    """Run ``dond`` with these words, or the shell's; returns the exit code 0, 1, 2, 130 or 143 (:mod:`.shell`)."""
    return run(command, words)
