"""Rehearse the analysis of a study: many studies of simulated participants whose truth is known, and what it finds.

Simulated participants are occupants that gamble with nothing, met over the study's own scenarios, so the truth of every
figure is known exactly. Printed is how often each 95 % interval held it.

examples:
  dond study rehearse
  dond study rehearse --config configs/study.yaml --participants 60 --repeats 1000
"""

from __future__ import annotations

from pathlib import Path

import click
from rich.markdown import Markdown

from league.cli.shell import SEED, Command, config_option, console_for_people, say, set_option, whole


@click.command(cls=Command, help=__doc__)
@config_option("study.yaml", default="configs/study.yaml", help="a YAML file (study.yaml)")
@set_option
@click.option("--participants", type=whole(2, 10_000), default=129, metavar="N", help="in each study (129)")
@click.option("--repeats", type=whole(1, 100_000), default=200, metavar="N", help="studies (200)")
@click.option("--seed", type=SEED, default=0, metavar="N", help="of the first study; the others follow (0)")
def command(config_path: Path, overrides: tuple[str, ...], participants: int, repeats: int, seed: int) -> None:
    """Rehearse."""
    from league.settings.read import load_config
    from league.web.study.rehearsal import TYPES, World, markdown
    from league.web.study.settings import StudyConfig

    lines = World(load_config(config_path, overrides, StudyConfig)).coverage(repeats, participants, seed)
    say(f"{repeats:,} studies of {participants} simulated participants: {', '.join(TYPES)}")
    console_for_people().print(Markdown(markdown(lines)))
    held = sum(line.held for line in lines) / len(lines)
    say(f"The 95 % intervals held the truth in {held:.1%} of {len(lines) * repeats:,}.")
