"""Run an experiment behind the results page; without a name, list them.

The experiments are part of a checkout of the project, not of the installed package.

examples:
  dond experiment                       # the list
  dond experiment hints --help
  dond experiment baselines --config experiments/configs/ablation.yaml --dry-run
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import click

import league
from dond.cli.shell import Command, Group
from dond_marl.errors import InputError

HOME = Path(league.__file__).resolve().parents[1] / "experiments"


def experiment_module(name: str) -> ModuleType:
    """The module of that name; raises :class:`InputError` outside a checkout."""
    if not (HOME / "__init__.py").is_file():
        raise InputError("the experiments are not part of the installed package: run this in a checkout of dond-marl")
    return import_module(name)


def experiments() -> Group:
    """The group of all experiments; raises :class:`InputError` outside a checkout."""
    return Group("experiment", help=__doc__, files=experiment_module("experiments").COMMANDS)


def _names_that_begin_with(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in experiments().files if name.startswith(incomplete)]


def _pass_on(context: click.Context, group: Group, words: tuple[str, ...]) -> Any:
    """Run a command of ``group`` with its arguments; without any, print the list."""
    with group.make_context(group.name, [*words] or ["--help"], parent=context.parent) as inner:
        return group.invoke(inner)


ANY_OPTIONS = {"ignore_unknown_options": True, "allow_interspersed_args": False}
PASSED_ON = "[NAME] [ARGUMENTS]..."


@click.command(cls=Command, help=__doc__, context_settings=ANY_OPTIONS)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar=PASSED_ON, shell_complete=_names_that_begin_with)
@click.pass_context
def command(context: click.Context, words: tuple[str, ...]) -> Any:
    """Pass the arguments on to an experiment."""
    return _pass_on(context, experiments(), words)


@click.command("ship", cls=Command, context_settings=ANY_OPTIONS)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar=PASSED_ON)
@click.pass_context
def ship(context: click.Context, words: tuple[str, ...]) -> Any:
    """Regenerate files that the package ships, in a checkout: expert, references, equilibria."""
    group: Group = experiment_module("experiments.ship").command
    group.name = "ship"
    return _pass_on(context, group, words)
