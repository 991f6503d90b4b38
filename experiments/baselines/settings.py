"""The settings of a comparison of arms: who learns how, from how many acts, with how many seeds, and who judges it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidatorFunctionWrapHandler, WrapValidator, model_validator

from league.settings.sections import Occupant, PathText, Section, wrong
from partners.rosters import ROSTERS

BEST_OF_TRAIN = "best of train"
Pick = Literal["last", "points", "wins"]
Roster = Literal["train", "dev", "test"]
assert set(ROSTERS) == {"train", "dev", "test"}


def _best_or(value: object, occupant: ValidatorFunctionWrapHandler) -> object:
    return value if value == BEST_OF_TRAIN else occupant(value)


def _one_or_more(value: object) -> object:
    return [value] if isinstance(value, str) else value


class ArmConfig(Section):
    """One way to come to a policy: a config that learns, or somebody who does not learn.

    ``config`` is a league's or a training's file under the ``set`` options. ``learners`` changes some keys of a
    league's learners, by their names, and takes out whom it says is null, so that an arm says what it does without and
    follows its league in all the rest. ``occupant`` is a spec, or ``best of train``, the member of the train roster
    that scores most against the others of it on the train scenarios. ``pick`` says which of a league's main and its
    snapshots is submitted: the ``last``, the main as it ended, or the one that has the most ``points``, or ``wins`` the
    most games, against the members that it practiced with.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$", description="small letters, digits and _")
    config: PathText | None = Field(default=None, description="a league's or a training's YAML file")
    set: tuple[str, ...] = Field(default=(), strict=False, description="a list of KEY=VALUE")
    learners: dict[str, dict[str, Any] | None] = Field(
        default_factory=dict, description="by learner what changes, or null: it is taken out"
    )
    occupant: Annotated[Occupant, WrapValidator(_best_or)] | None = Field(
        default=None, description="who does not learn"
    )
    pick: Pick = "last"

    @model_validator(mode="before")
    @classmethod
    def _one_of_two(cls, settings: Any) -> Any:
        if isinstance(settings, dict) and (settings.get("config") is None) == (settings.get("occupant") is None):
            raise wrong("an arm has a config that learns or an occupant that does not, and not both", "config")
        return settings


class ComparisonSection(Section):
    """How much each arm may use, how often it is repeated, and who judges it."""

    acts: int | None = Field(
        default=3_000_000, ge=1, le=10**11, description="environment acts of an arm, or null: as its config says"
    )
    seeds: int = Field(default=10, ge=1, le=1000)
    against: Annotated[tuple[Roster, ...], BeforeValidator(_one_or_more)] = Field(
        default=("dev",), strict=False, min_length=1, description="a roster, or a list of them"
    )
    reference: str = Field(default="pool_ppo", description="the arm that the others are compared with")


class BaselinesConfig(Section):
    """All settings of a comparison of arms."""

    comparison: ComparisonSection = Field(default_factory=ComparisonSection)
    arms: tuple[ArmConfig, ...] = Field(strict=False, min_length=1, description="a list of arms, each with a name")
    output_dir: PathText = Field(default="runs/baselines", description="the path of a folder")

    @model_validator(mode="after")
    def _known_by_name(self) -> BaselinesConfig:
        names = [arm.name for arm in self.arms]
        for name in _twice(names):
            raise wrong(f"two arms are called {name}; give each a name of its own", "arms")
        if self.comparison.reference not in names:
            raise wrong(f"comparison.reference is one of {', '.join(names)}; got {self.comparison.reference}", "arms")
        return self


def _twice(names: list[str]) -> Iterator[str]:
    for place, name in enumerate(names):
        if name in names[:place]:
            yield name
