"""Measure what messages are worth between partners that tell their values, lie about them, and believe what they hear.

Seconds of one core; nothing is random but the scenarios.

examples:
  dond experiment talk
  dond experiment talk --results docs/results/talk.jsonl
"""

from __future__ import annotations

from pathlib import Path

import click
from rich.markdown import Markdown

from dond_marl.records.files import write_whole
from league.bench.results import check_writable
from league.cli.shell import FILE, Command, console_for_people, say


@click.command(cls=Command, help=__doc__)
@click.option("--results", type=FILE, metavar="FILE", help="the results file (none)")
def command(results: Path | None) -> None:
    """Play, print the table, and keep the figures."""
    from league.experiments.talk import lines, markdown, measured

    if results is not None:
        check_writable(results)
    rows = list(measured(say))
    if results is not None:
        results.parent.mkdir(parents=True, exist_ok=True)
        write_whole(results, lines(rows))
    console_for_people().print(Markdown(markdown(rows)))
    if results is not None:
        say(f"written: {results}")
