"""Print the table of Li et al. 2023 for a study or its export: points to the human, to the agent, joint, Nash product.

Every figure with its 95 % interval over clusters of participants who met; points of ten.

examples:
  dond study analyse runs/study
  dond study analyse shared/study     # an export's folder
"""

from __future__ import annotations

from pathlib import Path

import click
from rich.markdown import Markdown

from dond_marl.errors import InputError
from league.cli.shell import FILE, Command, console_for_people, say


@click.command(cls=Command, help=__doc__)
@click.argument("folder", type=FILE, metavar="DIR")
def command(folder: Path) -> None:
    """Analyse."""
    from league.web.study.analysis import markdown, played, read_played, table
    from league.web.study.folder import is_study, open_study
    from league.web.study.games import shuffled

    games = played(shuffled(open_study(folder), 0)) if is_study(folder) else read_played(folder)
    if not games:
        raise InputError(f"{folder} holds no finished game yet")
    lines = table(games)
    console_for_people().print(Markdown(markdown(lines)))
    say("Points of ten; 95 % intervals over clusters; the Nash product is that of the means (docs/STUDY.md).")
