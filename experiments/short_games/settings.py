"""The settings of short games as tests of learning: who learns how, how often, and in games of how many turns."""

from __future__ import annotations

from typing import Any

from pydantic import Field, ValidationError, model_validator

from dond_marl.errors import quote
from dond_marl.yardsticks.odds import EXACT_TURNS
from league.settings.sections import PathText, Section, wrong
from league.settings.training import Hyperparameters
from partners.learning.rewards import OWN

SHORTEST = 2  # turns: in games of one nobody can answer


class ShortTraining(Hyperparameters):
    """How a learner learns, and for how long: paid its own points, from first weights of its own."""

    num_train_steps: int = Field(default=200_000, ge=1, description="own decisions")

    @model_validator(mode="after")
    def _of_this_game(self) -> ShortTraining:
        if self.reward != OWN:
            raise wrong(f"the equilibria are of own points; leave out {self.reward}", "reward")
        if self.init_from is not None:
            raise wrong("what is learned is learned here; leave out init_from", "init_from")
        return self


class ArmConfig(Section):
    """One way to learn: what it does otherwise than ``training`` says."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$", description="small letters, digits and _")
    training: dict[str, Any] = Field(default_factory=dict, description="keys of training with other values")


class ComparisonSection(Section):
    """In which games, and with how many seeds."""

    turns: tuple[int, ...] = Field(
        default=(2, 3, 4), strict=False, min_length=1, description=f"a list of numbers in {SHORTEST}..{EXACT_TURNS}"
    )
    seeds: int = Field(default=3, ge=1, le=1000, description="learners of each arm, in games of each length")

    @model_validator(mode="after")
    def _exact(self) -> ComparisonSection:
        if any(not SHORTEST <= turns <= EXACT_TURNS for turns in self.turns) or len(set(self.turns)) < len(self.turns):
            raise wrong(
                f"best responses to networks are exact in games of {SHORTEST} to {EXACT_TURNS} turns, each named once; "
                f"got {quote(list(self.turns))}",
                "turns",
            )
        return self


class ShortGamesConfig(Section):
    """All settings. The scenarios are the 5,295 of ``lewis``, every one of them: see :mod:`.learner`."""

    comparison: ComparisonSection = Field(default_factory=ComparisonSection)
    training: ShortTraining = Field(default_factory=ShortTraining)
    arms: tuple[ArmConfig, ...] = Field(strict=False, min_length=1, description="a list of arms, each with a name")
    output_dir: PathText = Field(default="runs/short_games", description="the path of a folder")

    @model_validator(mode="after")
    def _arms_that_learn(self) -> ShortGamesConfig:
        names = [arm.name for arm in self.arms]
        if len(set(names)) < len(names):
            raise wrong(f"each arm has a name of its own; got {', '.join(names)}", "arms")
        for arm in self.arms:
            try:
                self.training_of(arm)
            except ValidationError as error:
                first = error.errors()[0]
                where = ".".join(map(str, first["loc"]))
                raise wrong(f"{arm.name}: training.{where}: {first['msg']}", "arms") from None
        return self

    def training_of(self, arm: ArmConfig) -> ShortTraining:
        """How the learners of an arm learn."""
        return ShortTraining.model_validate({**self.training.model_dump(), **arm.training})
