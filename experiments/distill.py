"""Train a small language model from scratch to play like one of the partners, and measure how well it does.

The defaults make the project's own model. Teacher and student are compared seat by seat, in the same games, on
scenarios that the student was not trained on.

examples:
  dond experiment distill      # the model of llm(provider=hf), in the user's cache
  dond experiment distill --config distill.yaml --set teacher=heuristic --out runs/models/heuristic
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, NamedTuple

import click
import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from dond.cli.shell import FILE, Command, config_option, print_line, set_option
from dond_marl.errors import RunFailure
from dond_marl.game import Act, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import ScenarioError, ScenarioSource, SourceName, check_split, open_source
from dond_marl.seats import Decisions, Partner, Traits, Turns
from experiments.kit import show_sections, table_section
from league.evaluation.matches import Result, Terms, score
from league.settings.read import load_config
from league.settings.sections import Occupant, PathText, Section, wrong
from league.tables.figures import with_margin
from partners.llm.client import SetupError
from partners.llm.distill import distill, own_model_folder
from partners.llm.local.client import LocalClient, LocalSettings
from partners.llm.partner import LocalLLMPartner
from partners.llm.prompt import Template, load_template
from partners.llm.student import (
    ITSELF,
    LESSON_GAMES,
    LessonGames,
    Recipe,
    StudentSettings,
    is_complete,
)

_STUDENT, _RECIPE = StudentSettings(), Recipe()


class GamesConfig(Section):
    """One set of training games."""

    against: Occupant | None = Field(default=None, description="an occupant; left out: the teacher itself")
    strays: float = Field(default=0.0, ge=0, lt=1, description="share of random acts")
    scenarios: SourceName = "lewis"
    split: str | None = Field(default=None, description="text")
    number: int | None = Field(default=None, ge=1, le=10**6, description="left out: every scenario once")

    @model_validator(mode="after")
    def _check_scenarios(self) -> GamesConfig:
        try:
            check_split(self.scenarios, self.split)
        except ScenarioError as error:
            raise wrong(str(error), "split") from None
        if self.scenarios == "uniform" and self.number is None:
            raise wrong("uniform is infinite: set number, the scenarios to draw", "number")
        return self

    def games(self) -> LessonGames:
        """The argument of :class:`Recipe`."""
        split = check_split(self.scenarios, self.split)
        return LessonGames(self.against or ITSELF, self.strays, self.scenarios, split, self.number)


class StudentConfig(Section):
    """Size and training of the model."""

    width: int = Field(default=_STUDENT.width, ge=8, le=1024)
    layers: int = Field(default=_STUDENT.layers, ge=1, le=24)
    heads: int = Field(default=_STUDENT.heads, ge=1, le=64, description="which divides the width")
    inner: int = Field(default=_STUDENT.inner, ge=8, le=8192)
    steps: int = Field(default=_STUDENT.steps, ge=1, le=10**7)
    batch: int = Field(default=_STUDENT.batch, ge=1, le=65_536, description="lessons per step")
    lr: float = Field(default=_STUDENT.lr, gt=0, le=1)
    decay: float = Field(default=_STUDENT.decay, ge=0, le=1)
    grad_norm: float = Field(default=_STUDENT.grad_norm, gt=0, le=1000)

    @model_validator(mode="after")
    def _check_heads(self) -> StudentConfig:
        if self.width % self.heads:
            raise wrong(f"heads must divide the width, which is {self.width}", "heads")
        return self


def _as_tuple(value: object) -> object:
    if not isinstance(value, list | tuple) or not value:
        raise wrong("games must be a list with at least one entry")
    return tuple(value)


class DistillConfig(Section):
    """Settings of the model: its teacher, games, size and training."""

    teacher: Occupant = _RECIPE.teacher
    games: Annotated[tuple[GamesConfig, ...], BeforeValidator(_as_tuple)] = Field(
        default=tuple(
            GamesConfig(**{**asdict(games), "against": None if games.against == ITSELF else games.against})
            for games in LESSON_GAMES
        ),
        description="a list of games, each with against: and other changes of the defaults",
    )
    history_cap: int | None = Field(
        default=None, ge=0, le=100, description="acts; left out: none if the teacher is memoryless"
    )
    max_turns: int = Field(default=_RECIPE.max_turns, ge=1, le=100)
    prompt_path: PathText | None = Field(default=None, description="a prompt file; left out: the shipped prompt")
    student: StudentConfig = Field(default_factory=StudentConfig)
    seed: int = Field(default=0, ge=0, lt=2**63)
    threads: int = Field(default=_RECIPE.threads, ge=1, le=256, description="of the arithmetic")

    def recipe(self) -> Recipe:
        """The argument of :func:`partners.llm.distill.distill`."""
        return Recipe(
            teacher=self.teacher,
            games=tuple(row.games() for row in self.games),
            history_cap=self.history_cap,
            max_turns=self.max_turns,
            student=StudentSettings(**self.student.model_dump()),
            seed=self.seed,
            threads=self.threads,
        )


class Imitation(NamedTuple):
    """Results of teacher and student against the same partner, and their agreement."""

    teacher: Result
    student: Result
    acts: float  # share of the teacher's decisions with the same act type by the student
    whole: float  # share with the same act type and, for offers, the same split
    decisions: int  # number compared

    @property
    def agreement(self) -> float:
        """The student's share of deals, as a share of the teacher's."""
        return self.student.deals / self.teacher.deals if self.teacher.deals else float("nan")

    @property
    def score(self) -> float:
        """The student's points, as a share of the teacher's."""
        return self.student.points.mean / self.teacher.points.mean if self.teacher.points.mean else float("nan")


def measure_imitation(
    student: LocalLLMPartner, teacher: Partner, against: Partner, source: ScenarioSource, rules: Rules, seed: int
) -> Imitation:
    """Play every scenario of ``source``, which must be enumerable, in each seat."""
    assert source.table is not None
    terms, shadow = Terms(source, source.table, rules, seed), _Shadow(teacher, student)
    as_teacher, as_student = (score(player, against, terms) for player in (shadow, student))
    acts, whole = np.concatenate(shadow.alike, axis=1)
    return Imitation(as_teacher, as_student, float(acts.mean()), float(whole.mean()), len(acts))


@dataclass
class _Shadow:
    """Plays as the teacher and queries the student on the same turns."""

    teacher: Partner
    student: Partner
    alike: list[np.ndarray] = field(default_factory=list)  # [2, B] each: same act type, same decision

    @property
    def traits(self) -> Traits:
        return self.teacher.traits

    def act(self, turns: Turns) -> Decisions:
        teacher, student = self.teacher.act(turns), self.student.act(turns)
        act = teacher.act_type == student.act_type
        offer = teacher.act_type <= Act.INSIST
        self.alike.append(np.array([act, act & (~offer | (teacher.oA == student.oA).all(axis=1))]))
        return teacher


AGAINST = "heuristic"


@click.command(cls=Command, help=__doc__, interrupted="nothing is written")
@config_option("distill.yaml")
@set_option
@click.option(
    "--output-dir",
    "--out",
    "out",
    type=FILE,
    metavar="FOLDER",
    help="folder of the model (the user's cache)",
)
def command(config_path: Path | None, overrides: tuple[str, ...], out: Path | None) -> None:
    """Make the model, play it and its teacher, and print both."""
    if overrides and config_path is None:
        raise click.UsageError("--set changes the settings of a file: name it with --config FILE")
    config = DistillConfig() if config_path is None else load_config(config_path, overrides, DistillConfig)
    recipe, template = config.recipe(), load_template(config.prompt_path)
    teacher = seat_occupant(recipe.teacher)
    folder = _make_model(recipe, template, out)
    client = LocalClient(LocalSettings(str(folder)))
    student = LocalLLMPartner(client, client, template, history_cap=recipe.prompt_history())
    source = open_source("lewis", split="test")
    result = measure_imitation(student, teacher, seat_occupant(AGAINST), source, Rules(recipe.max_turns), recipe.seed)
    _print_imitation(recipe, result, source.label)
    print_line(f'the model is in {folder}; seat it as llm(provider=hf, model="{folder}")')


def _make_model(recipe: Recipe, template: Template, folder: Path | None) -> Path:
    """The folder of the model, trained if it is not there."""
    if folder is None:
        return own_model_folder(recipe, template)
    if folder.exists() and not is_complete(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise SetupError(f"{folder} holds other files: name a new folder")
    try:
        distill(recipe, template, folder, print_line)
    except ValueError as error:  # such as a prompt longer than the context
        raise RunFailure(str(error)) from error
    return folder


def _print_imitation(recipe: Recipe, result: Imitation, label: str) -> None:
    rows = []
    for name, play in ((recipe.teacher, result.teacher), ("the model", result.student)):
        points = (with_margin(play.points), *map(with_margin, play.as_seat))
        rows.append([name, *points, f"{play.deals:.1%}", f"{play.turns:.1f}"])
    title = f"Against {AGAINST} on {label}, {result.student.points.n:,} games each"
    heads = ("player", "points of ten", "as seat_0", "as seat_1", "deals", "acts per game")
    show_sections(table_section(title, heads, rows))
    print_line(f"deals {result.agreement:.1%} and points {result.score:.1%} of the teacher's")
    print_line(
        f"the same act type in {result.acts:.1%} of {result.decisions:,} decisions, the same act in {result.whole:.1%}"
    )
