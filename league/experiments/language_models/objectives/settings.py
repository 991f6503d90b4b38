"""The settings of the objective experiment: what models are told, what learners are paid, and how both are measured."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from league.settings.hyperparameters import Hyperparameters, RewardName
from league.settings.sections import Occupant, PathText, Section, wrong
from partners.learning.rewards import OWN

_NAME = r"^[a-z][a-z0-9_]{0,39}$"


class GoalSection(Section):
    """A sentence that a model reads in place of the prompt's own."""

    name: str = Field(pattern=_NAME, description="small letters, digits and _")
    sentence: str = Field(min_length=1, max_length=500, description="text")

    @model_validator(mode="after")
    def _plain(self) -> GoalSection:
        if set(self.sentence) & set("{}\n"):
            raise wrong("a sentence is one line without braces", "sentence")
        return self


class PaySection(Section):
    """A way to pay a learner."""

    name: str = Field(pattern=_NAME, description="small letters, digits and _")
    reward: RewardName = Field(default=OWN, description="a reward, such as own or spite(weight=1)")


class LearnersSection(Section):
    """Networks that learn by meeting only themselves, each from first weights of its own."""

    pays: tuple[PaySection, ...] = Field(default=(), strict=False, description="a list of ways to be paid")
    seeds: int = Field(default=10, ge=0, le=1000, description="learners of each")
    decisions: int = Field(default=60_000, ge=1, le=10**9, description="own decisions of each")
    training: dict[str, Any] = Field(default_factory=dict, description="keys of a training with other values")

    @model_validator(mode="after")
    def _learns(self) -> LearnersSection:
        self.hyperparameters(OWN)
        return self

    def hyperparameters(self, reward: str) -> Hyperparameters:
        return Hyperparameters.model_validate({**self.training, "reward": reward}, strict=False)


class ModelsSection(Section):
    """Language models that meet themselves, told one goal in both seats."""

    occupants: tuple[Occupant, ...] = Field(
        default=(), strict=False, description="a list of language models, such as llm(provider=hf, model=FOLDER)"
    )
    prompt: Literal["brief", "short"] = Field(default="brief", description="the shipped prompt that holds the sentence")
    goals: tuple[GoalSection, ...] = Field(
        default=(), strict=False, description="a list of sentences, each with a name"
    )
    twice: str = Field(default="", description="the goal of which a second copy is told, byte for byte; left out: none")
    scenarios: int = Field(default=48, ge=2, le=392, description="held-out ones, each with the seats swapped too")

    @model_validator(mode="after")
    def _of_one(self) -> ModelsSection:
        names = [goal.name for goal in self.goals]
        if len(set(names)) < len(names) or NULL in names:
            raise wrong(f"each goal has a name of its own, and none is {NULL}; got {', '.join(names)}", "goals")
        if self.twice and self.twice not in names:
            raise wrong(f"there is no goal {self.twice}; there are {', '.join(names)}", "twice")
        return self


NULL = "null"


class ObjectivesConfig(Section):
    """All settings."""

    seed: int = Field(default=1, ge=0, lt=2**63)
    max_turns: int = Field(default=10, ge=2, le=100)
    models: ModelsSection = Field(default_factory=ModelsSection)
    learners: LearnersSection = Field(default_factory=LearnersSection)
    output_dir: PathText = Field(default="runs/objectives", description="the path of a folder")
