"""The settings of the reproductions at the level of acts: the game, the clone of people, who learns, who searches."""

from __future__ import annotations

from typing import Any

from pydantic import Field, ValidationError, model_validator

from dond_marl.game import Disagree, Rules
from league.settings.sections import PathText, Section, wrong
from league.settings.training import Hyperparameters
from partners.learning.rewards import OWN

LIKELIHOOD = "likelihood"  # the model of people, as an arm would be called


class GameSection(Section):
    """The rules of every game, and the scenarios that figures are taken on: those of the published test dialogues."""

    max_turns: int = Field(default=10, ge=2, le=100)
    disagree: Disagree = "rejects"
    repeats: int = Field(default=1, ge=1, le=1000, description="games on each test scenario in each seat")

    def rules(self) -> Rules:
        return Rules(self.max_turns, self.disagree)


class CloneTraining(Hyperparameters):
    """How the likelihood model is taught by the published dialogues."""

    epochs: int = Field(default=12, ge=1, le=100, description="at most")
    patience: int = Field(default=5, ge=1, le=100, description="epochs without getting better")
    balance: float = Field(default=0.0, ge=0, le=1)


class GoalTraining(Hyperparameters):
    """How that model goes on to learn for points against itself as it was."""

    games: int = Field(default=16_000, ge=1, description="in all, half in each seat")

    @model_validator(mode="after")
    def _of_this_experiment(self) -> GoalTraining:
        if self.reward != OWN or self.init_from is not None:
            raise wrong("it starts from the likelihood model and is paid own points; leave both out", "init_from")
        return self


class ArmSection(Section):
    """One way to learn: what it does otherwise than ``learning`` and ``game`` say."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$", description="small letters, digits and _")
    learning: dict[str, Any] = Field(default_factory=dict, description="keys of learning with other values")
    pull: float = Field(default=0.0, ge=0, le=1000, description="toward the likelihood model: training's kl")
    max_turns: int | None = Field(default=None, ge=2, le=100, description="turns of the game, by default those of game")
    seeds: int | None = Field(default=None, ge=1, le=1000, description="by default all")


class SearchSection(Section):
    """One player that searches: rollouts with the likelihood model as its partner."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$", description="small letters, digits and _")
    own: str = Field(default=LIKELIHOOD, description="who plays on in its seat and draws candidates: an arm's name")
    simulations: int = Field(default=16, ge=1, le=4096)
    candidates: int = Field(default=10, ge=0, le=4096, description="drawn acts, as in the paper; 0: every act")
    seeds: int | None = Field(default=None, ge=1, le=1000, description="by default all")


class PublishedConfig(Section):
    """All settings. Every seed has a likelihood model of its own, and learns on split train of ``lewis``."""

    title: str = Field(default="ours", min_length=1, description="the head of its column beside published figures")
    seeds: int = Field(default=10, ge=1, le=1000)
    data_dir: PathText | None = Field(default=None, description="the path of the folder with the published files")
    game: GameSection = Field(default_factory=GameSection)
    cloning: CloneTraining = Field(default_factory=CloneTraining)
    learning: GoalTraining = Field(default_factory=GoalTraining)
    arms: tuple[ArmSection, ...] = Field(strict=False, min_length=1, description="a list of arms, each with a name")
    searches: tuple[SearchSection, ...] = Field(default=(), strict=False, description="a list, each with a name")
    output_dir: PathText = Field(default="runs/published", description="the path of a folder")

    @model_validator(mode="after")
    def _arms_that_learn(self) -> PublishedConfig:
        names = [LIKELIHOOD, *(arm.name for arm in self.arms), *(search.name for search in self.searches)]
        if len(set(names)) < len(names):
            raise wrong(f"everybody has a name of their own; got {', '.join(names)}", "arms")
        for search in self.searches:
            known = names[: 1 + len(self.arms)]
            if search.own not in known:
                raise wrong(f"{search.name}: own must be one of {', '.join(known)}; got {search.own}", "searches")
        for arm in self.arms:
            try:
                self.learning_of(arm)
            except ValidationError as error:
                first = error.errors()[0]
                where = ".".join(map(str, first["loc"]))
                raise wrong(f"{arm.name}: learning.{where}: {first['msg']}", "arms") from None
        return self

    def learning_of(self, arm: ArmSection) -> GoalTraining:
        """How the learners of an arm learn."""
        return GoalTraining.model_validate({**self.learning.model_dump(), **arm.learning})

    def game_of(self, arm: ArmSection) -> GameSection:
        """What the learners of an arm play."""
        return self.game if arm.max_turns is None else self.game.model_copy(update={"max_turns": arm.max_turns})
