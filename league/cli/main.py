"""Negotiate Deal or No Deal with dialogue acts: play, train agents, and run leagues of them.

Every command has --help with examples. Error messages say how to fix the problem. If a config such as league.yaml or
configs/league.yaml does not exist here, the shipped one is used.

examples:
  dond league --config configs/league.yaml      # a league, with its ladder
  dond train --algo ppo --hint none --config configs/ppo_config.yaml
  dond evaluate --member expert --against heuristic
  dond bench expert --against dev               # under one protocol, to a leaderboard
  dond play --partner expert                    # play yourself
  dond web                                      # or in a browser
  dond study serve                              # let others play, as a study
  dond demo                                     # a page to put online: no server, no installation
  dond catalogue                                # all occupants
  eval "$(_DOND_COMPLETE=bash_source dond)"     # complete with Tab; also zsh_source, fish_source
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from dond_marl import __version__
from league.cli.shell import Group, run
from league.settings.layers import presets_folder as folder

COMMANDS = (
    *(
        "league",
        "train",
        "evaluate",
        "bench",
        "rosters",
        "play",
        "web",
        "demo",
        "report",
        "catalogue",
        "llm-check",
        "experiment",
    ),
    "get-model",
    *("data", "export", "push", "ship", "serve", "study"),
)
ROOMS = {  # of commands that lie in a room beside the others
    **dict.fromkeys(("llm-check", "get-model", "serve"), "models."),
    **dict.fromkeys(("export", "push", "ship"), "sharing."),
}

CONFIGS = f"The shipped configs are in {folder()}: {', '.join(sorted(path.name for path in folder().glob('*.yaml')))}."


@click.group(
    cls=Group,
    help=(__doc__ or "").replace("\n\nexamples:", f"\n\n{CONFIGS}\n\nexamples:"),
    files={name: f"league.cli.{ROOMS.get(name, '')}{name.replace('-', '_')}" for name in COMMANDS},
    invoke_without_command=True,
)
@click.version_option(__version__, message="%(version)s")
@click.pass_context
def command(context: click.Context) -> None:
    """Print what there is where no command is named."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(words: Sequence[str] | None = None) -> int:
    """Run ``dond`` with these words, or those of the shell; the exit code is 0, 1, 2, 130 or 143 (:mod:`.shell`)."""
    return run(command, words)
