"""Settings of a study: conditions, number of games, questions and texts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from dond_marl.errors import quote
from dond_marl.files import read_text
from league.settings.layers import preset
from league.settings.sections import EnvConfig, Occupant, PathText, Section, refuse_mistakes, wrong

PERSON = "person"  # opponent in a condition with two people
TEMPLATE = "[REPLACE"  # start of a placeholder in a shipped text
NAME = r"^[a-z][a-z0-9_]{0,39}$"


class DesignConfig(Section):
    """Design of the study: conditions for each participant, games, time limits."""

    title: str = Field(default="A study of bargaining", min_length=1, max_length=200, description="title of the pages")
    seed: int = Field(default=0, ge=0, lt=2**63, description="of assignments, tables and random occupants")
    design: Literal["between", "within"] = Field(
        default="between", description="each participant has one condition, or all of them in a balanced order"
    )
    games: int = Field(default=5, ge=1, le=100, description="games of a participant in each of its conditions")
    attempts: int = Field(default=3, ge=1, le=100, description="attempts at the check")
    feedback: Literal["none", "own", "both"] = Field(default="own", description="whose points are shown after a game")
    waiting: float = Field(default=300.0, gt=0, le=86_400, description="seconds for another person")
    turn: float = Field(default=180.0, gt=0, le=86_400, description="seconds for an act where two people play")
    stand_in: Occupant | None = Field(
        default=None, description="occupant that plays if no other person comes; left out: these games are skipped"
    )


class ConditionConfig(Section):
    """A condition: the opponent is an occupant of the catalogue, or ``person``."""

    name: str = Field(pattern=NAME, description="small letters, digits and _")
    partner: Occupant | None = Field(default=None, description="an occupant; left out: person, another participant")

    @model_validator(mode="before")
    @classmethod
    def _of_a_name(cls, value: object) -> object:
        fields = {"name": value, "partner": value} if isinstance(value, str) else value
        person = isinstance(fields, dict) and fields.get("partner") == PERSON
        return {**fields, "partner": None} if person else fields  # type: ignore[dict-item]  # it is a mapping

    @property
    def with_a_person(self) -> bool:
        return self.partner is None

    @property
    def opponent(self) -> str:
        """The occupant's specification, or ``person``."""
        return self.partner or PERSON


class TextsConfig(Section):
    """Texts of the pages; blank lines separate paragraphs."""

    consent: str = Field(min_length=1, description="text of the first page")
    agree: str = Field(
        default="I have read this, I am of age, and I want to take part.",
        min_length=1,
        description="text next to its box",
    )
    instructions: str = Field(min_length=1, description="text of how the game goes")
    thanks: str = Field(default="Thank you for taking part.", min_length=1, description="text above the code")
    excluded: str = Field(
        default="Thank you. The questions were not answered as the study needs it, so it ends here for you.",
        min_length=1,
        description="text after a failed check",
    )
    withdrawn: str = Field(
        default="You have stopped taking part. What you did here is left out of whatever is exported.",
        min_length=1,
        description="text after stopping",
    )


def texts_of(path: Path) -> dict[str, str]:
    """Texts of a file by heading (``## consent``); the shipped file if it does not exist. Raises a validation error."""
    try:
        content = read_text(preset(path))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise wrong(f"must be a file of texts; {quote(str(path))} cannot be read ({error})", "texts_file") from None
    _, *parts = re.split(r"^## (\w+)$", content, flags=re.MULTILINE)
    return {name: text.strip() for name, text in zip(parts[::2], parts[1::2], strict=True)}


class CheckConfig(Section):
    """A question with one right answer."""

    question: str = Field(min_length=1, description="text")
    options: tuple[str, ...] = Field(strict=False, min_length=2, max_length=20, description="a list of texts")
    answer: int = Field(ge=1, description="the number of the right option, from 1")

    @model_validator(mode="after")
    def _answer_exists(self) -> CheckConfig:
        if self.answer > len(self.options):
            raise wrong(f"there are {len(self.options)} options; got {self.answer}", "answer")
        return self


class QuestionConfig(Section):
    """A question after the games. ``scale`` takes 1..points, ``choice`` one of the options, ``text`` anything."""

    name: str = Field(pattern=NAME, description="small letters, digits and _")
    question: str = Field(min_length=1, description="text")
    kind: Literal["scale", "choice", "text"] = Field(default="scale", description="what an answer is")
    points: int = Field(default=7, ge=2, le=11, description="of a scale")
    low: str = Field(default="", description="text at the low end of a scale")
    high: str = Field(default="", description="text at its high end")
    options: tuple[str, ...] = Field(default=(), strict=False, max_length=30, description="a list of texts")

    @model_validator(mode="after")
    def _options_of_a_choice(self) -> QuestionConfig:
        if (self.kind == "choice") != bool(self.options):
            raise wrong("a choice needs options, and nothing else has them", "options")
        return self


class StudyConfig(Section):
    """All settings of a study."""

    study: DesignConfig = Field(default_factory=DesignConfig)
    env: EnvConfig = Field(default_factory=EnvConfig)
    conditions: tuple[ConditionConfig, ...] = Field(strict=False, description="a list of conditions, at least one")
    texts_file: PathText | None = Field(
        default=None, description="a file with a heading ## consent, ... before each text"
    )
    texts: TextsConfig
    check: tuple[CheckConfig, ...] = Field(default=(), strict=False, description="a list of questions")
    questionnaire: tuple[QuestionConfig, ...] = Field(default=(), strict=False, description="a list of questions")
    output_dir: PathText = Field(default="runs/study", description="the path of a folder")

    @model_validator(mode="before")
    @classmethod
    def _with_the_file(cls, settings: object) -> object:
        """Merge the texts of ``texts_file`` with the written ones, so that stored settings hold all texts."""
        if not isinstance(settings, dict) or not isinstance(settings.get("texts_file"), str):
            return settings
        written = settings.get("texts", {})
        texts = {**texts_of(Path(settings["texts_file"])), **written} if isinstance(written, dict) else written
        return {**settings, "texts_file": None, "texts": texts}

    @model_validator(mode="after")
    def _parts_that_fit(self) -> StudyConfig:
        mistakes: list[tuple[tuple[str, ...], str]] = []
        if not self.conditions:
            mistakes.append((("conditions",), "must be a list of conditions, at least one; got []"))
        for key in ("conditions", "questionnaire"):
            names = [row.name for row in getattr(self, key)]
            if len(set(names)) < len(names):
                mistakes.append(((key,), f"each has a name of its own; got {', '.join(names)}"))
        if sum(condition.with_a_person for condition in self.conditions) > 1:
            mistakes.append((("conditions",), f"one condition at most is with a {PERSON}: the waiting room is one"))
        if self.env.reveal_partner_utilities:
            mistakes.append((("env", "reveal_partner_utilities"), "people see their own values alone; leave it out"))
        if self.env.max_turns < 2:
            mistakes.append((("env", "max_turns"), f"must be at least 2, to answer; got {quote(self.env.max_turns)}"))
        refuse_mistakes("study", mistakes)
        return self

    @property
    def games_each(self) -> int:
        """Number of games of a participant who completes the study."""
        return self.study.games * (1 if self.study.design == "between" else len(self.conditions))

    @property
    def templates_left(self) -> list[str]:
        """Names of texts that still contain a placeholder."""
        return [key for key, text in self.texts.model_dump().items() if TEMPLATE in text]

    def condition(self, name: str) -> ConditionConfig:
        return next(condition for condition in self.conditions if condition.name == name)
