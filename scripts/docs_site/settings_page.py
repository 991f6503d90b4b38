"""Write docs/SETTINGS.md from the models of the config files: every key, what it takes, its default, what it means.

examples:
  python -m scripts.docs_site.settings_page
  python -m scripts.docs_site.settings_page --check    # change nothing; exit code 1 if the page is not right
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dond_marl.errors import RunFailure
from league.cli.shell import Command, run
from league.experiments.baselines.settings import BaselinesConfig
from league.experiments.distill import DistillConfig
from league.experiments.field.anac.settings import AnacConfig
from league.experiments.field.published.self_taught import SelfTaughtConfig
from league.experiments.field.published.settings import PublishedConfig
from league.experiments.field.words.settings import WordsConfig
from league.experiments.hints.settings import ExperimentConfig
from league.experiments.language_models.objectives.settings import ObjectivesConfig
from league.experiments.language_models.post_training.settings import PostTrainingConfig
from league.experiments.short_games.settings import ShortGamesConfig
from league.experiments.styles.settings import StylesConfig
from league.settings.hyperparameters import Hyperparameters
from league.settings.read import Config, allowed
from league.settings.training import TrainConfig, TrainingConfig
from league.web.study.settings import StudyConfig
from scripts.docs_site.keeping import keep
from scripts.docs_site.meanings import MEANINGS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "SETTINGS.md"
COMMANDS: tuple[tuple[str, type[BaseModel]], ...] = (
    ("dond train", TrainConfig),
    ("dond league", Config),
    ("dond experiment baselines", BaselinesConfig),
    ("dond experiment hints", ExperimentConfig),
    ("dond experiment styles", StylesConfig),
    ("dond experiment short-games", ShortGamesConfig),
    ("dond experiment distill", DistillConfig),
    ("dond experiment post-training", PostTrainingConfig),
    ("dond experiment objectives", ObjectivesConfig),
    ("dond experiment words", WordsConfig),
    ("dond experiment published", PublishedConfig),
    ("dond experiment self-taught", SelfTaughtConfig),
    ("dond experiment anac", AnacConfig),
    ("dond study", StudyConfig),
)
KINDS = {str: "text", int: "a list of integers"}
HEADS = ("| key | takes | default | meaning |", "|---|---|---|---|")
HEAD = """# Settings

This page lists every key of the config files with its type, default, range and meaning. It is generated from the models
that read them, by `python -m scripts.docs_site.settings_page`. A file under `configs/` holds only what differs from the
defaults; `--set section.key=value` sets one key. An unknown key, a wrong type and a value out of range are errors, all
reported together. Words: [Glossary](GLOSSARY.md).
"""


def page() -> str:
    """The whole page. Raises :class:`RunFailure` for a key whose meaning nobody has written."""
    parts, told = [HEAD], dict[type[BaseModel], str]()
    for command, model in COMMANDS:
        parts.append(f"## `{command}`\n")
        for place, section in _sections(model):
            title = f"`{place}`" if place else "Top of the file"
            if section in told:
                parts.append(f"### {title} of `{command}`\n\nAs {told[section]}.\n")
                continue
            told[section] = f"{title} of `{command}`"
            parts.append(f"### {title} of `{command}`\n\n{_table(section)}\n")
    return "\n".join(parts)


def _sections(model: type[BaseModel], place: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """A model and those inside it, each with the way to it."""
    yield place, model
    for name, field in model.model_fields.items():
        for inner in _models(field.annotation):
            yield from _sections(inner, f"{place}.{name}" if place else name)


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]


def _table(section: type[BaseModel]) -> str:
    """A row for every key; of what learns, only those that are not as in ``training`` of ``dond train``."""
    known = TrainingConfig.model_fields if issubclass(section, Hyperparameters) else {}
    rows = [*HEADS]
    for name, field in section.model_fields.items():
        if section is TrainingConfig or name not in known or _default(field) != _default(known[name]):
            rows.append(f"| `{name}` | {_takes(field)} | {_default(field)} | {_meaning(section, name, field)} |")
    without = [f"`{name}`" for name in known if name not in section.model_fields]
    if not known or section is TrainingConfig:
        return "\n".join(rows)
    words = f"All other keys are as in `training` of `dond train`; there is no {', '.join(without)}."
    return "\n".join([*rows, "", words] if len(rows) > len(HEADS) else [words])


def _takes(field: FieldInfo) -> str:
    if _models(field.annotation):
        return "a section, below" if field.annotation in _models(field.annotation) else "sections, below"
    text = allowed(field)
    if text.startswith("a section of keys and values"):  # whose type says more than the message for a mistake
        kinds = _flat(field.annotation)
        kind = next((words for type_, words in KINDS.items() if type_ in kinds), "a mapping")
        text = kind if field.is_required() or field.default is not None else f"{kind}, or left out"
    return _cell(text)


def _flat(annotation: Any) -> list[Any]:
    """A type and all those within it, outermost first; a mapping's are its own affair."""
    inside = () if get_origin(annotation) is dict else get_args(annotation)
    return [annotation, *(kind for part in inside for kind in _flat(part))]


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return "as below"
    if value in ({}, ()):
        return "none"
    if value is None:
        return "left out"
    text = str(value).lower() if isinstance(value, bool) else str(list(value) if isinstance(value, tuple) else value)
    return f"`{_cell(text)}`"


def _meaning(section: type[BaseModel], name: str, field: FieldInfo) -> str:
    found = MEANINGS.get(f"{section.__name__}.{name}") or MEANINGS.get(name)
    if not found and (field.description or _models(field.annotation)):
        said = field.description or ""
        return "" if said in _takes(field) else _cell(said)
    if not found:
        raise RunFailure(f"{section.__name__}.{name} has no meaning: write one into scripts/docs_site/meanings.py")
    return _cell(found)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


@click.command(cls=Command, help=__doc__)
@click.option("--check", is_flag=True, help="change nothing, only say whether the page is right")
def command(check: bool) -> None:
    """Write or check the page."""
    problem = "docs/SETTINGS.md is not what the models say: python -m scripts.docs_site.settings_page"
    keep(PAGE, page(), check, problem)


if __name__ == "__main__":
    sys.exit(run(command, name="python -m scripts.docs_site.settings_page"))
