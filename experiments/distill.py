"""Making a local language model out of a teacher: the settings, and how well the student imitates it.

The defaults make the project's own model. Teacher and student are compared seat by seat, in the same games, on
scenarios that the student never saw.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from dond_marl.batch import GameBatch
from dond_marl.game import Act, Rules
from dond_marl.scenarios.sources import ScenarioError, ScenarioSource, SourceName, check_split, open_source
from dond_marl.seats import Decisions, Partner, Traits, Turns
from league.evaluation.matches import Result, Terms, score
from league.settings.sections import Occupant, PathText, Section, wrong
from partners.llm.partner import LocalLLMPartner
from partners.llm.student import ITSELF, LESSON_GAMES, LessonGames, Recipe, StudentSettings

IN_FLIGHT = 64  # games that are asked about at once
_ROUNDS = 20  # of them
_STUDENT, _RECIPE = StudentSettings(), Recipe()


class GamesConfig(Section):
    """A set of games to learn from."""

    against: Occupant | None = Field(default=None, description="an occupant; left out: the teacher itself")
    strays: float = Field(default=0.0, ge=0, lt=1, description="share of acts that are not its own")
    scenarios: SourceName = "lewis"
    split: str | None = Field(default=None, description="text")
    number: int | None = Field(default=None, ge=1, le=10**6, description="left out: every scenario once")

    @model_validator(mode="after")
    def _can_be_played(self) -> GamesConfig:
        try:
            check_split(self.scenarios, self.split)
        except ScenarioError as error:
            raise wrong(str(error), "split") from None
        if self.scenarios == "uniform" and self.number is None:
            raise wrong("uniform has no end: say how many scenarios", "number")
        return self

    def games(self) -> LessonGames:
        split = check_split(self.scenarios, self.split)
        return LessonGames(self.against or ITSELF, self.strays, self.scenarios, split, self.number)


class StudentConfig(Section):
    """How large the model is, and how it is trained."""

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
    def _divides(self) -> StudentConfig:
        if self.width % self.heads:
            raise wrong(f"heads must divide the width, which is {self.width}", "heads")
        return self


def _rows(value: object) -> object:
    if not isinstance(value, list | tuple) or not value:
        raise wrong("games must be a list with at least one entry")
    return tuple(value)


class DistillConfig(Section):
    """What a local language model is made from."""

    teacher: Occupant = _RECIPE.teacher
    games: Annotated[tuple[GamesConfig, ...], BeforeValidator(_rows)] = Field(
        default=tuple(
            GamesConfig(**{**asdict(games), "against": None if games.against == ITSELF else games.against})
            for games in LESSON_GAMES
        ),
        description="a list of games, each with against: and what else differs from the defaults",
    )
    history_cap: int | None = Field(
        default=None, ge=0, le=100, description="acts; left out: none if the teacher forgets"
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
    """The teacher and its student against the same partner, and how alike they are."""

    teacher: Result
    student: Result
    acts: float  # share of the teacher's decisions in which the student says the same act
    whole: float  # the same act, and the same split where it is an offer
    decisions: int  # that they were compared on
    moves: float  # per second, with 64 games in flight, none of them remembered

    @property
    def agreement(self) -> float:
        """The student's share of deals, as a share of the teacher's."""
        return self.student.deals / self.teacher.deals if self.teacher.deals else float("nan")

    @property
    def score(self) -> float:
        """The student's points, as a share of the teacher's."""
        return self.student.points.mean / self.teacher.points.mean if self.teacher.points.mean else float("nan")


def imitation(
    student: LocalLLMPartner, teacher: Partner, against: Partner, source: ScenarioSource, rules: Rules, seed: int
) -> Imitation:
    """Play every scenario of ``source``, in each seat; it must be one that can be listed."""
    assert source.table is not None
    terms, shadow = Terms(source, source.table, rules, seed), _Shadow(teacher, student)
    as_teacher, as_student = (score(player, against, terms) for player in (shadow, student))
    acts, whole = np.concatenate(shadow.alike, axis=1)
    return Imitation(
        as_teacher, as_student, float(acts.mean()), float(whole.mean()), len(acts), moves_per_second(student)
    )


def moves_per_second(student: LocalLLMPartner, in_flight: int = IN_FLIGHT) -> float:
    """Moves of new positions, ``in_flight`` at a time, whole decisions from turns to acts."""
    scenarios = open_source("uniform").block(1, 0, in_flight * (_ROUNDS + 1))  # hardly two are alike
    turns = GameBatch(scenarios, Rules()).turns()
    blocks = [turns.rows(np.arange(start, start + in_flight)) for start in range(0, turns.size, in_flight)]
    student.act(blocks[0])
    began = time.perf_counter()
    for block in blocks[1:]:
        student.act(block)
    return in_flight * _ROUNDS / (time.perf_counter() - began)


@dataclass
class _Shadow:
    """The teacher at play, while its student is asked about the same turns."""

    teacher: Partner
    student: Partner
    alike: list[np.ndarray] = field(default_factory=list)  # [2, B] each: the same act, and the same decision

    @property
    def traits(self) -> Traits:
        return self.teacher.traits

    def act(self, turns: Turns) -> Decisions:
        teacher, student = self.teacher.act(turns), self.student.act(turns)
        act = teacher.act_type == student.act_type
        offer = teacher.act_type <= Act.INSIST
        self.alike.append(np.array([act, act & (~offer | (teacher.oA == student.oA).all(axis=1))]))
        return teacher
