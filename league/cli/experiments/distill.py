"""What ``scripts/distill.py`` does with its arguments: a recipe, the model, the report, an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import open_source
from league.cli.league import INTERRUPTED, RUN_ERROR, RUN_ERRORS, USAGE_ERROR, USER_ERRORS
from league.display.figures import with_half
from league.display.league import console_for_people
from league.experiments.distill import DistillConfig, Imitation, imitation
from league.settings.read import load_config
from partners.llm.client import SetupError
from partners.llm.local.client import LocalClient, LocalSettings
from partners.llm.partner import LocalLLMPartner
from partners.llm.prompt import PromptError, Template, load_template
from partners.llm.student.distill import distill
from partners.llm.student.own_model import local_model, whole
from partners.llm.student.recipe import Recipe

AGAINST = "heuristic"


def main(config_path: Path | None, overrides: Sequence[str], out: Path | None) -> int:
    """Make the model, in ``out`` or in the user's cache, and report; 0, 1 (the making), 2 (the settings) or 130."""
    console = console_for_people()
    try:
        config = DistillConfig() if config_path is None else load_config(config_path, overrides, DistillConfig)
        recipe, template = config.recipe(), load_template(config.prompt_path)
        teacher = seat_occupant(recipe.teacher)
        folder = _made(recipe, template, out, console)
        client = LocalClient(LocalSettings(str(folder), remembered=0))
        student = LocalLLMPartner(client, client, template, history_cap=recipe.shown_acts())
        source = open_source("lewis", split="heldout")
        seen = imitation(student, teacher, seat_occupant(AGAINST), source, Rules(recipe.max_turns), recipe.seed)
        _print(console, recipe, seen, source.label)
    except (*USER_ERRORS, PromptError) as error:
        return _failed(error, USAGE_ERROR)
    except (*RUN_ERRORS, SetupError, ValueError) as error:
        return _failed(error, RUN_ERROR)
    except KeyboardInterrupt:
        print("\ninterrupted: nothing is kept", file=sys.stderr)  # the command talks to a person
        return INTERRUPTED
    console.print(Text(f'the model is in {folder}; seat it as llm(provider=hf, model="{folder}")'), soft_wrap=True)
    return 0


def _made(recipe: Recipe, template: Template, out: Path | None, console: Console) -> Path:
    """The folder of the model, made if need be."""
    if out is None:
        return local_model(recipe, template)
    folder = out.expanduser()
    if folder.exists() and not whole(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise SetupError(f"{folder} holds something else: name a new folder")
    distill(recipe, template, folder, lambda line: console.print(Text(line), soft_wrap=True))
    return folder


def _print(console: Console, recipe: Recipe, seen: Imitation, label: str) -> None:
    table = Table(title=f"against {AGAINST} on {label}, {seen.student.points.n:,} games each")
    for column in ("", "points of ten", "as seat_0", "as seat_1", "deals", "acts per game"):
        table.add_column(column, justify="left" if not column else "right")
    for name, result in ((recipe.teacher, seen.teacher), ("the model", seen.student)):
        seats = (with_half(seat) for seat in result.as_seat)
        table.add_row(name, with_half(result.points), *seats, f"{result.deals:.1%}", f"{result.turns:.1f}")
    console.print(table)
    lines = (
        f"agreement {seen.agreement:.1%} and score {seen.score:.1%} of what it imitates",
        f"{seen.acts:.1%} of its acts and {seen.whole:.1%} of its whole decisions, of {seen.decisions:,}",
        f"{seen.moves:,.0f} moves/s with 64 games in flight",
    )
    for line in lines:
        console.print(Text(line), soft_wrap=True)


def _failed(error: Exception, code: int) -> int:
    print(error, file=sys.stderr)  # the command talks to a person
    return code
