"""Shared parts of the experiments: options of their commands, and tables of formatted texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import click

from dond.cli.shell import Command, config_option, integer, output_console, set_option, with_options
from dond.terminal.tables import print_section
from league.tables.blocks import Section, Table, TableRow

RESULTS = "results.jsonl"
MOST_WORKERS = 64


def experiment_command(
    help_text: str | None, config: str, *, workers: int
) -> Callable[[Callable[..., None]], click.Command]:
    """A decorator that makes the command of an experiment whose finished parts are cached.

    It has ``--config``, by default the file ``config`` under ``experiments/configs``, ``--set``, and ``--workers``,
    whose default is ``workers``.
    """
    text = f"parallel processes, one thread each ({workers})"
    options = with_options(
        config_option(config, default=f"experiments/configs/{config}", help=f"YAML file ({config})"),
        set_option,
        click.option("--workers", type=integer(1, MOST_WORKERS), default=workers, metavar="N", help=text),
    )

    stopped = "finished parts are cached; the same command continues with the rest"
    return lambda function: click.command(cls=Command, help=help_text, interrupted=stopped)(options(function))


def show_sections(*sections: Section) -> None:
    """Print sections on standard output."""
    for section in sections:
        print_section(output_console(), section)


def table_section(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], *notes: str) -> Section:
    """A section of one table of formatted texts under its notes; the first column holds the row labels."""
    label, *columns = heads
    table = Table("", tuple(columns), tuple(TableRow(row[0], tuple(row[1:])) for row in rows), label)
    return Section(title.lower().replace(" ", "_"), title, notes, (table,))
