"""Train a small language model from scratch to play like one of the partners, and measure how well it does.

examples:
  dond experiment distill      # the model of llm(provider=hf), in the user's cache
  dond experiment distill --config distill.yaml --set teacher=heuristic --out runs/models/heuristic
"""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from dond_marl.errors import RunFailure
from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import open_source
from experiments.distill import DistillConfig, Imitation, imitation
from league.cli.shell import FILE, Command, config_option, output_console, print_line, set_option
from league.settings.read import load_config
from league.tables.figures import with_margin
from partners.llm.client import SetupError
from partners.llm.distill import distill
from partners.llm.local.client import LocalClient, LocalSettings
from partners.llm.partner import LocalLLMPartner
from partners.llm.prompt import Template, load_template
from partners.llm.student import Recipe, is_complete, own_model_folder

AGAINST = "heuristic"


@click.command(cls=Command, help=__doc__, interrupted="nothing is kept")
@config_option("distill.yaml")
@set_option
@click.option(
    "--output-dir",
    "--out",
    "out",
    type=FILE,
    metavar="FOLDER",
    help="where the model goes (the user's cache)",
)
def command(config_path: Path | None, overrides: tuple[str, ...], out: Path | None) -> None:
    """Make the model, play it beside its teacher, and print both."""
    if overrides and config_path is None:
        raise click.UsageError("--set changes the settings of a file: name it with --config FILE")
    config = DistillConfig() if config_path is None else load_config(config_path, overrides, DistillConfig)
    recipe, template = config.recipe(), load_template(config.prompt_path)
    teacher = seat_occupant(recipe.teacher)
    folder = _made(recipe, template, out)
    client = LocalClient(LocalSettings(str(folder), remembered=0))
    student = LocalLLMPartner(client, client, template, history_cap=recipe.prompt_history())
    source = open_source("lewis", split="test")
    result = imitation(student, teacher, seat_occupant(AGAINST), source, Rules(recipe.max_turns), recipe.seed)
    _print(output_console(), recipe, result, source.label)
    print_line(f'the model is in {folder}; seat it as llm(provider=hf, model="{folder}")')


def _made(recipe: Recipe, template: Template, out: Path | None) -> Path:
    """The folder of the model, made if need be."""
    if out is None:
        return own_model_folder(recipe, template)
    folder = out.expanduser()
    if folder.exists() and not is_complete(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise SetupError(f"{folder} holds something else: name a new folder")
    try:
        distill(recipe, template, folder, print_line)
    except ValueError as error:  # a prompt longer than the model reads, say
        raise RunFailure(str(error)) from error
    return folder


def _print(console: Console, recipe: Recipe, result: Imitation, label: str) -> None:
    table = Table(title=f"against {AGAINST} on {label}, {result.student.points.n:,} games each")
    for column in ("", "points of ten", "as seat_0", "as seat_1", "deals", "acts per game"):
        table.add_column(column, justify="left" if not column else "right")
    for name, play in ((recipe.teacher, result.teacher), ("the model", result.student)):
        seats = map(with_margin, play.as_seat)
        table.add_row(name, with_margin(play.points), *seats, f"{play.deals:.1%}", f"{play.turns:.1f}")
    console.print(table)
    print_line(f"agreement {result.agreement:.1%} and score {result.score:.1%} of what it imitates")
    print_line(f"{result.acts:.1%} of its acts and {result.whole:.1%} of its whole decisions, of {result.decisions:,}")
    print_line(f"{result.moves:,.0f} moves/s with 64 games in flight")
