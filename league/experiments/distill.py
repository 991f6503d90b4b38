"""The settings of a local language model (``scripts/distill.py``); the defaults make the project's own one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from dond_marl.scenarios.sources import ScenarioError, SourceName, check_split
from league.settings.sections import Occupant, PathText, Section, wrong
from partners.llm.student.recipe import GAMES, ITSELF, Games, Recipe, StudentSettings

_STUDENT, _RECIPE = StudentSettings(), Recipe()


class GamesConfig(Section):
    """Some of the games that are learned from."""

    against: Occupant | None = Field(default=None, description="an occupant; left out: the teacher itself")
    strays: float = Field(default=0.0, ge=0, lt=1, description="a number in 0..1: share of acts that are not its own")
    scenarios: SourceName = "lewis"
    split: str | None = Field(default=None, description="text, or left out")
    number: int | None = Field(
        default=None, ge=1, le=10**6, description="an integer above 0; left out: every scenario once"
    )

    @model_validator(mode="after")
    def _can_be_played(self) -> GamesConfig:
        try:
            check_split(self.scenarios, self.split)
        except ScenarioError as error:
            raise wrong(str(error), "split") from None
        if self.scenarios == "uniform" and self.number is None:
            raise wrong("uniform has no end: say how many scenarios", "number")
        return self

    def games(self) -> Games:
        """As the lessons are told."""
        split = check_split(self.scenarios, self.split)
        return Games(self.against or ITSELF, self.strays, self.scenarios, split, self.number)


class StudentConfig(Section):
    """How large the model is, and how it is taught."""

    width: int = Field(default=_STUDENT.width, ge=8, le=1024, description="an integer in 8..1024")
    layers: int = Field(default=_STUDENT.layers, ge=1, le=24, description="an integer in 1..24")
    heads: int = Field(default=_STUDENT.heads, ge=1, le=64, description="an integer in 1..64 that divides the width")
    inner: int = Field(default=_STUDENT.inner, ge=8, le=8192, description="an integer in 8..8192")
    steps: int = Field(default=_STUDENT.steps, ge=1, le=10**7, description="an integer above 0")
    batch: int = Field(default=_STUDENT.batch, ge=1, le=65_536, description="an integer above 0, lessons per step")
    lr: float = Field(default=_STUDENT.lr, gt=0, le=1, description="a number above 0, up to 1")
    decay: float = Field(default=_STUDENT.decay, ge=0, le=1, description="a number in 0..1")
    grad_norm: float = Field(default=_STUDENT.grad_norm, gt=0, le=1000, description="a number above 0")

    @model_validator(mode="after")
    def _divides(self) -> StudentConfig:
        if self.width % self.heads:
            raise wrong(f"heads must divide the width, which is {self.width}", "heads")
        return self


def _config(games: Games) -> GamesConfig:
    told = asdict(games)
    return GamesConfig.model_validate({**told, "against": None if games.against == ITSELF else games.against})


def _rows(given: object) -> object:
    if not isinstance(given, list | tuple) or not given:
        raise wrong("games must be a list with at least one entry")
    return tuple(given)


class DistillConfig(Section):
    """What a local language model is made from."""

    teacher: Occupant = _RECIPE.teacher
    games: Annotated[tuple[GamesConfig, ...], BeforeValidator(_rows)] = Field(
        default=tuple(_config(games) for games in GAMES),
        description="a list of games, each with against: and what else differs from the defaults",
    )
    history_cap: int | None = Field(
        default=None, ge=0, le=100, description="an integer in 0..100, acts; left out: none if the teacher forgets"
    )
    max_turns: int = Field(default=_RECIPE.max_turns, ge=1, le=100, description="an integer in 1..100")
    prompt_path: PathText | None = Field(default=None, description="a prompt file; left out: the shipped prompt")
    student: StudentConfig = Field(default_factory=StudentConfig)
    seed: int = Field(default=0, ge=0, lt=2**63, description="an integer in 0..2**63 - 1")
    threads: int = Field(default=_RECIPE.threads, ge=1, le=256, description="an integer in 1..256, of the arithmetic")

    def recipe(self) -> Recipe:
        """As :func:`partners.llm.student.distill.distill` takes it."""
        return Recipe(
            teacher=self.teacher,
            games=tuple(row.games() for row in self.games),
            history_cap=self.history_cap,
            max_turns=self.max_turns,
            student=StudentSettings(**self.student.model_dump()),
            seed=self.seed,
            threads=self.threads,
        )
