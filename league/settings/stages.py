"""The settings of a curriculum: stages of practice, what each changes, and when the next begins.

A stage changes what is practiced. Matches are always played by the league's own rules, so that payoffs of all rounds
compare and every stage is judged by the league's own game.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from dond_marl.game import Disagree
from dond_marl.scenarios.sources import SourceName
from league.settings.hyperparameters import RewardName
from league.settings.learner import LearnerConfig, Matchmaking
from league.settings.predicates import PredicateError, predicate_name, predicate_of
from league.settings.scenario_choice import Choice, agreeing, choose
from league.settings.sections import EnvConfig, Section, wrong
from league.settings.training import HintsConfig


class StageEnv(Section):
    """What a stage changes in the league's ``env``; keys that are left out stay."""

    max_turns: int | None = Field(default=None, ge=1, le=100)
    disagree: Disagree | None = None
    scenarios: SourceName | None = None
    split: str | None = Field(default=None, description="text")
    reveal_partner_utilities: bool | None = None

    def over(self, env: EnvConfig) -> EnvConfig:
        """The environment of the stage. Raises if the changes contradict it."""
        changes = self.model_dump(exclude_none=True)
        choice, contradiction = choose(Choice(env.scenarios, env.split, env.dataset), changes)
        if contradiction is not None:
            raise wrong(f"env.{contradiction.key}: {contradiction.text}")
        try:
            return EnvConfig.model_validate(agreeing({**env.model_dump(), **changes}, choice))
        except ValidationError as error:
            raise wrong(f"env: {error.errors()[0]['msg']}") from None


class StageLearner(Section):
    """What a stage changes for one learner; keys that are left out stay."""

    learns: bool = Field(default=True, description="one that does not learn stays as it is")
    matchmaking: Matchmaking | None = None
    reward: RewardName | None = None
    decisions: int | None = Field(default=None, ge=1, le=10**9, description="per round")
    hints: HintsConfig | None = None

    def changes(self) -> dict[str, Any]:
        """The keys of a learner that the stage changes."""
        return self.model_dump(exclude={"learns", "hints"}, exclude_none=True)


class Until(Section):
    """A figure of a learner in the league's matches that ends a stage: its lower bound reaches ``at_least``."""

    metric: Literal["points", "deals", "of_nash"] = "points"
    member: str | None = Field(default=None, description="the name of a learner; left out: the first")
    against: str = Field(default="all", description="all, or the name of a member")
    at_least: float = Field(ge=0, le=10)
    confidence: float = Field(default=0.95, gt=0.5, lt=0.9999)
    games: int = Field(default=1_000, ge=1, description="the fewest that count")


def _predicate(value: object) -> object:
    try:
        name = None if value is None else predicate_name(value)
        if name is not None:
            predicate_of(name)
        return name
    except PredicateError as error:
        raise wrong(str(error)) from None


class StageConfig(Section):
    """One stage; it lasts until its figure is reached, or its predicate says so, and at most ``rounds``."""

    LATER = ("ends_when",)
    name: str = Field(min_length=1, max_length=60, description="text")
    rounds: int | None = Field(default=None, ge=1, le=100_000, description="left out: to the end")
    until: Until | None = None
    ends_when: Annotated[str | None, BeforeValidator(_predicate)] = Field(
        default=None, description="a predicate in a file, my_file.py:Name; left out: none"
    )
    env: StageEnv = Field(default_factory=StageEnv)
    hints: HintsConfig = Field(default_factory=HintsConfig)
    learners: dict[str, StageLearner] = Field(default_factory=dict, description="what changes, by learner")

    def learner(self, learner: LearnerConfig) -> LearnerConfig | None:
        """A learner's settings in this stage; ``None`` where it does not learn."""
        own = self.learners.get(learner.name, StageLearner())
        return learner.model_copy(update=own.changes()) if own.learns else None

    def hints_of(self, learner: str) -> HintsConfig:
        own = self.learners.get(learner, StageLearner()).hints
        return self.hints if own is None else own

    @property
    def hinted(self) -> bool:
        everybody = (self.hints, *(learner.hints for learner in self.learners.values()))
        return any(hints is not None and hints.mode != "none" for hints in everybody)
