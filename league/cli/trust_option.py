"""The option ``--trust``, and the question whether to trust a file."""

from __future__ import annotations

import sys

import click

from dond_marl.errors import UntrustedError, quote
from dond_marl.trust import trust_document, trust_everything

OPENING = ("config_path", "folder", "resume", "run", "runs")  # parameters of commands that open files of others
HELP = "trust what the opened files name: code, programs, servers, keys"


def with_trust_option(parameters: list[click.Parameter]) -> list[click.Parameter]:
    """The parameters of a command, and ``--trust`` if one of them opens a run or a config."""
    if not any(parameter.name in OPENING for parameter in parameters):
        return parameters
    return [*parameters, click.Option(["--trust"], is_flag=True, expose_value=False, callback=_trust, help=HELP)]


def _trust(_context: click.Context, _parameter: click.Parameter, given: bool) -> None:
    if given:
        trust_everything()


def ask_to_trust(error: BaseException) -> bool:
    """Ask on the terminal whether to trust the file of an error; remembers it, and returns whether to try again.

    Without a terminal, or for another error, nothing is asked.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, UntrustedError):
        cause = cause.__cause__
    if cause is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    click.echo(f"{quote(cause.place)} is not signed by your key on this machine. What it names", err=True)
    for hazard in cause.hazards:
        click.echo(f"  {hazard}", err=True)
    if not click.confirm("Do you trust its author?", err=True):
        return False
    trust_document(cause)
    return True
